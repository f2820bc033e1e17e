/* What stand-ins write down for the tests: lines in the file that FAKE_LOG names. */
#ifndef LOG_H
#define LOG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void log_line(const char *format, ...) {
  const char *path = getenv("FAKE_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file)
    return;
  va_list values;
  va_start(values, format);
  vfprintf(file, format, values);
  va_end(values);
  fputc('\n', file);
  fclose(file);
}

/* Of an image, for the log; stand_ins/mod.rs has the same. */
static uint64_t fnv1a(const unsigned char *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

#endif
