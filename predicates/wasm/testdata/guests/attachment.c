// Done when an attachment is attached with a sane LUN: a number from 0 to 63 or a
// device path; failed when attaching failed, or when the LUN is none of both.
#include "../../../sdk/c/dw.h"

static int sane(const char *lun, dw_u32 n) {
  if (n > 5 && dw_is(5, lun, "/dev/")) return 1;
  if (n < 1 || n > 2) return 0;
  int value = 0;
  for (dw_u32 i = 0; i < n; i++) {
    if (lun[i] < '0' || lun[i] > '9') return 0;
    value = 10 * value + (lun[i] - '0');
  }
  return value < 64 && (n == 1 || lun[0] != '0');
}

DW_PREDICATE(void) {
  char state[32], lun[256];
  dw_u32 n = dw_text("/object/status/state", state, sizeof state);
  if (dw_is(n, state, "AttachmentFailed")) return dw_failed("Internal/AttachFailed", "attaching failed");
  if (!dw_is(n, state, "Attached")) return dw_pending("Attaching", "the disk isn't attached yet");
  n = dw_text("/object/status/detail/publish_context/LUN", lun, sizeof lun);
  if (n == 0) return dw_failed("Internal/LUNMissing", "the attachment is complete but has no LUN");
  if (!sane(lun, n)) return dw_failed("Internal/LUNInvalid", "the LUN is neither a number below 64 nor a device path");
  return DW_DONE;
}
