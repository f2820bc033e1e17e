/* Prints what the library finds in the file named by the first argument. Without an argument, prints the size of an image in the
 * library's own pack, and the size of a kernel's arguments. */
#include <stdint.h>
#include <stdio.h>

struct found {
  int64_t code_object;
  size_t containers, places;
};
struct found examine(const unsigned char *data, size_t size);
size_t pack_image_size(void);
size_t named_arguments_size(void);

/* Rust's precompiled core and alloc refer to this function, but with panic=abort, they never call it. */
void rust_eh_personality(void) {}

int main(int argc, char **argv) {
  static unsigned char data[65536];
  if (argc == 1) {
    printf("%zu %zu\n", pack_image_size(), named_arguments_size());
    return 0;
  }
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  struct found found = examine(data, fread(data, 1, sizeof data, file));
  printf("%lld %zu %zu\n", (long long)found.code_object, found.containers, found.places);
  return 0;
}
