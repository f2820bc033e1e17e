/* Decides which images the stand-in for NVIDIA's driver accepts. The rules come from CUDA's documentation, not from this
 * project: the CUDA C++ programming guide, "Binary Compatibility" and "PTX Compatibility", and the PTX ISA, "Release Notes". */
#ifndef CUDA_IMAGES_H
#define CUDA_IMAGES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* The first CUDA version whose driver accepts this version of the PTX ISA. */
static int first_driver(int major, int minor) {
  static const int of_8[] = {12000, 12010, 12020, 12030, 12040, 12050, 12070, 12080, 12090};
  if (major == 8)
    return minor < (int)(sizeof of_8 / sizeof *of_8) ? of_8[minor] : 13000;
  return major < 8 ? 11000 : 13000 + 10 * minor;
}

/* Whether an image runs on a GPU of this compute capability. */
static CUresult judge_image(const char *image, int major, int minor, int driver) {
  int is_elf = !memcmp(image, ELFMAG, SELFMAG);
  const char *kind = is_elf ? "cubin" : "PTX";
  if (has_fault("refuse", kind))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (has_fault("accept", kind))
    return CUDA_SUCCESS;
  if (is_elf) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    /* ABI version 8 stores the number in different bits from version 7. */
    int number = header.e_flags >> (header.e_ident[EI_ABIVERSION] >= 8 ? 8 : 0) & 0xff;
    return number / 10 == major && number % 10 <= minor ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  int ptx_major = 0, ptx_minor = 0, number = 0;
  char suffix = 0;
  const char *version = strstr(image, ".version"), *target = strstr(image, ".target sm_");
  if (!version || !target || sscanf(version, ".version %d.%d", &ptx_major, &ptx_minor) != 2 ||
      sscanf(target, ".target sm_%d%c", &number, &suffix) < 1)
    return CUDA_ERROR_INVALID_IMAGE;
  if (first_driver(ptx_major, ptx_minor) > driver)
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  int is_own = number == 10 * major + minor, is_older = number <= 10 * major + minor;
  int fits = suffix == 'a' ? is_own : suffix == 'f' ? number / 10 == major && is_older : is_older;
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

/* Whether an image has a kernel of this name, as a section of a cubin or an entry in PTX. */
static int image_has(const unsigned char *image, size_t size, const char *name) {
  char text[256];
  int is_elf = !memcmp(image, ELFMAG, SELFMAG);
  int length = snprintf(text, sizeof text, is_elf ? ".text.%s" : ".entry %s(", name) + is_elf;
  return memmem(image, size, text, length) != NULL;
}

/* How many bytes of shared memory a kernel of PTX declares. Clang declares them in the kernel, as arrays of bytes. */
static int ptx_shared_memory(const char *image, const char *name) {
  char text[256];
  int size, all = 0;
  snprintf(text, sizeof text, ".entry %s(", name);
  const char *at = strstr(image, text), *end = at ? strstr(at, "\n}") : NULL;
  while (end && (at = strstr(at, ".shared .align ")) && at < end)
    all += sscanf(at += 15, "%*d .b8 %*[^[][%d]", &size) == 1 ? size : 0;
  return all;
}

#endif
