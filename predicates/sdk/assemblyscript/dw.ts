// Predicates for donewhen in AssemblyScript, version 1 of the contract.
//
//   import * as dw from "./dw";
//   export { dw_abi_v1 } from "./dw";
//
//   export function dw_evaluate(): dw.Verdict {
//     const state = dw.getString("/object/status/state");
//     if (state == "") return dw.pending("NoStatus", "nobody has written a status yet");
//     if (state == "Attached") return dw.done("Attached");
//     return dw.failed("Internal/BadState", "state is " + state);
//   }
//
// Fields are read by JSON Pointer. /object is the object, /params what the binding
// and the caller give, /settings what the predicate's document gives. A segment
// [key=value] is the first element of a list that has that string:
// "/object/status/conditions/[type=Ready]/status". escape() writes a key that has a
// slash, such as that of a label.
//
// A guest may export dw_validate as well, which is asked once for each use, with
// nothing but /settings and the constants of /params there. It returns accept() or
// refuse(why).
//
// The host puts memory back after every call, so that variables always have the value
// that they start with. Nothing needs to be freed: build with --runtime stub.

@external("dw", "get")
declare function hostGet(path: usize, pathLength: usize, buffer: usize, room: usize): u64;
@external("dw", "result")
declare function hostResult(code: usize, codeLength: usize, message: usize, messageLength: usize): void;
@external("dw", "log")
declare function hostLog(level: i32, text: usize, length: usize): void;
@external("wasi_snapshot_preview1", "fd_write")
declare function hostWrite(fd: i32, parts: usize, count: usize, written: usize): i32;

/** Marks the module as one that speaks version 1 of the contract. */
export function dw_abi_v1(): void {}

/** What dw_evaluate returns. */
export const enum Verdict {
  Pending,
  Done,
  Failed,
  CannotJudge,
}

/** What a value is. */
export const enum Type {
  Absent,
  Null,
  Bool,
  Int,
  Float,
  String,
  Array,
  Object,
}

/** How much a line of the log matters. */
export const enum Level {
  Debug,
  Info,
  Warn,
  Error,
}

// ---- Fields ----

// What was read last, and how long it is. Most values fit the first buffer.
const small = memory.data(256);
let bytes: usize = small;
let length: usize = 0;

function read(path: string): Type {
  const utf8 = String.UTF8.encode(path);
  const at = changetype<usize>(utf8);
  bytes = small;
  let r = hostGet(at, utf8.byteLength, bytes, 256);
  length = <usize>(<u32>r);
  if (length > 256) {
    bytes = heap.alloc(length);
    hostGet(at, utf8.byteLength, bytes, length);
  }
  return <Type>(<i32>(r >> 32));
}

/** The type of a field. */
export function typeOf(path: string): Type {
  const utf8 = String.UTF8.encode(path);
  return <Type>(<i32>(hostGet(changetype<usize>(utf8), utf8.byteLength, 0, 0) >> 32));
}

/** Whether there is such a field. One that is null isn't there. */
export function has(path: string): bool {
  return typeOf(path) > Type.Null;
}

/**
 * A field as it comes: strings raw, bools true or false, numbers in decimal, arrays
 * and objects as JSON; "" if it is absent.
 */
export function getJSON(path: string): string {
  read(path);
  return String.UTF8.decodeUnsafe(bytes, length);
}

/** A string; the fallback if the field is absent or something else. */
export function getString(path: string, fallback: string = ""): string {
  return read(path) == Type.String ? String.UTF8.decodeUnsafe(bytes, length) : fallback;
}

/** An integer, exactly; the fallback if the field is absent or something else. */
export function getInt(path: string, fallback: i64 = 0): i64 {
  if (read(path) != Type.Int) return fallback;
  const minus = load<u8>(bytes) == 0x2d;
  let n: u64 = 0;
  for (let i: usize = minus ? 1 : 0; i < length; i++) n = 10 * n + (load<u8>(bytes + i) - 0x30);
  return <i64>(minus ? 0 - n : n);
}

/** A number of either type; the fallback if the field is absent or something else. */
export function getFloat(path: string, fallback: f64 = NaN): f64 {
  const type = read(path);
  if (type != Type.Int && type != Type.Float) return fallback;
  const end = bytes + length;
  const minus = load<u8>(bytes) == 0x2d;
  let m: u64 = 0;
  let e = 0;
  let point = false;
  let i = minus ? bytes + 1 : bytes;
  for (; i < end; i++) {
    const c = load<u8>(i);
    if ((c | 0x20) == 0x65) break; // e
    if (c == 0x2e) point = true;
    else if (m < 1000000000000000000) {
      m = 10 * m + (c - 0x30);
      if (point) e--;
    } else if (!point) e++;
  }
  let exponent = 0;
  let down = false;
  for (i++; i < end; i++) {
    const c = load<u8>(i);
    if (c == 0x2d) down = true;
    else if (c != 0x2b && exponent < 1000) exponent = 10 * exponent + (c - 0x30);
  }
  e += down ? -exponent : exponent;
  if (m > 0 && e > 308) return fallback;
  const f = m == 0 || e < -342 ? 0.0 : decimal(m, e);
  return minus ? -f : f;
}

const words = memory.data(176); // 44 of 32 bits

// m·10^e, as the double that is nearest. parseFloat of the standard library is off by
// an ulp at times, and by far for very small numbers.
function decimal(m: u64, e: i32): f64 {
  if (m <= 9007199254740992 && e >= -22 && e <= 22) {
    let ten: f64 = 1;
    for (let n = abs(e); n > 0; n--) ten *= 10;
    return e < 0 ? <f64>m / ten : <f64>m * ten;
  }
  // As a big integer, of which the upper 64 bits are rounded once.
  memory.fill(words, 0, 176);
  let at = 0;
  let e2 = 0;
  if (e < 0) {
    // Enough zeros behind it that 64 bits are left after the division.
    at = (((-e * 107) / 32 + 64) / 32 + 1) as i32;
    e2 = -32 * at;
  }
  store<u64>(words + 4 * at, m);
  let more = false; // bits that were lost
  while (e != 0) {
    const step = min(abs(e), 9);
    let ten: u64 = 1;
    for (let i = 0; i < step; i++) ten *= 10;
    let carry: u64 = 0;
    if (e > 0) {
      for (let i = 0; i < 44; i++) {
        carry += <u64>load<u32>(words + 4 * i) * ten;
        store<u32>(words + 4 * i, <u32>carry);
        carry >>= 32;
      }
      e -= step;
    } else {
      for (let i = 43; i >= 0; i--) {
        carry = (carry << 32) | load<u32>(words + 4 * i);
        store<u32>(words + 4 * i, <u32>(carry / ten));
        carry %= ten;
      }
      if (carry != 0) more = true;
      e += step;
    }
  }
  let top = 43;
  while (top > 1 && load<u32>(words + 4 * top) == 0) top--;
  let bits = load<u64>(words + 4 * (top - 1));
  e2 += 32 * (top - 1);
  const zeros = <i32>clz(bits);
  if (zeros > 0) {
    bits <<= zeros;
    const below: u64 = top > 1 ? load<u32>(words + 4 * (top - 2)) : 0;
    if (zeros <= 32) {
      bits |= below >> (32 - zeros);
      if (zeros < 32 && <u32>(below << zeros) != 0) more = true;
    }
    e2 -= zeros;
    top--;
  }
  for (let i = 0; i < top - 1; i++) if (load<u32>(words + 4 * i) != 0) more = true;
  let drop = 11; // of 64 bits, to have 53
  if (e2 + 63 < -1022) drop += -1022 - (e2 + 63);
  let kept: u64 = drop > 63 ? 0 : bits >> drop;
  if (drop <= 64) {
    const half: u64 = (<u64>1) << (drop - 1);
    const rest = drop == 64 ? bits : bits & (2 * half - 1);
    if (rest > half || (rest == half && (more || (kept & 1) == 1))) kept++;
  }
  // Adding lets a carry of the rounding go into the exponent.
  if (drop == 11) kept += <u64>(e2 + 63 + 1022) << 52;
  return reinterpret<f64>(kept);
}

/** True or false; the fallback if the field is absent or something else. */
export function getBool(path: string, fallback: bool = false): bool {
  return read(path) == Type.Bool ? length == 4 : fallback;
}

/** A key as a segment of a path: "/" as "~1", "~" as "~0". */
export function escape(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

// ---- Verdicts ----

function say(verdict: Verdict, code: string, message: string): Verdict {
  const c = String.UTF8.encode(code);
  const m = String.UTF8.encode(message);
  hostResult(changetype<usize>(c), c.byteLength, changetype<usize>(m), m.byteLength);
  return verdict;
}

/** The object isn't there yet. */
export function pending(reason: string = "", message: string = ""): Verdict {
  return say(Verdict.Pending, reason, message);
}

/** The object is as the operation wants it. */
export function done(reason: string = "", message: string = ""): Verdict {
  return say(Verdict.Done, reason, message);
}

/**
 * It won't get there. The code is "Code", "Reason" or "Code/Reason", of 64 bytes at
 * most: "NotFound/DiskMissing". Without a gRPC code it is Internal.
 */
export function failed(code: string, message: string = ""): Verdict {
  return say(Verdict.Failed, code, message);
}

/** The object makes no sense; the predicate's failurePolicy decides. */
export function cannotJudge(message: string): Verdict {
  return say(Verdict.CannotJudge, "", message);
}

/** What dw_validate returns if it accepts settings and params. */
export function accept(): i32 {
  return 1;
}

/** What dw_validate returns if it doesn't. */
export function refuse(why: string): i32 {
  say(Verdict.Pending, "", why);
  return 0;
}

/** Writes a line to the log of the host. */
export function log(level: Level, text: string): void {
  const utf8 = String.UTF8.encode(text);
  hostLog(level, changetype<usize>(utf8), utf8.byteLength);
}

// ---- Crashes ----

const part = memory.data(12);

/** Shows a crash in the verdict, with --use abort=…/dw/crash. */
export function crash(message: string | null, file: string | null, line: u32, column: u32): void {
  let text = "abort";
  if (message) text += ": " + message;
  if (file) text += " at " + file + ":" + line.toString() + ":" + column.toString();
  const utf8 = String.UTF8.encode(text);
  store<usize>(part, changetype<usize>(utf8));
  store<usize>(part + 4, utf8.byteLength);
  hostWrite(2, part, 1, part + 8);
  unreachable();
}
