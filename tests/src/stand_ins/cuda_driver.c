/* A stand-in for NVIDIA's driver library, libcuda.so.1: the functions that the examples call, themselves or through cudarc,
 * for GPUs that are not there. Memory is the host's. A launch of the function `saxpy` computes y = a * x + y, one of
 * `vector_add` sum = a + b. Calls from several threads follow one another.
 *
 *   FAKE_GPU         compute capabilities of the GPUs: "8.6,9.0". Not set or empty: no GPU.
 *   FAKE_DRIVER      what cuDriverGetVersion says. Not set: 12080.
 *   FAKE_ERROR       FUNCTION=CODE: this function fails with this code.
 *   FAKE_KERNEL_END  the kernel leaves out all elements from this index on.
 *   FAKE_SLOW        loading a module takes this many milliseconds.
 *   FAKE_LOG         a file that gets a line for each call that matters.
 *   FAKE_KERNELS     a file with other kernels, whose launches compute nothing and are logged with their arguments: kernels.h.
 *
 * A program that breaks the driver's rules (a call before cuInit or without a context, a handle that is none, a copy past
 * the end of a buffer, a grid that misses elements), that loads a second module on a GPU, or that leaves something behind gets
 * a line "misuse: ..." in the log.
 *
 * The macro LACKING leaves out a function that came late into the driver. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "log.h"

/* Names, types and numbers of cuda.h. */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_LAUNCH_FAILED = 719,
};
enum { COMPUTE_CAPABILITY_MAJOR = 75, COMPUTE_CAPABILITY_MINOR = 76, MEMORY_POOLS_SUPPORTED = 115 };

static const struct {
  CUresult code;
  const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

/* ---- The log, and what is wrong ---- */

/* `return MISUSE(code, "format", ...)` */
#define MISUSE(code, ...) (log_line("misuse: " __VA_ARGS__), (code))

/* The code that FAKE_ERROR asks this function for, or 0. */
static CUresult asked_for(const char *function) {
  const char *wish = getenv("FAKE_ERROR");
  size_t length = strlen(function);
  return wish && !strncmp(wish, function, length) && wish[length] == '=' ? atoi(wish + length + 1) : CUDA_SUCCESS;
}

static int initialized;
/* The context that is current on this thread; it is the address of its device's entry in `retained`. */
static __thread int *current;

/* One call at a time. */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;
static int enter(void) { return pthread_mutex_lock(&calls); }
static void leave(int *unused) { pthread_mutex_unlock(&calls); }

/* What begins all functions, those that only work after cuInit, and those that need a context. */
#define FAIL_IF_ASKED()                                                                                                \
  __attribute__((cleanup(leave), unused)) int entered = enter();                                                       \
  CUresult asked = asked_for(__func__);                                                                                \
  if (asked)                                                                                                           \
  return asked
#define AFTER_INIT()                                                                                                   \
  FAIL_IF_ASKED();                                                                                                     \
  if (!initialized)                                                                                                    \
  return MISUSE(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", __func__)
#define IN_CONTEXT()                                                                                                   \
  AFTER_INIT();                                                                                                        \
  if (!current)                                                                                                        \
  return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "%s without a context", __func__)

CUresult cuInit(unsigned flags) {
  FAIL_IF_ASKED();
  if (flags)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuInit with flags %u", flags);
  const char *gpus = getenv("FAKE_GPU");
  if (!gpus || !*gpus)
    return CUDA_ERROR_NO_DEVICE;
  initialized = 1;
  return CUDA_SUCCESS;
}

static CUresult error_text(CUresult code, const char **out, int full) {
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
    if (errors[i].code == code)
      *out = full ? errors[i].text : errors[i].name;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult code, const char **out) { return error_text(code, out, 0); }

CUresult cuGetErrorString(CUresult code, const char **out) { return error_text(code, out, 1); }

CUresult cuDriverGetVersion(int *out) {
  FAIL_IF_ASKED();
  const char *version = getenv("FAKE_DRIVER");
  *out = version ? atoi(version) : 12080;
  return CUDA_SUCCESS;
}

/* ---- Devices and contexts ---- */

enum { MOST_GPUS = 16 };
/* Handles differ from indices, so that taking one for the other shows. */
enum { FIRST_HANDLE = 40 };
static int retained[MOST_GPUS];

static int gpu_count(void) {
  int count = 1;
  for (const char *at = getenv("FAKE_GPU"); *at; ++at)
    count += *at == ',';
  return count;
}

static void compute_capability(int index, int *major, int *minor) {
  const char *at = getenv("FAKE_GPU");
  while (index--)
    at = strchr(at, ',') + 1;
  sscanf(at, "%d.%d", major, minor);
}

#define CHECK_DEVICE(device)                                                                                           \
  do {                                                                                                                 \
    if (device < FIRST_HANDLE || device >= FIRST_HANDLE + gpu_count())                                                 \
      return MISUSE(CUDA_ERROR_INVALID_DEVICE, "%s of device %d", __func__, device);                                   \
  } while (0)

CUresult cuDeviceGetCount(int *out) {
  AFTER_INIT();
  *out = gpu_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int index) {
  AFTER_INIT();
  if (index < 0 || index >= gpu_count())
    return CUDA_ERROR_INVALID_DEVICE;
  *out = FIRST_HANDLE + index;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *out, int size, CUdevice device) {
  int major, minor;
  AFTER_INIT();
  CHECK_DEVICE(device);
  compute_capability(device - FIRST_HANDLE, &major, &minor);
  snprintf(out, size, "Fake GPU %d.%d", major, minor);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice device) {
  int major, minor;
  AFTER_INIT();
  CHECK_DEVICE(device);
  compute_capability(device - FIRST_HANDLE, &major, &minor);
  switch (attribute) {
  case COMPUTE_CAPABILITY_MAJOR:
    *out = major;
    return CUDA_SUCCESS;
  case COMPUTE_CAPABILITY_MINOR:
    *out = minor;
    return CUDA_SUCCESS;
  case MEMORY_POOLS_SUPPORTED:
    *out = 0;
    return CUDA_SUCCESS;
  default:
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "attribute %d", attribute);
  }
}

CUresult cuDevicePrimaryCtxRetain(int **out, CUdevice device) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  *out = &retained[device - FIRST_HANDLE];
  ++**out;
  log_line("cuDevicePrimaryCtxRetain: GPU %d", device - FIRST_HANDLE);
  return CUDA_SUCCESS;
}

#ifndef LACKING
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  int *context = &retained[device - FIRST_HANDLE];
  if (!*context)
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "context of GPU %d released too often", device - FIRST_HANDLE);
  if (!--*context && current == context)
    current = NULL;
  return CUDA_SUCCESS;
}
#endif

CUresult cuCtxSetCurrent(int *context) {
  AFTER_INIT();
  if (context < retained || context >= retained + MOST_GPUS || !*context)
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent of what is no context");
  current = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(int **out) {
  AFTER_INIT();
  *out = current;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  IN_CONTEXT();
  return CUDA_SUCCESS;
}

/* ---- Modules ---- */

/* One module on each GPU at a time is all that the examples have; its handle is its address, and those of its functions are
 * the addresses of their kernels' places in it. */
enum kernel { SAXPY, VECTOR_ADD, KERNELS };
static const char *const kernel_names[KERNELS] = {"saxpy", "vector_add"};
static struct module {
  int loaded;
  char functions[KERNELS];
} modules[MOST_GPUS];

static int current_gpu(void) { return current - retained; }

CUresult cuModuleLoadData(void **out, const void *image) {
  take_time();
  IN_CONTEXT();
  const char *kind = "PTX";
  size_t size;
  if (!memcmp(image, ELFMAG, SELFMAG)) {
    kind = "cubin";
    size = elf_size(image);
  } else {
    size = strlen(image);
    if (!strstr(image, ".version") || !strstr(image, ".visible .entry "))
      return CUDA_ERROR_INVALID_IMAGE;
  }
  struct module *module = &modules[current_gpu()];
  if (module->loaded)
    return MISUSE(CUDA_ERROR_OUT_OF_MEMORY, "a second module on GPU %d", current_gpu());
  log_line("cuModuleLoadData: GPU %d, %s, %zu bytes, fnv1a %016llx", current_gpu(), kind, size,
           (unsigned long long)fnv1a(image, size));
  module->loaded = 1;
  *out = module;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(struct module *module) {
  IN_CONTEXT();
  if (module != &modules[current_gpu()] || !module->loaded)
    return MISUSE(CUDA_ERROR_INVALID_HANDLE, "cuModuleUnload of what is no module of this GPU");
  module->loaded = 0;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(char **out, struct module *module, const char *name) {
  IN_CONTEXT();
  if (module != &modules[current_gpu()] || !module->loaded)
    return MISUSE(CUDA_ERROR_INVALID_HANDLE, "cuModuleGetFunction of what is no module of this GPU");
  log_line("cuModuleGetFunction: %s", name);
  for (int i = 0; i < KERNELS; ++i)
    if (!strcmp(name, kernel_names[i])) {
      *out = &module->functions[i];
      return CUDA_SUCCESS;
    }
  *out = (char *)kernel_named(name);
  return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- Memory ---- */

static struct buffer {
  char *start;
  size_t size;
  int *context;
  struct buffer *next;
} *buffers;

static char *host(CUdeviceptr address) { return (char *)(uintptr_t)address; }

static int is_inside_a_buffer(CUdeviceptr address, size_t size) {
  for (struct buffer *it = buffers; it; it = it->next)
    if (it->context == current && host(address) >= it->start && host(address) + size <= it->start + it->size)
      return 1;
  return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) {
  IN_CONTEXT();
  if (!size)
    return CUDA_ERROR_INVALID_VALUE;
  struct buffer *buffer = malloc(sizeof *buffer);
  *buffer = (struct buffer){malloc(size), size, current, buffers};
  buffers = buffer;
  /* NaNs, for whoever forgets to copy. */
  memset(buffer->start, 0xff, size);
  *out = (uintptr_t)buffer->start;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  IN_CONTEXT();
  for (struct buffer **it = &buffers; *it; it = &(*it)->next)
    if ((*it)->start == host(address)) {
      struct buffer *gone = *it;
      *it = gone->next;
      free(gone->start);
      free(gone);
      return CUDA_SUCCESS;
    }
  return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuMemFree_v2 of what is no buffer");
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
  IN_CONTEXT();
  if (!is_inside_a_buffer(to, size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes copied past a buffer", size);
  memcpy(host(to), from, size);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
  IN_CONTEXT();
  if (!is_inside_a_buffer(from, size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes copied from past a buffer", size);
  memcpy(to, host(from), size);
  return CUDA_SUCCESS;
}

/* What is asynchronous is done at once. All streams are the default one. */

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, void *stream) {
  return cuMemcpyHtoD_v2(to, from, size);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, void *stream) {
  return cuMemcpyDtoH_v2(to, from, size);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, void *stream) {
  IN_CONTEXT();
  if (!is_inside_a_buffer(to, size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes set past a buffer", size);
  memset(host(to), value, size);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(void *stream) {
  IN_CONTEXT();
  return CUDA_SUCCESS;
}

static int events;

CUresult cuEventCreate(void **out, unsigned flags) {
  IN_CONTEXT();
  ++events;
  *out = &events;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(void *event) {
  IN_CONTEXT();
  --events;
  return CUDA_SUCCESS;
}

/* ---- The kernels ---- */

enum { BUFFER_END = 0, BUFFER_POINTER = 1, BUFFER_SIZE = 2 };

/* Logs the arguments of a kernel of FAKE_KERNELS, from where a launch of the real driver would read them. */
static CUresult launch_of_file(const struct listed_kernel *kernel, void **arguments, void **extra) {
  const char *buffer = NULL;
  size_t size = 0;
  for (void **at = extra; at && *at != (void *)BUFFER_END; at += 2)
    if (*at == (void *)BUFFER_POINTER)
      buffer = at[1];
    else if (*at == (void *)BUFFER_SIZE)
      size = *(size_t *)at[1];
    else
      return MISUSE(CUDA_ERROR_INVALID_VALUE, "an unknown word in extra");
  if (!arguments == !buffer)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "arguments by pointers and by a buffer, or by neither");
  char *text = arguments_text(kernel, arguments, buffer, size);
  if (!text)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "a buffer of %zu bytes, in which not all arguments are", size);
  log_line("%s by %s:%s", kernel->name, arguments ? "pointers" : "buffer", text);
  free(text);
  return CUDA_SUCCESS;
}

/* Whether vectors of n elements lie where the kernel's arguments say, and the grid has that many threads. */
static int fits(int n, uint64_t threads, const CUdeviceptr *vectors, int count) {
  for (int i = 0; i < count; ++i)
    if (!is_inside_a_buffer(vectors[i], n * sizeof(float)))
      return MISUSE(0, "the kernel goes past a buffer with n = %d", n);
  if (threads < (uint64_t)n)
    (void)MISUSE(0, "%llu threads for %d elements", (unsigned long long)threads, n);
  return 1;
}

CUresult cuLaunchKernel(char *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,
                        void **extra) {
  int n;
  float a;
  CUdeviceptr at[3];
  IN_CONTEXT();
  log_line("cuLaunchKernel: %u blocks of %u threads", grid_x, block_x);
  struct module *module = &modules[current_gpu()];
  if (module->loaded && is_kernel(function))
    return launch_of_file((struct listed_kernel *)function, arguments, extra);
  if (!module->loaded || function < module->functions || function >= module->functions + KERNELS)
    return MISUSE(CUDA_ERROR_INVALID_HANDLE, "cuLaunchKernel of what is no function of this GPU");
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || block_x > 1024 || shared || stream || extra)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuLaunchKernel with a shape that the kernels do not have");
  memcpy(&n, arguments[0], sizeof n);
  uint64_t threads = (uint64_t)grid_x * block_x;
  const char *wish = getenv("FAKE_KERNEL_END");
  uint64_t end = wish ? strtoull(wish, NULL, 10) : (uint64_t)n;
  if (end > threads)
    end = threads;
  if (end > (uint64_t)n)
    end = n;
  switch ((enum kernel)(function - module->functions)) {
  case SAXPY:
    memcpy(&a, arguments[1], sizeof a);
    memcpy(&at[0], arguments[2], sizeof *at);
    memcpy(&at[1], arguments[3], sizeof *at);
    if (!fits(n, threads, at, 2))
      return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t i = 0; i < end; ++i)
      ((float *)host(at[1]))[i] += a * ((float *)host(at[0]))[i];
    return CUDA_SUCCESS;
  case VECTOR_ADD:
    for (int i = 0; i < 3; ++i)
      memcpy(&at[i], arguments[i + 1], sizeof *at);
    if (!fits(n, threads, at, 3))
      return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t i = 0; i < end; ++i)
      ((float *)host(at[2]))[i] = ((float *)host(at[0]))[i] + ((float *)host(at[1]))[i];
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_FOUND;
  }
}

__attribute__((destructor)) static void look_for_leaks(void) {
  for (struct buffer *it = buffers; it; it = it->next)
    (void)MISUSE(0, "a buffer of %zu bytes is left", it->size);
  if (events)
    (void)MISUSE(0, "%d events are left", events);
  for (int i = 0; i < MOST_GPUS; ++i) {
    if (modules[i].loaded)
      (void)MISUSE(0, "the module of GPU %d is left", i);
    if (retained[i])
      (void)MISUSE(0, "the context of GPU %d is left", i);
  }
}
