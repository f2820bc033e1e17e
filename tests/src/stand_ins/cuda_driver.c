/* A stand-in for NVIDIA's driver library, libcuda.so.1, with fake GPUs. It contains the functions that offload-gpu and the examples
 * call, directly or through cudarc or cust. Device memory is host memory. A launch of the function `saxpy` computes y = a * x + y,
 * and a launch of `vector_add` computes sum = a + b. Calls from several threads run one after another.
 *
 *   FAKE_GPU         compute capabilities of the GPUs: "8.6,9.0". Not set or empty: no GPU.
 *   FAKE_NAME        text that fills the whole buffer for a GPU's name, without a NUL.
 *   FAKE_DRIVER      the version that cuDriverGetVersion returns. Not set: 12080.
 *   FAKE_ERROR       FUNCTION=CODE: this function fails with this code.
 *   FAKE_FAIL_CALL   N: the N-th call fails with CUDA_ERROR_UNKNOWN, as if earlier work had failed. The log names the function.
 *   FAKE_KERNEL_END  the kernel skips all elements from this index on.
 *   FAKE_SLOW        loading a module, and raising a limit of a function, take this many milliseconds.
 *   FAKE_LOG         a file to which the stand-in writes a line for each important call.
 *   FAKE_KERNELS     a file with other kernels. Their launches compute nothing, but are logged with their arguments: see kernels.h.
 *   FAKE_RUNS        objects with kernels that really run. A kernel that faults ends the context: see running.h.
 *   FAKE_FAULT       a fault of the GPU or driver: see running.h.
 *   CUDA_VISIBLE_DEVICES  "-1" or an empty value hides all GPUs. Other values have no effect.
 *
 * If a program breaks the driver's rules, the log contains a line "misuse: ...". Examples are a call before cuInit or without a
 * context; an invalid or released handle, or a handle from another context; a copy past the end of a buffer; a grid that misses
 * elements; shared memory that was not requested; and contexts that are pushed but not popped. Other examples are loading an image
 * twice into a context, ending a context that still contains objects, and leaving objects at the end.
 *
 * Macros omit functions that older drivers lack: LACKING omits one of CUDA 11, and BEFORE_CUDA_12 those of CUDA 12. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_contexts.h"
#include "cuda_images.h"
#include "running.h"

typedef unsigned long long CUdeviceptr;
enum {
  MAX_THREADS_PER_BLOCK = 1,
  MAX_BLOCK_DIM_X,
  MAX_BLOCK_DIM_Y,
  MAX_BLOCK_DIM_Z,
  MAX_GRID_DIM_X,
  MAX_GRID_DIM_Y,
  MAX_GRID_DIM_Z,
  MAX_SHARED_MEMORY_PER_BLOCK,
  COMPUTE_CAPABILITY_MAJOR = 75,
  COMPUTE_CAPABILITY_MINOR = 76,
  MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  MEMORY_POOLS_SUPPORTED = 115,
};
enum { SHARED_SIZE_BYTES = 1, MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, SHARED_MEMORY = 48 << 10 };
static const size_t ALL_MEMORY = (size_t)80 << 30;

/* The error of a kernel. All later calls in this process return it. */
static CUresult failed_kernel;

CUresult cuInit(unsigned flags) {
  FAIL_IF_ASKED();
  if (flags)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuInit with flags %u", flags);
  const char *gpus = getenv("FAKE_GPU"), *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (!gpus || !*gpus || (visible && (!*visible || !strcmp(visible, "-1"))))
    return CUDA_ERROR_NO_DEVICE;
  /* As in the real driver, this runs before functions that the program has registered earlier. */
  if (!initialized)
    atexit(look_for_leaks);
  initialized = getpid();
  return CUDA_SUCCESS;
}

static const struct {
  CUresult code;
  const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult error_text(CUresult code, const char **out, int full) {
  *out = NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i)
    if (errors[i].code == code)
      *out = full ? errors[i].text : errors[i].name;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult code, const char **out) { return error_text(code, out, 0); }

CUresult cuGetErrorString(CUresult code, const char **out) { return error_text(code, out, 1); }

static int driver_version(void) {
  const char *version = getenv("FAKE_DRIVER");
  return version ? atoi(version) : 12080;
}

CUresult cuDriverGetVersion(int *out) {
  FAIL_IF_ASKED();
  *out = driver_version();
  return CUDA_SUCCESS;
}

/* ---- Devices ---- */

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
  const char *name = getenv("FAKE_NAME");
  int major, minor;
  AFTER_INIT();
  CHECK_DEVICE(device);
  compute_capability(device - FIRST_HANDLE, &major, &minor);
  snprintf(out, size, "Fake GPU %d.%d", major, minor);
  for (int i = 0; name && i < size; i++)
    out[i] = name[i % strlen(name)];
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice device) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  *out = ALL_MEMORY;
  return CUDA_SUCCESS;
}

/* The maximum shared memory of a block: the CUDA programming guide, "Technical Specifications per Compute Capability". */
static int most_shared_memory(int gpu) {
  int major, minor;
  compute_capability(gpu, &major, &minor);
  switch (10 * major + minor) {
  case 75:
    return 64 << 10;
  case 80:
  case 87:
    return 163 << 10;
  case 90:
  case 100:
    return 227 << 10;
  default:
    return 99 << 10;
  }
}

CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice device) {
  int major, minor;
  AFTER_INIT();
  CHECK_DEVICE(device);
  compute_capability(device - FIRST_HANDLE, &major, &minor);
  const struct {
    int attribute, value;
  } answers[] = {
      {MAX_THREADS_PER_BLOCK, 1024},
      {MAX_BLOCK_DIM_X, 1024},
      {MAX_BLOCK_DIM_Y, 1024},
      {MAX_BLOCK_DIM_Z, 64},
      {MAX_GRID_DIM_X, INT32_MAX},
      {MAX_GRID_DIM_Y, 65535},
      {MAX_GRID_DIM_Z, 65535},
      {MAX_SHARED_MEMORY_PER_BLOCK, SHARED_MEMORY},
      {MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, most_shared_memory(device - FIRST_HANDLE)},
      {COMPUTE_CAPABILITY_MAJOR, major},
      {COMPUTE_CAPABILITY_MINOR, minor},
      {MEMORY_POOLS_SUPPORTED, 0},
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; ++i)
    if (answers[i].attribute == attribute) {
      *out = answers[i].value;
      return CUDA_SUCCESS;
    }
  return MISUSE(CUDA_ERROR_INVALID_VALUE, "attribute %d", attribute);
}

/* ---- Contexts ---- */

CUresult cuDevicePrimaryCtxRetain(struct context **out, CUdevice device) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  struct context *context = &contexts[device - FIRST_HANDLE];
  context->gpu = device - FIRST_HANDLE;
  if (!context->retained++)
    context->id = ++last_id;
  *out = context;
  log_line("cuDevicePrimaryCtxRetain: GPU %d", context->gpu);
  return CUDA_SUCCESS;
}

#ifndef LACKING
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENDING();
  INITIALIZED();
  CHECK_DEVICE(device);
  struct context *context = &contexts[device - FIRST_HANDLE];
  if (!context->retained)
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "%s released too often", name_of(context));
  if (!--context->retained)
    end_context(context);
  return asked;
}
#endif

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  *flags = 0;
  *active = contexts[device - FIRST_HANDLE].retained > 0;
  return CUDA_SUCCESS;
}

/* Creates a context that is not a primary one. */
CUresult cuCtxCreate_v2(struct context **out, unsigned flags, CUdevice device) {
  AFTER_INIT();
  CHECK_DEVICE(device);
  for (struct context *it = contexts + MOST_GPUS; it < contexts + MOST_CONTEXTS; ++it)
    if (!it->retained && depth < MOST_PUSHED) {
      *it = (struct context){1, device - FIRST_HANDLE, ++last_id};
      /* The new context is current, on top of the previous contexts. */
      stack[depth++] = *out = it;
      log_line("cuCtxCreate: GPU %d", it->gpu);
      return CUDA_SUCCESS;
    }
  return MISUSE(CUDA_ERROR_OUT_OF_MEMORY, "too many contexts");
}

CUresult cuCtxCreate_v3(struct context **out, void *affinity, int count, unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(out, flags, device);
}

CUresult cuCtxDestroy_v2(struct context *context) {
  ENDING();
  INITIALIZED();
  if (!is_context(context) || is_primary(context))
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "cuCtxDestroy_v2 of what is no context");
  if (current() == context)
    --depth;
  end_context(context);
  context->retained = 0;
  return asked;
}

CUresult cuCtxSetCurrent(struct context *context) {
  AFTER_INIT();
  if (context && !is_context(context))
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent of what is no context");
  depth -= depth > 0;
  if (context)
    stack[depth++] = context;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(struct context **out) {
  AFTER_INIT();
  *out = current();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(struct context *context) {
  AFTER_INIT();
  if (!is_context(context))
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent_v2 of what is no context");
  if (depth == MOST_PUSHED)
    return MISUSE(CUDA_ERROR_OUT_OF_MEMORY, "%d contexts pushed on a thread", depth);
  stack[depth++] = context;
  ++pushed;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(struct context **out) {
  ENDING();
  INITIALIZED();
  if (!depth)
    return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "cuCtxPopCurrent_v2 without a context");
  *out = stack[--depth];
  --pushed;
  return asked;
}

CUresult cuCtxGetDevice(CUdevice *out) {
  IN_CONTEXT();
  *out = FIRST_HANDLE + current()->gpu;
  return CUDA_SUCCESS;
}

#ifndef BEFORE_CUDA_12
CUresult cuCtxGetId(struct context *context, unsigned long long *out) {
  AFTER_INIT();
  context = context ? context : current();
  /* A program may call this to detect that a context was destroyed, so this is no misuse. */
  if (!context || !is_context(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  *out = context->id;
  return CUDA_SUCCESS;
}
#endif

CUresult cuCtxSynchronize(void) {
  IN_CONTEXT();
  return CUDA_SUCCESS;
}

/* ---- Modules and libraries ---- */

/* Loads an image as a module or library. */
static CUresult load_image(struct object **out, enum kind kind, const void *image, const char *function) {
  const char *form = "PTX";
  size_t size;
  if (!memcmp(image, ELFMAG, SELFMAG)) {
    form = "cubin";
    size = elf_size(image);
  } else {
    size = strlen(image);
    if (!strstr(image, ".version") || !strstr(image, ".visible .entry "))
      return CUDA_ERROR_INVALID_IMAGE;
  }
  int major, minor;
  char text[32];
  compute_capability(current()->gpu, &major, &minor);
  CUresult judged = judge_image(image, major, minor, driver_version());
  if (judged)
    return judged;
  snprintf(text, sizeof text, "GPU %d, %s, ", current()->gpu, form);
  return load(out, kind, image, size, text, function);
}

/* Finds a function in a module, or a kernel in a library. */
static CUresult named(struct object **out, enum kind kind, struct object *owner, const char *name) {
  const struct object *module = owner->owner ? owner->owner : owner;
  const struct runnable *runnable = image_has(module->image, module->size, name) ? runnable_named(name) : NULL;
  *out = runnable ? make(kind) : function_of(kind, owner, name);
  if (!*out)
    return CUDA_ERROR_NOT_FOUND;
  (*out)->owner = owner;
  (*out)->name = strdup(name);
  (*out)->runnable = runnable;
  return CUDA_SUCCESS;
}

/* Finds a variable of a module. Each module has its own copy of a variable, but a library's modules in the same context
 * share one copy. */
CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *size, struct object *module, const char *name) {
  IN_CONTEXT();
  if (!is_usable(module, MODULE, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  const struct object *variable = variable_of(module->owner ? module->owner : module, name, __func__);
  if (!variable)
    return CUDA_ERROR_NOT_FOUND;
  *out = (uintptr_t)variable->start;
  *size = variable->size;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(struct object **out, const void *image) {
  take_time();
  IN_CONTEXT();
  return load_image(out, MODULE, image, __func__);
}

CUresult cuModuleUnload(struct object *module) {
  ENDING();
  HAS_CONTEXT();
  if (!is_usable(module, MODULE, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  if (module->owner)
    return MISUSE(CUDA_ERROR_INVALID_HANDLE, "cuModuleUnload of the module of a library");
  unload(module);
  return asked;
}

CUresult cuModuleGetFunction(struct object **out, struct object *module, const char *name) {
  IN_CONTEXT();
  if (!is_usable(module, MODULE, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  log_line("cuModuleGetFunction: %s", name);
  return named(out, FUNCTION, module, name);
}

#ifndef BEFORE_CUDA_12
/* The real function needs no context, but offload-gpu always calls it with one. */
CUresult cuLibraryLoadData(struct object **out, const void *image, int *options, void **values, unsigned count,
                           int *library_options, void **library_values, unsigned library_count) {
  take_time();
  IN_CONTEXT();
  if (count || library_count)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuLibraryLoadData with options");
  return load_image(out, LIBRARY, image, __func__);
}

CUresult cuLibraryUnload(struct object *library) {
  ENDING();
  INITIALIZED();
  if (!is_usable(library, LIBRARY, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  unload(library);
  return asked;
}

CUresult cuLibraryGetKernel(struct object **out, struct object *library, const char *name) {
  AFTER_INIT();
  if (!is_usable(library, LIBRARY, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  log_line("cuLibraryGetKernel: %s", name);
  return named(out, KERNEL, library, name);
}

/* Returns the library's module in the current context. The module is released together with the library. */
CUresult cuLibraryGetModule(struct object **out, struct object *library) {
  IN_CONTEXT();
  if (!is_usable(library, LIBRARY, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  *out = make(FUNCTION);
  (*out)->kind = MODULE;
  (*out)->owner = library;
  return CUDA_SUCCESS;
}

/* Returns the kernel's function in the current context. */
CUresult cuKernelGetFunction(struct object **out, struct object *kernel) {
  IN_CONTEXT();
  if (!is_usable(kernel, KERNEL, __func__) || !is_usable(kernel->owner, LIBRARY, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  *out = make(FUNCTION);
  (*out)->owner = kernel->owner;
  (*out)->name = kernel->name;
  (*out)->known = kernel->known;
  (*out)->listed = kernel->listed;
  (*out)->runnable = kernel->runnable;
  return CUDA_SUCCESS;
}
#endif

/* Whether this is a function of the current context whose module still exists. */
static int is_function(struct object *function, const char *called) {
  return is_usable(function, FUNCTION, called) && is_usable(function->owner, function->owner->kind, called);
}

/* How many bytes of shared memory a function declares. For a cubin, the answer is 0, because cubins state the size themselves. */
static int static_shared_memory(const struct object *function) {
  const struct object *module = function->owner->owner ? function->owner->owner : function->owner;
  return memcmp(module->image, ELFMAG, SELFMAG) ? ptx_shared_memory((const char *)module->image, function->name) : 0;
}

CUresult cuFuncGetAttribute(int *out, int attribute, struct object *function) {
  IN_CONTEXT();
  if (!is_function(function, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != SHARED_SIZE_BYTES)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuFuncGetAttribute of %d", attribute);
  *out = static_shared_memory(function);
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(struct object *function, int attribute, int value) {
  take_time();
  IN_CONTEXT();
  if (!is_function(function, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > most_shared_memory(current()->gpu))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuFuncSetAttribute of %d to %d", attribute, value);
  log_line("cuFuncSetAttribute: %d bytes of shared memory", value);
  function->shared_memory = value;
  return CUDA_SUCCESS;
}

/* ---- Memory ---- */

static char *host(CUdeviceptr address) { return (char *)(uintptr_t)address; }

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) {
  IN_CONTEXT();
  if (!size)
    return CUDA_ERROR_INVALID_VALUE;
  char *start = size > ALL_MEMORY ? NULL : malloc(size);
  if (!start)
    return CUDA_ERROR_OUT_OF_MEMORY;
  struct object *buffer = make(BUFFER);
  buffer->start = start;
  buffer->size = size;
  /* Fill the buffer with NaNs, to reveal a forgotten copy. */
  memset(start, 0xff, size);
  *out = (uintptr_t)start;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  ENDING();
  HAS_CONTEXT();
  int was_there = 0;
  for (struct object *it = objects; it; it = it->next) {
    if (it->kind != BUFFER || it->start != host(address))
      continue;
    if (it->is_gone) {
      was_there = 1;
      continue;
    }
    if (!is_here(it))
      return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuMemFree_v2 of a buffer of another context");
    it->is_gone = 1;
    free(it->start);
    return asked;
  }
  return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuMemFree_v2 of what is no buffer%s", was_there ? " any more" : "");
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
  IN_CONTEXT();
  if (!is_inside_a_buffer(host(to), size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes copied past a buffer", size);
  memcpy(host(to), from, size);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
  IN_CONTEXT();
  if (!is_inside_a_buffer(host(from), size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes copied from past a buffer", size);
  memcpy(to, host(from), size);
  return CUDA_SUCCESS;
}

/* Asynchronous functions do their work immediately. */

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, void *stream) {
  return cuMemcpyHtoD_v2(to, from, size);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, void *stream) {
  return cuMemcpyDtoH_v2(to, from, size);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, void *stream) {
  IN_CONTEXT();
  if (!is_inside_a_buffer(host(to), size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes set past a buffer", size);
  memset(host(to), value, size);
  return CUDA_SUCCESS;
}

/* ---- Streams and events ---- */

/* The number of a stream, 0 for the default stream, or -1 if it does not belong to this context. */
static int stream_number(struct object *stream, const char *function) {
  if (!stream)
    return 0;
  return is_usable(stream, STREAM, function) ? stream->number : -1;
}

CUresult cuStreamCreate(struct object **out, unsigned flags) {
  IN_CONTEXT();
  *out = make(STREAM);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(struct object **out, unsigned flags, int priority) {
  return cuStreamCreate(out, flags);
}

CUresult cuStreamDestroy_v2(struct object *stream) {
  ENDING();
  HAS_CONTEXT();
  if (!is_usable(stream, STREAM, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  stream->is_gone = 1;
  return asked;
}

CUresult cuStreamSynchronize(struct object *stream) {
  IN_CONTEXT();
  return stream_number(stream, __func__) < 0 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(struct object *stream, struct object *event, unsigned flags) {
  IN_CONTEXT();
  int number = stream_number(stream, __func__);
  if (number < 0 || !is_usable(event, EVENT, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  log_line("stream %d waits for event %d", number, event->number);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(struct object **out, unsigned flags) {
  IN_CONTEXT();
  *out = make(EVENT);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(struct object *event, struct object *stream) {
  IN_CONTEXT();
  int number = stream_number(stream, __func__);
  if (number < 0 || !is_usable(event, EVENT, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  log_line("stream %d records event %d", number, event->number);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(struct object *event) {
  ENDING();
  HAS_CONTEXT();
  if (!is_usable(event, EVENT, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  event->is_gone = 1;
  return asked;
}

/* ---- The kernels ---- */

enum { BUFFER_END = 0, BUFFER_POINTER = 1, BUFFER_SIZE = 2 };

/* Logs the arguments of a kernel in FAKE_KERNELS. Reads them where a launch with the real driver would read them. */
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

/* Runs a kernel in FAKE_RUNS. The next call returns the kernel's error, as with the real driver, whose launches do not
 * wait. */
static CUresult launch_that_runs(const struct runnable *kernel, const unsigned *grid, const unsigned *block, unsigned shared,
                                 void **arguments, void **extra) {
  if (extra)
    arguments = arguments_in(kernel, *extra == (void *)BUFFER_POINTER ? extra[1] : extra[3]);
  int signal = run_kernel(kernel, grid, block, shared, arguments);
  if (signal || has_fault("later", kernel->name))
    failed_kernel = signal == SIGSEGV || signal == SIGBUS ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(struct object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, struct object *stream, void **arguments,
                        void **extra) {
  IN_CONTEXT();
  log_line("cuLaunchKernel: %u blocks of %u threads", grid_x, block_x);
  int number = stream_number(stream, __func__);
  if (number < 0 || !is_function(function, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  if (number)
    log_line("on stream %d", number);
  if (shared + static_shared_memory(function) > SHARED_MEMORY && shared > (unsigned)function->shared_memory)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%u bytes of shared memory, which were not asked for", shared);
  uint64_t threads_of_block = (uint64_t)block_x * block_y * block_z;
  if (threads_of_block > 1024 || !threads_of_block || block_z > 64)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%u x %u x %u threads in a block", block_x, block_y, block_z);
  if (!grid_x || !grid_y || !grid_z || grid_x > INT32_MAX || grid_y > 65535 || grid_z > 65535)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "a grid of %u x %u x %u blocks", grid_x, grid_y, grid_z);
  if (function->runnable)
    return launch_that_runs(function->runnable, (unsigned[]){grid_x, grid_y, grid_z}, (unsigned[]){block_x, block_y, block_z},
                            shared, arguments, extra);
  if (function->known == KERNELS)
    return launch_of_file(function->listed, arguments, extra);
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared || extra)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "cuLaunchKernel with a shape that the kernels do not have");
  return compute(function->known, (uint64_t)grid_x * block_x, arguments);
}
