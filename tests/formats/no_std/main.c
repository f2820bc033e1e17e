/* Prints what the library finds in the file that is the first argument; without one, the size of an image in its own pack. */
#include <stdint.h>
#include <stdio.h>

int64_t code_object_size(const unsigned char *data, size_t size);
size_t containers(const unsigned char *data, size_t size);
size_t places(const unsigned char *data, size_t size);
size_t pack_image_size(void);

/* Rust's precompiled core and alloc refer to it, and never call it with panic=abort. */
void rust_eh_personality(void) {}

int main(int argc, char **argv) {
  static unsigned char data[65536];
  if (argc == 1) {
    printf("%zu\n", pack_image_size());
    return 0;
  }
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  size_t size = fread(data, 1, sizeof data, file);
  printf("%lld %zu %zu\n", (long long)code_object_size(data, size), containers(data, size), places(data, size));
  return 0;
}
