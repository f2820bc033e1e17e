/* offload/entry.h: the entries of kernels, which receive the addresses of the arguments, as cuLaunchKernel does.  Part of
 * offload/cpu.h.
 *
 * After the text of a source, offload-build defines an entry for each kernel with OFFLOAD_CPU_KERNEL.  The entry calls the
 * kernel in C++, so parameters can have any type.  As on GPUs, each thread gets the bytes of an argument: no constructor and no
 * destructor runs.
 */
#ifndef OFFLOAD_ENTRY_H
#define OFFLOAD_ENTRY_H

namespace offload_cpu {

/* A parameter.  C++ passes its value, or its address if its class cannot be copied as bytes.  The kernel is called through a
 * function type with `type`; each thread has a `copy` of the argument. */
template <typename T_, bool IsAddress, bool = __is_class(T_) || __is_union(T_)> struct parameter {
  typedef T_ type, copy;
  static copy read(void **&next) { return *static_cast<T_ *>(*next++); }
  static type pass(copy &own) { return own; }
};
template <typename T_> struct bytes_of {
  alignas(T_) unsigned char bytes[sizeof(T_)];
};
template <typename T_> struct of_class {
  typedef bytes_of<T_> copy;
  static copy read(void **&next) {
    copy own;
    __builtin_memcpy(&own, *next++, sizeof own);
    return own;
  }
};
template <typename T_> struct parameter<T_, false, true> : of_class<T_> {
  typedef T_ type;
  /* g++ also passes values of classes without a copy constructor. */
  static decltype(auto) pass(bytes_of<T_> &own) {
    if constexpr (__is_trivially_copyable(T_))
      return __builtin_bit_cast(T_, own);
    else
      return static_cast<T_ &&>(reinterpret_cast<T_ &>(own));
  }
};
template <typename T_> struct parameter<T_, true, true> : of_class<T_> {
  typedef T_ &type;
  static type pass(bytes_of<T_> &own) { return reinterpret_cast<T_ &>(own); }
};
template <typename T_> struct parameter<T_ &, false, false> {
  typedef T_ &type;
  typedef T_ *copy;
  static copy read(void **&next) { return *static_cast<T_ **>(*next++); }
  static type pass(copy own) { return *own; }
};
template <typename T_> struct parameter<T_ &&, false, false> {
  typedef T_ &&type;
  typedef T_ *copy;
  static copy read(void **&next) { return *static_cast<T_ **>(*next++); }
  static type pass(copy own) { return static_cast<T_ &&>(*own); }
};

#pragma GCC diagnostic push
/* The compiler warns in the kernel's own code, too. */
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#if !defined(OFFLOAD_CPU_CHECK)
/* Runs the threads of a block, starting with threadIdx. */
template <typename Run> __attribute__((always_inline)) inline void run_from_index(Run run_one) {
  launch &l = *current;
  do {
    for (unsigned x = threadIdx.x, end = blockDim.x;;) {
      run_one();
      if (l.split)
        return;
      if (++x == end)
        break;
      threadIdx.x = x;
    }
  } while (next_index(threadIdx));
}
#endif

/* The threads of a block, starting with threadIdx.  The copies are local, so that no store of the kernel changes them. */
template <typename R_, typename... P_> struct threads {
  typedef R_ (*function)(typename P_::type...);

  static __attribute__((always_inline)) void run_one(function kernel, typename P_::copy... own) {
#if defined(OFFLOAD_CPU_REGIONS)
    /* Inline the kernel even if it is large. */
    [[clang::always_inline]]
#endif
    (void)kernel(P_::pass(own)...);
  }

  /* A constructor, since the elements of a list in braces are evaluated in order. */
  __attribute__((always_inline)) threads(function kernel, typename P_::copy... arguments) {
#if defined(OFFLOAD_CPU_CHECK) || defined(OFFLOAD_CPU_REGIONS)
    run_one(kernel, arguments...);
#else
    /* Otherwise, g++ leaves a call for each thread. */
    run_from_index([&]() __attribute__((always_inline)) { run_one(kernel, arguments...); });
#endif
  }
};
#pragma GCC diagnostic pop

/* The entry of a kernel; for each parameter, whether C++ passes the address. */
template <bool... AreAddresses> struct entry {
  template <typename R_, typename... P_>
  static __attribute__((always_inline)) void run(void *addresses, R_ (*kernel)(P_...)) {
    void **next = static_cast<void **>(addresses);
    (void)next;
    typedef threads<R_, parameter<P_, AreAddresses>...> of_kernel;
    typedef typename of_kernel::function function;
    of_kernel{reinterpret_cast<function>(reinterpret_cast<void *>(kernel)), parameter<P_, AreAddresses>::read(next)...};
  }
};

} // namespace offload_cpu

#if defined(OFFLOAD_CPU_REGIONS)
/* offload-build cuts the function of one thread into regions.  Kernels that need stacks use the entry. */
#define OFFLOAD_CPU_KERNEL(symbol)                                                                                     \
  extern "C" __attribute__((weak, section("offload_threads"))) void offload_cpu_thread_##symbol(void *);               \
  extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_kernel_##symbol(void *);                                               \
  extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_kernel_##symbol(void *addresses) {                                     \
    offload_cpu::run_from_index([&] { offload_cpu_thread_##symbol(addresses); });                                      \
  }                                                                                                                    \
  extern "C" void offload_cpu_thread_##symbol(void *addresses)
#else
/* The head of the entry of the kernel with this symbol: it runs threads of a launch (offload_cpu::launch::thread). */
#define OFFLOAD_CPU_KERNEL(symbol)                                                                                     \
  extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_kernel_##symbol(void *);                                               \
  extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_kernel_##symbol(void *addresses)
#endif

#endif
