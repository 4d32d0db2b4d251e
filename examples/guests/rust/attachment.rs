//! Whether a disk is attached, with a LUN that a node can use. See ../README.md.
#![no_std]

use dw::{Text, Verdict};

const STATE: &str = "/object/status/state";
const DETACH: &str = "/object/status/annotation/disk.csi.azure.com~1volume-detach-request";
const LUN: &str = "/object/status/detail/publish_context/LUN";

/// Reads the digits of a LUN from 0 to max.
fn number(s: &str, max: i64) -> Option<i64> {
    if s.is_empty() || s.len() > 3 || s.starts_with('0') && s.len() > 1 {
        return None;
    }
    let mut n = 0;
    for b in s.bytes() {
        if !b.is_ascii_digit() {
            return None;
        }
        n = 10 * n + i64::from(b - b'0');
    }
    Some(n).filter(|n| *n <= max)
}

/// Reads a LUN: a number, or a path such as /dev/disk/azure/scsi1/lun3.
fn lun(s: &str, max: i64) -> Option<i64> {
    let host = match s.strip_prefix("/dev/disk/azure/scsi") {
        Some(host) => host,
        None => return number(s, max),
    };
    let rest = host.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix("/lun") {
        Some(digits) if rest.len() < host.len() => number(digits, max),
        _ => None,
    }
}

#[no_mangle]
pub extern "C" fn dw_validate() -> bool {
    let max = match dw::int("/settings/maxLUN") {
        Ok(max @ 0..=255) => max,
        Err(dw::Missing::Absent) => 63,
        _ => return dw::refuse("settings.maxLUN must be an integer from 0 to 255"),
    };
    match dw::string("/params/lun", &mut [0; 64]) {
        Ok("") | Err(dw::Missing::Absent) => true,
        Ok(want) if lun(want, max).is_some() => true,
        _ => dw::refuse("params.lun is no LUN"),
    }
}

fn attached() -> Verdict {
    let max = dw::int("/settings/maxLUN").unwrap_or(63);
    let mut buf = [0; 64];
    let is = match dw::string(LUN, &mut buf) {
        Ok("") | Err(dw::Missing::Absent) => {
            return dw::failed("Internal/LUNMissing", "the attachment is complete but has no LUN");
        }
        is => is.unwrap_or(""),
    };
    let mut text = Text::<128>::new();
    let n = match lun(is, max) {
        Some(n) => n,
        None => {
            text.add("no LUN from 0 to ").add_int(max).add(": ").add(is);
            return dw::failed("Internal/BadLUN", text.as_str());
        }
    };
    text.add("attached at LUN ").add_int(n);
    let mut buf = [0; 64];
    match dw::string("/params/lun", &mut buf) {
        Ok("") | Err(_) => dw::done("Attached", text.as_str()),
        Ok(want) => match lun(want, max) {
            None => dw::cannot_judge("params.lun is no LUN"),
            Some(m) if m == n => dw::done("Attached", text.as_str()),
            Some(m) => {
                text.add(", Publish returned LUN ").add_int(m);
                dw::pending("OtherLUN", text.as_str())
            }
        },
    }
}

fn attach_failed() -> Verdict {
    let mut code = Text::<64>::new();
    let mut buf = [0; 48];
    match dw::string("/object/status/error/code", &mut buf) {
        Ok("") | Err(_) => {}
        Ok(given) => {
            code.add(given).add("/");
        }
    }
    code.add("AttachFailed");
    let message = dw::string("/object/status/error/message", &mut [0; 4096])
        .map(|text| dw::failed(code.as_str(), text));
    message.unwrap_or_else(|_| dw::failed(code.as_str(), "attach failed, no error was recorded"))
}

#[no_mangle]
pub extern "C" fn dw_evaluate() -> Verdict {
    let mut buf = [0; 32];
    let state = match dw::string(STATE, &mut buf) {
        Ok(state) => state,
        Err(dw::Missing::Absent) => "",
        Err(_) => return dw::cannot_judge("status.state is no word"),
    };
    let mut text = Text::<128>::new();
    if dw::has(DETACH) || matches!(state, "Detaching" | "Detached" | "DetachmentFailed" | "ForceDetachPending") {
        text.add("state is \"").add(state).add("\", the disk is being detached");
        return dw::failed("Aborted/DetachRequested", text.as_str());
    }
    match state {
        "Attached" => return attached(),
        "AttachmentFailed" => return attach_failed(),
        _ => {}
    }
    match dw::string(LUN, &mut [0; 64]) {
        Ok("") | Err(_) => {
            text.add("state is \"").add(state).add("\", there is no LUN yet");
            dw::pending("NoLUN", text.as_str())
        }
        Ok(is) => {
            text.add("LUN ").add(is).add(" is promised, the attach is running");
            dw::pending("Attaching", text.as_str())
        }
    }
}
