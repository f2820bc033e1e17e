/* libamdhip64.so of HIP 6, as far as offload's run time and the example hip-vector-add know the difference, over the runtime of HIP 5 that this
 * library needs: all other functions are found there. */
#include <string.h>

int hipGetDeviceProperties(void *properties, int device);

/* Where either structure has what is read of it: offload/src/run/hip/runtime.rs. */
enum { NAME = 0, TARGET_5 = 396, TARGET_6 = 1160, TEXT = 256 };
/* From totalGlobalMem to sharedMemPerBlock, and from maxThreadsPerBlock to maxGridSize. */
enum { MEMORY_5 = 256, MEMORY_6 = 288, MEMORY = 16, THREADS_5 = 280, THREADS_6 = 320, THREADS = 28 };

int hipGetDevicePropertiesR0600(char *properties, int device) {
  char old[4096];
  int error = hipGetDeviceProperties(old, device);
  if (error)
    return error;
  memcpy(properties + NAME, old + NAME, TEXT);
  memcpy(properties + MEMORY_6, old + MEMORY_5, MEMORY);
  memcpy(properties + THREADS_6, old + THREADS_5, THREADS);
  memcpy(properties + TARGET_6, old + TARGET_5, TEXT);
  return 0;
}
