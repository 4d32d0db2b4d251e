// Whether a disk is attached, with a LUN that a node can use. See ../README.md.
#include "dw.h"

#define STATE "/object/status/state"
#define DETACH "/object/status/annotation/disk.csi.azure.com~1volume-detach-request"
#define LUN "/object/status/detail/publish_context/LUN"

// Reads the digits of a LUN from 0 to max; -1 if they are none.
static int64_t number(const char *s, int64_t max) {
  int64_t n = 0;
  if (!*s || (s[0] == '0' && s[1])) return -1;
  for (; *s; s++) {
    if (*s < '0' || *s > '9' || (n = 10 * n + (*s - '0')) > max) return -1;
  }
  return n;
}

// Reads a LUN: a number, or a path such as /dev/disk/azure/scsi1/lun3; -1 if it is
// none.
static int64_t lun(const char *s, int64_t max) {
  const char *host = dw_after(s, "/dev/disk/azure/scsi"), *p = host;
  if (!host) return number(s, max);
  while (*p >= '0' && *p <= '9') p++;
  const char *digits = dw_after(p, "/lun");
  return p == host || !digits ? -1 : number(digits, max);
}

static int64_t max_lun(void) {
  int64_t max = 63;
  dw_int("/settings/maxLUN", &max);
  return max;
}

int32_t dw_validate(void) {
  int64_t max = 63;
  char want[64];
  if (dw_has("/settings/maxLUN") && (!dw_int("/settings/maxLUN", &max) || max < 0 || max > 255))
    return dw_refuse("settings.maxLUN must be an integer from 0 to 255");
  if (dw_has("/params/lun") && (!dw_string("/params/lun", want, sizeof want) || (*want && lun(want, max) < 0)))
    return dw_refuse("params.lun is no LUN");
  return dw_accept();
}

static int32_t detaching(const char *state) {
  dw_text text;
  dw_begin(&text, "state is \"");
  dw_add(&text, state);
  dw_add(&text, "\", the disk is being detached");
  return dw_failed("Aborted/DetachRequested", text.s);
}

static int32_t attached(void) {
  char is[64], want[64];
  int64_t max = max_lun();
  bool read = dw_string(LUN, is, sizeof is);
  if (read ? !*is : !dw_has(LUN))
    return dw_failed("Internal/LUNMissing", "the attachment is complete but has no LUN");
  int64_t n = lun(is, max);
  dw_text text;
  if (n < 0) {
    dw_begin(&text, "no LUN from 0 to ");
    dw_add_int(&text, max);
    dw_add(&text, ": ");
    dw_add(&text, is);
    return dw_failed("Internal/BadLUN", text.s);
  }
  dw_begin(&text, "attached at LUN ");
  dw_add_int(&text, n);
  if (dw_string("/params/lun", want, sizeof want) && *want) {
    int64_t m = lun(want, max);
    if (m < 0) return dw_cannot_judge("params.lun is no LUN");
    if (m != n) {
      dw_add(&text, ", Publish returned LUN ");
      dw_add_int(&text, m);
      return dw_pending("OtherLUN", text.s);
    }
  }
  return dw_done("Attached", text.s);
}

static int32_t failed(void) {
  char code[48];
  static char message[4096];
  dw_text text;
  dw_begin(&text, "");
  if (dw_string("/object/status/error/code", code, sizeof code) && *code) {
    dw_add(&text, code);
    dw_add(&text, "/");
  }
  dw_add(&text, "AttachFailed");
  if (!dw_string("/object/status/error/message", message, sizeof message))
    return dw_failed(text.s, "attach failed, no error was recorded");
  return dw_failed(text.s, message);
}

int32_t dw_evaluate(void) {
  char state[32], is[64];
  if (!dw_string(STATE, state, sizeof state) && dw_has(STATE))
    return dw_cannot_judge("status.state is no word");
  if (dw_has(DETACH) || dw_equal(state, "Detaching") || dw_equal(state, "Detached") ||
      dw_equal(state, "DetachmentFailed") || dw_equal(state, "ForceDetachPending"))
    return detaching(state);
  if (dw_equal(state, "Attached")) return attached();
  if (dw_equal(state, "AttachmentFailed")) return failed();
  dw_text text;
  if (dw_string(LUN, is, sizeof is) && *is) {
    dw_begin(&text, "LUN ");
    dw_add(&text, is);
    dw_add(&text, " is promised, the attach is running");
    return dw_pending("Attaching", text.s);
  }
  dw_begin(&text, "state is \"");
  dw_add(&text, state);
  dw_add(&text, "\", there is no LUN yet");
  return dw_pending("NoLUN", text.s);
}
