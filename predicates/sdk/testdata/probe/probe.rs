//! Reads the field /params/path as /params/as says, and gives it back in words.
#![no_std]

use core::fmt::Write;
use dw::Text;

fn read(path: &str, how: &str, out: &mut Text<4096>) -> Option<()> {
    let mut buf = [0; 4096];
    match how {
        "string" => out.add(dw::string(path, &mut buf).ok()?),
        "short" => out.add(dw::string(path, &mut buf[..7]).ok()?),
        "int" => out.add_int(dw::int(path).ok()?),
        "float" => out.add_int(dw::float(path).ok()?.to_bits() as i64),
        "bool" => {
            write!(out, "{}", dw::bool(path).ok()?).ok()?;
            out
        }
        "has" if dw::has(path) => out.add("there"),
        "type" => out.add_int(dw::kind(path) as i64),
        "json" => out.add(dw::json(path, &mut buf).ok()?.1),
        _ => return None,
    };
    Some(())
}

#[no_mangle]
pub extern "C" fn dw_evaluate() -> dw::Verdict {
    let (mut path, mut how) = ([0; 256], [0; 16]);
    let path = dw::string("/params/path", &mut path).unwrap_or("");
    let how = dw::string("/params/as", &mut how).unwrap_or("");
    match how {
        "failed" => return dw::failed("NotFound/DiskMissing", "no such disk"),
        "cannot" => return dw::cannot_judge("it makes no sense"),
        "log" => dw::log(dw::Level::Warn, "a line"),
        "crash" => panic!("it crashes"),
        _ => {}
    }
    let mut out = Text::new();
    match read(path, how, &mut out) {
        Some(()) => dw::done("Read", out.as_str()),
        None => dw::pending("Missing", ""),
    }
}

#[no_mangle]
pub extern "C" fn dw_validate() -> bool {
    !dw::has("/params/bad") || dw::refuse("bad is there")
}
