//! Predicates for donewhen in Rust, version 1 of the contract: no `std`, no
//! allocator, no macros.
//!
//! ```ignore
//! #![no_std]
//!
//! #[no_mangle]
//! pub extern "C" fn dw_evaluate() -> dw::Verdict {
//!     let mut buf = [0; 32];
//!     match dw::string("/object/status/state", &mut buf) {
//!         Ok("Attached") => dw::done("Attached", ""),
//!         Ok(state) => dw::failed("Internal/BadState", state),
//!         Err(_) => dw::pending("NoStatus", "nobody has written a status yet"),
//!     }
//! }
//! ```
//!
//! Fields are read by JSON Pointer. `/object` is the object, `/params` what the
//! binding and the caller give, `/settings` what the predicate's document gives. `/`
//! in a key is written `~1`, `~` is `~0`; a segment `[key=value]` is the first
//! element of a list that has that string:
//! `/object/status/conditions/[type=Ready]/status`.
//!
//! A guest may define `dw_validate() -> bool` too, which is asked once for each use,
//! with nothing but `/settings` and the constants of `/params` there: it returns
//! true, or [`refuse`] with the reason.
//!
//! The host puts memory back after every call, so that statics always have the value
//! that they start with.
#![no_std]

use core::fmt;

mod host {
    #[link(wasm_import_module = "dw")]
    extern "C" {
        #[link_name = "get"]
        pub fn get(path: *const u8, path_len: usize, buf: *mut u8, cap: usize) -> u64;
        #[link_name = "result"]
        pub fn result(code: *const u8, code_len: usize, message: *const u8, len: usize);
        #[link_name = "log"]
        pub fn log(level: i32, text: *const u8, len: usize);
    }
}

/// Marks the module as one that speaks version 1 of the contract.
#[no_mangle]
pub extern "C" fn dw_abi_v1() {}

/// What `dw_evaluate` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Verdict {
    Pending,
    Done,
    Failed,
    CannotJudge,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Absent,
    Null,
    Bool,
    Int,
    Float,
    String,
    Array,
    Object,
}

/// Why a field couldn't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no such field, or it is null.
    Absent,
    /// It is something else.
    Other(Kind),
    /// It has that many bytes, more than the buffer.
    TooLong(usize),
}

fn get(path: &str, buf: &mut [u8]) -> (Kind, usize) {
    // The host writes at most buf.len() bytes, and only into buf.
    let r = unsafe { host::get(path.as_ptr(), path.len(), buf.as_mut_ptr(), buf.len()) };
    let kind = match r >> 32 {
        1 => Kind::Null,
        2 => Kind::Bool,
        3 => Kind::Int,
        4 => Kind::Float,
        5 => Kind::String,
        6 => Kind::Array,
        7 => Kind::Object,
        _ => Kind::Absent,
    };
    (kind, r as u32 as usize)
}

/// The type of a field.
pub fn kind(path: &str) -> Kind {
    get(path, &mut []).0
}

/// Whether there is such a field. One that is null isn't there.
pub fn has(path: &str) -> bool {
    !matches!(kind(path), Kind::Absent | Kind::Null)
}

/// Reads a value as it comes: strings raw, bools `true` or `false`, numbers in
/// decimal, arrays and objects as JSON.
pub fn json<'b>(path: &str, buf: &'b mut [u8]) -> Result<(Kind, &'b str), Missing> {
    let (kind, len) = get(path, buf);
    match buf.get(..len) {
        _ if kind == Kind::Absent => Err(Missing::Absent),
        // The host writes whole UTF-8 values.
        Some(text) => Ok((kind, unsafe { core::str::from_utf8_unchecked(text) })),
        None => Err(Missing::TooLong(len)),
    }
}

fn read<'b>(path: &str, buf: &'b mut [u8], want: Kind) -> Result<&'b str, Missing> {
    match json(path, buf)? {
        (kind, text) if kind == want => Ok(text),
        (Kind::Null, _) => Err(Missing::Absent),
        (kind, _) => Err(Missing::Other(kind)),
    }
}

/// Reads a string.
pub fn string<'b>(path: &str, buf: &'b mut [u8]) -> Result<&'b str, Missing> {
    read(path, buf, Kind::String)
}

/// Reads an integer, exactly.
pub fn int(path: &str) -> Result<i64, Missing> {
    let mut buf = [0; 24];
    let text = read(path, &mut buf, Kind::Int)?;
    let (minus, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let n = digits.iter().fold(0u64, |n, d| n.wrapping_mul(10).wrapping_add(u64::from(d.wrapping_sub(b'0'))));
    Ok(if minus { n.wrapping_neg() as i64 } else { n as i64 })
}

/// Reads true or false.
pub fn bool(path: &str) -> Result<bool, Missing> {
    let mut buf = [0; 8];
    Ok(read(path, &mut buf, Kind::Bool)?.len() == 4)
}

/// Reads a number of either type.
pub fn float(path: &str) -> Result<f64, Missing> {
    let mut buf = [0; 40];
    match json(path, &mut buf)? {
        (kind @ (Kind::Int | Kind::Float), text) => text.parse().map_err(|_| Missing::Other(kind)),
        (Kind::Null, _) => Err(Missing::Absent),
        (kind, _) => Err(Missing::Other(kind)),
    }
}

fn say(verdict: Verdict, code: &str, message: &str) -> Verdict {
    // The host only reads.
    unsafe { host::result(code.as_ptr(), code.len(), message.as_ptr(), message.len()) };
    verdict
}

/// The object isn't there yet. Reason and message may be empty.
pub fn pending(reason: &str, message: &str) -> Verdict {
    say(Verdict::Pending, reason, message)
}

/// The object is as the operation wants it.
pub fn done(reason: &str, message: &str) -> Verdict {
    say(Verdict::Done, reason, message)
}

/// It won't get there. The code is `Code`, `Reason` or `Code/Reason`, of 64 bytes at
/// most: `NotFound/DiskMissing`. Without a gRPC code it is Internal.
pub fn failed(code: &str, message: &str) -> Verdict {
    say(Verdict::Failed, code, message)
}

/// The object makes no sense; the predicate's `failurePolicy` decides.
pub fn cannot_judge(message: &str) -> Verdict {
    say(Verdict::CannotJudge, "", message)
}

/// What `dw_validate` returns if it doesn't accept: false.
pub fn refuse(why: &str) -> bool {
    say(Verdict::Pending, "", why);
    false
}

/// Levels of [`log`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// Writes a line to the log of the host.
pub fn log(level: Level, text: &str) {
    // The host only reads.
    unsafe { host::log(level as i32, text.as_ptr(), text.len()) };
}

/// A text that is put together, of at most `N` bytes. What doesn't fit any more is
/// left out as a whole. It takes `write!` too, which makes a module some KiB larger.
///
/// ```ignore
/// let mut text = dw::Text::<128>::new();
/// text.add("attached at LUN ").add_int(lun);
/// dw::done("Attached", text.as_str())
/// ```
pub struct Text<const N: usize> {
    len: usize,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// An empty text.
    pub const fn new() -> Self {
        Text { len: 0, bytes: [0; N] }
    }

    /// Adds a string.
    pub fn add(&mut self, s: &str) -> &mut Self {
        if let Some(room) = self.bytes[self.len..].get_mut(..s.len()) {
            room.copy_from_slice(s.as_bytes());
            self.len += s.len();
        }
        self
    }

    /// Adds an integer.
    pub fn add_int(&mut self, n: i64) -> &mut Self {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut left = n.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if n < 0 {
            at -= 1;
            digits[at] = b'-';
        }
        // They are ASCII.
        self.add(unsafe { core::str::from_utf8_unchecked(&digits[at..]) })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // Only whole strings are added.
        unsafe { core::str::from_utf8_unchecked(&self.bytes[..self.len]) }
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.add(s);
        Ok(())
    }
}

/// Says where the guest panicked; the host shows it in the verdict. The message isn't
/// shown: to format it takes more code than most guests have.
#[cfg(all(feature = "panic-handler", target_arch = "wasm32"))]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        fn fd_write(fd: i32, parts: *const [usize; 2], count: usize, written: *mut usize) -> i32;
    }
    let mut text = Text::<256>::new();
    text.add("panicked");
    if let Some(at) = info.location() {
        text.add(" at ").add(at.file()).add(":").add_int(at.line().into());
    }
    let text = text.as_str();
    let mut written = 0;
    // The host reads the text, and writes how much it read.
    unsafe { fd_write(2, &[text.as_ptr() as usize, text.len()], 1, &mut written) };
    core::arch::wasm32::unreachable()
}
