/* offload/rust.cpp: the functions that kernels in Rust call on the CPU.  offload-build compiles it after offload/kernel.h, and
 * links it with a crate of kernels.
 *
 * The crate offload-kernel declares these functions (src/arch/cpu.rs).  A call passes its place in the source, which checked
 * builds report.  OFFLOAD_RUST_FOLDER is the folder of the crate's package, to which rustc's places are relative.
 */
#if defined(_WIN32)
#define OFFLOAD_RUST extern "C"
#else
#define OFFLOAD_RUST extern "C" __attribute__((visibility("hidden")))
#endif

/* The text has no NUL at its end. */
struct offload_rust_text {
  const char *start;
  size_t size;
};

struct offload_rust_place {
  offload_rust_text file;
  unsigned line;
};

struct offload_rust_index {
  unsigned x, y, z;
};

namespace {

offload_rust_index index_of(const dim3 &from) { return {from.x, from.y, from.z}; }

/* Appends to a C string, and cuts off text that does not fit. */
template <size_t Room> void append(char (&to)[Room], offload_rust_text text) {
  size_t size = strlen(to), added = text.size < Room - 1 - size ? text.size : Room - 1 - size;
  memcpy(to + size, text.start, added);
  to[size + added] = 0;
}

/* Writes the file of a place as in the reports of other kernels: relative to the program's package.  Paths of files of other
 * crates begin with a dot, or are absolute. */
template <size_t Room> void add_file(char (&to)[Room], const offload_rust_place &place) {
  constexpr char folder[] = OFFLOAD_RUST_FOLDER "/";
  if (place.file.size != 0 && place.file.start[0] != '/' && place.file.start[0] != '.')
    append(to, {folder, sizeof folder - 1});
  append(to, place.file);
}

#if defined(OFFLOAD_CPU_CHECK)
/* Returns a place whose file name is in memory that is never freed: there are few files. */
offload_cpu::code_place place_of(const offload_rust_place &place) {
  struct known {
    offload_rust_text file;
    char name[512];
    known *next;
  };
  /* A checked image runs one grid at a time, so no lock is needed. */
  static known *all;
  for (known *it = all; it != nullptr; it = it->next)
    if (it->file.start == place.file.start && it->file.size == place.file.size)
      return {it->name, place.line};
  known *it = static_cast<known *>(calloc(1, sizeof(known)));
  if (it == nullptr)
    return {"", place.line};
  it->file = place.file;
  add_file(it->name, place);
  it->next = all;
  all = it;
  return {it->name, place.line};
}
#define OFFLOAD_RUST_AT , place_of(*place)
#else
#define OFFLOAD_RUST_AT
#endif

uint64_t meet(offload_warp_function function, uint64_t value, unsigned source, const offload_rust_place *place) {
  (void)place;
  return offload_cpu::meet(function, OFFLOAD_ALL_LANES, value, source OFFLOAD_RUST_AT);
}

} // namespace

OFFLOAD_RUST offload_rust_index offload_kernel_thread_index() { return index_of(threadIdx); }
OFFLOAD_RUST offload_rust_index offload_kernel_block_index() { return index_of(blockIdx); }
OFFLOAD_RUST offload_rust_index offload_kernel_block_size() { return index_of(blockDim); }
OFFLOAD_RUST offload_rust_index offload_kernel_grid_size() { return index_of(gridDim); }
OFFLOAD_RUST unsigned offload_kernel_warp_size() { return warpSize; }
OFFLOAD_RUST unsigned offload_kernel_lane() { return offload_cpu::lane_number(); }

OFFLOAD_RUST void offload_kernel_barrier(const offload_rust_place *place) {
  (void)place;
  offload_cpu::barrier(false OFFLOAD_RUST_AT);
}

/* Without dynamic shared memory, the kernel gets no bytes at an aligned address. */
OFFLOAD_RUST void *offload_kernel_shared(size_t *size) {
  *size = offload_cpu::dynamic_shared_size();
  return *size == 0 ? reinterpret_cast<void *>(uintptr_t(16)) : offload_cpu::dynamic_shared();
}

OFFLOAD_RUST void offload_kernel_sync_warp(const offload_rust_place *place) {
  meet(offload_warp_function::syncwarp, 0, 0, place);
}

OFFLOAD_RUST uint64_t offload_kernel_ballot(bool condition, const offload_rust_place *place) {
  return meet(offload_warp_function::ballot, condition, 0, place);
}

OFFLOAD_RUST uint64_t offload_kernel_shuffle(uint64_t value, unsigned source, const offload_rust_place *place) {
  return meet(offload_warp_function::shfl, value, source, place);
}

/* A panic ends the program, as a trap ends the launch on a GPU. */
OFFLOAD_RUST __attribute__((noreturn)) void offload_kernel_panic(offload_rust_text message, const offload_rust_place *place) {
  char text[1024] = "";
#if defined(OFFLOAD_CPU_CHECK)
  append(text, {"panic! (", 8});
  append(text, message);
  append(text, {")", 1});
  offload_cpu::trap(text, place_of(*place));
#else
  char line[16];
  append(text, {"it panics at ", 13});
  add_file(text, *place);
  append(text, {line, size_t(snprintf(line, sizeof line, ":%u: ", place->line))});
  append(text, message);
  offload_cpu::fail(text);
#endif
}

/* Functions of `core` that were compiled for unwinding refer to it.  Kernels do not unwind. */
#if !defined(_WIN32)
OFFLOAD_RUST __attribute__((weak)) void rust_eh_personality() { abort(); }
#endif

#if defined(OFFLOAD_CPU_CHECK_RACES)
/* LLVM's pass calls these functions, which GCC's runtime has only since version 13.  The runtime sees the accesses of the
 * functions that they call. */
OFFLOAD_RUST void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
OFFLOAD_RUST void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
OFFLOAD_RUST void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }
#endif
