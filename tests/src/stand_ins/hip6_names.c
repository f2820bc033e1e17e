/* A libamdhip64.so of HIP 6, which contains only the differences that the example hip-vector-add needs. This library is linked
 * with the runtime of HIP 5, which provides all other functions. */
#include <string.h>

int hipGetDeviceProperties(void *properties, int device);

/* Offsets in the old and the new structure, as in offload-gpu/src/run/hip/runtime.rs. The fields are the name, the memory's size, the
 * maximum number of threads, and the target's name. From the memory's size to the largest grid, both structures have the same fields,
 * except for the pitch of copies. That field precedes the number of threads in the new structure, and follows the grid in the old
 * one. */
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
