// dw.h: what a predicate in C needs to ask donewhen for fields and to answer.
//
//   #include "dw.h"
//   DW_PREDICATE(void) {
//     char state[32];
//     if (dw_is(dw_text("/object/status/state", state, sizeof state), state, "Attached")) return DW_DONE;
//     return dw_pending("", "waiting for the disk");
//   }
//
// Build: clang --target=wasm32 -Oz -nostdlib -ffreestanding -fvisibility=hidden \
//   -Wl,--no-entry -Wl,--stack-first -Wl,-z,stack-size=16384 -Wl,--strip-all
#ifndef DW_H
#define DW_H

typedef unsigned int dw_u32;
typedef unsigned long long dw_u64;

#define DW_IMPORT(name) __attribute__((import_module("dw"), import_name(name)))
#define DW_EXPORT(name) __attribute__((export_name(name)))

DW_IMPORT("get") extern dw_u64 dw_import_get(const char *path, dw_u32 path_len, void *buf, dw_u32 cap);
DW_IMPORT("result") extern void dw_import_result(const char *code, dw_u32 code_len, const char *message, dw_u32 message_len);

enum { DW_PENDING = 0, DW_DONE = 1, DW_FAILED = 2, DW_CANNOT = 3 };
enum { DW_ABSENT, DW_NULL, DW_BOOL, DW_INT, DW_FLOAT, DW_STRING, DW_ARRAY, DW_OBJECT };

static inline dw_u32 dw_len(const char *s) { dw_u32 n = 0; while (s[n]) n++; return n; }

// dw_get writes the value at the path into buf if it fits. The type is in the upper
// half of what it returns, the length in the lower one.
static inline dw_u64 dw_get(const char *path, void *buf, dw_u32 cap) { return dw_import_get(path, dw_len(path), buf, cap); }
static inline dw_u32 dw_type(dw_u64 r) { return (dw_u32)(r >> 32); }
static inline dw_u32 dw_length(dw_u64 r) { return (dw_u32)r; }

// dw_text is dw_get with a zero behind the text; what is absent, null or doesn't fit
// is the empty text. It returns the length.
static inline dw_u32 dw_text(const char *path, char *buf, dw_u32 cap) {
  dw_u64 r = dw_get(path, buf, cap - 1);
  dw_u32 n = dw_type(r) <= DW_NULL || dw_length(r) > cap - 1 ? 0 : dw_length(r);
  buf[n] = 0;
  return n;
}

// dw_is reports whether a text of n bytes is that one.
static inline int dw_is(dw_u32 n, const char *text, const char *want) {
  for (dw_u32 i = 0; i < n; i++) if (text[i] != want[i]) return 0;
  return want[n] == 0;
}

// The code is "Code", "Reason" or "Code/Reason", or empty.
static inline int dw_answer(int decision, const char *code, const char *message) {
  dw_import_result(code, dw_len(code), message, dw_len(message));
  return decision;
}
static inline int dw_pending(const char *reason, const char *message) { return dw_answer(DW_PENDING, reason, message); }
static inline int dw_failed(const char *code, const char *message) { return dw_answer(DW_FAILED, code, message); }

#define DW_PREDICATE(args) DW_EXPORT("dw_abi_v1") void dw_abi_v1(void) {} DW_EXPORT("dw_evaluate") int dw_evaluate(args)

#endif
