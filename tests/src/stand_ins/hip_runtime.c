/* A stand-in for AMD's whole runtime, libamdhip64.so, with fake GPUs. It contains the functions that offload-gpu and the example
 * hip-vector-add call. Device memory is host memory. A launch of `saxpy` computes y = a * x + y, and a launch of `vector_add`
 * computes sum = a + b. Calls from several threads run one after another.
 *
 *   FAKE_GPU        the GPUs' targets, as HIP names them: "gfx90a:sramecc+:xnack-,gfx1100". Not set or empty: no GPU.
 *   FAKE_ERROR      FUNCTION=CODE: this function fails with this code.
 *   FAKE_FAIL_CALL  N: the N-th call fails with hipErrorUnknown, as if earlier work had failed. The log names the function.
 *   FAKE_SLOW       loading a module takes this many milliseconds.
 *   FAKE_LOG        a file to which the stand-in writes a line for each load and launch.
 *   FAKE_KERNELS    a file with other kernels. Their launches compute nothing, but are logged with their arguments: see kernels.h.
 *
 * If a program breaks the runtime's rules, the log contains a line "misuse: ...". Examples are an invalid or released handle, or a
 * handle from a GPU that is not the thread's current one; a copy past the end of a buffer; a grid that misses elements; an image
 * that is loaded twice onto a GPU; and memory or a module that is not released. */
#include "objects.h"

/* Offsets of the fields of HIP 6's hipDeviceProp_t. */
enum {
  NAME = 0,
  TOTAL_GLOBAL_MEM = 288,
  SHARED_MEM_PER_BLOCK = 296,
  MAX_THREADS_PER_BLOCK = 320,
  MAX_THREADS_DIM = 324,
  MAX_GRID_SIZE = 336,
  TARGET = 1160,
  TEXT = 256,
};

const char *hipGetErrorName(int code) {
  return code == CUDA_ERROR_INVALID_IMAGE ? "hipErrorInvalidImage" : code == CUDA_ERROR_NOT_FOUND ? "hipErrorNotFound" : "hipErrorUnknown";
}

const char *hipGetErrorString(int code) { return hipGetErrorName(code); }

/* ---- GPUs ---- */

static __thread int current;

static const char *target_of(int gpu) {
  const char *at = getenv("FAKE_GPU");
  while (at && gpu--)
    at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
  return at && *at ? at : NULL;
}

int hipInit(unsigned flags) {
  FAIL_IF_ASKED();
  if (flags)
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "hipInit with flags %u", flags);
  return CUDA_SUCCESS;
}

int hipGetDeviceCount(int *out) {
  FAIL_IF_ASKED();
  for (*out = 0; target_of(*out);)
    ++*out;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

int hipGetDevice(int *out) {
  FAIL_IF_ASKED();
  *out = current;
  return CUDA_SUCCESS;
}

int hipSetDevice(int gpu) {
  FAIL_IF_ASKED();
  if (gpu < 0 || !target_of(gpu))
    return CUDA_ERROR_INVALID_DEVICE;
  current = gpu;
  return CUDA_SUCCESS;
}

int hipGetDevicePropertiesR0600(char *properties, int gpu) {
  static const int threads[] = {1024, 1024, 1024}, blocks[] = {INT32_MAX, 65535, 65535}, most = 1024;
  static const size_t memory = (size_t)64 << 30, shared = 64 << 10;
  FAIL_IF_ASKED();
  if (gpu < 0 || !target_of(gpu))
    return CUDA_ERROR_INVALID_DEVICE;
  snprintf(properties + TARGET, TEXT, "%.*s", (int)strcspn(target_of(gpu), ","), target_of(gpu));
  snprintf(properties + NAME, TEXT, "Fake GPU %.200s", properties + TARGET);
  memcpy(properties + TOTAL_GLOBAL_MEM, &memory, sizeof memory);
  memcpy(properties + SHARED_MEM_PER_BLOCK, &shared, sizeof shared);
  memcpy(properties + MAX_THREADS_PER_BLOCK, &most, sizeof most);
  memcpy(properties + MAX_THREADS_DIM, threads, sizeof threads);
  memcpy(properties + MAX_GRID_SIZE, blocks, sizeof blocks);
  return CUDA_SUCCESS;
}

int hipDeviceSynchronize(void) {
  FAIL_IF_ASKED();
  return CUDA_SUCCESS;
}

/* ---- Objects on GPUs ---- */

static struct place here(void) { return (struct place){current, current + 1}; }

int hipModuleLoadData(struct object **out, const void *image) {
  take_time();
  FAIL_IF_ASKED();
  return load(out, MODULE, image, elf_size(image), "", __func__);
}

int hipModuleUnload(struct object *module) {
  ENDING();
  if (!is_usable(module, MODULE, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  unload(module);
  return asked;
}

int hipModuleGetFunction(struct object **out, struct object *module, const char *name) {
  FAIL_IF_ASKED();
  if (!is_usable(module, MODULE, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  *out = function_of(FUNCTION, module, name);
  return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

int hipModuleGetGlobal(void **out, size_t *size, struct object *module, const char *name) {
  FAIL_IF_ASKED();
  if (!is_usable(module, MODULE, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  const struct object *variable = variable_of(module, name, __func__);
  if (!variable)
    return CUDA_ERROR_NOT_FOUND;
  *out = variable->start;
  *size = variable->size;
  return CUDA_SUCCESS;
}

int hipMalloc(void **out, size_t size) {
  FAIL_IF_ASKED();
  struct object *buffer = make(BUFFER);
  buffer->start = malloc(size);
  buffer->size = size;
  /* Fill the buffer with NaNs, to reveal a forgotten copy. */
  memset(buffer->start, 0xff, size);
  *out = buffer->start;
  return CUDA_SUCCESS;
}

int hipFree(void *memory) {
  ENDING();
  for (struct object *it = objects; it && memory; it = it->next)
    if (it->kind == BUFFER && !it->is_gone && it->start == memory) {
      it->is_gone = 1;
      free(memory);
      return asked;
    }
  return memory ? MISUSE(CUDA_ERROR_INVALID_VALUE, "hipFree of what is no buffer") : asked;
}

int hipMemcpy(void *to, const void *from, size_t size, int direction) {
  FAIL_IF_ASKED();
  if (!is_inside_a_buffer(direction == 1 ? to : from, size))
    return MISUSE(CUDA_ERROR_INVALID_VALUE, "%zu bytes copied past a buffer", size);
  memcpy(to, from, size);
  return CUDA_SUCCESS;
}

int hipModuleLaunchKernel(struct object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,
                          void **extra) {
  FAIL_IF_ASKED();
  if (!is_usable(function, FUNCTION, __func__))
    return CUDA_ERROR_INVALID_HANDLE;
  log_line("hipModuleLaunchKernel: %u blocks of %u threads", grid_x, block_x);
  if (function->known == KERNELS) {
    char *text = arguments_text(function->listed, arguments, NULL, 0);
    log_line("%s by pointers:%s", function->listed->name, text);
    free(text);
    return CUDA_SUCCESS;
  }
  return compute(function->known, (uint64_t)grid_x * block_x, arguments);
}

__attribute__((destructor)) static void look_for_leaks(void) {
  for (struct object *it = objects; it; it = it->next)
    if (!it->is_gone)
      leak(it);
}
