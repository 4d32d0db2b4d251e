// Reads the field /params/path as /params/as says, and gives it back in words.
#include "dw.h"

int32_t dw_evaluate(void) {
  static char path[256], as[16], text[4096];
  size_t len;
  int64_t n;
  bool yes;
  union {
    double f;
    int64_t bits;
  } number;
  dw_text out;
  dw_begin(&out, "");
  dw_string("/params/path", path, sizeof path);
  dw_string("/params/as", as, sizeof as);
  if (dw_equal(as, "string") && dw_string(path, text, sizeof text)) return dw_done("Read", text);
  if (dw_equal(as, "short") && dw_string(path, text, 8)) return dw_done("Read", text);
  if (dw_equal(as, "int") && dw_int(path, &n)) {
    dw_add_int(&out, n);
    return dw_done("Read", out.s);
  }
  if (dw_equal(as, "float") && dw_float(path, &number.f)) {
    dw_add_int(&out, number.bits);
    return dw_done("Read", out.s);
  }
  if (dw_equal(as, "bool") && dw_bool(path, &yes)) return dw_done("Read", yes ? "true" : "false");
  if (dw_equal(as, "has") && dw_has(path)) return dw_done("Read", "there");
  if (dw_equal(as, "type")) {
    dw_add_int(&out, dw_type_of(path));
    return dw_done("Read", out.s);
  }
  if (dw_equal(as, "json") && dw_json(path, text, sizeof text - 1, &len) != DW_ABSENT && len < sizeof text) {
    text[len] = 0;
    return dw_done("Read", text);
  }
  if (dw_equal(as, "failed")) return dw_failed("NotFound/DiskMissing", "no such disk");
  if (dw_equal(as, "cannot")) return dw_cannot_judge("it makes no sense");
  if (dw_equal(as, "log")) dw_log(DW_WARN, "a line");
  return dw_pending("Missing", "");
}

int32_t dw_validate(void) { return dw_has("/params/bad") ? dw_refuse("bad is there") : dw_accept(); }
