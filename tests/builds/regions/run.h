// Runs each kernel of a source twice: by threads with stacks, and by regions. Both runs must write the same numbers.
#include <utility>

template <auto Kernel> struct call;
template <typename... P, void (*Kernel)(P...)> struct call<Kernel> {
  template <size_t... I> __attribute__((always_inline)) static void with(void **addresses, std::index_sequence<I...>) { [[clang::always_inline]] Kernel(*(P *)addresses[I]...); }
};
template <typename... P> std::index_sequence_for<P...> numbers(void (*)(P...));

struct kernel {
  const char *name;
  void (*thread)(void *), (*entry)(void *);
  kernel *next;
};
static kernel *first;
struct kernel_of_list : kernel {
  kernel_of_list(kernel it) : kernel(it) {
    next = first;
    first = this;
  }
};

// Programs launch a kernel's entry. The function in the section `offload_threads` runs one thread.
#define KERNEL(name)                                                                                                    \
  __global__ void name(const int *in, int *out, int n);                                                                 \
  extern "C" __attribute__((section("offload_threads"))) void offload_cpu_thread_##name(void *addresses) {              \
    call<name>::with((void **)addresses, decltype(numbers(name))());                                                    \
  }                                                                                                                     \
  extern "C" void offload_cpu_kernel_##name(void *addresses);                                                           \
  void offload_cpu_kernel_##name(void *addresses) { offload_cpu_thread_##name(addresses); }                             \
  static kernel_of_list list_##name(kernel{#name, offload_cpu_thread_##name, offload_cpu_kernel_##name, nullptr});      \
  void name(const int *in, int *out, int n)

static int in[8192], by_stacks[8192], by_regions[8192];

int main() {
  const unsigned blocks[][3] = {{64, 1, 1}, {96, 1, 1}, {40, 1, 1}, {1, 1, 1}, {256, 1, 1}, {1024, 1, 1}, {8, 4, 3}};
  const unsigned grid[] = {4, 1, 1};
  unsigned state = 7;
  for (int &number : in)
    number = int((state = state * 1664525 + 1013904223) >> 22);
  for (kernel *it = first; it != nullptr; it = it->next) {
    if (offload_cpu::find_regions(it->entry, 1) == nullptr)
      continue;
    // Kernels that are neither random nor named "...3d" use only threadIdx.x as the thread's number.
    const bool is_random = it->name[0] == 'k', has_depth = is_random || strstr(it->name, "3d") != nullptr;
    for (auto &block : blocks) {
      if (block[2] > 1 && !has_depth)
        continue;
      const int *from = in;
      int *to = by_stacks, n = int(grid[0] * block[0] * block[1] * block[2]);
      void *addresses[] = {&from, &to, &n};
      offload_cpu_settings settings = {};
      settings.size = sizeof settings;
      settings.kernel = it->name;
      settings.seed = 5;
      memset(by_stacks, 0, sizeof by_stacks);
      offload_cpu_launch_with(grid, block, 0, grid[0], 0, it->thread, addresses, &settings);
      to = by_regions;
      for (settings.order = 0; settings.order < 4; ++settings.order) {
        memset(by_regions, 0, sizeof by_regions);
        offload_cpu_launch_with(grid, block, 0, grid[0], 0, it->entry, addresses, &settings);
        if (memcmp(by_stacks, by_regions, sizeof by_stacks) != 0)
          printf("%s differs: blocks of %u x %u x %u, order %u\n", it->name, block[0], block[1], block[2], settings.order);
      }
    }
  }
}
