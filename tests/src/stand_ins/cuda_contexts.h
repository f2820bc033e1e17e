/* Contexts of the stand-in for NVIDIA's driver: what is current on each thread, and what is in each. */
#ifndef CUDA_CONTEXTS_H
#define CUDA_CONTEXTS_H

#include "cuda_calls.h"
#include "kernels.h"
#include "running.h"

typedef int CUdevice;

enum { MOST_GPUS = 16, MOST_CONTEXTS = 32, MOST_PUSHED = 16 };
/* Handles differ from indices, so that taking one for the other shows. */
enum { FIRST_HANDLE = 40 };

/* The first MOST_GPUS are the primary ones. A context's handle is its address: that of one that was destroyed comes again. */
static struct context {
  /* How often it is retained; of others than primary ones, whether it is there. */
  int retained;
  int gpu;
  /* No other context of this process has it. */
  unsigned long long id;
} contexts[MOST_CONTEXTS];

static unsigned long long last_id;

static int is_context(const struct context *context) {
  return context >= contexts && context < contexts + MOST_CONTEXTS && context->retained;
}

static int is_primary(const struct context *context) { return context < contexts + MOST_GPUS; }

/* The contexts of this thread, the current one last; and how many of them were pushed. */
static __thread struct context *stack[MOST_PUSHED];
static __thread int depth;
/* How often contexts were pushed and not popped, of all threads. */
static int pushed;

/* NULL also if it was destroyed. */
static struct context *current(void) {
  return depth && is_context(stack[depth - 1]) ? stack[depth - 1] : NULL;
}

static const char *name_of(const struct context *context) {
  static char name[64];
  snprintf(name, sizeof name, "%s of GPU %d", is_primary(context) ? "the context" : "a context", context->gpu);
  return name;
}

/* What is in contexts: modules, memory, events, streams. */
enum kind { MODULE, LIBRARY, FUNCTION, KERNEL, BUFFER, EVENT, STREAM, VARIABLE };
static const char *const kind_names[] = {"module", "library", "function", "kernel", "buffer", "event", "stream", "variable"};

static struct object {
  enum kind kind;
  int is_gone;
  /* Where it is; of a library, where it was loaded. */
  struct context *context;
  unsigned long long context_id;
  /* Of a function, kernel or variable: its module or library. */
  struct object *owner;
  /* Of a module or library: its bytes. */
  uint64_t hash;
  unsigned char *image;
  /* Of a function or kernel. */
  int known;
  const struct listed_kernel *listed;
  const struct runnable *runnable;
  /* Of a function: what it may have of dynamic shared memory. */
  int shared_memory;
  const char *name;
  /* Of a buffer or variable; the size also of an image. */
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

/* Whether a handle is one of this kind, is there, and belongs to the current context. Logs what is wrong with it. */
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

/* Logs what should have been given back. What has an owner goes with that. */
static void leak(const struct object *object) {
  if (object->kind == BUFFER)
    (void)MISUSE(0, "a buffer of %zu bytes is left", object->size);
  else if (!object->owner)
    (void)MISUSE(0, "the %s of GPU %d is left", kind_names[object->kind], object->context ? object->context->gpu : -1);
}

/* The context ends, and all that is in it. */
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
