/* Makes a library for FAKE_RUNS of a source with kernels: a driver's launch passes the address of each argument. Compiled as the
 * build compiles for a CPU, with offload/kernel.h before the source; then RUN(name) for each kernel. */
#ifndef RUN_KERNELS_H
#define RUN_KERNELS_H

#include <stddef.h>
#include <utility>

namespace stand_in {

template <typename... A> struct launch {
  void (*kernel)(A...);
  void **arguments;

  template <size_t... I> void call(std::index_sequence<I...>) { kernel(*static_cast<A *>(arguments[I])...); }
  static void thread(void *self) { static_cast<launch *>(self)->call(std::index_sequence_for<A...>()); }
};

template <typename... A>
void run(void (*kernel)(A...), const unsigned *grid, const unsigned *block, size_t shared, void **arguments) {
  launch<A...> it = {kernel, arguments};
  offload_cpu_launch_shared(grid, block, shared, launch<A...>::thread, &it);
}

} // namespace stand_in

#define RUN(name)                                                                                                      \
  extern "C" __attribute__((visibility("default"))) void stand_in_##name(const unsigned *grid, const unsigned *block,  \
                                                                         size_t shared, void **arguments) {            \
    stand_in::run(name, grid, block, shared, arguments);                                                               \
  }

#endif
