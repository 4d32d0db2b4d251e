// Done when an attachment is attached with a sane LUN: a number from 0 to 63 or a
// device path; failed when attaching failed, or when the LUN is none of both.
#include "../../../sdk/c/dw.h"

static bool sane(const char *lun) {
  const char *device = dw_after(lun, "/dev/");
  if (device) return *device != 0;
  if (lun[0] < '0' || lun[0] > '9') return false;
  if (!lun[1]) return true;
  return lun[0] != '0' && lun[1] >= '0' && lun[1] <= '9' && !lun[2] && 10 * (lun[0] - '0') + (lun[1] - '0') < 64;
}

int32_t dw_evaluate(void) {
  char state[32], lun[256];
  size_t n = 0;
  dw_string("/object/status/state", state, sizeof state);
  if (dw_equal(state, "AttachmentFailed")) return dw_failed("Internal/AttachFailed", "attaching failed");
  if (!dw_equal(state, "Attached")) return dw_pending("Attaching", "the disk isn't attached yet");
  // A number counts too, so the field is read whatever its type is.
  dw_json("/object/status/detail/publish_context/LUN", lun, sizeof lun - 1, &n);
  if (n == 0) return dw_failed("Internal/LUNMissing", "the attachment is complete but has no LUN");
  lun[n < sizeof lun ? n : 0] = 0;
  if (!sane(lun)) return dw_failed("Internal/LUNInvalid", "the LUN is neither a number below 64 nor a device path");
  return DW_DONE;
}
