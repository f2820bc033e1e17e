/* offload/atomics.h: atomic functions and fences.  Part of offload/kernel.h.
 *
 * Each function returns the old value.  Like CUDA's, they are relaxed and atomic for the whole device: use fences to order
 * other accesses.  On the CPU, they are atomic among all threads of the program.
 *
 *   atomicAdd, atomicSub, atomicMin, atomicMax, atomicExch     integers of 4 and 8 bytes, float, double
 *   atomicAnd, atomicOr, atomicXor, atomicCAS                   integers of 4 and 8 bytes; atomicCAS: also unsigned short
 *   atomicInc, atomicDec                                        unsigned
 *   atomicAdd_block and kin                                     the same functions
 *
 * Operations without an instruction that is right for all memory are loops of compare-and-swap: floating-point minima and
 * maxima everywhere, floating-point sums on the CPU and AMD.  With -munsafe-fp-atomics (Build::flag), clang uses AMD's
 * instructions, which lose additions to memory that the host shares page by page.
 */
#ifndef OFFLOAD_ATOMICS_H
#define OFFLOAD_ATOMICS_H

namespace offload_atomic {

/* The compiler's functions, by target.  Outside HIP, clang has scoped functions since 18.  Before that, it compiled functions
 * without a scope to NVIDIA instructions for the device.  For SPIR-V, offload/spirv_atomics.h replaces them. */
#if defined(OFFLOAD_NVPTX)
#if __has_builtin(__scoped_atomic_fetch_add)
#define OFFLOAD_SCOPED_ATOMICS 1
#endif
#elif defined(OFFLOAD_SPIRV)
#define OFFLOAD_SCOPED_ATOMICS 1
#endif
#if defined(OFFLOAD_AMDGPU)
#define OFFLOAD_ATOMIC(operation, address, value)                                                                      \
  __hip_atomic_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#elif defined(OFFLOAD_SCOPED_ATOMICS)
#define OFFLOAD_ATOMIC(operation, address, value)                                                                      \
  __scoped_atomic_##operation(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#elif defined(OFFLOAD_CPU_CHECK_RACES)
/* offload/checked.h explains the orders. */
#define OFFLOAD_ATOMIC(operation, address, value)                                                                      \
  (offload_cpu::has_fenced() ? __atomic_##operation(address, value, __ATOMIC_ACQ_REL)                                  \
                             : __atomic_##operation(address, value, __ATOMIC_ACQUIRE))
#else
#define OFFLOAD_ATOMIC(operation, address, value) __atomic_##operation(address, value, __ATOMIC_RELAXED)
#endif

/* Integers of 4 and 8 bytes. */
template <typename T_> struct number {
  static constexpr bool is_integer = false, is_float = false;
};
template <typename T_> struct integer {
  static_assert(sizeof(T_) == 4 || sizeof(T_) == 8, "atomic functions take integers of 4 and 8 bytes");
  static constexpr bool is_integer = true, is_float = false;
};
template <> struct number<int> : integer<int> {};
template <> struct number<unsigned> : integer<unsigned> {};
template <> struct number<long> : integer<long> {};
template <> struct number<unsigned long> : integer<unsigned long> {};
template <> struct number<long long> : integer<long long> {};
template <> struct number<unsigned long long> : integer<unsigned long long> {};
template <> struct number<float> {
  static constexpr bool is_integer = false, is_float = true;
};
template <> struct number<double> {
  static constexpr bool is_integer = false, is_float = true;
};

/* Keeps the second parameter from deducing T: atomicAdd(&a_float, 1) adds 1.0f. */
template <typename T_> struct same {
  typedef T_ type;
};

/* Types for which a header has its own `add`: those of cuda_fp16.h and cuda_bf16.h. */
template <typename T_> struct sum {
  static constexpr bool is_here = false;
};

template <typename T_> OFFLOAD_DEVICE bool replace(T_ *address, T_ &expected, T_ desired) {
#if defined(OFFLOAD_AMDGPU)
  return __hip_atomic_compare_exchange_strong(address, &expected, desired, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                              __HIP_MEMORY_SCOPE_AGENT);
#elif defined(OFFLOAD_SCOPED_ATOMICS)
  return __scoped_atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                          __MEMORY_SCOPE_DEVICE);
#elif defined(OFFLOAD_CPU_CHECK_RACES)
  if (offload_cpu::has_fenced())
    return __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
#else
  return __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

/* Replaces the old value by f(old). */
template <typename T_, typename F_> OFFLOAD_DEVICE T_ update(T_ *address, F_ f) {
#if defined(OFFLOAD_CPU_CHECK_RACES)
  T_ old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
#else
  T_ old = *static_cast<volatile T_ *>(address);
#endif
  while (!replace(address, old, f(old)))
    ;
  return old;
}

} // namespace offload_atomic

#define OFFLOAD_VALUE typename offload_atomic::same<T_>::type

/* Templates, so that a source may define functions of these names: for the oldest NVIDIA GPUs, sources have to. */
template <typename T_> OFFLOAD_DEVICE T_ atomicAdd(T_ *address, OFFLOAD_VALUE value) {
  if constexpr (offload_atomic::sum<T_>::is_here) {
    return offload_atomic::sum<T_>::add(address, value);
  } else {
    static_assert(offload_atomic::number<T_>::is_integer || offload_atomic::number<T_>::is_float,
                  "atomicAdd: not a number");
#if defined(OFFLOAD_CPU) || defined(OFFLOAD_SPIRV)
    if constexpr (offload_atomic::number<T_>::is_float)
      return offload_atomic::update(address, [=](T_ old) { return old + value; });
    else
#endif
      return OFFLOAD_ATOMIC(fetch_add, address, value);
  }
}
template <typename T_> OFFLOAD_DEVICE T_ atomicSub(T_ *address, OFFLOAD_VALUE value) {
  if constexpr (offload_atomic::number<T_>::is_integer)
    return atomicAdd(address, T_(0ull - value)); /* Unsigned, so that the smallest number wraps. */
  else
    return atomicAdd(address, T_(-value));
}

#define OFFLOAD_ATOMIC_BITS(name, operation)                                                                           \
  template <typename T_> OFFLOAD_DEVICE T_ name(T_ *address, OFFLOAD_VALUE value) {                                    \
    static_assert(offload_atomic::number<T_>::is_integer, #name ": not an integer");                                   \
    return OFFLOAD_ATOMIC(operation, address, value);                                                                  \
  }
OFFLOAD_ATOMIC_BITS(atomicAnd, fetch_and)
OFFLOAD_ATOMIC_BITS(atomicOr, fetch_or)
OFFLOAD_ATOMIC_BITS(atomicXor, fetch_xor)
#undef OFFLOAD_ATOMIC_BITS

/* In floating point, a number wins over NaN. */
#if defined(OFFLOAD_CPU)
#define OFFLOAD_IF_INTEGER(operation)
#else
#define OFFLOAD_IF_INTEGER(operation)                                                                                  \
  if constexpr (offload_atomic::number<T_>::is_integer)                                                                \
    return OFFLOAD_ATOMIC(operation, address, value);                                                                  \
  else
#endif
#define OFFLOAD_ATOMIC_EXTREME(name, operation, before)                                                                \
  template <typename T_> OFFLOAD_DEVICE T_ name(T_ *address, OFFLOAD_VALUE value) {                                    \
    OFFLOAD_IF_INTEGER(operation)                                                                                      \
    return offload_atomic::update(address, [=](T_ old) { return old before value || value != value ? old : value; }); \
  }
OFFLOAD_ATOMIC_EXTREME(atomicMin, fetch_min, <)
OFFLOAD_ATOMIC_EXTREME(atomicMax, fetch_max, >)
#undef OFFLOAD_ATOMIC_EXTREME
#undef OFFLOAD_IF_INTEGER

template <typename T_> OFFLOAD_DEVICE T_ atomicExch(T_ *address, OFFLOAD_VALUE value) {
#if defined(OFFLOAD_AMDGPU)
  return __hip_atomic_exchange(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  T_ old;
#if defined(OFFLOAD_SCOPED_ATOMICS)
  __scoped_atomic_exchange(address, &value, &old, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
#elif defined(OFFLOAD_CPU_CHECK_RACES)
  if (offload_cpu::has_fenced())
    __atomic_exchange(address, &value, &old, __ATOMIC_ACQ_REL);
  else
    __atomic_exchange(address, &value, &old, __ATOMIC_ACQUIRE);
#else
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
#endif
  return old;
#endif
}

/* Writes `desired` if the value is `expected`. */
template <typename T_> OFFLOAD_DEVICE T_ atomicCAS(T_ *address, OFFLOAD_VALUE expected, OFFLOAD_VALUE desired) {
  static_assert(offload_atomic::number<T_>::is_integer || __is_same(T_, unsigned short),
                "atomicCAS: not an integer");
  offload_atomic::replace(address, expected, T_(desired));
  return expected;
}

/* Counts up to `last`, then starts again from 0. */
OFFLOAD_YIELDS unsigned atomicInc(unsigned *address, unsigned last) {
#if defined(OFFLOAD_AMDGPU)
  return __builtin_amdgcn_atomic_inc32(address, last, __ATOMIC_RELAXED, "agent");
#elif defined(OFFLOAD_NVPTX)
  unsigned old;
  asm volatile("atom.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(last) : "memory");
  return old;
#else
  return offload_atomic::update(address, [=](unsigned old) { return old >= last ? 0 : old + 1; });
#endif
}
/* Counts down to 0, then starts again from `last`. */
OFFLOAD_YIELDS unsigned atomicDec(unsigned *address, unsigned last) {
#if defined(OFFLOAD_AMDGPU)
  return __builtin_amdgcn_atomic_dec32(address, last, __ATOMIC_RELAXED, "agent");
#elif defined(OFFLOAD_NVPTX)
  unsigned old;
  asm volatile("atom.dec.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(last) : "memory");
  return old;
#else
  return offload_atomic::update(address, [=](unsigned old) { return old == 0 || old > last ? last : old - 1; });
#endif
}

/* An operation that is atomic for the device is atomic for each block, too, and on the CPU for the whole system. */
#define OFFLOAD_ATOMIC_OF(name, scope)                                                                                 \
  template <typename T_> OFFLOAD_DEVICE T_ name##scope(T_ *address, OFFLOAD_VALUE value) { return name(address, value); }
#define OFFLOAD_CAS_OF(scope)                                                                                          \
  template <typename T_> OFFLOAD_DEVICE T_ atomicCAS##scope(T_ *address, OFFLOAD_VALUE expected, OFFLOAD_VALUE next) { \
    return atomicCAS(address, expected, next);                                                                         \
  }
#if defined(OFFLOAD_CPU)
#define OFFLOAD_ATOMIC_OF_BLOCK(name) OFFLOAD_ATOMIC_OF(name, _block) OFFLOAD_ATOMIC_OF(name, _system)
OFFLOAD_CAS_OF(_system)
#else
#define OFFLOAD_ATOMIC_OF_BLOCK(name) OFFLOAD_ATOMIC_OF(name, _block)
#endif
OFFLOAD_CAS_OF(_block)
OFFLOAD_ATOMIC_OF_BLOCK(atomicAdd)
OFFLOAD_ATOMIC_OF_BLOCK(atomicSub)
OFFLOAD_ATOMIC_OF_BLOCK(atomicMin)
OFFLOAD_ATOMIC_OF_BLOCK(atomicMax)
OFFLOAD_ATOMIC_OF_BLOCK(atomicExch)
OFFLOAD_ATOMIC_OF_BLOCK(atomicAnd)
OFFLOAD_ATOMIC_OF_BLOCK(atomicOr)
OFFLOAD_ATOMIC_OF_BLOCK(atomicXor)
OFFLOAD_ATOMIC_OF_BLOCK(atomicInc)
OFFLOAD_ATOMIC_OF_BLOCK(atomicDec)
#undef OFFLOAD_ATOMIC_OF_BLOCK
#undef OFFLOAD_ATOMIC_OF
#undef OFFLOAD_CAS_OF

#undef OFFLOAD_VALUE
#undef OFFLOAD_ATOMIC
#undef OFFLOAD_SCOPED_ATOMICS

/* Its block, the device or the whole system sees a thread's writes before the fence earlier than those after it. */
#if defined(OFFLOAD_AMDGPU)
#define OFFLOAD_FENCE(amd, nvidia, spirv) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, amd)
#elif defined(OFFLOAD_NVPTX)
#define OFFLOAD_FENCE(amd, nvidia, spirv) __nvvm_membar_##nvidia()
#elif defined(OFFLOAD_SPIRV)
#define OFFLOAD_FENCE(amd, nvidia, spirv) __spirv_MemoryBarrier(offload_scope_##spirv, offload_all_accesses)
#elif defined(OFFLOAD_CPU_CHECK_RACES)
#define OFFLOAD_FENCE(...) offload_cpu::fence()
#else
#define OFFLOAD_FENCE(...) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
OFFLOAD_YIELDS void __threadfence_block() { OFFLOAD_FENCE("workgroup", cta, workgroup); }
OFFLOAD_YIELDS void __threadfence() { OFFLOAD_FENCE("agent", gl, device); }
OFFLOAD_YIELDS void __threadfence_system() { OFFLOAD_FENCE("", sys, system); }
#undef OFFLOAD_FENCE

#endif
