/* Contexts of the stand-in for NVIDIA's driver: the current context of each thread, and the objects in each context. */
#ifndef CUDA_CONTEXTS_H
#define CUDA_CONTEXTS_H

#include "objects.h"

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

static struct place here(void) {
  return current() ? (struct place){current()->gpu, current()->id} : (struct place){-1, 0};
}

/* Ends a context, and all objects in it. */
static void end_context(struct context *context) {
  for (struct object *it = objects; it; it = it->next)
    if (!it->is_gone && it->kind != LIBRARY && it->kind != KERNEL && it->place.context == context->id) {
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
