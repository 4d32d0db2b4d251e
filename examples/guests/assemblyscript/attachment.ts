// Whether a disk is attached, with a LUN that a node can use. See ../README.md.
import * as dw from "../../../predicates/sdk/assemblyscript/dw";
export { dw_abi_v1 } from "../../../predicates/sdk/assemblyscript/dw";

const STATE = "/object/status/state";
const DETACH = "/object/status/annotation/disk.csi.azure.com~1volume-detach-request";
const LUN = "/object/status/detail/publish_context/LUN";

// Reads the digits of a LUN from 0 to max; -1 if they are none.
function number(s: string, max: i64): i64 {
  if (s.length == 0 || s.length > 3 || (s.length > 1 && s.charCodeAt(0) == 0x30)) return -1;
  let n: i64 = 0;
  for (let i = 0; i < s.length; i++) {
    const digit = s.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    n = 10 * n + digit;
  }
  return n <= max ? n : -1;
}

// Reads a LUN: a number, or a path such as /dev/disk/azure/scsi1/lun3; -1 if it is
// none.
function lun(s: string, max: i64): i64 {
  const prefix = "/dev/disk/azure/scsi";
  if (!s.startsWith(prefix)) return number(s, max);
  let i = prefix.length;
  while (i < s.length && s.charCodeAt(i) >= 0x30 && s.charCodeAt(i) <= 0x39) i++;
  if (i == prefix.length || !s.substring(i).startsWith("/lun")) return -1;
  return number(s.substring(i + 4), max);
}

export function dw_validate(): i32 {
  const max = dw.getInt("/settings/maxLUN", dw.has("/settings/maxLUN") ? -1 : 63);
  if (max < 0 || max > 255) return dw.refuse("settings.maxLUN must be an integer from 0 to 255");
  const want = dw.getString("/params/lun");
  if (want == "" ? dw.has("/params/lun") && dw.typeOf("/params/lun") != dw.Type.String : lun(want, max) < 0)
    return dw.refuse("params.lun is no LUN");
  return dw.accept();
}

function attached(): dw.Verdict {
  const max = dw.getInt("/settings/maxLUN", 63);
  const is = dw.getString(LUN);
  if (is == "") {
    const type = dw.typeOf(LUN);
    if (type == dw.Type.String || type <= dw.Type.Null)
      return dw.failed("Internal/LUNMissing", "the attachment is complete but has no LUN");
  }
  const n = lun(is, max);
  if (n < 0) return dw.failed("Internal/BadLUN", "no LUN from 0 to " + max.toString() + ": " + is);
  const text = "attached at LUN " + n.toString();
  const want = dw.getString("/params/lun");
  if (want == "") return dw.done("Attached", text);
  const m = lun(want, max);
  if (m < 0) return dw.cannotJudge("params.lun is no LUN");
  if (m != n) return dw.pending("OtherLUN", text + ", Publish returned LUN " + m.toString());
  return dw.done("Attached", text);
}

function attachFailed(): dw.Verdict {
  let code = dw.getString("/object/status/error/code");
  if (code != "" && code.length <= 48) code += "/AttachFailed";
  else code = "AttachFailed";
  return dw.failed(code, dw.getString("/object/status/error/message", "attach failed, no error was recorded"));
}

export function dw_evaluate(): dw.Verdict {
  const state = dw.getString(STATE);
  if (state == "") {
    const type = dw.typeOf(STATE);
    if (type > dw.Type.Null && type != dw.Type.String) return dw.cannotJudge("status.state is no word");
  }
  if (
    dw.has(DETACH) ||
    state == "Detaching" ||
    state == "Detached" ||
    state == "DetachmentFailed" ||
    state == "ForceDetachPending"
  )
    return dw.failed("Aborted/DetachRequested", 'state is "' + state + '", the disk is being detached');
  if (state == "Attached") return attached();
  if (state == "AttachmentFailed") return attachFailed();
  const is = dw.getString(LUN);
  if (is != "") return dw.pending("Attaching", "LUN " + is + " is promised, the attach is running");
  return dw.pending("NoLUN", 'state is "' + state + '", there is no LUN yet');
}
