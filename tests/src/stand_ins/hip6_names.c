/* libamdhip64.so of HIP 6, as far as the example hip-vector-add knows the difference, over the runtime of HIP 5 that this
 * library needs: all other functions are found there. */
#include <string.h>

int hipGetDeviceProperties(void *properties, int device);

/* Where both structures have the name, and where each has the name of the target; examples/saxpy/src/hip.rs. */
enum { NAME = 0, TARGET_5 = 396, TARGET_6 = 1160, TEXT = 256 };

int hipGetDevicePropertiesR0600(char *properties, int device) {
  char old[4096];
  int error = hipGetDeviceProperties(old, device);
  if (error)
    return error;
  memcpy(properties + NAME, old + NAME, TEXT);
  memcpy(properties + TARGET_6, old + TARGET_5, TEXT);
  return 0;
}
