/* Passes images to LLVM's libomptarget, as code that clang generates for target regions does. Then launches the kernel
 * `fill(void *, uint64_t n, int64_t *y)` on a device that the runtime finds for the images. For CPU images, the device is
 * the CPU.
 *
 *   omp_load LIBRARY FILE OFFSET:SIZE...
 *
 * Prints the number that the image's kernel has written. The exit status is not 0 if no image runs. */
#define PROGRAM "omp_load"
#include "load.h"
#include <stdint.h>

enum { MOST = 64, COUNT = 8 };

/* The structures of LLVM 22's interface between compiled programs and the runtime. */
struct entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  const char *name;
  uint64_t size, data;
  void *more;
};
struct image {
  const char *start, *end;
  struct entry *entries, *entries_end;
};
struct images {
  int32_t count;
  struct image *images;
  struct entry *entries, *entries_end;
};
struct arguments {
  uint32_t version, count;
  void **bases, **pointers;
  int64_t *sizes, *types;
  void **names, **mappers;
  uint64_t trips, flags;
  uint32_t teams[3], threads[3], shared;
};
/* Flags of an argument. It may be a parameter of the kernel, passed by value, or copied to the device or back. */
enum { TO = 1, FROM = 2, PARAMETER = 0x20, LITERAL = 0x100 };

int main(int count, char **words) {
  static char key;
  struct entry entry = {.version = 1, .kind = 1, .address = &key, .name = "fill"};
  struct image images[MOST];
  struct images all = {.images = images, .entries = &entry, .entries_end = &entry + 1};
  if (count < 4 || count - 3 > MOST)
    fail("LIBRARY FILE OFFSET:SIZE...");
  const char *bytes = contents(words[2]);
  for (int i = 3; i < count; i++) {
    unsigned long offset, size;
    if (sscanf(words[i], "%lu:%lu", &offset, &size) != 2)
      fail(words[i]);
    images[all.count++] = (struct image){bytes + offset, bytes + offset + size, &entry, &entry + 1};
  }
  /* This program has no code for the host, so a launch must not fall back to it. */
  setenv("OMP_TARGET_OFFLOAD", "MANDATORY", 1);
  void *library = dlopen(words[1], RTLD_NOW);
  if (!library)
    fail(dlerror());
  void (*add)(struct images *) = (void (*)(struct images *))find(library, "__tgt_register_lib");
  void (*start)(void) = (void (*)(void))find(library, "__tgt_init_all_rtls");
  int (*launch)(void *, int64_t, int32_t, int32_t, void *, struct arguments *) =
      (int (*)(void *, int64_t, int32_t, int32_t, void *, struct arguments *))find(library, "__tgt_target_kernel");
  add(&all);
  start();

  int64_t result[COUNT] = {0};
  void *values[] = {(void *)(uintptr_t)COUNT, result};
  int64_t sizes[] = {sizeof(uint64_t), sizeof(result)};
  int64_t types[] = {PARAMETER | LITERAL, PARAMETER | TO | FROM};
  struct arguments arguments = {.version = 3,
                                .count = 2,
                                .bases = values,
                                .pointers = values,
                                .sizes = sizes,
                                .types = types,
                                .teams = {1},
                                .threads = {1}};
  if (launch(NULL, -1, 1, 1, &key, &arguments))
    return 1;
  for (int i = 1; i < COUNT; i++)
    if (result[i] != result[0])
      fail("the kernel has not run to its end");
  printf("%ld\n", (long)result[0]);
  return 0;
}
