// A C program that links a static Rust library with packs.
#include <stddef.h>
#include <stdio.h>

size_t offload_elsewhere_whole(void);
size_t offload_elsewhere_listed(void);

int main(void) {
  printf("%d whole, %d listed\n", (int)offload_elsewhere_whole(), (int)offload_elsewhere_listed());
  return 0;
}
