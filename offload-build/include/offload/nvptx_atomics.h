/* offload/nvptx_atomics.h: the compiler's atomic functions on NVIDIA's GPUs.  Part of offload/kernel.h.
 *
 *   __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL) and kin, for the whole system
 *   __scoped_atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) and kin, also where clang has none
 *   __sync_fetch_and_add(p, 1) and kin, as with __ATOMIC_SEQ_CST
 *
 * clang 22 loses the order and the scope of a function that reads and writes.  Older ones lose all orders, or crash.
 * So macros put functions with PTX in the place of the compiler's (PTX ISA, "Memory Consistency Model").
 * __ATOMIC_SEQ_CST is a fence before an instruction with a weaker order, as in CUDA's libcu++.  GPUs before sm_70 have
 * fences alone, and those before sm_60 no scope but the device.
 */
#ifndef OFFLOAD_NVPTX_ATOMICS_H
#define OFFLOAD_NVPTX_ATOMICS_H
/* A source with launches is also compiled for the host, where clang defines the macros of the GPU, except for one. */
#if defined(__NVPTX__) && defined(__CUDA_ARCH__)

/* Sources with CUDA's headers may be older than C++17. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"

#if !defined(__MEMORY_SCOPE_SYSTEM)
#define __MEMORY_SCOPE_SYSTEM 0
#define __MEMORY_SCOPE_DEVICE 1
#define __MEMORY_SCOPE_WRKGRP 2
#define __MEMORY_SCOPE_WVFRNT 3
#define __MEMORY_SCOPE_SINGLE 4
#endif

/* For host and device: compiled for a device, a source still has the functions of the host, which may call these. */
#define OFFLOAD_BUILTIN static __attribute__((host, device, always_inline)) inline

/* RUN(qualifiers, ...) with the qualifiers of `order` and `scope`. */
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

namespace offload_nvptx {

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

/* The bits of a number by its size, and how they are read and written.  Other sizes are left to the compiler, which
 * calls functions that only the host has. */
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

template <typename To, typename From> OFFLOAD_BUILTIN To as(From from) { return __builtin_bit_cast(To, from); }

/* Keeps a parameter from having a say in what T is. */
template <typename T> struct same {
  typedef T type;
};

/* The instructions that return the number before. */
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
template <typename N> OFFLOAD_BUILTIN N sub(volatile void *at, N value, int order, int scope) {
  return add(at, -value, order, scope);
}

/* Writes `value` if the bits are `expected`.  Returns those before. */
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
/* Of 1 or 2 bytes, in the word around them. */
template <typename T> OFFLOAD_BUILTIN T compare(volatile void *at, T expected, T value, int order, int scope) {
  auto address = reinterpret_cast<unsigned long long>(at);
  auto word = reinterpret_cast<volatile void *>(address & ~3ull);
  unsigned shift = unsigned(address & 3) * 8, mask = unsigned(T(~0)) << shift;
  /* With `order`, since there may be no write. */
  unsigned old = bits<4>::load(word, order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order, scope);
  while (T(old >> shift) == expected) {
    unsigned found = compare(word, old, (old & ~mask) | unsigned(value) << shift, order, scope);
    if (found == old)
      return expected;
    old = found;
  }
  return T(old >> shift);
}

/* Writes f(old), and returns `old`. */
template <typename T, typename F> OFFLOAD_BUILTIN T update(volatile T *at, F f, int order, int scope) {
  auto old = bits<sizeof(T)>::load(at, __ATOMIC_RELAXED, scope);
  for (;;) {
    auto found = compare(at, old, as<decltype(old)>(f(as<T>(old))), order, scope);
    if (found == old)
      return as<T>(old);
    old = found;
  }
}

/* The operands of instructions that add a number, and of those that order it. */
template <typename T> struct operand {
  static constexpr bool is_added = false, is_integer = false, never = false;
};
#define OFFLOAD_OPERAND(number, bits, ordered, is_an_integer)                                                          \
  template <> struct operand<number> {                                                                                 \
    typedef bits added;                                                                                                \
    typedef ordered integer;                                                                                           \
    static constexpr bool is_added = true, is_integer = is_an_integer, never = false;                                  \
  };
OFFLOAD_OPERAND(int, unsigned, int, true)
OFFLOAD_OPERAND(unsigned, unsigned, unsigned, true)
OFFLOAD_OPERAND(long, unsigned long long, long long, true)
OFFLOAD_OPERAND(unsigned long, unsigned long long, unsigned long long, true)
OFFLOAD_OPERAND(long long, unsigned long long, long long, true)
OFFLOAD_OPERAND(unsigned long long, unsigned long long, unsigned long long, true)
OFFLOAD_OPERAND(float, float, float, false)
#if __CUDA_ARCH__ >= 600
OFFLOAD_OPERAND(double, double, double, false)
#endif
#undef OFFLOAD_OPERAND

} // namespace offload_nvptx

#define OFFLOAD_VALUE typename offload_nvptx::same<T>::type
#define OFFLOAD_SCOPE int scope = __MEMORY_SCOPE_SYSTEM
#define OFFLOAD_BITS offload_nvptx::bits<sizeof(T)>

template <typename T>
OFFLOAD_BUILTIN void offload_atomic_load(const volatile T *at, T *value, int order, OFFLOAD_SCOPE) {
  if constexpr (OFFLOAD_BITS::are_here)
    *value = offload_nvptx::as<T>(OFFLOAD_BITS::load(at, order, scope));
  else
    __atomic_load(at, value, order);
}
template <typename T>
OFFLOAD_BUILTIN void offload_atomic_store(volatile T *at, const T *value, int order, OFFLOAD_SCOPE) {
  if constexpr (OFFLOAD_BITS::are_here)
    OFFLOAD_BITS::store(at, offload_nvptx::as<typename OFFLOAD_BITS::type>(*value), order, scope);
  else
    __atomic_store(at, const_cast<T *>(value), order);
}
template <typename T>
OFFLOAD_BUILTIN void offload_atomic_exchange(volatile T *at, const T *value, T *old, int order, OFFLOAD_SCOPE) {
  if constexpr (!OFFLOAD_BITS::are_here)
    __atomic_exchange(at, const_cast<T *>(value), old, order);
  else if constexpr (sizeof(T) < 4)
    *old = offload_nvptx::update(at, [=](T) { return *value; }, order, scope);
  else
    *old = offload_nvptx::as<T>(
        offload_nvptx::exchange(at, offload_nvptx::as<typename OFFLOAD_BITS::type>(*value), order, scope));
}
/* With both orders: there is one instruction. */
template <typename T>
OFFLOAD_BUILTIN bool offload_atomic_compare_exchange(volatile T *at, T *expected, const T *value, bool, int order,
                                                     int failure, OFFLOAD_SCOPE) {
  if constexpr (OFFLOAD_BITS::are_here) {
    if (failure == __ATOMIC_SEQ_CST || order == __ATOMIC_RELAXED)
      order = failure;
    else if (failure != __ATOMIC_RELAXED && order == __ATOMIC_RELEASE)
      order = __ATOMIC_ACQ_REL;
    auto old = offload_nvptx::as<typename OFFLOAD_BITS::type>(*expected);
    auto found = offload_nvptx::compare(at, old, offload_nvptx::as<decltype(old)>(*value), order, scope);
    *expected = offload_nvptx::as<T>(found);
    return found == old;
  } else {
    return __atomic_compare_exchange(at, expected, const_cast<T *>(value), false, order, failure);
  }
}
template <typename T> OFFLOAD_BUILTIN T offload_atomic_load_n(const volatile T *at, int order, OFFLOAD_SCOPE) {
  T value;
  offload_atomic_load(at, &value, order, scope);
  return value;
}
template <typename T>
OFFLOAD_BUILTIN void offload_atomic_store_n(volatile T *at, OFFLOAD_VALUE value, int order, OFFLOAD_SCOPE) {
  offload_atomic_store(at, &value, order, scope);
}
template <typename T>
OFFLOAD_BUILTIN T offload_atomic_exchange_n(volatile T *at, OFFLOAD_VALUE value, int order, OFFLOAD_SCOPE) {
  offload_atomic_exchange(at, &value, &value, order, scope);
  return value;
}
template <typename T>
OFFLOAD_BUILTIN bool offload_atomic_compare_exchange_n(volatile T *at, T *expected, OFFLOAD_VALUE value, bool weak,
                                                       int order, int failure, OFFLOAD_SCOPE) {
  return offload_atomic_compare_exchange(at, expected, &value, weak, order, failure, scope);
}
OFFLOAD_BUILTIN bool offload_atomic_test_and_set(volatile void *at, int order) {
  return offload_atomic_exchange_n(static_cast<volatile unsigned char *>(at), 1, order) != 0;
}
OFFLOAD_BUILTIN void offload_atomic_clear(volatile void *at, int order) {
  offload_atomic_store_n(static_cast<volatile unsigned char *>(at), 0, order);
}

/* Functions that return the number before, and the number after: `next`, of `old` and `value`. */
#define OFFLOAD_FETCHING(name, instruction, has_instruction, form, next)                                               \
  template <typename T, typename V>                                                                                    \
  OFFLOAD_BUILTIN T offload_atomic_fetch_##name(volatile T *at, V by, int order, OFFLOAD_SCOPE) {                      \
    T value = T(by);                                                                                                   \
    if constexpr (offload_nvptx::operand<T>::has_instruction)                                                          \
      return T(offload_nvptx::instruction(at, typename offload_nvptx::operand<T>::form(value), order, scope));         \
    else if constexpr (OFFLOAD_BITS::are_here)                                                                         \
      return offload_nvptx::update(at, [=](T old) { return T(next); }, order, scope);                                  \
    else                                                                                                               \
      return __atomic_fetch_##name(at, value, order);                                                                  \
  }                                                                                                                    \
  template <typename T, typename V>                                                                                    \
  OFFLOAD_BUILTIN T offload_atomic_##name##_fetch(volatile T *at, V by, int order, OFFLOAD_SCOPE) {                    \
    T value = T(by), old = offload_atomic_fetch_##name(at, by, order, scope);                                          \
    return T(next);                                                                                                    \
  }
OFFLOAD_FETCHING(add, add, is_added, added, old + value)
OFFLOAD_FETCHING(sub, sub, is_added, added, old - value)
OFFLOAD_FETCHING(and, and_bits, is_integer, added, old & value)
OFFLOAD_FETCHING(or, or_bits, is_integer, added, old | value)
OFFLOAD_FETCHING(xor, xor_bits, is_integer, added, old ^ value)
OFFLOAD_FETCHING(nand, and_bits, never, added, ~(old & value))
/* Of floating point the other number wins over NaN. */
OFFLOAD_FETCHING(min, min, is_integer, integer, old < value || value != value ? old : value)
OFFLOAD_FETCHING(max, max, is_integer, integer, old > value || value != value ? old : value)
#undef OFFLOAD_FETCHING
/* Pointers, by bytes. */
#define OFFLOAD_OF_POINTERS(name)                                                                                      \
  template <typename T, typename V>                                                                                    \
  OFFLOAD_BUILTIN T *offload_atomic_##name(T *volatile *at, V by, int order, OFFLOAD_SCOPE) {                          \
    auto address = reinterpret_cast<volatile unsigned long long *>(at);                                                \
    return reinterpret_cast<T *>(offload_atomic_##name(address, by, order, scope));                                    \
  }
OFFLOAD_OF_POINTERS(fetch_add)
OFFLOAD_OF_POINTERS(fetch_sub)
OFFLOAD_OF_POINTERS(add_fetch)
OFFLOAD_OF_POINTERS(sub_fetch)
#undef OFFLOAD_OF_POINTERS

/* `...` may name what the operation protects. */
#define OFFLOAD_SYNC(name, function)                                                                                   \
  template <typename T, typename V, typename... Rest>                                                                  \
  OFFLOAD_BUILTIN T offload_sync_##name(volatile T *at, V by, Rest...) {                                               \
    return offload_atomic_##function(at, by, __ATOMIC_SEQ_CST);                                                        \
  }
OFFLOAD_SYNC(fetch_and_add, fetch_add)
OFFLOAD_SYNC(add_and_fetch, add_fetch)
OFFLOAD_SYNC(fetch_and_sub, fetch_sub)
OFFLOAD_SYNC(sub_and_fetch, sub_fetch)
OFFLOAD_SYNC(fetch_and_or, fetch_or)
OFFLOAD_SYNC(or_and_fetch, or_fetch)
OFFLOAD_SYNC(fetch_and_and, fetch_and)
OFFLOAD_SYNC(and_and_fetch, and_fetch)
OFFLOAD_SYNC(fetch_and_xor, fetch_xor)
OFFLOAD_SYNC(xor_and_fetch, xor_fetch)
OFFLOAD_SYNC(fetch_and_nand, fetch_nand)
OFFLOAD_SYNC(nand_and_fetch, nand_fetch)
OFFLOAD_SYNC(fetch_and_min, fetch_min)
OFFLOAD_SYNC(fetch_and_umin, fetch_min)
OFFLOAD_SYNC(fetch_and_max, fetch_max)
OFFLOAD_SYNC(fetch_and_umax, fetch_max)
OFFLOAD_SYNC(swap, exchange_n)
#undef OFFLOAD_SYNC
template <typename T, typename... Rest>
OFFLOAD_BUILTIN T offload_sync_lock_test_and_set(volatile T *at, OFFLOAD_VALUE value, Rest...) {
  return offload_atomic_exchange_n(at, value, __ATOMIC_ACQUIRE);
}
template <typename T, typename... Rest> OFFLOAD_BUILTIN void offload_sync_lock_release(volatile T *at, Rest...) {
  offload_atomic_store_n(at, T(), __ATOMIC_RELEASE);
}
template <typename T, typename... Rest>
OFFLOAD_BUILTIN T offload_sync_val_compare_and_swap(volatile T *at, OFFLOAD_VALUE expected, OFFLOAD_VALUE value,
                                                    Rest...) {
  T found = expected;
  offload_atomic_compare_exchange_n(at, &found, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return found;
}
template <typename T, typename... Rest>
OFFLOAD_BUILTIN bool offload_sync_bool_compare_and_swap(volatile T *at, OFFLOAD_VALUE expected, OFFLOAD_VALUE value,
                                                        Rest...) {
  T found = expected;
  return offload_atomic_compare_exchange_n(at, &found, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
OFFLOAD_BUILTIN void offload_sync_synchronize() { offload_atomic_thread_fence(__ATOMIC_SEQ_CST); }

#define __atomic_load(...) offload_atomic_load(__VA_ARGS__)
#define __scoped_atomic_load(...) offload_atomic_load(__VA_ARGS__)
#define __atomic_load_n(...) offload_atomic_load_n(__VA_ARGS__)
#define __scoped_atomic_load_n(...) offload_atomic_load_n(__VA_ARGS__)
#define __atomic_store(...) offload_atomic_store(__VA_ARGS__)
#define __scoped_atomic_store(...) offload_atomic_store(__VA_ARGS__)
#define __atomic_store_n(...) offload_atomic_store_n(__VA_ARGS__)
#define __scoped_atomic_store_n(...) offload_atomic_store_n(__VA_ARGS__)
#define __atomic_exchange(...) offload_atomic_exchange(__VA_ARGS__)
#define __scoped_atomic_exchange(...) offload_atomic_exchange(__VA_ARGS__)
#define __atomic_exchange_n(...) offload_atomic_exchange_n(__VA_ARGS__)
#define __scoped_atomic_exchange_n(...) offload_atomic_exchange_n(__VA_ARGS__)
#define __atomic_compare_exchange(...) offload_atomic_compare_exchange(__VA_ARGS__)
#define __scoped_atomic_compare_exchange(...) offload_atomic_compare_exchange(__VA_ARGS__)
#define __atomic_compare_exchange_n(...) offload_atomic_compare_exchange_n(__VA_ARGS__)
#define __scoped_atomic_compare_exchange_n(...) offload_atomic_compare_exchange_n(__VA_ARGS__)
#define __atomic_thread_fence(...) offload_atomic_thread_fence(__VA_ARGS__)
#define __scoped_atomic_thread_fence(...) offload_atomic_thread_fence(__VA_ARGS__)
#define __atomic_fetch_add(...) offload_atomic_fetch_add(__VA_ARGS__)
#define __scoped_atomic_fetch_add(...) offload_atomic_fetch_add(__VA_ARGS__)
#define __atomic_add_fetch(...) offload_atomic_add_fetch(__VA_ARGS__)
#define __scoped_atomic_add_fetch(...) offload_atomic_add_fetch(__VA_ARGS__)
#define __atomic_fetch_sub(...) offload_atomic_fetch_sub(__VA_ARGS__)
#define __scoped_atomic_fetch_sub(...) offload_atomic_fetch_sub(__VA_ARGS__)
#define __atomic_sub_fetch(...) offload_atomic_sub_fetch(__VA_ARGS__)
#define __scoped_atomic_sub_fetch(...) offload_atomic_sub_fetch(__VA_ARGS__)
#define __atomic_fetch_and(...) offload_atomic_fetch_and(__VA_ARGS__)
#define __scoped_atomic_fetch_and(...) offload_atomic_fetch_and(__VA_ARGS__)
#define __atomic_and_fetch(...) offload_atomic_and_fetch(__VA_ARGS__)
#define __scoped_atomic_and_fetch(...) offload_atomic_and_fetch(__VA_ARGS__)
#define __atomic_fetch_or(...) offload_atomic_fetch_or(__VA_ARGS__)
#define __scoped_atomic_fetch_or(...) offload_atomic_fetch_or(__VA_ARGS__)
#define __atomic_or_fetch(...) offload_atomic_or_fetch(__VA_ARGS__)
#define __scoped_atomic_or_fetch(...) offload_atomic_or_fetch(__VA_ARGS__)
#define __atomic_fetch_xor(...) offload_atomic_fetch_xor(__VA_ARGS__)
#define __scoped_atomic_fetch_xor(...) offload_atomic_fetch_xor(__VA_ARGS__)
#define __atomic_xor_fetch(...) offload_atomic_xor_fetch(__VA_ARGS__)
#define __scoped_atomic_xor_fetch(...) offload_atomic_xor_fetch(__VA_ARGS__)
#define __atomic_fetch_min(...) offload_atomic_fetch_min(__VA_ARGS__)
#define __scoped_atomic_fetch_min(...) offload_atomic_fetch_min(__VA_ARGS__)
#define __atomic_min_fetch(...) offload_atomic_min_fetch(__VA_ARGS__)
#define __scoped_atomic_min_fetch(...) offload_atomic_min_fetch(__VA_ARGS__)
#define __atomic_fetch_max(...) offload_atomic_fetch_max(__VA_ARGS__)
#define __scoped_atomic_fetch_max(...) offload_atomic_fetch_max(__VA_ARGS__)
#define __atomic_max_fetch(...) offload_atomic_max_fetch(__VA_ARGS__)
#define __scoped_atomic_max_fetch(...) offload_atomic_max_fetch(__VA_ARGS__)
#define __atomic_fetch_nand(...) offload_atomic_fetch_nand(__VA_ARGS__)
#define __scoped_atomic_fetch_nand(...) offload_atomic_fetch_nand(__VA_ARGS__)
#define __atomic_nand_fetch(...) offload_atomic_nand_fetch(__VA_ARGS__)
#define __scoped_atomic_nand_fetch(...) offload_atomic_nand_fetch(__VA_ARGS__)
#define __atomic_test_and_set(...) offload_atomic_test_and_set(__VA_ARGS__)
#define __atomic_clear(...) offload_atomic_clear(__VA_ARGS__)
#define __atomic_signal_fence(...) offload_atomic_signal_fence(__VA_ARGS__)
#define __sync_fetch_and_add(...) offload_sync_fetch_and_add(__VA_ARGS__)
#define __sync_add_and_fetch(...) offload_sync_add_and_fetch(__VA_ARGS__)
#define __sync_fetch_and_sub(...) offload_sync_fetch_and_sub(__VA_ARGS__)
#define __sync_sub_and_fetch(...) offload_sync_sub_and_fetch(__VA_ARGS__)
#define __sync_fetch_and_or(...) offload_sync_fetch_and_or(__VA_ARGS__)
#define __sync_or_and_fetch(...) offload_sync_or_and_fetch(__VA_ARGS__)
#define __sync_fetch_and_and(...) offload_sync_fetch_and_and(__VA_ARGS__)
#define __sync_and_and_fetch(...) offload_sync_and_and_fetch(__VA_ARGS__)
#define __sync_fetch_and_xor(...) offload_sync_fetch_and_xor(__VA_ARGS__)
#define __sync_xor_and_fetch(...) offload_sync_xor_and_fetch(__VA_ARGS__)
#define __sync_fetch_and_nand(...) offload_sync_fetch_and_nand(__VA_ARGS__)
#define __sync_nand_and_fetch(...) offload_sync_nand_and_fetch(__VA_ARGS__)
#define __sync_fetch_and_min(...) offload_sync_fetch_and_min(__VA_ARGS__)
#define __sync_fetch_and_umin(...) offload_sync_fetch_and_umin(__VA_ARGS__)
#define __sync_fetch_and_max(...) offload_sync_fetch_and_max(__VA_ARGS__)
#define __sync_fetch_and_umax(...) offload_sync_fetch_and_umax(__VA_ARGS__)
#define __sync_swap(...) offload_sync_swap(__VA_ARGS__)
#define __sync_lock_test_and_set(...) offload_sync_lock_test_and_set(__VA_ARGS__)
#define __sync_lock_release(...) offload_sync_lock_release(__VA_ARGS__)
#define __sync_val_compare_and_swap(...) offload_sync_val_compare_and_swap(__VA_ARGS__)
#define __sync_bool_compare_and_swap(...) offload_sync_bool_compare_and_swap(__VA_ARGS__)
#define __sync_synchronize(...) offload_sync_synchronize(__VA_ARGS__)

/* Operators of such a number have an order.  An error that is silent in headers of the host. */
#define _Atomic                                                                                                        \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic error \"-W#pragma-messages\"")                            \
  _Pragma("GCC warning \"_Atomic loses its orders on NVIDIA's GPUs: use __atomic_fetch_add and kin\"")                 \
  _Pragma("clang diagnostic pop") _Atomic

#undef OFFLOAD_VALUE
#undef OFFLOAD_SCOPE
#undef OFFLOAD_BITS
#undef OFFLOAD_SCOPED
#undef OFFLOAD_LOADS
#undef OFFLOAD_STORES
#undef OFFLOAD_FETCHES
#undef OFFLOAD_FENCE
#undef OFFLOAD_LOAD
#undef OFFLOAD_STORE
#undef OFFLOAD_FETCH
#undef OFFLOAD_COMPARE
#undef OFFLOAD_BUILTIN

#pragma clang diagnostic pop

#endif
#endif
