/* Kernels that a test describes to stand-ins. The file in FAKE_KERNELS has a line for each kernel: its name, and offset:size of
 * each argument in bytes. Real drivers read this information from images. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 32 };

struct listed_kernel {
  char name[64];
  int count;
  struct {
    size_t offset, size;
  } arguments[MOST_ARGUMENTS];
};

static struct listed_kernel kernels[256];
static int kernel_count;

static void read_kernels(void) {
  char line[4096], *rest;
  const char *path = getenv("FAKE_KERNELS");
  FILE *file = path && !kernel_count ? fopen(path, "r") : NULL;
  if (!file)
    return;
  while (kernel_count < (int)(sizeof kernels / sizeof *kernels) && fgets(line, sizeof line, file)) {
    struct listed_kernel *kernel = &kernels[kernel_count++];
    snprintf(kernel->name, sizeof kernel->name, "%s", strtok_r(line, " \n", &rest));
    for (char *word; (word = strtok_r(NULL, " \n", &rest)) && kernel->count < MOST_ARGUMENTS; ++kernel->count)
      sscanf(word, "%zu:%zu", &kernel->arguments[kernel->count].offset, &kernel->arguments[kernel->count].size);
  }
  fclose(file);
}

/* The kernel of this name, or NULL. */
__attribute__((unused)) static struct listed_kernel *kernel_named(const char *name) {
  read_kernels();
  for (int i = 0; i < kernel_count; ++i)
    if (!strcmp(kernels[i].name, name))
      return &kernels[i];
  return NULL;
}

/* Returns the bytes of each argument as text, such as " 0102 ff". Reads the arguments at their addresses, or in a buffer. Returns
 * NULL if an argument is not in the buffer. The caller frees the text. */
__attribute__((unused)) static char *arguments_text(const struct listed_kernel *kernel, void **addresses, const char *buffer,
                                                    size_t size) {
  size_t length = 1;
  for (int i = 0; i < kernel->count; ++i)
    length += 1 + 2 * kernel->arguments[i].size;
  char *text = malloc(length), *to = text;
  *to = 0;
  for (int i = 0; i < kernel->count; ++i) {
    size_t offset = kernel->arguments[i].offset, bytes = kernel->arguments[i].size;
    if (!addresses && offset + bytes > size) {
      free(text);
      return NULL;
    }
    const unsigned char *from = addresses ? addresses[i] : (const void *)(buffer + offset);
    *to++ = ' ';
    for (size_t at = 0; at < bytes; ++at)
      to += sprintf(to, "%02x", from[at]);
  }
  return text;
}

#endif
