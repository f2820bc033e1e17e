/* offload/entry.h: the entries of kernels, which take the addresses of the arguments, as cuLaunchKernel does.  Part of
 * offload/cpu.h.
 *
 * After a source, offload-build defines an entry for each of its kernels with OFFLOAD_CPU_KERNEL.  C++ itself passes each
 * parameter, of whatever type.  As on GPUs, each thread gets the bytes of an argument: nothing is copied by a constructor,
 * and nothing is destroyed.
 */
#ifndef OFFLOAD_ENTRY_H
#define OFFLOAD_ENTRY_H

namespace offload_cpu {

/* Whether C++ passes a class as its value, not as the address of one: bytes are enough for a copy (Itanium C++ ABI,
 * "non-trivial for the purposes of calls"). */
template <typename T> constexpr bool is_passed_as_value() {
  constexpr bool copies = __is_constructible(T, const T &), moves = __is_constructible(T, T &&);
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-builtins"
  /* Of a class with the attribute trivial_abi as well. */
  return (copies || moves) && __is_trivially_relocatable(T);
#pragma clang diagnostic pop
#else
  return (copies || moves) && __has_trivial_destructor(T) && copies == __is_trivially_constructible(T, const T &) &&
         moves == __is_trivially_constructible(T, T &&);
#endif
}

enum class passing { scalar, value, address };

template <typename T> constexpr passing passing_of() {
  if constexpr (!__is_class(T) && !__is_union(T))
    return passing::scalar;
  else
    return is_passed_as_value<T>() ? passing::value : passing::address;
}

/* A parameter.  The kernel is called through a function type with `type`; each thread has a `copy` of the argument. */
template <typename T, passing = passing_of<T>()> struct parameter {
  typedef T type, copy;
  static copy read(void **&next) { return *static_cast<T *>(*next++); }
  static type pass(copy &own) { return own; }
};
template <typename T> struct bytes_of {
  alignas(T) unsigned char bytes[sizeof(T)];
};
template <typename T> struct parameter<T, passing::value> {
  typedef T type;
  typedef bytes_of<T> copy;
  static copy read(void **&next) {
    copy own;
    __builtin_memcpy(&own, *next++, sizeof own);
    return own;
  }
  static T &&pass(copy &own) { return static_cast<T &&>(reinterpret_cast<T &>(own)); }
};
template <typename T> struct parameter<T, passing::address> {
  typedef T &type;
  typedef bytes_of<T> copy;
  static copy read(void **&next) {
    copy own;
    __builtin_memcpy(&own, *next++, sizeof own);
    return own;
  }
  static type pass(copy &own) { return reinterpret_cast<T &>(own); }
};
template <typename T> struct parameter<T &, passing::scalar> {
  typedef T &type;
  typedef T *copy;
  static copy read(void **&next) { return *static_cast<T **>(*next++); }
  static type pass(copy own) { return *own; }
};
template <typename T> struct parameter<T &&, passing::scalar> {
  typedef T &&type;
  typedef T *copy;
  static copy read(void **&next) { return *static_cast<T **>(*next++); }
  static type pass(copy own) { return static_cast<T &&>(*own); }
};

#pragma GCC diagnostic push
/* A kernel with such a parameter has the warning in code of its own. */
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
/* The threads of a block from that of threadIdx on.  The copies are local: no store of the kernel changes them. */
template <typename R, typename... P> struct threads {
  typedef R (*function)(typename parameter<P>::type...);

  static __attribute__((always_inline)) void run_one(function kernel, typename parameter<P>::copy... own) {
    (void)kernel(parameter<P>::pass(own)...);
  }

  /* A list in braces is evaluated in its order. */
  __attribute__((always_inline)) threads(function kernel, typename parameter<P>::copy... arguments) {
#if defined(OFFLOAD_CPU_CHECK)
    run_one(kernel, arguments...);
#else
    launch &l = *current;
    do {
      for (unsigned x = threadIdx.x, end = blockDim.x;;) {
        run_one(kernel, arguments...);
        if (l.split)
          return;
        if (++x == end)
          break;
        threadIdx.x = x;
      }
    } while (next_index(threadIdx));
#endif
  }
};
#pragma GCC diagnostic pop

template <typename R, typename... P>
inline __attribute__((always_inline)) void run_entry(void *addresses, R (*kernel)(P...)) {
  void **next = static_cast<void **>(addresses);
  (void)next;
  typedef typename threads<R, P...>::function function;
  threads<R, P...>{reinterpret_cast<function>(reinterpret_cast<void *>(kernel)), parameter<P>::read(next)...};
}

} // namespace offload_cpu

/* The entry of the kernel with this symbol: it runs threads of a launch (offload_cpu::launch::thread). */
#define OFFLOAD_CPU_KERNEL(symbol, ...)                                                                                \
  extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_kernel_##symbol(void *);                                               \
  extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_kernel_##symbol(void *addresses) {                                     \
    offload_cpu::run_entry(addresses, __VA_ARGS__);                                                                    \
  }

#endif
