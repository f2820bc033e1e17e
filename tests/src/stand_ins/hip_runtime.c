/* A stand-in for AMD's whole runtime, libamdhip64.so: the functions that the example hip-vector-add and offload's run time call,
 * for one GPU that is not there. Memory is the host's; a launch computes sum = a + b.
 *
 *   FAKE_GPU    the GPU's target, as HIP names it: "gfx90a:sramecc+:xnack-". Not set or empty: no GPU.
 *   FAKE_ERROR  FUNCTION=CODE: this function fails with this code.
 *   FAKE_SLOW   loading a module takes this many milliseconds.
 *   FAKE_LOG    a file that gets a line for each load and launch. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

enum { SUCCESS = 0, NO_DEVICE = 100, TEXT = 256 };
/* Offsets in hipDeviceProp_tR0600. */
enum { MEMORY = 288, SHARED_MEMORY = 296, THREADS = 320, BLOCK = 324, GRID = 336, TARGET = 1160 };

static int asked_for(const char *function) {
  const char *wish = getenv("FAKE_ERROR");
  size_t length = strlen(function);
  return wish && !strncmp(wish, function, length) && wish[length] == '=' ? atoi(wish + length + 1) : SUCCESS;
}
#define FAIL_IF_ASKED()                                                                                                \
  int asked = asked_for(__func__);                                                                                     \
  if (asked)                                                                                                           \
  return asked

const char *hipGetErrorName(int code) { return code == 200 ? "hipErrorInvalidImage" : "hipErrorUnknown"; }
const char *hipGetErrorString(int code) { return hipGetErrorName(code); }

int hipInit(unsigned flags) { return asked_for(__func__); }

int hipGetDevice(int *out) {
  /* None but 0 can be current; the program has to say so once, as if it were not. */
  static __thread int calls;
  *out = calls++ ? 0 : -1;
  return asked_for(__func__);
}

int hipGetDeviceCount(int *out) {
  FAIL_IF_ASKED();
  const char *gpu = getenv("FAKE_GPU");
  *out = gpu && *gpu;
  return *out ? SUCCESS : NO_DEVICE;
}

int hipSetDevice(int device) { return device > 0 ? 101 : asked_for(__func__); }

int hipGetDevicePropertiesR0600(char *properties, int device) {
  FAIL_IF_ASKED();
  snprintf(properties, TEXT, "Fake GPU %s", getenv("FAKE_GPU"));
  strncpy(properties + TARGET, getenv("FAKE_GPU"), TEXT - 1);
  *(uint64_t *)(properties + MEMORY) = (uint64_t)64 << 30;
  *(uint64_t *)(properties + SHARED_MEMORY) = 65536;
  *(int *)(properties + THREADS) = 1024;
  for (int dimension = 0; dimension < 3; ++dimension) {
    ((int *)(properties + BLOCK))[dimension] = 1024;
    ((int *)(properties + GRID))[dimension] = 2147483647;
  }
  return SUCCESS;
}

int hipModuleLoadData(void **out, const void *image) {
  take_time();
  FAIL_IF_ASKED();
  size_t size = elf_size(image);
  log_line("hipModuleLoadData: %zu bytes, fnv1a %016llx", size, (unsigned long long)fnv1a(image, size));
  *out = malloc(1);
  return SUCCESS;
}

int hipModuleUnload(void *module) {
  free(module);
  return SUCCESS;
}

int hipModuleGetFunction(void **out, void *module, const char *name) {
  FAIL_IF_ASKED();
  *out = module;
  return strcmp(name, "vector_add") ? 500 : SUCCESS;
}

int hipMalloc(void **out, size_t size) {
  FAIL_IF_ASKED();
  *out = malloc(size);
  return SUCCESS;
}

int hipFree(void *memory) {
  free(memory);
  return SUCCESS;
}

int hipMemcpy(void *to, const void *from, size_t size, int direction) {
  FAIL_IF_ASKED();
  memcpy(to, from, size);
  return SUCCESS;
}

int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,
                          void **extra) {
  FAIL_IF_ASKED();
  int n = *(int *)arguments[0];
  const float *a = *(const float **)arguments[1], *b = *(const float **)arguments[2];
  float *sum = *(float **)arguments[3];
  log_line("hipModuleLaunchKernel: %u blocks of %u threads", grid_x, block_x);
  for (int i = 0; i < n && (uint64_t)i < (uint64_t)grid_x * block_x; ++i)
    sum[i] = a[i] + b[i];
  return SUCCESS;
}

int hipDeviceSynchronize(void) { return asked_for(__func__); }
