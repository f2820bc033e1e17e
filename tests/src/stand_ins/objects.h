/* The objects that a program creates with a driver, and the kernels that stand-ins for drivers compute. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "calls.h"
#include "kernels.h"
#include "variables.h"

/* A GPU, and the ID of a context on it, which is 0 if there is none. */
struct place {
  int gpu;
  unsigned long long context;
};

/* Returns the place in which the calling thread creates objects. Each driver defines it. */
static struct place here(void);

/* The kinds of objects in contexts: modules, memory, events, streams and others. */
enum kind { MODULE, LIBRARY, FUNCTION, KERNEL, BUFFER, EVENT, STREAM, VARIABLE };
static const char *const kind_names[] = {"module", "library", "function", "kernel", "buffer", "event", "stream", "variable"};

static struct object {
  enum kind kind;
  int is_gone;
  /* For a library, where the library was loaded. */
  struct place place;
  /* For a function, kernel or variable: its module or library. */
  struct object *owner;
  /* For a module or library: its bytes. */
  uint64_t hash;
  unsigned char *image;
  /* For a function or kernel. */
  int known;
  const struct listed_kernel *listed;
  const struct runnable *runnable;
  /* For a function: the maximum size of its dynamic shared memory. */
  int shared_memory;
  /* For a function, kernel or variable. */
  const char *name;
  /* For a buffer or variable. For a module or library, `size` is the image's size. */
  char *start;
  size_t size;
  int number;
  struct object *next;
} *objects;

static struct object *make(enum kind kind) {
  static int numbers[VARIABLE + 1];
  struct object *object = calloc(1, sizeof *object);
  *object = (struct object){.kind = kind, .place = here(), .number = ++numbers[kind], .next = objects};
  return objects = object;
}

static int is_here(const struct object *object) { return object->place.context == here().context; }

/* Whether a handle has this kind, still exists, and belongs to the current context. Otherwise logs the error. */
static int is_usable(const void *handle, enum kind kind, const char *function) {
  const struct object *object = objects;
  while (object && object != handle)
    object = object->next;
  if (!object || object->kind != kind)
    return MISUSE(0, "%s of what is no %s", function, kind_names[kind]);
  if (object->is_gone)
    return MISUSE(0, "%s of a %s that is gone", function, kind_names[kind]);
  if (kind == LIBRARY || kind == KERNEL || is_here(object))
    return 1;
  return MISUSE(0, "%s of a %s of another context", function, kind_names[kind]);
}

/* Logs an object that the program should have released. An object with an owner is released together with its owner. */
static void leak(const struct object *object) {
  if (object->kind == BUFFER)
    (void)MISUSE(0, "a buffer of %zu bytes is left", object->size);
  else if (!object->owner)
    (void)MISUSE(0, "the %s of GPU %d is left", kind_names[object->kind], object->place.gpu);
}

/* Loads an image as a module or library. The line in the log contains `form`. */
static CUresult load(struct object **out, enum kind kind, const void *image, size_t size, const char *form,
                     const char *function) {
  uint64_t hash = fnv1a(image, size);
  for (struct object *it = objects; it; it = it->next)
    if ((it->kind == MODULE || it->kind == LIBRARY) && !it->is_gone && it->hash == hash && is_here(it))
      return MISUSE(CUDA_ERROR_OUT_OF_MEMORY, "a second load of an image on GPU %d", here().gpu);
  log_line("%s: %s%zu bytes, fnv1a %016llx", function, form, size, (unsigned long long)hash);
  *out = make(kind);
  (*out)->hash = hash;
  (*out)->image = memcpy(malloc(size + 1), image, size);
  (*out)->size = size;
  return CUDA_SUCCESS;
}

/* Ends a module or library, and all objects that come from it. */
static void unload(struct object *module) {
  for (struct object *it = objects; it; it = it->next)
    if (it == module || it->owner == module || (it->owner && it->owner->owner == module))
      it->is_gone = 1;
}

/* Returns a variable of a module or library, or NULL. It has one copy in each context. */
static struct object *variable_of(struct object *owner, const char *name, const char *function) {
  for (struct object *it = objects; it; it = it->next)
    if (it->kind == VARIABLE && !it->is_gone && it->owner == owner && is_here(it) && !strcmp(it->name, name))
      return it;
  size_t bytes = 0;
  int is_elf = !memcmp(owner->image, ELFMAG, SELFMAG);
  char *start = is_elf ? elf_variable(owner->image, name, &bytes)
                       : ptx_variable((const char *)owner->image, owner->size, name, &bytes);
  if (!start)
    return NULL;
  log_line("%s: %s, %zu bytes", function, name, bytes);
  struct object *variable = make(VARIABLE);
  variable->owner = owner;
  variable->name = strdup(name);
  variable->start = start;
  variable->size = bytes;
  return variable;
}

static int is_inside_a_buffer(const void *address, size_t size) {
  const char *start = address;
  for (struct object *it = objects; it; it = it->next)
    if ((it->kind == BUFFER || it->kind == VARIABLE) && !it->is_gone && is_here(it) && start >= it->start &&
        start + size <= it->start + it->size)
      return 1;
  return 0;
}

enum known_kernel { SAXPY, VECTOR_ADD, KERNELS };
static const char *const kernel_names[KERNELS] = {"saxpy", "vector_add"};

/* Returns a function or kernel that stand-ins compute or that FAKE_KERNELS lists, or NULL. */
static struct object *function_of(enum kind kind, struct object *owner, const char *name) {
  const struct listed_kernel *listed = kernel_named(name);
  int known = 0;
  while (known < KERNELS && strcmp(name, kernel_names[known]))
    ++known;
  if (known == KERNELS && !listed)
    return NULL;
  struct object *function = make(kind);
  function->owner = owner;
  function->known = known;
  function->listed = listed;
  return function;
}

/* Computes a known kernel. Logs vectors with fewer than n elements, and a grid with fewer than n threads. */
static CUresult compute(enum known_kernel kernel, uint64_t threads, void **arguments) {
  int n = *(int *)arguments[0], first = kernel == SAXPY ? 2 : 1, count = kernel == SAXPY ? 2 : 3;
  float a = kernel == SAXPY ? *(float *)arguments[1] : 1.0f, *vectors[3];
  for (int i = 0; i < count; ++i) {
    vectors[i] = *(float **)arguments[first + i];
    if (!is_inside_a_buffer(vectors[i], n * sizeof(float)))
      return MISUSE(CUDA_ERROR_INVALID_VALUE, "the kernel goes past a buffer with n = %d", n);
  }
  if (threads < (uint64_t)n)
    (void)MISUSE(0, "%llu threads for %d elements", (unsigned long long)threads, n);
  const char *wish = getenv("FAKE_KERNEL_END");
  uint64_t end = wish ? strtoull(wish, NULL, 10) : UINT64_MAX;
  for (uint64_t i = 0; i < (uint64_t)n && i < threads && i < end; ++i)
    if (kernel == SAXPY)
      vectors[1][i] += a * vectors[0][i];
    else
      vectors[2][i] = vectors[0][i] + vectors[1][i];
  return CUDA_SUCCESS;
}

#endif
