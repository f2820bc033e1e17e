/* offload/nvptx_atomics.h: atomic instructions of NVIDIA's GPUs.  Part of offload/kernel.h.
 *
 * clang 22 drops the order and the scope of functions that read and write.  Older versions drop all orders, or crash.  So
 * offload/builtin_atomics.h uses this PTX instead of the compiler's (PTX ISA, "Memory Consistency Model").  __ATOMIC_SEQ_CST is
 * a fence before an instruction with a weaker order, as in CUDA's libcu++.  GPUs before sm_70 have only fences for orders, and
 * GPUs before sm_60 have only the scope of the device.
 */
#ifndef OFFLOAD_NVPTX_ATOMICS_H
#define OFFLOAD_NVPTX_ATOMICS_H
/* A source with launches is also compiled for the host.  There, clang defines only the first of these macros. */
#if defined(__NVPTX__) && defined(__CUDA_ARCH__)

#if !defined(__MEMORY_SCOPE_SYSTEM)
#define __MEMORY_SCOPE_SYSTEM 0
#define __MEMORY_SCOPE_DEVICE 1
#define __MEMORY_SCOPE_WRKGRP 2
#define __MEMORY_SCOPE_WVFRNT 3
#define __MEMORY_SCOPE_SINGLE 4
#endif

/* For host and device: even when compiled for a device, a source contains host functions, which may call these. */
#define OFFLOAD_BUILTIN static __attribute__((host, device, always_inline)) inline

/* Calls RUN(qualifiers, ...) with the qualifiers for `order` and `scope`. */
#if __CUDA_ARCH__ >= 600
#define OFFLOAD_SCOPED(RUN, order, ...)                                                                                \
  if (scope == __MEMORY_SCOPE_SYSTEM)                                                                                  \
    RUN(order ".sys", __VA_ARGS__);                                                                                    \
  else if (scope == __MEMORY_SCOPE_WRKGRP || scope == __MEMORY_SCOPE_WVFRNT || scope == __MEMORY_SCOPE_SINGLE)         \
    RUN(order ".cta", __VA_ARGS__);                                                                                    \
  else                                                                                                                 \
    RUN(order ".gpu", __VA_ARGS__);
#else
#define OFFLOAD_SCOPED(RUN, order, ...) RUN(order, __VA_ARGS__);
#endif
#if __CUDA_ARCH__ >= 700
#define OFFLOAD_LOADS(RUN, ...)                                                                                        \
  if (order == __ATOMIC_RELAXED) {                                                                                     \
    OFFLOAD_SCOPED(RUN, ".relaxed", __VA_ARGS__)                                                                       \
  } else {                                                                                                             \
    OFFLOAD_SCOPED(RUN, ".acquire", __VA_ARGS__)                                                                       \
  }
#define OFFLOAD_STORES(RUN, ...)                                                                                       \
  if (order == __ATOMIC_RELEASE) {                                                                                     \
    OFFLOAD_SCOPED(RUN, ".release", __VA_ARGS__)                                                                       \
  } else {                                                                                                             \
    OFFLOAD_SCOPED(RUN, ".relaxed", __VA_ARGS__)                                                                       \
  }
#define OFFLOAD_FETCHES(RUN, ...)                                                                                      \
  if (order == __ATOMIC_ACQ_REL) {                                                                                     \
    OFFLOAD_SCOPED(RUN, ".acq_rel", __VA_ARGS__)                                                                       \
  } else if (order == __ATOMIC_RELEASE) {                                                                              \
    OFFLOAD_SCOPED(RUN, ".release", __VA_ARGS__)                                                                       \
  } else {                                                                                                             \
    OFFLOAD_LOADS(RUN, __VA_ARGS__)                                                                                    \
  }
#else
#define OFFLOAD_LOADS(RUN, ...) RUN(".volatile", __VA_ARGS__);
#define OFFLOAD_STORES(RUN, ...) RUN(".volatile", __VA_ARGS__);
#define OFFLOAD_FETCHES(RUN, ...) OFFLOAD_SCOPED(RUN, "", __VA_ARGS__)
#endif

#define OFFLOAD_FENCE(qualifiers, ...) asm volatile("fence" qualifiers ";" ::: "memory")
#define OFFLOAD_LOAD(qualifiers, type, constraint)                                                                     \
  asm volatile("ld" qualifiers type " %0, [%1];" : "=" constraint(old) : "l"(at) : "memory")
#define OFFLOAD_STORE(qualifiers, type, constraint)                                                                    \
  asm volatile("st" qualifiers type " [%0], %1;" : : "l"(at), constraint(value) : "memory")
#define OFFLOAD_FETCH(qualifiers, operation, constraint)                                                               \
  asm volatile("atom" qualifiers operation " %0, [%1], %2;"                                                            \
               : "=" constraint(old)                                                                                   \
               : "l"(at), constraint(value)                                                                            \
               : "memory")
#define OFFLOAD_COMPARE(qualifiers, type, constraint)                                                                  \
  asm volatile("atom" qualifiers ".cas" type " %0, [%1], %2, %3;"                                                      \
               : "=" constraint(old)                                                                                   \
               : "l"(at), constraint(expected), constraint(value)                                                      \
               : "memory")

OFFLOAD_BUILTIN void offload_atomic_thread_fence(int order, int scope = __MEMORY_SCOPE_SYSTEM) {
#if __CUDA_ARCH__ >= 700
  if (order == __ATOMIC_SEQ_CST) {
    OFFLOAD_SCOPED(OFFLOAD_FENCE, ".sc", )
  } else if (order != __ATOMIC_RELAXED) {
    OFFLOAD_SCOPED(OFFLOAD_FENCE, ".acq_rel", )
  }
#else
  if (order != __ATOMIC_RELAXED && scope == __MEMORY_SCOPE_SYSTEM)
    asm volatile("membar.sys;" ::: "memory");
  else if (order != __ATOMIC_RELAXED)
    asm volatile("membar.gl;" ::: "memory");
#endif
}
OFFLOAD_BUILTIN void offload_atomic_signal_fence(int) { asm volatile("" ::: "memory"); }

namespace offload_atomics {

/* The fences before and after an instruction. */
OFFLOAD_BUILTIN void begin(int order, int scope) {
#if __CUDA_ARCH__ >= 700
  if (order == __ATOMIC_SEQ_CST)
#else
  if (order != __ATOMIC_CONSUME && order != __ATOMIC_ACQUIRE)
#endif
    offload_atomic_thread_fence(order, scope);
}
OFFLOAD_BUILTIN void end(int order, int scope) {
  if (__CUDA_ARCH__ < 700 && order != __ATOMIC_RELEASE)
    offload_atomic_thread_fence(order, scope);
}

/* The integer type for the bits of a number, by its size, and its loads and stores.  For other sizes, the compiler calls
 * functions that only the host has. */
template <int size> struct bits {
  static constexpr bool are_here = false;
};
#define OFFLOAD_BITS(number, wide, ptx, constraint)                                                                    \
  template <> struct bits<sizeof(number)> {                                                                            \
    typedef number type;                                                                                               \
    static constexpr bool are_here = true;                                                                             \
    OFFLOAD_BUILTIN number load(const volatile void *at, int order, int scope) {                                       \
      wide old;                                                                                                        \
      begin(order, scope);                                                                                             \
      OFFLOAD_LOADS(OFFLOAD_LOAD, ptx, constraint)                                                                     \
      end(order, scope);                                                                                               \
      return static_cast<number>(old);                                                                                 \
    }                                                                                                                  \
    OFFLOAD_BUILTIN void store(volatile void *at, wide value, int order, int scope) {                                  \
      begin(order, scope);                                                                                             \
      OFFLOAD_STORES(OFFLOAD_STORE, ptx, constraint)                                                                   \
    }                                                                                                                  \
  };
OFFLOAD_BITS(unsigned char, unsigned, ".u8", "r")
OFFLOAD_BITS(unsigned short, unsigned, ".u16", "r")
OFFLOAD_BITS(unsigned, unsigned, ".u32", "r")
OFFLOAD_BITS(unsigned long long, unsigned long long, ".u64", "l")
#undef OFFLOAD_BITS

/* The instructions that return the old number. */
#define OFFLOAD_INSTRUCTION(name, number, operation, constraint)                                                       \
  OFFLOAD_BUILTIN number name(volatile void *at, number value, int order, int scope) {                                 \
    number old;                                                                                                        \
    begin(order, scope);                                                                                               \
    OFFLOAD_FETCHES(OFFLOAD_FETCH, operation, constraint)                                                              \
    end(order, scope);                                                                                                 \
    return old;                                                                                                        \
  }
#define OFFLOAD_INSTRUCTIONS(name, operation)                                                                          \
  OFFLOAD_INSTRUCTION(name, unsigned, operation "32", "r")                                                             \
  OFFLOAD_INSTRUCTION(name, unsigned long long, operation "64", "l")
OFFLOAD_INSTRUCTIONS(exchange, ".exch.b")
OFFLOAD_INSTRUCTIONS(add, ".add.u")
OFFLOAD_INSTRUCTIONS(and_bits, ".and.b")
OFFLOAD_INSTRUCTIONS(or_bits, ".or.b")
OFFLOAD_INSTRUCTIONS(xor_bits, ".xor.b")
OFFLOAD_INSTRUCTIONS(min, ".min.u")
OFFLOAD_INSTRUCTIONS(max, ".max.u")
OFFLOAD_INSTRUCTION(min, int, ".min.s32", "r")
OFFLOAD_INSTRUCTION(min, long long, ".min.s64", "l")
OFFLOAD_INSTRUCTION(max, int, ".max.s32", "r")
OFFLOAD_INSTRUCTION(max, long long, ".max.s64", "l")
OFFLOAD_INSTRUCTION(add, float, ".add.f32", "f")
#if __CUDA_ARCH__ >= 600
OFFLOAD_INSTRUCTION(add, double, ".add.f64", "d")
#endif
#undef OFFLOAD_INSTRUCTIONS
#undef OFFLOAD_INSTRUCTION
/* Writes `value` if the bits are `expected`.  Returns the old bits. */
#define OFFLOAD_COMPARISON(number, ptx, constraint)                                                                    \
  OFFLOAD_BUILTIN number compare(volatile void *at, number expected, number value, int order, int scope) {             \
    number old;                                                                                                        \
    begin(order, scope);                                                                                               \
    OFFLOAD_FETCHES(OFFLOAD_COMPARE, ptx, constraint)                                                                  \
    end(order, scope);                                                                                                 \
    return old;                                                                                                        \
  }
OFFLOAD_COMPARISON(unsigned, ".b32", "r")
OFFLOAD_COMPARISON(unsigned long long, ".b64", "l")
#undef OFFLOAD_COMPARISON
} // namespace offload_atomics

#include "builtin_atomics.h"

/* Operators of an _Atomic number have an order.  The error does not appear in headers of the host, which may test whether the
 * word alone is a keyword. */
#define _Atomic(...)                                                                                                   \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic error \"-W#pragma-messages\"")                            \
  _Pragma("GCC warning \"_Atomic loses its orders on NVIDIA's GPUs: use __atomic_fetch_add and kin\"")                 \
  _Pragma("clang diagnostic pop") _Atomic(__VA_ARGS__)

#undef OFFLOAD_SCOPED
#undef OFFLOAD_LOADS
#undef OFFLOAD_STORES
#undef OFFLOAD_FETCHES
#undef OFFLOAD_FENCE
#undef OFFLOAD_LOAD
#undef OFFLOAD_STORE
#undef OFFLOAD_FETCH
#undef OFFLOAD_COMPARE

#endif
#endif
