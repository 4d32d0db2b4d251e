// Reads the field /params/path as /params/as says, and gives it back in words.
import * as dw from "../../assemblyscript/dw";
export { dw_abi_v1 } from "../../assemblyscript/dw";

// What a field is read as if it isn't there: nothing that the tests have.
const NOTHING = "\u{1}";

export function dw_evaluate(): dw.Verdict {
  const path = dw.getString("/params/path");
  const how = dw.getString("/params/as");
  let out = NOTHING;
  if (how == "string") out = dw.getString(path, NOTHING);
  if (how == "int") {
    const n = dw.getInt(path, 1);
    if (n != 1 || dw.getInt(path, 2) == 1) out = n.toString();
  }
  if (how == "float") {
    const f = dw.getFloat(path);
    if (!isNaN(f)) out = reinterpret<i64>(f).toString();
  }
  if (how == "bool") {
    if (dw.getBool(path, true) == dw.getBool(path, false)) out = dw.getBool(path).toString();
  }
  if (how == "has" && dw.has(path)) out = "there";
  if (how == "type") out = (<i32>dw.typeOf(path)).toString();
  if (how == "json" && dw.typeOf(path) != dw.Type.Absent) out = dw.getJSON(path);
  if (how == "escape") out = dw.escape(path);
  if (how == "failed") return dw.failed("NotFound/DiskMissing", "no such disk");
  if (how == "cannot") return dw.cannotJudge("it makes no sense");
  if (how == "log") dw.log(dw.Level.Warn, "a line");
  if (how == "crash") throw new Error("it crashes");
  return out == NOTHING ? dw.pending("Missing") : dw.done("Read", out);
}

export function dw_validate(): i32 {
  return dw.has("/params/bad") ? dw.refuse("bad is there") : dw.accept();
}
