/* The code with which all functions of stand-ins for drivers begin. It permits one call at a time, returns the errors that
 * a test requests, and checks the rules for every call. The stand-ins list the environment variables. */
#ifndef CALLS_H
#define CALLS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

/* Names, types and numbers from cuda.h. HIP uses the same numbers. */
typedef int CUresult;
enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_UNKNOWN = 999,
};

/* `return MISUSE(code, "format", ...)` */
#define MISUSE(code, ...) (log_line("misuse: " __VA_ARGS__), (code))

/* The process that has initialized the driver, or 0. A child of this process has no driver. */
static pid_t initialized;
/* Whether the program is ending. In this state, the real driver also returns an error from all calls. */
static int is_over;

/* Permits one call at a time. A forked child could inherit the lock in a locked state, so it does not use the lock. */
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;
static int enter(void) { return initialized && initialized != getpid() ? 0 : !pthread_mutex_lock(&calls); }
static void leave(int *entered) {
  if (*entered)
    pthread_mutex_unlock(&calls);
}

/* The error code that FAKE_ERROR or FAKE_FAIL_CALL requests from this function, or 0. */
static CUresult asked_for(const char *function) {
  static int count;
  if (has_fault("die", function))
    abort();
  const char *number = getenv("FAKE_FAIL_CALL");
  if (number && ++count == atoi(number)) {
    log_line("fails: %s", function);
    return CUDA_ERROR_UNKNOWN;
  }
  const char *wish = getenv("FAKE_ERROR");
  size_t length = strlen(function);
  return wish && !strncmp(wish, function, length) && wish[length] == '=' ? atoi(wish + length + 1) : CUDA_SUCCESS;
}

/* The prologues of all functions, of functions that work only after cuInit, and of functions that need a context. */
#define ENTER()                                                                                                        \
  __attribute__((cleanup(leave), unused)) int entered = enter();                                                       \
  if (initialized && initialized != getpid())                                                                          \
    return CUDA_ERROR_NOT_INITIALIZED;                                                                                 \
  if (is_over)                                                                                                         \
    return CUDA_ERROR_DEINITIALIZED;                                                                                   \
  CUresult asked = asked_for(__func__)
#define FAIL_IF_ASKED()                                                                                                \
  ENTER();                                                                                                             \
  if (asked)                                                                                                           \
  return asked
#define INITIALIZED()                                                                                                  \
  if (!initialized)                                                                                                    \
  return MISUSE(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", __func__)
#define HAS_CONTEXT()                                                                                                  \
  INITIALIZED();                                                                                                       \
  if (!current())                                                                                                      \
  return MISUSE(CUDA_ERROR_INVALID_CONTEXT, "%s without a context", __func__)
#define AFTER_INIT()                                                                                                   \
  FAIL_IF_ASKED();                                                                                                     \
  INITIALIZED()
#define IN_CONTEXT()                                                                                                   \
  FAIL_IF_ASKED();                                                                                                     \
  HAS_CONTEXT();                                                                                                       \
  if (failed_kernel)                                                                                                   \
  return failed_kernel

/* The prologue of functions that release something. With FAKE_FAIL_CALL, such a function does its work and then returns an
 * error of earlier work. With FAKE_ERROR, it returns the error without doing its work. */
#define ENDING()                                                                                                       \
  ENTER();                                                                                                             \
  if (asked && asked != CUDA_ERROR_UNKNOWN)                                                                            \
  return asked

#endif
