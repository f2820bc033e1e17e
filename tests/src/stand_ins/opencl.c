/* A libOpenCL.so.1 with one platform, and with the functions that offload-gpu calls. Kernels do nothing.
 * The log has a line for each compiled program and each launch.
 *
 * FAKE_OPENCL: the GPUs, separated by `;`. Each has a name, its version of SPIR-V and its extensions, separated by `,`:
 *   `A,SPIR-V_1.4,cl_khr_fp64 cl_intel_unified_shared_memory;B,,`
 * A GPU allocates at most 4096 bytes per call. With the extension `no_limits`, it reports neither sizes nor limits. */
#include "log.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_NOT_FOUND = -1, INVALID_VALUE = -30, INVALID_BUFFER_SIZE = -61, MOST = 4096, GPUS = 8, TEXT = 512 };
enum { TYPE_GPU = 4, THREADS = 0x1004, ITEMS = 0x1005, LARGEST = 0x1010, MEMORY = 0x101f, LOCAL = 0x1023, NAME = 0x102b };
enum { EXTENSIONS = 0x1030, IL_VERSION = 0x105b };

static struct gpu {
  char name[TEXT], il[TEXT], extensions[TEXT];
} gpus[GPUS];

static unsigned count(void) {
  const char *at = getenv("FAKE_OPENCL");
  unsigned found = 0;
  while (at && *at && found < GPUS) {
    struct gpu *gpu = &gpus[found++];
    char *fields[] = {gpu->name, gpu->il, gpu->extensions};
    for (int field = 0; field < 3; field++) {
      size_t length = strcspn(at, field < 2 ? "," : ";");
      snprintf(fields[field], TEXT, "%.*s", (int)length, at);
      at += length + (at[length] != 0);
    }
  }
  return found;
}

static int text(const char *from, size_t room, void *to, size_t *size) {
  size_t needed = strlen(from) + 1;
  if (size)
    *size = needed;
  if (to && room < needed)
    return INVALID_VALUE;
  if (to)
    memcpy(to, from, needed);
  return 0;
}

int clGetPlatformIDs(unsigned room, void **all, unsigned *number) {
  if (number)
    *number = 1;
  if (room)
    all[0] = gpus;
  return 0;
}

int clGetPlatformInfo(void *platform, unsigned what, size_t room, void *to, size_t *size) {
  return text("Fake Corporation", room, to, size);
}

int clGetDeviceIDs(void *platform, uint64_t type, unsigned room, void **all, unsigned *number) {
  unsigned found = type == TYPE_GPU ? count() : 0;
  if (!found)
    return DEVICE_NOT_FOUND;
  if (number)
    *number = found;
  for (unsigned at = 0; at < room && at < found; at++)
    all[at] = &gpus[at];
  return 0;
}

int clGetDeviceInfo(void *device, unsigned what, size_t room, void *to, size_t *size) {
  struct gpu *gpu = device;
  switch (what) {
  case NAME:
    return text(gpu->name, room, to, size);
  case IL_VERSION:
    return text(gpu->il, room, to, size);
  case EXTENSIONS:
    return text(gpu->extensions, room, to, size);
  case THREADS:
  case ITEMS:
  case LARGEST:
  case MEMORY:
  case LOCAL:
    if (strstr(gpu->extensions, "no_limits"))
      return INVALID_VALUE;
    for (size_t at = 0; at < room / sizeof(uint64_t); at++)
      ((uint64_t *)to)[at] = what == MEMORY ? 1 << 20 : MOST;
    return 0;
  }
  return INVALID_VALUE;
}

static void *allocate(void *context, void *device, const void *properties, size_t size, unsigned align, int *error) {
  *error = size > MOST ? INVALID_BUFFER_SIZE : 0;
  return *error ? NULL : malloc(size);
}

static int release(void *context, void *memory) {
  free(memory);
  return 0;
}

static int copy(void *queue, unsigned wait, void *to, const void *from, size_t size, unsigned n, const void *events, void *event) {
  memcpy(to, from, size);
  return 0;
}

static int set_address(void *kernel, unsigned number, const void *address) { return 0; }

void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name) {
  if (!strcmp(name, "clDeviceMemAllocINTEL"))
    return allocate;
  if (!strcmp(name, "clMemBlockingFreeINTEL"))
    return release;
  if (!strcmp(name, "clEnqueueMemcpyINTEL"))
    return copy;
  return strcmp(name, "clSetKernelArgMemPointerINTEL") ? NULL : set_address;
}

void *clCreateContext(const void *properties, unsigned n, void **devices, void *call, void *data, int *error) {
  *error = 0;
  return devices[0];
}

void *clCreateCommandQueueWithProperties(void *context, void *device, const void *properties, int *error) {
  *error = 0;
  return device;
}

static int handle;

void *clCreateProgramWithIL(void *context, const void *module, size_t size, int *error) {
  *error = 0;
  return &handle;
}

int clBuildProgram(void *program, unsigned n, void *const *devices, const char *options, const void *call, void *data) {
  log_line("program");
  return 0;
}

void *clCreateKernel(void *program, const char *name, int *error) {
  *error = 0;
  return &handle;
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offsets, const size_t *threads,
                           const size_t *block, unsigned n, const void *events, void *event) {
  log_line("launch of %zu threads", block[0]);
  return 0;
}

/* Functions that no test calls. */
#define NOT_CALLED(name) \
  int name(void) { abort(); }
NOT_CALLED(clGetProgramBuildInfo)

#define NOTHING(name) \
  int name(void *handle) { return 0; }
NOTHING(clReleaseProgram)
NOTHING(clReleaseKernel)
NOTHING(clGetKernelWorkGroupInfo)
NOTHING(clSetKernelArg)
NOTHING(clSetKernelExecInfo)
NOTHING(clFlush)
NOTHING(clFinish)
NOTHING(clReleaseContext)
NOTHING(clReleaseCommandQueue)
