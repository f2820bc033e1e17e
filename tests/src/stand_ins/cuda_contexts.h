/* Contexts of the stand-in for NVIDIA's driver: the current context of each thread, and the objects in each context. */
#ifndef CUDA_CONTEXTS_H
#define CUDA_CONTEXTS_H

#include "cuda_calls.h"
#include "kernels.h"
#include "running.h"

typedef int CUdevice;

enum { MOST_GPUS = 16, MOST_CONTEXTS = 32, MOST_PUSHED = 16 };
/* Handles of devices differ from their indices, so a program that confuses handles and indices fails. */
enum { FIRST_HANDLE = 40 };

/* The first MOST_GPUS are the primary contexts. A handle is a context's address, which is reused after the context is destroyed. */
static struct context {
  /* For a primary context, how often it is retained. For other contexts, whether they exist. */
  int retained;
  int gpu;
  /* Each context of this process has a different ID. */
  unsigned long long id;
} contexts[MOST_CONTEXTS];

static unsigned long long last_id;

static int is_context(const struct context *context) {
  return context >= contexts && context < contexts + MOST_CONTEXTS && context->retained;
}

static int is_primary(const struct context *context) { return context < contexts + MOST_GPUS; }

/* The stack of contexts of this thread, and its depth. The last context is the current one. */
static __thread struct context *stack[MOST_PUSHED];
static __thread int depth;
/* The number of contexts that all threads together have pushed but not popped. */
static int pushed;

/* Returns the current context, or NULL if there is none or if it was destroyed. */
static struct context *current(void) {
  return depth && is_context(stack[depth - 1]) ? stack[depth - 1] : NULL;
}

static const char *name_of(const struct context *context) {
  static char name[64];
  snprintf(name, sizeof name, "%s of GPU %d", is_primary(context) ? "the context" : "a context", context->gpu);
  return name;
}

/* The kinds of objects in contexts: modules, memory, events, streams and others. */
enum kind { MODULE, LIBRARY, FUNCTION, KERNEL, BUFFER, EVENT, STREAM, VARIABLE };
static const char *const kind_names[] = {"module", "library", "function", "kernel", "buffer", "event", "stream", "variable"};

static struct object {
  enum kind kind;
  int is_gone;
  /* The object's context. For a library, the context in which the library was loaded. */
  struct context *context;
  unsigned long long context_id;
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
  object->kind = kind;
  object->context = current();
  object->context_id = current() ? current()->id : 0;
  object->number = ++numbers[kind];
  object->next = objects;
  return objects = object;
}

static struct object *find_object(const void *handle) {
  for (struct object *it = objects; it; it = it->next)
    if (it == handle)
      return it;
  return NULL;
}

static int belongs_to(const struct object *object, const struct context *context) {
  return object->context == context && object->context_id == context->id;
}

/* Whether a handle has this kind, still exists, and belongs to the current context. Otherwise logs the error. */
static int is_usable(const void *handle, enum kind kind, const char *function) {
  const struct object *object = find_object(handle);
  if (!object || object->kind != kind)
    return MISUSE(0, "%s of what is no %s", function, kind_names[kind]);
  if (object->is_gone)
    return MISUSE(0, "%s of a %s that is gone", function, kind_names[kind]);
  if (kind == LIBRARY || kind == KERNEL)
    return 1;
  if (!current() || !belongs_to(object, current()))
    return MISUSE(0, "%s of a %s of another context", function, kind_names[kind]);
  return 1;
}

/* Logs an object that the program should have released. An object with an owner is released together with its owner. */
static void leak(const struct object *object) {
  if (object->kind == BUFFER)
    (void)MISUSE(0, "a buffer of %zu bytes is left", object->size);
  else if (!object->owner)
    (void)MISUSE(0, "the %s of GPU %d is left", kind_names[object->kind], object->context ? object->context->gpu : -1);
}

/* Ends a context, and all objects in it. */
static void end_context(struct context *context) {
  for (struct object *it = objects; it; it = it->next)
    if (!it->is_gone && it->kind != LIBRARY && it->kind != KERNEL && belongs_to(it, context)) {
      leak(it);
      it->is_gone = 1;
    }
  context->id = 0;
}

static void look_for_leaks(void) {
  is_over = 1;
  if (initialized != getpid())
    return;
  for (struct object *it = objects; it; it = it->next)
    if (!it->is_gone)
      leak(it);
  for (struct context *it = contexts; it < contexts + MOST_CONTEXTS; ++it)
    if (it->retained)
      (void)MISUSE(0, "%s is left", name_of(it));
  if (pushed)
    (void)MISUSE(0, "%d contexts were pushed and not popped", pushed);
}

#endif
