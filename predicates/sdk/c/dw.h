// dw.h: donewhen predicates in C, version 1 of the contract. One header, no libc.
//
//   #include "dw.h"
//
//   int32_t dw_evaluate(void) {
//     char state[32];
//     if (!dw_string("/object/status/state", state, sizeof state))
//       return dw_pending("NoStatus", "nobody has written a status yet");
//     if (dw_equal(state, "Attached"))
//       return dw_done("Attached", "");
//     return dw_failed("Internal/BadState", state);
//   }
//
// Fields are read by JSON Pointer. /object is the object, /params what the binding
// and the caller give, /settings what the predicate's document gives. "/" in a key
// is written "~1", "~" is "~0"; a segment [key=value] is the first element of a list
// that has that string: "/object/status/conditions/[type=Ready]/status".
//
// The host puts memory back after every call, so that globals always have the value
// that they start with. Everything here is static or weak: include it as often as
// needed; what isn't used isn't linked.
#ifndef DW_H
#define DW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a value is.
typedef enum {
  DW_ABSENT,
  DW_NULL,
  DW_BOOL,
  DW_INT,
  DW_FLOAT,
  DW_STRING,
  DW_ARRAY,
  DW_OBJECT,
} dw_type;

// What dw_evaluate returns. The functions dw_pending and so on return these.
enum { DW_PENDING, DW_DONE, DW_FAILED, DW_CANNOT_JUDGE };

// Levels of dw_log.
enum { DW_DEBUG, DW_INFO, DW_WARN, DW_ERROR };

// The guest defines dw_evaluate. It may define dw_validate, which is asked once for
// each use, with nothing but /settings and the constants of /params there: it
// returns dw_accept() or dw_refuse(why).
__attribute__((export_name("dw_evaluate"))) int32_t dw_evaluate(void);
__attribute__((export_name("dw_validate"))) int32_t dw_validate(void);

__attribute__((weak, export_name("dw_abi_v1"))) void dw_abi_v1(void) {}

#define DW__IMPORT(name) __attribute__((import_module("dw"), import_name(name)))
DW__IMPORT("get")
uint64_t dw__get(const char *path, size_t path_len, void *buf, size_t cap);
DW__IMPORT("result")
void dw__result(const char *code, size_t code_len, const char *message, size_t message_len);
DW__IMPORT("log")
void dw__log(int32_t level, const char *text, size_t len);

#define DW__INLINE static inline __attribute__((always_inline, unused))
#define DW__FUNC static __attribute__((unused))

// Compilers call these by themselves, for structs and arrays.
__attribute__((weak, no_builtin)) void *memset(void *to, int c, size_t n) {
  for (char *p = (char *)to; n > 0; n--) *p++ = (char)c;
  return to;
}
__attribute__((weak, no_builtin)) void *memcpy(void *__restrict to, const void *__restrict from, size_t n) {
  char *p = (char *)to;
  for (const char *q = (const char *)from; n > 0; n--) *p++ = *q++;
  return to;
}

DW__FUNC size_t dw__count(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

// The length of a C string; nothing is counted when it runs if it is a literal.
DW__INLINE size_t dw_len(const char *s) {
  return __builtin_constant_p(__builtin_strlen(s)) ? __builtin_strlen(s) : dw__count(s);
}

// ---- Fields ----

// Reads a value as it comes: strings raw, bools true or false, numbers in decimal,
// arrays and objects as JSON. *len (may be NULL) is its length, even if it is longer
// than cap; then nothing is written to buf.
DW__INLINE dw_type dw_json(const char *path, void *buf, size_t cap, size_t *len) {
  uint64_t r = dw__get(path, dw_len(path), buf, cap);
  if (len) *len = (uint32_t)r;
  return (dw_type)(r >> 32);
}

// The type of a field.
DW__INLINE dw_type dw_type_of(const char *path) { return dw_json(path, NULL, 0, NULL); }

// Whether there is such a field. One that is null isn't there.
DW__INLINE bool dw_has(const char *path) { return dw_type_of(path) > DW_NULL; }

DW__FUNC bool dw__string(const char *path, size_t path_len, char *buf, size_t cap) {
  uint64_t r = dw__get(path, path_len, buf, cap ? cap - 1 : 0);
  bool fits = r >> 32 == DW_STRING && (uint32_t)r < cap;
  if (cap) buf[fits ? (uint32_t)r : 0] = 0;
  return fits;
}

// Reads a string and ends it with a NUL. False, and buf is "", if the field is
// absent, no string, or has cap bytes or more.
DW__INLINE bool dw_string(const char *path, char *buf, size_t cap) {
  return dw__string(path, dw_len(path), buf, cap);
}

DW__FUNC bool dw__int(const char *path, size_t path_len, int64_t *out) {
  char s[24];
  uint64_t r = dw__get(path, path_len, s, sizeof s);
  if (r >> 32 != DW_INT) return false;
  uint64_t n = 0;
  bool minus = s[0] == '-';
  for (size_t i = minus; i < (uint32_t)r; i++) n = 10 * n + (uint64_t)(s[i] - '0');
  *out = (int64_t)(minus ? 0 - n : n);
  return true;
}

// Reads an integer, exactly. False, and *out is as it was, if the field is absent or
// no integer.
DW__INLINE bool dw_int(const char *path, int64_t *out) { return dw__int(path, dw_len(path), out); }

// Reads true or false. False, and *out is as it was, if the field is absent or no bool.
DW__INLINE bool dw_bool(const char *path, bool *out) {
  char s[8];
  size_t len;
  if (dw_json(path, s, sizeof s, &len) != DW_BOOL) return false;
  *out = len == 4;
  return true;
}

// m·10^e for what no two doubles give exactly: as a big integer, of which the upper
// 64 bits are rounded once.
DW__FUNC double dw__scale(uint64_t m, int32_t e) {
  enum { N = 44 };
  uint32_t w[N];
  for (int32_t i = 0; i < N; i++) w[i] = 0;
  int32_t e2 = 0, at = 0;
  if (e < 0) { // enough zeros behind it that 64 bits are left after the division
    at = (-e * 107 / 32 + 64) / 32 + 1;
    e2 = -32 * at;
  }
  w[at] = (uint32_t)m;
  w[at + 1] = (uint32_t)(m >> 32);
  bool more = false; // bits that were lost
  while (e != 0) {
    int32_t step = e < 0 ? -e : e;
    if (step > 9) step = 9;
    uint32_t ten = 1;
    for (int32_t i = 0; i < step; i++) ten *= 10;
    uint64_t carry = 0;
    if (e > 0) {
      for (int32_t i = 0; i < N; i++) {
        carry += (uint64_t)w[i] * ten;
        w[i] = (uint32_t)carry;
        carry >>= 32;
      }
      e -= step;
    } else {
      for (int32_t i = N - 1; i >= 0; i--) {
        carry = carry << 32 | w[i];
        w[i] = (uint32_t)(carry / ten);
        carry %= ten;
      }
      more |= carry != 0;
      e += step;
    }
  }
  int32_t top = N - 1;
  while (top > 1 && w[top] == 0) top--;
  uint64_t bits = (uint64_t)w[top] << 32 | w[top - 1];
  e2 += 32 * (top - 1);
  int32_t zeros = __builtin_clzll(bits);
  if (zeros > 0) {
    bits <<= zeros;
    uint32_t below = top > 1 ? w[top - 2] : 0;
    if (zeros <= 32) {
      bits |= (uint64_t)below >> (32 - zeros);
      if (zeros < 32) more |= (uint32_t)(below << zeros) != 0;
    }
    e2 -= zeros;
    top--;
  }
  for (int32_t i = 0; i < top - 1; i++) more |= w[i] != 0;
  int32_t drop = 11; // of 64 bits, to have 53
  if (e2 + 63 < -1022) drop += -1022 - (e2 + 63);
  uint64_t kept = drop > 63 ? 0 : bits >> drop;
  if (drop <= 64) {
    uint64_t half = 1ull << (drop - 1), rest = drop == 64 ? bits : bits & (2 * half - 1);
    if (rest > half || (rest == half && (more || (kept & 1)))) kept++;
  }
  union {
    uint64_t u;
    double f;
  } out;
  // Adding lets a carry of the rounding go into the exponent.
  out.u = drop == 11 ? kept + ((uint64_t)(e2 + 63 + 1022) << 52) : kept;
  return out.f;
}

DW__FUNC bool dw__float(const char *path, size_t path_len, double *out) {
  char s[40];
  uint64_t r = dw__get(path, path_len, s, sizeof s);
  size_t len = (uint32_t)r, i = 0;
  if ((r >> 32 != DW_FLOAT && r >> 32 != DW_INT) || len > sizeof s) return false;
  uint64_t m = 0;
  int32_t e = 0, exponent = 0;
  bool minus = s[0] == '-', point = false, exponent_minus = false;
  for (i = minus; i < len && s[i] != 'e' && s[i] != 'E'; i++) {
    if (s[i] == '.') {
      point = true;
      continue;
    }
    if (m < 1000000000000000000ull) {
      m = 10 * m + (uint64_t)(s[i] - '0');
      e -= point;
    } else {
      e += !point;
    }
  }
  for (i++; i < len; i++) {
    if (s[i] == '-' || s[i] == '+')
      exponent_minus = s[i] == '-';
    else if (exponent < 1000)
      exponent = 10 * exponent + (s[i] - '0');
  }
  e += exponent_minus ? -exponent : exponent;
  double f = (double)m;
  if (m == 0 || e < -342) {
    f = 0;
  } else if (e > 308) {
    return false;
  } else if (m <= 1ull << 53 && e >= -22 && e <= 22) {
    double ten = 1;
    for (int32_t n = e < 0 ? -e : e; n > 0; n--) ten *= 10;
    f = e < 0 ? f / ten : f * ten;
  } else {
    f = dw__scale(m, e);
  }
  *out = minus ? -f : f;
  return true;
}

// Reads a number of either type. False, and *out is as it was, if the field is
// absent or no number.
DW__INLINE bool dw_float(const char *path, double *out) { return dw__float(path, dw_len(path), out); }

// ---- Verdicts ----

DW__FUNC int32_t dw__say(int32_t verdict, const char *code, size_t code_len, const char *message, size_t len) {
  dw__result(code, code_len, message, len);
  return verdict;
}
#define DW__SAY(verdict, code, message) dw__say(verdict, code, dw_len(code), message, dw_len(message))

// The object isn't there yet. Reason and message may be "".
DW__INLINE int32_t dw_pending(const char *reason, const char *message) { return DW__SAY(DW_PENDING, reason, message); }

// The object is as the operation wants it.
DW__INLINE int32_t dw_done(const char *reason, const char *message) { return DW__SAY(DW_DONE, reason, message); }

// It won't get there. The code is "Code", "Reason" or "Code/Reason", of 64 bytes at
// most: "NotFound/DiskMissing". Without a gRPC code it is Internal.
DW__INLINE int32_t dw_failed(const char *code, const char *message) { return DW__SAY(DW_FAILED, code, message); }

// The object makes no sense; the predicate's failurePolicy decides.
DW__INLINE int32_t dw_cannot_judge(const char *message) { return DW__SAY(DW_CANNOT_JUDGE, "", message); }

// What dw_validate returns.
DW__INLINE int32_t dw_accept(void) { return 1; }
DW__INLINE int32_t dw_refuse(const char *why) { return DW__SAY(0, "", why); }

// Writes a line to the log of the host, at DW_DEBUG to DW_ERROR.
DW__INLINE void dw_log(int32_t level, const char *text) { dw__log(level, text, dw_len(text)); }

// ---- Texts ----

// Whether two strings are the same.
DW__FUNC bool dw_equal(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

// What follows the prefix in s, NULL if s doesn't begin with it.
DW__FUNC const char *dw_after(const char *s, const char *prefix) {
  while (*prefix)
    if (*s++ != *prefix++) return NULL;
  return s;
}

// A text that is put together. What doesn't fit any more is left out as a whole, so
// that no character is cut.
//
//   dw_text text;
//   dw_begin(&text, "attached at LUN ");
//   dw_add_int(&text, lun);
//   return dw_done("Attached", text.s);
typedef struct {
  size_t len;
  char s[512];
} dw_text;

DW__FUNC void dw_add(dw_text *text, const char *s) {
  size_t n = dw__count(s);
  if (n >= sizeof text->s - text->len) return;
  for (size_t i = 0; i <= n; i++) text->s[text->len + i] = s[i];
  text->len += n;
}

DW__FUNC void dw_begin(dw_text *text, const char *s) {
  text->len = 0;
  text->s[0] = 0;
  dw_add(text, s);
}

DW__FUNC void dw_add_int(dw_text *text, int64_t n) {
  char s[21], *p = s + sizeof s;
  uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  *--p = 0;
  do *--p = (char)('0' + u % 10);
  while (u /= 10);
  if (n < 0) *--p = '-';
  dw_add(text, p);
}

#ifdef __cplusplus
}
#endif
#endif
