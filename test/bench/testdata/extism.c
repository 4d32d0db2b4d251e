// What dw.h asks of its host, over Extism's documented host functions: a guest there is
// handed a document, so the whole of it is parsed, once for each call. It stands in the
// place of a plug-in development kit, none of which can be had as a package here.
#include "dw.h"

#define ENV(name) __attribute__((import_module("extism:host/env"), import_name(name)))
ENV("input_length") uint64_t input_length(void);
ENV("input_load_u64") uint64_t input_load_u64(uint64_t at);
ENV("input_load_u8") uint32_t input_load_u8(uint64_t at);
ENV("alloc") uint64_t extism_alloc(uint64_t n);
ENV("store_u8") void store_u8(uint64_t at, uint32_t value);
ENV("store_u64") void store_u64(uint64_t at, uint64_t value);
ENV("output_set") void output_set(uint64_t at, uint64_t n);

enum { MAX_INPUT = 64 << 10, MAX_FIELDS = 512, MAX_PATHS = 32 << 10 };

typedef struct {
  const char *path, *value;
  uint32_t path_len, value_len, type;
} field;

static char input[MAX_INPUT], paths[MAX_PATHS], path[1024];
static field fields[MAX_FIELDS];
static uint32_t paths_len, path_len, field_count;
static const char *at;

static void space(void) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') at++;
}

// Reads a string; what is escaped stays as it is written.
static const char *string(uint32_t *len) {
  const char *start = ++at;
  for (; *at && *at != '"'; at++) {
    if (*at == '\\' && at[1]) at++;
  }
  *len = (uint32_t)(at - start);
  if (*at) at++;
  return start;
}

static void push(const char *key, uint32_t len) {
  path[path_len++] = '/';
  for (uint32_t i = 0; i < len && path_len < sizeof path - 2; i++) {
    if (key[i] == '/' || key[i] == '~') {
      path[path_len++] = '~';
      path[path_len++] = key[i] == '/' ? '1' : '0';
    } else {
      path[path_len++] = key[i];
    }
  }
}

static void value(void) {
  space();
  field *f = 0;
  if (field_count < MAX_FIELDS && paths_len + path_len <= MAX_PATHS) {
    f = &fields[field_count++];
    f->path = paths + paths_len;
    f->path_len = path_len;
    for (uint32_t i = 0; i < path_len; i++) paths[paths_len++] = path[i];
  }
  uint32_t len, depth = path_len, n = 0, type = DW_NULL;
  const char *start = at;
  char first = *at, close = first == '{' ? '}' : ']';
  if (first == '"') {
    type = DW_STRING;
    start = string(&len);
  } else if (first == '{' || first == '[') {
    type = first == '{' ? DW_OBJECT : DW_ARRAY;
    for (at++, space(); *at && *at != close; space()) {
      if (first == '{') {
        uint32_t key_len;
        const char *key = string(&key_len);
        push(key, key_len);
        space();
        at++;  // the colon
      } else {
        char digits[10];
        uint32_t d = sizeof digits, i = n++;
        do digits[--d] = (char)('0' + i % 10); while (i /= 10);
        push(digits + d, sizeof digits - d);
      }
      value();
      path_len = depth;
      space();
      if (*at == ',') at++;
      space();
    }
    if (*at) at++;
    len = (uint32_t)(at - start);
  } else {
    while (*at && *at != ',' && *at != '}' && *at != ']' && *at != ' ') at++;
    len = (uint32_t)(at - start);
    if (first == 't' || first == 'f') type = DW_BOOL;
    if (first == '-' || (first >= '0' && first <= '9')) {
      type = DW_INT;
      for (uint32_t i = 0; i < len; i++) {
        if (start[i] == '.' || start[i] == 'e' || start[i] == 'E') type = DW_FLOAT;
      }
    }
  }
  if (f) f->value = start, f->value_len = len, f->type = type;
}

uint64_t dw__get(const char *want, size_t want_len, void *buf, size_t cap) {
  for (uint32_t i = 0; i < field_count; i++) {
    field *f = &fields[i];
    if (f->path_len != want_len) continue;
    size_t same = want_len;
    while (same && f->path[same - 1] == want[same - 1]) same--;
    if (same) continue;
    if (f->value_len <= cap) memcpy(buf, f->value, f->value_len);
    return (uint64_t)f->type << 32 | f->value_len;
  }
  return 0;
}

static char output[2048];

void dw__result(const char *code, size_t code_len, const char *message, size_t message_len) {
  size_t n = code_len + 1 + message_len, i = 0;
  if (n > sizeof output) return;
  memcpy(output, code, code_len);
  output[code_len] = '\n';
  memcpy(output + code_len + 1, message, message_len);
  uint64_t to = extism_alloc(n);
  for (; i + 8 <= n; i += 8) store_u64(to + i, *(uint64_t *)(void *)(output + i));
  for (; i < n; i++) store_u8(to + i, (uint8_t)output[i]);
  output_set(to, n);
}

void dw__log(int32_t level, const char *text, size_t len) { (void)level, (void)text, (void)len; }

// What the host calls: the decision, with code and message as output.
__attribute__((export_name("judge"))) int32_t judge(void) {
  uint64_t n = input_length(), i = 0;
  if (n >= MAX_INPUT) return 3;
  for (; i + 8 <= n; i += 8) *(uint64_t *)(void *)(input + i) = input_load_u64(i);
  for (; i < n; i++) input[i] = (char)input_load_u8(i);
  input[n] = 0;
  at = input, paths_len = path_len = field_count = 0;
  value();
  return dw_evaluate();
}
