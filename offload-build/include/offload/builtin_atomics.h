/* offload/builtin_atomics.h: the compiler's atomic functions as instructions of the target.  Part of offload/kernel.h.
 *
 *   __atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL) and kin, for the whole system
 *   __scoped_atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE) and kin, even if clang has no such functions
 *   __sync_fetch_and_add(p, 1) and kin, as with __ATOMIC_SEQ_CST
 *
 * Macros replace the compiler's functions by these.  The header that includes this one has the instructions.
 */
#ifndef OFFLOAD_BUILTIN_ATOMICS_H
#define OFFLOAD_BUILTIN_ATOMICS_H

/* Sources with CUDA's headers may be older than C++17. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++17-extensions"

namespace offload_atomics {

template <typename To, typename From> OFFLOAD_BUILTIN To as(From from) { return __builtin_bit_cast(To, from); }

/* Keeps a parameter from deducing T. */
template <typename T_> struct same {
  typedef T_ type;
};

template <typename N_> OFFLOAD_BUILTIN N_ sub(volatile void *at, N_ value, int order, int scope) {
  return add(at, -value, order, scope);
}

/* For 1 or 2 bytes: changes the word around them. */
template <typename T_> OFFLOAD_BUILTIN T_ compare(volatile void *at, T_ expected, T_ value, int order, int scope) {
  auto address = reinterpret_cast<unsigned long long>(at);
  auto word = reinterpret_cast<volatile void *>(address & ~3ull);
  unsigned shift = unsigned(address & 3) * 8, mask = unsigned(T_(~0)) << shift;
  /* The load has `order`, too, since there may be no write. */
  unsigned old = bits<4>::load(word, order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order, scope);
  while (T_(old >> shift) == expected) {
    unsigned found = compare(word, old, (old & ~mask) | unsigned(value) << shift, order, scope);
    if (found == old)
      return expected;
    old = found;
  }
  return T_(old >> shift);
}

/* Writes f(old), and returns old. */
template <typename T_, typename F_> OFFLOAD_BUILTIN T_ update(volatile T_ *at, F_ f, int order, int scope) {
  auto old = bits<sizeof(T_)>::load(at, __ATOMIC_RELAXED, scope);
  for (;;) {
    auto found = compare(at, old, as<decltype(old)>(f(as<T_>(old))), order, scope);
    if (found == old)
      return as<T_>(old);
    old = found;
  }
}

/* The operand types of instructions that add numbers, and of instructions that compare them. */
template <typename T_> struct operand {
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
#if defined(__NVPTX__)
OFFLOAD_OPERAND(float, float, float, false)
#endif
#if defined(__NVPTX__) && __CUDA_ARCH__ >= 600
OFFLOAD_OPERAND(double, double, double, false)
#endif
#undef OFFLOAD_OPERAND

/* Calling a function of the host is an error in device code, and shows the function's name.  The host's types are right. */
template <typename T_> __attribute__((host)) void this_type_needs_alignas_with_its_size();
template <typename T_> OFFLOAD_BUILTIN void check_alignment() {
  if constexpr (bits<sizeof(T_)>::are_here && alignof(T_) < sizeof(T_))
    this_type_needs_alignas_with_its_size<T_>();
}

} // namespace offload_atomics

#define OFFLOAD_VALUE typename offload_atomics::same<T_>::type
#define OFFLOAD_SCOPE int scope = __MEMORY_SCOPE_SYSTEM
#define OFFLOAD_BITS offload_atomics::bits<sizeof(T_)>

template <typename T_>
OFFLOAD_BUILTIN void offload_atomic_load(const volatile T_ *at, T_ *value, int order, OFFLOAD_SCOPE) {
  offload_atomics::check_alignment<T_>();
  if constexpr (OFFLOAD_BITS::are_here)
    *value = offload_atomics::as<T_>(OFFLOAD_BITS::load(at, order, scope));
  else
    __atomic_load(at, value, order);
}
template <typename T_>
OFFLOAD_BUILTIN void offload_atomic_store(volatile T_ *at, const T_ *value, int order, OFFLOAD_SCOPE) {
  offload_atomics::check_alignment<T_>();
  if constexpr (OFFLOAD_BITS::are_here)
    OFFLOAD_BITS::store(at, offload_atomics::as<typename OFFLOAD_BITS::type>(*value), order, scope);
  else
    __atomic_store(at, const_cast<T_ *>(value), order);
}
template <typename T_>
OFFLOAD_BUILTIN void offload_atomic_exchange(volatile T_ *at, const T_ *value, T_ *old, int order, OFFLOAD_SCOPE) {
  offload_atomics::check_alignment<T_>();
  if constexpr (!OFFLOAD_BITS::are_here)
    __atomic_exchange(at, const_cast<T_ *>(value), old, order);
  else if constexpr (sizeof(T_) < 4)
    *old = offload_atomics::update(at, [=](T_) { return *value; }, order, scope);
  else
    *old = offload_atomics::as<T_>(
        offload_atomics::exchange(at, offload_atomics::as<typename OFFLOAD_BITS::type>(*value), order, scope));
}
/* One instruction does it, so its order covers both orders. */
template <typename T_>
OFFLOAD_BUILTIN bool offload_atomic_compare_exchange(volatile T_ *at, T_ *expected, const T_ *value, bool, int order,
                                                     int failure, OFFLOAD_SCOPE) {
  offload_atomics::check_alignment<T_>();
  if constexpr (OFFLOAD_BITS::are_here) {
    if (failure == __ATOMIC_SEQ_CST || order == __ATOMIC_RELAXED)
      order = failure;
    else if (failure != __ATOMIC_RELAXED && order == __ATOMIC_RELEASE)
      order = __ATOMIC_ACQ_REL;
    auto old = offload_atomics::as<typename OFFLOAD_BITS::type>(*expected);
    auto found = offload_atomics::compare(at, old, offload_atomics::as<decltype(old)>(*value), order, scope);
    *expected = offload_atomics::as<T_>(found);
    return found == old;
  } else {
    return __atomic_compare_exchange(at, expected, const_cast<T_ *>(value), false, order, failure);
  }
}
template <typename T_> OFFLOAD_BUILTIN T_ offload_atomic_load_n(const volatile T_ *at, int order, OFFLOAD_SCOPE) {
  T_ value;
  offload_atomic_load(at, &value, order, scope);
  return value;
}
template <typename T_>
OFFLOAD_BUILTIN void offload_atomic_store_n(volatile T_ *at, OFFLOAD_VALUE value, int order, OFFLOAD_SCOPE) {
  offload_atomic_store(at, &value, order, scope);
}
template <typename T_>
OFFLOAD_BUILTIN T_ offload_atomic_exchange_n(volatile T_ *at, OFFLOAD_VALUE value, int order, OFFLOAD_SCOPE) {
  offload_atomic_exchange(at, &value, &value, order, scope);
  return value;
}
template <typename T_>
OFFLOAD_BUILTIN bool offload_atomic_compare_exchange_n(volatile T_ *at, T_ *expected, OFFLOAD_VALUE value, bool weak,
                                                       int order, int failure, OFFLOAD_SCOPE) {
  return offload_atomic_compare_exchange(at, expected, &value, weak, order, failure, scope);
}
OFFLOAD_BUILTIN bool offload_atomic_test_and_set(volatile void *at, int order) {
  return offload_atomic_exchange_n(static_cast<volatile unsigned char *>(at), 1, order) != 0;
}
OFFLOAD_BUILTIN void offload_atomic_clear(volatile void *at, int order) {
  offload_atomic_store_n(static_cast<volatile unsigned char *>(at), 0, order);
}

/* Functions that return the number before, and functions that return the number after: `next`, from `old` and `value`. */
#define OFFLOAD_FETCHING(name, instruction, has_instruction, form, next)                                               \
  template <typename T_, typename V_>                                                                                  \
  OFFLOAD_BUILTIN T_ offload_atomic_fetch_##name(volatile T_ *at, V_ by, int order, OFFLOAD_SCOPE) {                   \
    T_ value = T_(by);                                                                                                 \
    if constexpr (offload_atomics::operand<T_>::has_instruction)                                                       \
      return T_(offload_atomics::instruction(at, typename offload_atomics::operand<T_>::form(value), order, scope));   \
    else if constexpr (OFFLOAD_BITS::are_here)                                                                         \
      return offload_atomics::update(at, [=](T_ old) { return T_(next); }, order, scope);                              \
    else                                                                                                               \
      return __atomic_fetch_##name(at, value, order);                                                                  \
  }                                                                                                                    \
  template <typename T_, typename V_>                                                                                  \
  OFFLOAD_BUILTIN T_ offload_atomic_##name##_fetch(volatile T_ *at, V_ by, int order, OFFLOAD_SCOPE) {                 \
    T_ value = T_(by), old = offload_atomic_fetch_##name(at, by, order, scope);                                        \
    return T_(next);                                                                                                   \
  }
OFFLOAD_FETCHING(add, add, is_added, added, old + value)
OFFLOAD_FETCHING(sub, sub, is_added, added, old - value)
OFFLOAD_FETCHING(and, and_bits, is_integer, added, old & value)
OFFLOAD_FETCHING(or, or_bits, is_integer, added, old | value)
OFFLOAD_FETCHING(xor, xor_bits, is_integer, added, old ^ value)
OFFLOAD_FETCHING(nand, and_bits, never, added, ~(old & value))
/* In floating point, a number wins over NaN. */
OFFLOAD_FETCHING(min, min, is_integer, integer, old < value || value != value ? old : value)
OFFLOAD_FETCHING(max, max, is_integer, integer, old > value || value != value ? old : value)
#undef OFFLOAD_FETCHING
/* Pointers, moved by bytes. */
#define OFFLOAD_OF_POINTERS(name)                                                                                      \
  template <typename T_, typename V_>                                                                                  \
  OFFLOAD_BUILTIN T_ *offload_atomic_##name(T_ *volatile *at, V_ by, int order, OFFLOAD_SCOPE) {                       \
    auto address = reinterpret_cast<volatile unsigned long long *>(at);                                                \
    return reinterpret_cast<T_ *>(offload_atomic_##name(address, by, order, scope));                                   \
  }
OFFLOAD_OF_POINTERS(fetch_add)
OFFLOAD_OF_POINTERS(fetch_sub)
OFFLOAD_OF_POINTERS(add_fetch)
OFFLOAD_OF_POINTERS(sub_fetch)
#undef OFFLOAD_OF_POINTERS

/* `...` may name variables that the operation protects. */
#define OFFLOAD_SYNC(name, function)                                                                                   \
  template <typename T_, typename V_, typename... Rest>                                                                \
  OFFLOAD_BUILTIN T_ offload_sync_##name(volatile T_ *at, V_ by, Rest...) {                                            \
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
template <typename T_, typename... Rest>
OFFLOAD_BUILTIN T_ offload_sync_lock_test_and_set(volatile T_ *at, OFFLOAD_VALUE value, Rest...) {
  return offload_atomic_exchange_n(at, value, __ATOMIC_ACQUIRE);
}
template <typename T_, typename... Rest> OFFLOAD_BUILTIN void offload_sync_lock_release(volatile T_ *at, Rest...) {
  offload_atomic_store_n(at, T_(), __ATOMIC_RELEASE);
}
template <typename T_, typename... Rest>
OFFLOAD_BUILTIN T_ offload_sync_val_compare_and_swap(volatile T_ *at, OFFLOAD_VALUE expected, OFFLOAD_VALUE value,
                                                    Rest...) {
  T_ found = expected;
  offload_atomic_compare_exchange_n(at, &found, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return found;
}
template <typename T_, typename... Rest>
OFFLOAD_BUILTIN bool offload_sync_bool_compare_and_swap(volatile T_ *at, OFFLOAD_VALUE expected, OFFLOAD_VALUE value,
                                                        Rest...) {
  T_ found = expected;
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

#undef OFFLOAD_VALUE
#undef OFFLOAD_SCOPE
#undef OFFLOAD_BITS
#undef OFFLOAD_BUILTIN

#pragma clang diagnostic pop

#endif
