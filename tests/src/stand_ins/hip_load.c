/* Passes a whole file to AMD's HIP runtime, as a program passes the contents of its section .hip_fatbin.
 *
 *   hip_load RUNTIME FILE KERNEL
 *
 * Exit status: 0 if the runtime loads the file and finds the kernel. */
#define PROGRAM "hip_load"
#include "load.h"

/* Declares a function of the runtime. All functions return a hipError_t. */
#define FUNCTION(name, ...) int (*name)(__VA_ARGS__) = (int (*)(__VA_ARGS__))find(runtime, #name)
#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    int error = call;                                                                                                  \
    if (error) {                                                                                                       \
      fprintf(stderr, "hip_load: %s is %d\n", #call, error);                                                           \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

int main(int count, char **arguments) {
  void *module, *function;
  if (count != 4)
    fail("RUNTIME FILE KERNEL");
  void *bytes = contents(arguments[2]);
  void *runtime = dlopen(arguments[1], RTLD_NOW);
  if (!runtime)
    fail(dlerror());
  FUNCTION(hipInit, unsigned);
  FUNCTION(hipModuleLoadData, void **, const void *);
  FUNCTION(hipModuleGetFunction, void **, void *, const char *);
  CHECK(hipInit(0));
  CHECK(hipModuleLoadData(&module, bytes));
  CHECK(hipModuleGetFunction(&function, module, arguments[3]));
  return 0;
}
