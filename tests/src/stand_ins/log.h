/* The log that stand-ins write for tests to the file that FAKE_LOG names, and the names of images in this log. */
#ifndef LOG_H
#define LOG_H

#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Waits for FAKE_SLOW milliseconds, which gives other threads enough time to make the same call. */
__attribute__((unused)) static void take_time(void) {
  const char *wish = getenv("FAKE_SLOW");
  if (wish)
    usleep(1000 * atoi(wish));
}

/* Whether FAKE_FAULT requests this fault for this name. */
__attribute__((unused)) static int has_fault(const char *what, const char *name) {
  const char *fault = getenv("FAKE_FAULT");
  size_t length = strlen(what);
  return fault && !strncmp(fault, what, length) && fault[length] == ':' && !strcmp(fault + length + 1, name);
}

/* The hash of an image in the log. stand_ins/mod.rs computes the same hash. */
__attribute__((unused)) static uint64_t fnv1a(const unsigned char *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

__attribute__((unused)) static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Drivers are not passed the size of an image. They read only the parts to which an ELF file's headers refer. */
__attribute__((unused)) static size_t elf_size(const unsigned char *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  uint64_t end = larger(header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize,
                        header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, image + header.e_shoff + i * header.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOBITS)
      end = larger(end, section.sh_offset + section.sh_size);
  }
  return end;
}

#endif
