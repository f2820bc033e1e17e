/* Kernels that stand-ins run, and faults that a test requests.
 *
 *   FAKE_RUNS   shared objects with kernels for the CPU, separated by colons. runs.sh makes one from a source.
 *   FAKE_FAULT  WHAT:NAME, one fault of a device or driver:
 *               wrong:KERNEL   the last block of the kernel does not run
 *               hang:KERNEL    the kernel never ends
 *               later:KERNEL   the kernel runs, and the next call returns its error
 *               die:FUNCTION   this function of the driver ends the process
 *               refuse:KIND    the driver refuses images of this kind, `cubin` or `PTX`
 *               accept:KIND    the driver accepts all images of this kind */
#ifndef RUNNING_H
#define RUNNING_H

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

enum { MOST_ARGUMENT_BYTES = 8 << 10, MOST_RUNNABLE = 1024 };

/* The places of arguments in a buffer. */
struct places {
  size_t count;
  struct {
    size_t offset, size;
  } of[];
};

struct runnable {
  char name[64];
  /* Runs one thread of the kernel. */
  void (*call)(void **arguments);
  const struct places *places;
  void (*launch)(const unsigned *grid, const unsigned *block, size_t shared, void (*thread)(void *), void *context);
};

static struct runnable runnables[MOST_RUNNABLE];
static int runnable_count;

/* Returns the kernel of this name in the objects of FAKE_RUNS, or NULL. */
static struct runnable *runnable_named(const char *name) {
  for (int i = 0; i < runnable_count; ++i)
    if (!strcmp(runnables[i].name, name))
      return &runnables[i];
  const char *paths = getenv("FAKE_RUNS");
  char *list = strdup(paths ? paths : ""), symbol[128], *rest;
  struct runnable found = {0};
  for (char *path = strtok_r(list, ":", &rest); path && !found.call; path = strtok_r(NULL, ":", &rest)) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
      fprintf(stderr, "FAKE_RUNS: %s\n", dlerror());
      continue;
    }
    snprintf(symbol, sizeof symbol, "stand_in_%s", name);
    *(void **)&found.call = dlsym(object, symbol);
    snprintf(symbol, sizeof symbol, "stand_in_places_%s", name);
    found.places = dlsym(object, symbol);
    *(void **)&found.launch = dlsym(object, "offload_cpu_launch_shared");
  }
  free(list);
  if (!found.call || !found.places || !found.launch || runnable_count == MOST_RUNNABLE)
    return NULL;
  snprintf(found.name, sizeof found.name, "%s", name);
  runnables[runnable_count] = found;
  return &runnables[runnable_count++];
}

struct running {
  void (*call)(void **);
  void **arguments;
};
static void run_thread(void *context) {
  const struct running *it = context;
  it->call(it->arguments);
}

static sigjmp_buf kernel_failed;
static void on_signal(int signal) { siglongjmp(kernel_failed, signal); }

/* Runs a grid. Returns 0, or the signal by which the kernel would have ended the process. */
static int run_kernel(const struct runnable *kernel, const unsigned *grid, const unsigned *block, size_t shared,
                      void **arguments) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
  enum { COUNT = sizeof signals / sizeof *signals };
  struct sigaction before[COUNT], ours = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  struct running context = {kernel->call, arguments};
  unsigned blocks[3] = {grid[0], grid[1], grid[2]};
  if (has_fault("hang", kernel->name))
    for (;;)
      pause();
  if (has_fault("wrong", kernel->name))
    --blocks[0];
  for (int i = 0; i < COUNT; ++i)
    sigaction(signals[i], &ours, &before[i]);
  int failed = sigsetjmp(kernel_failed, 1);
  if (!failed && blocks[0])
    kernel->launch(blocks, block, shared, run_thread, &context);
  for (int i = 0; i < COUNT; ++i)
    sigaction(signals[i], &before[i], NULL);
  return failed;
}

/* Copies a kernel's arguments from a buffer to addresses that are aligned for any type, and returns these addresses. */
__attribute__((unused)) static void **arguments_in(const struct runnable *kernel, const char *buffer) {
  static __thread _Alignas(64) char copies[MOST_ARGUMENT_BYTES];
  static __thread void *addresses[MOST_ARGUMENT_BYTES / 64];
  char *to = copies;
  for (size_t i = 0; i < kernel->places->count; ++i) {
    size_t size = kernel->places->of[i].size;
    addresses[i] = memcpy(to, buffer + kernel->places->of[i].offset, size);
    to += (size + 63) / 64 * 64;
  }
  return addresses;
}

#endif
