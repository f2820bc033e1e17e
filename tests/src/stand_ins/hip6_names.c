/* libamdhip64.so of HIP 6, as far as the example hip-vector-add knows the difference, over the runtime of HIP 5 that this
 * library needs: all other functions are found there. */
#include <string.h>

int hipGetDeviceProperties(void *properties, int device);

/* Where both structures have the name; where each has the size of the memory, from which on both have the same fields up to the
 * largest grid; and where each has the name of the target: offload-gpu/src/run/hip/runtime.rs. In the new one the pitch of copies stands
 * between warp size and the most threads, in the old one behind the grid. */
enum { NAME = 0, TARGET_5 = 396, TARGET_6 = 1160, TEXT = 256 };
enum { MEMORY_5 = 256, MEMORY_6 = 288, MEMORY_SIZE = 24, THREADS_5 = 280, THREADS_6 = 320, THREADS_SIZE = 28 };

int hipGetDevicePropertiesR0600(char *properties, int device) {
  char old[4096];
  int error = hipGetDeviceProperties(old, device);
  if (error)
    return error;
  memcpy(properties + NAME, old + NAME, TEXT);
  memcpy(properties + MEMORY_6, old + MEMORY_5, MEMORY_SIZE);
  memcpy(properties + THREADS_6, old + THREADS_5, THREADS_SIZE);
  memcpy(properties + TARGET_6, old + TARGET_5, TEXT);
  return 0;
}
