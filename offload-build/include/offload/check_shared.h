/* offload/check_shared.h: the memory of __shared__ variables in checked builds.  Part of offload/checks.cpp.
 *
 * When a thread first uses a variable, its block allocates memory for it, which the block frees at its end.  Thus
 * AddressSanitizer detects accesses beyond a variable and through pointers into an earlier block's, and ThreadSanitizer forgets
 * what earlier blocks did there.  The memory is filled with bytes of 0xff, which are NaN as floating point.
 *
 * g++ calls __tls_get_addr with the variable's offset; its size is in the image's symbol table.  clang (-femulated-tls) calls
 * __emutls_get_address with the variable's size and alignment.  Arrays that kernels declare with `extern __shared__` are the
 * launch's dynamic shared memory: offload-build defines them all as one variable, which both functions recognize.
 */

namespace offload_cpu {

/* The symbols of this image, read from its file. */
struct own_symbols {
  const char *file;
  const ElfW(Sym) * first, *end;
  const char *names;
  char *base;

  static const own_symbols &get() {
    static own_symbols found;
    if (found.file == nullptr)
      found.read();
    return found;
  }

  void read() {
    file = "";
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&own_symbols::get), &info) == 0)
      return;
    base = static_cast<char *>(info.dli_fbase);
    int opened = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (opened < 0)
      return;
    void *mapped = fstat(opened, &status) == 0
                       ? mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, opened, 0)
                       : MAP_FAILED;
    close(opened);
    if (mapped == MAP_FAILED)
      return;
    file = static_cast<const char *>(mapped);
    auto header = reinterpret_cast<const ElfW(Ehdr) *>(file);
    auto sections = reinterpret_cast<const ElfW(Shdr) *>(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; ++i)
      if (sections[i].sh_type == SHT_SYMTAB) {
        first = reinterpret_cast<const ElfW(Sym) *>(file + sections[i].sh_offset);
        end = first + sections[i].sh_size / sizeof(ElfW(Sym));
        names = file + sections[sections[i].sh_link].sh_offset;
      }
  }

  /* The symbol with this value: a thread-local variable, or anything else. */
  const ElfW(Sym) * find(uintptr_t value, bool is_thread_local) const {
    for (const ElfW(Sym) *symbol = first; symbol != end; ++symbol)
      if (symbol->st_value == value && symbol->st_size != 0 &&
          (ELF64_ST_TYPE(symbol->st_info) == STT_TLS) == is_thread_local)
        return symbol;
    return nullptr;
  }
};

namespace reports {
/* The launch provides no memory for an array that the kernel uses. */
[[noreturn]] inline void no_dynamic_shared();
} // namespace reports

/* The shared memory of one block. */
struct shared_memory {
  struct variable {
    uintptr_t key;
    const char *name; /* as the compiler spells it; null for OFFLOAD_DYNAMIC_SHARED */
    size_t size;
    char *memory;
  };
  variable *variables;
  unsigned count, room;

  static void begin(launch &l) {
    unseen guard;
    l.checks->shared = static_cast<shared_memory *>(calloc(1, sizeof(shared_memory)));
    if (l.checks->shared == nullptr)
      fail("no memory for the shared memory of a block");
  }

  static void end(launch &l) {
    unseen guard;
    shared_memory *all = l.checks->shared;
    for (unsigned i = 0; i < all->count; ++i)
      free(all->variables[i].memory);
    free(all->variables);
    free(all);
    l.checks->shared = nullptr;
  }

  char *find(uintptr_t key) const {
    for (unsigned i = 0; i < count; ++i)
      if (variables[i].key == key)
        return variables[i].memory;
    return nullptr;
  }

  char *add(uintptr_t key, const char *name, size_t size, size_t alignment) {
    unseen guard;
    if (count == room) {
      room = room * 2 + 8;
      variables = static_cast<variable *>(realloc(variables, room * sizeof(variable)));
    }
    void *memory = nullptr;
    if (variables == nullptr || posix_memalign(&memory, alignment < 16 ? 16 : alignment, size) != 0)
      fail("no memory for the shared memory of a block");
    for (size_t i = 0; i < size; ++i)
      static_cast<volatile unsigned char *>(memory)[i] = 0xff;
    variables[count++] = {key, name, size, static_cast<char *>(memory)};
    return static_cast<char *>(memory);
  }

  static shared_memory &of_block() {
    if (current == nullptr || current->checks->shared == nullptr)
      fail("a __shared__ variable is used outside of a launch");
    return *current->checks->shared;
  }

  /* The key is no variable's; the alignment suffices for vectors and atomic functions. */
  static void *dynamic(launch &l) {
    constexpr uintptr_t key = ~uintptr_t(0);
    shared_memory &all = of_block();
    char *memory = all.find(key);
    return memory != nullptr ? memory : all.add(key, nullptr, l.shared_size, 128);
  }

  /* The address of arrays that kernels declare with `extern __shared__`. */
  static void *extern_array() {
    of_block();
    if (current->shared_size == 0)
      reports::no_dynamic_shared();
    return dynamic(*current);
  }

  bool has(const void *address) const {
    const char *byte = static_cast<const char *>(address);
    for (unsigned i = 0; i < count; ++i)
      if (byte >= variables[i].memory && byte < variables[i].memory + variables[i].size)
        return true;
    return false;
  }

  /* The variable that this address is in or next to. */
  const variable *near(uintptr_t address) const {
    const variable *nearest = nullptr;
    uintptr_t least = 4096;
    for (unsigned i = 0; i < count; ++i) {
      uintptr_t begin = reinterpret_cast<uintptr_t>(variables[i].memory), end = begin + variables[i].size;
      uintptr_t distance = address < begin ? begin - address : address >= end ? address - end + 1 : 0;
      if (distance < least) {
        least = distance;
        nearest = &variables[i];
      }
    }
    return nearest;
  }
};

/* Whether the address is in the running block's shared memory; false if no block runs. */
inline bool is_shared(const void *address) {
  return current != nullptr && current->checks->shared != nullptr && current->checks->shared->has(address);
}

} // namespace offload_cpu

#if defined(OFFLOAD_CPU_CHECK_RACES)
/* In PTX, volatile accesses are relaxed atomic accesses: a flag in global memory may be volatile, and fences order it like the
 * atomic functions (offload/checked.h).  In shared memory, a volatile access is checked like a plain one: code for GPUs before
 * Volta uses volatile instead of __syncwarp. */
extern "C" {
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
#define OFFLOAD_CPU_VOLATILE(bytes, bits, type)                                                                        \
  void __tsan_read##bytes(void *address);                                                                              \
  void __tsan_write##bytes(void *address);                                                                             \
  type __tsan_atomic##bits##_load(const volatile type *address, int order);                                            \
  type __tsan_atomic##bits##_fetch_or(volatile type *address, type value, int order);                                  \
  __attribute__((visibility("hidden"))) void __tsan_volatile_read##bytes(void *address) {                              \
    /* Report the caller's line. */                                                                                    \
    __tsan_func_entry(__builtin_return_address(0));                                                                    \
    if (offload_cpu::is_shared(address))                                                                               \
      __tsan_read##bytes(address);                                                                                     \
    else                                                                                                               \
      __tsan_atomic##bits##_load(static_cast<type *>(address), __ATOMIC_ACQUIRE);                                      \
    __tsan_func_exit();                                                                                                \
  }                                                                                                                    \
  __attribute__((visibility("hidden"))) void __tsan_volatile_write##bytes(void *address) {                             \
    __tsan_func_entry(__builtin_return_address(0));                                                                    \
    if (offload_cpu::is_shared(address))                                                                               \
      __tsan_write##bytes(address);                                                                                    \
    else /* The caller writes the value. */                                                                            \
      __tsan_atomic##bits##_fetch_or(static_cast<type *>(address), 0,                                                  \
                                     offload_cpu::has_fenced() ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);                 \
    __tsan_func_exit();                                                                                                \
  }
OFFLOAD_CPU_VOLATILE(1, 8, unsigned char)
OFFLOAD_CPU_VOLATILE(2, 16, unsigned short)
OFFLOAD_CPU_VOLATILE(4, 32, unsigned)
OFFLOAD_CPU_VOLATILE(8, 64, unsigned long)
#undef OFFLOAD_CPU_VOLATILE
/* No atomic instruction supports these sizes and alignments. */
#define OFFLOAD_CPU_VOLATILE(kind, access)                                                                             \
  void __tsan_##kind##access(void *address);                                                                           \
  __attribute__((visibility("hidden"))) void __tsan_##kind##volatile_##access(void *address) {                         \
    __tsan_func_entry(__builtin_return_address(0));                                                                    \
    __tsan_##kind##access(address);                                                                                    \
    __tsan_func_exit();                                                                                                \
  }
OFFLOAD_CPU_VOLATILE(, read16)
OFFLOAD_CPU_VOLATILE(, write16)
OFFLOAD_CPU_VOLATILE(unaligned_, read2)
OFFLOAD_CPU_VOLATILE(unaligned_, write2)
OFFLOAD_CPU_VOLATILE(unaligned_, read4)
OFFLOAD_CPU_VOLATILE(unaligned_, write4)
OFFLOAD_CPU_VOLATILE(unaligned_, read8)
OFFLOAD_CPU_VOLATILE(unaligned_, write8)
OFFLOAD_CPU_VOLATILE(unaligned_, read16)
OFFLOAD_CPU_VOLATILE(unaligned_, write16)
#undef OFFLOAD_CPU_VOLATILE
}
#endif

extern "C" {
#if defined(__clang__)
struct offload_cpu_control {
  size_t size, alignment;
  void *state, *initial;
};

__attribute__((visibility("hidden"))) void *__emutls_get_address(offload_cpu_control *control) {
  using namespace offload_cpu;
  if (control->size == 0)
    return shared_memory::extern_array();
  shared_memory &all = shared_memory::of_block();
  uintptr_t key = reinterpret_cast<uintptr_t>(control);
  if (char *memory = all.find(key))
    return memory;
  unseen guard;
  const own_symbols &symbols = own_symbols::get();
  const ElfW(Sym) *symbol = symbols.find(key - reinterpret_cast<uintptr_t>(symbols.base), false);
  const char *name = symbol != nullptr ? symbols.names + symbol->st_name : "";
  constexpr char prefix[] = "__emutls_v.";
  if (strncmp(name, prefix, sizeof prefix - 1) == 0)
    name += sizeof prefix - 1;
  return all.add(key, name, control->size, control->alignment);
}
#else
struct offload_cpu_index {
  unsigned long module, offset;
};

__attribute__((visibility("hidden"))) void *__tls_get_addr(offload_cpu_index *index) {
  using namespace offload_cpu;
  static unsigned long extern_array = ~0ul;
  if (index->offset == extern_array)
    return shared_memory::extern_array();
  shared_memory &all = shared_memory::of_block();
  if (char *memory = all.find(index->offset))
    return memory;
  unseen guard;
  const own_symbols &symbols = own_symbols::get();
  const ElfW(Sym) *symbol = symbols.find(index->offset, true);
  if (symbol == nullptr)
    fail("the size of a __shared__ variable is not known: the image has no symbols, or its file is gone.  Leave out "
         "-s and -Wl,--strip-all where OFFLOAD_CPU_CHECK is set");
  if (strcmp(symbols.names + symbol->st_name, "offload_cpu_extern_shared_memory") == 0) {
    extern_array = index->offset;
    return shared_memory::extern_array();
  }
  /* The symbol table has no alignments, but the lowest bit set in the offset is at least the alignment. */
  size_t alignment = index->offset & (~index->offset + 1);
  return all.add(index->offset, symbols.names + symbol->st_name, symbol->st_size,
                 alignment == 0 || alignment > 128 ? 128 : alignment);
}
#endif
}
