/* Loads a library with dlopen, and calls the library's function that checks its packs. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
  void (*check)(void) = library ? (void (*)(void))dlsym(library, "check_packs") : 0;
  if (!check) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  check();
  return dlclose(library);
}
