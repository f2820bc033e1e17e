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
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"
#include "log.h"
#include "variables.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101 };
enum { INVALID_IMAGE = 200, INVALID_HANDLE = 400, NOT_FOUND = 500, UNKNOWN = 999 };

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

/* `return MISUSE(code, "format", ...)` */
#define MISUSE(code, ...) (log_line("misuse: " __VA_ARGS__), (code))

/* Permits one call at a time. */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;
static int enter(void) { return pthread_mutex_lock(&calls); }
static void leave(int *unused) { pthread_mutex_unlock(&calls); }

static int asked_for(const char *function) {
  static int count;
  const char *number = getenv("FAKE_FAIL_CALL");
  if (number && ++count == atoi(number)) {
    log_line("fails: %s", function);
    return UNKNOWN;
  }
  const char *wish = getenv("FAKE_ERROR");
  size_t length = strlen(function);
  return wish && !strncmp(wish, function, length) && wish[length] == '=' ? atoi(wish + length + 1) : SUCCESS;
}
/* The prologues of functions. A function that releases something does so even if it returns an error of earlier
 * work. */
#define ENTER()                                                                                                        \
  __attribute__((cleanup(leave), unused)) int entered = enter();                                                       \
  int asked = asked_for(__func__)
#define FAIL_IF_ASKED()                                                                                                \
  ENTER();                                                                                                             \
  if (asked)                                                                                                           \
  return asked

const char *hipGetErrorName(int code) {
  return code == INVALID_IMAGE ? "hipErrorInvalidImage" : code == NOT_FOUND ? "hipErrorNotFound" : "hipErrorUnknown";
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
    return MISUSE(INVALID_VALUE, "hipInit with flags %u", flags);
  return SUCCESS;
}

int hipGetDeviceCount(int *out) {
  FAIL_IF_ASKED();
  for (*out = 0; target_of(*out);)
    ++*out;
  return *out ? SUCCESS : NO_DEVICE;
}

int hipGetDevice(int *out) {
  FAIL_IF_ASKED();
  *out = current;
  return SUCCESS;
}

int hipSetDevice(int gpu) {
  FAIL_IF_ASKED();
  if (gpu < 0 || !target_of(gpu))
    return INVALID_DEVICE;
  current = gpu;
  return SUCCESS;
}

int hipGetDevicePropertiesR0600(char *properties, int gpu) {
  static const int threads[] = {1024, 1024, 1024}, blocks[] = {INT32_MAX, 65535, 65535}, most = 1024;
  static const size_t memory = (size_t)64 << 30, shared = 64 << 10;
  FAIL_IF_ASKED();
  if (gpu < 0 || !target_of(gpu))
    return INVALID_DEVICE;
  snprintf(properties + TARGET, TEXT, "%.*s", (int)strcspn(target_of(gpu), ","), target_of(gpu));
  snprintf(properties + NAME, TEXT, "Fake GPU %.200s", properties + TARGET);
  memcpy(properties + TOTAL_GLOBAL_MEM, &memory, sizeof memory);
  memcpy(properties + SHARED_MEM_PER_BLOCK, &shared, sizeof shared);
  memcpy(properties + MAX_THREADS_PER_BLOCK, &most, sizeof most);
  memcpy(properties + MAX_THREADS_DIM, threads, sizeof threads);
  memcpy(properties + MAX_GRID_SIZE, blocks, sizeof blocks);
  return SUCCESS;
}

int hipDeviceSynchronize(void) {
  FAIL_IF_ASKED();
  return SUCCESS;
}

/* ---- Objects on GPUs ---- */

enum kind { MODULE, FUNCTION, BUFFER, VARIABLE };
static const char *const kind_names[] = {"module", "function", "buffer", "variable"};
enum known_kernel { SAXPY, VECTOR_ADD, KERNELS };
static const char *const kernel_names[KERNELS] = {"saxpy", "vector_add"};

static struct object {
  enum kind kind;
  int is_gone, gpu;
  /* For a module. */
  uint64_t hash;
  unsigned char *image;
  /* For a function or variable: its module. */
  struct object *owner;
  int known;
  const struct listed_kernel *listed;
  const char *name;
  /* For a buffer or variable. */
  char *start;
  size_t size;
  struct object *next;
} *objects;

static struct object *make(enum kind kind) {
  struct object *object = calloc(1, sizeof *object);
  *object = (struct object){.kind = kind, .gpu = current, .next = objects};
  return objects = object;
}

/* Whether a handle has this kind, still exists, and is on the current GPU. Otherwise logs the error. */
static int is_usable(const void *handle, enum kind kind, const char *function) {
  for (struct object *it = objects; it; it = it->next)
    if (it == handle && it->kind == kind) {
      if (it->is_gone)
        return MISUSE(0, "%s of a %s that is gone", function, kind_names[kind]);
      return it->gpu == current || MISUSE(0, "%s of a %s of GPU %d", function, kind_names[kind], it->gpu);
    }
  return MISUSE(0, "%s of what is no %s", function, kind_names[kind]);
}

int hipModuleLoadData(struct object **out, const void *image) {
  take_time();
  FAIL_IF_ASKED();
  size_t size = elf_size(image);
  uint64_t hash = fnv1a(image, size);
  for (struct object *it = objects; it; it = it->next)
    if (it->kind == MODULE && !it->is_gone && it->hash == hash && it->gpu == current)
      return MISUSE(OUT_OF_MEMORY, "a second load of an image on GPU %d", current);
  log_line("hipModuleLoadData: %zu bytes, fnv1a %016llx", size, (unsigned long long)hash);
  *out = make(MODULE);
  (*out)->hash = hash;
  (*out)->image = memcpy(malloc(size), image, size);
  return SUCCESS;
}

int hipModuleUnload(struct object *module) {
  ENTER();
  if (asked && asked != UNKNOWN)
    return asked;
  if (!is_usable(module, MODULE, __func__))
    return INVALID_HANDLE;
  for (struct object *it = objects; it; it = it->next)
    if (it == module || it->owner == module)
      it->is_gone = 1;
  return asked;
}

int hipModuleGetFunction(struct object **out, struct object *module, const char *name) {
  FAIL_IF_ASKED();
  if (!is_usable(module, MODULE, __func__))
    return INVALID_HANDLE;
  const struct listed_kernel *listed = kernel_named(name);
  for (int i = 0; i <= KERNELS; ++i)
    if (i < KERNELS ? !strcmp(name, kernel_names[i]) : listed != NULL) {
      *out = make(FUNCTION);
      (*out)->owner = module;
      (*out)->known = i;
      (*out)->listed = listed;
      return SUCCESS;
    }
  return NOT_FOUND;
}

int hipModuleGetGlobal(void **out, size_t *size, struct object *module, const char *name) {
  FAIL_IF_ASKED();
  if (!is_usable(module, MODULE, __func__))
    return INVALID_HANDLE;
  struct object *variable = objects;
  while (variable && (variable->kind != VARIABLE || variable->owner != module || strcmp(variable->name, name)))
    variable = variable->next;
  if (!variable) {
    size_t bytes = 0;
    char *start = elf_variable(module->image, name, &bytes);
    if (!start)
      return NOT_FOUND;
    log_line("hipModuleGetGlobal: %s, %zu bytes", name, bytes);
    variable = make(VARIABLE);
    variable->owner = module;
    variable->name = strdup(name);
    variable->start = start;
    variable->size = bytes;
  }
  *out = variable->start;
  *size = variable->size;
  return SUCCESS;
}

int hipMalloc(void **out, size_t size) {
  FAIL_IF_ASKED();
  struct object *buffer = make(BUFFER);
  buffer->start = malloc(size);
  buffer->size = size;
  /* Fill the buffer with NaNs, to reveal a forgotten copy. */
  memset(buffer->start, 0xff, size);
  *out = buffer->start;
  return SUCCESS;
}

int hipFree(void *memory) {
  ENTER();
  if (asked && asked != UNKNOWN)
    return asked;
  for (struct object *it = objects; it && memory; it = it->next)
    if (it->kind == BUFFER && !it->is_gone && it->start == memory) {
      it->is_gone = 1;
      free(memory);
      return asked;
    }
  return memory ? MISUSE(INVALID_VALUE, "hipFree of what is no buffer") : asked;
}

static int is_inside_a_buffer(const void *address, size_t size) {
  for (struct object *it = objects; it; it = it->next)
    if ((it->kind == BUFFER || it->kind == VARIABLE) && !it->is_gone && (const char *)address >= it->start &&
        (const char *)address + size <= it->start + it->size)
      return 1;
  return 0;
}

int hipMemcpy(void *to, const void *from, size_t size, int direction) {
  FAIL_IF_ASKED();
  if (!is_inside_a_buffer(direction == 1 ? to : from, size))
    return MISUSE(INVALID_VALUE, "%zu bytes copied past a buffer", size);
  memcpy(to, from, size);
  return SUCCESS;
}

int hipModuleLaunchKernel(struct object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,
                          void **extra) {
  FAIL_IF_ASKED();
  if (!is_usable(function, FUNCTION, __func__))
    return INVALID_HANDLE;
  log_line("hipModuleLaunchKernel: %u blocks of %u threads", grid_x, block_x);
  if (function->known == KERNELS) {
    char *text = arguments_text(function->listed, arguments, NULL, 0);
    log_line("%s by pointers:%s", function->listed->name, text);
    free(text);
    return SUCCESS;
  }
  int n = *(int *)arguments[0];
  uint64_t threads = (uint64_t)grid_x * block_x;
  float a = function->known == SAXPY ? *(float *)arguments[1] : 1.0f, *vectors[3];
  int first = function->known == SAXPY ? 2 : 1, count = function->known == SAXPY ? 2 : 3;
  for (int i = 0; i < count; ++i) {
    vectors[i] = *(float **)arguments[first + i];
    if (!is_inside_a_buffer(vectors[i], n * sizeof(float)))
      return MISUSE(INVALID_VALUE, "the kernel goes past a buffer with n = %d", n);
  }
  if (threads < (uint64_t)n)
    (void)MISUSE(0, "%llu threads for %d elements", (unsigned long long)threads, n);
  for (int i = 0; i < n && (uint64_t)i < threads; ++i)
    if (function->known == SAXPY)
      vectors[1][i] += a * vectors[0][i];
    else
      vectors[2][i] = vectors[0][i] + vectors[1][i];
  return SUCCESS;
}

__attribute__((destructor)) static void look_for_leaks(void) {
  for (struct object *it = objects; it; it = it->next) {
    if (it->kind == BUFFER && !it->is_gone)
      (void)MISUSE(0, "a buffer of %zu bytes is left", it->size);
    if (it->kind == MODULE && !it->is_gone)
      (void)MISUSE(0, "the module of GPU %d is left", it->gpu);
  }
}
