/* Code shared by programs that pass files to a runtime. The programs' messages contain PROGRAM. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void fail(const char *what) {
  fprintf(stderr, PROGRAM ": %s\n", what);
  exit(2);
}

/* Returns the bytes of a file. */
static void *contents(const char *path) {
  struct stat status;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &status))
    fail(path);
  void *bytes = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED)
    fail(path);
  return bytes;
}

/* Returns a function of a library. */
static void *find(void *library, const char *name) {
  void *function = dlsym(library, name);
  if (!function)
    fail(name);
  return function;
}
