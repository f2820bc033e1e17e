/* offload/system_atomics.h: atomicAdd_system and kin, which are atomic for the host and for other GPUs, too.  Part of
 * offload/kernel.h.
 *
 * Floating-point operations, minima and maxima are loops of compare-and-swap.
 */
#ifndef OFFLOAD_SYSTEM_ATOMICS_H
#define OFFLOAD_SYSTEM_ATOMICS_H

namespace offload_atomic {

/* Replaces the old value by f(old). */
template <typename T_, typename F_> OFFLOAD_DEVICE T_ update_system(T_ *address, F_ f) {
  static_assert(sizeof(T_) == 4 || sizeof(T_) == 8, "an atomic function for the system takes 4 or 8 bytes");
  T_ old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do
    next = T_(f(old));
  while (!__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

} // namespace offload_atomic

#define OFFLOAD_VALUE typename offload_atomic::same<T_>::type
#define OFFLOAD_SYSTEM(name, result)                                                                                   \
  template <typename T_> OFFLOAD_DEVICE T_ name##_system(T_ *address, OFFLOAD_VALUE value) {                           \
    return offload_atomic::update_system(address, [=](T_ old) { return result; });                                     \
  }
#define OFFLOAD_SYSTEM_INTEGER(name, operation, result)                                                                \
  template <typename T_> OFFLOAD_DEVICE T_ name##_system(T_ *address, OFFLOAD_VALUE value) {                           \
    if constexpr (offload_atomic::number<T_>::is_integer)                                                              \
      return operation(address, value, __ATOMIC_RELAXED);                                                              \
    else                                                                                                               \
      return offload_atomic::update_system(address, [=](T_ old) { return result; });                                   \
  }
OFFLOAD_SYSTEM_INTEGER(atomicAdd, __atomic_fetch_add, old + value)
OFFLOAD_SYSTEM_INTEGER(atomicSub, __atomic_fetch_sub, old - value)
OFFLOAD_SYSTEM_INTEGER(atomicExch, __atomic_exchange_n, (void(old), value))
OFFLOAD_SYSTEM(atomicMin, old < value || value != value ? old : value)
OFFLOAD_SYSTEM(atomicMax, old > value || value != value ? old : value)
OFFLOAD_SYSTEM(atomicAnd, old & value)
OFFLOAD_SYSTEM(atomicOr, old | value)
OFFLOAD_SYSTEM(atomicXor, old ^ value)
OFFLOAD_SYSTEM(atomicInc, old >= value ? 0 : old + 1)
OFFLOAD_SYSTEM(atomicDec, old == 0 || old > value ? value : old - 1)
template <typename T_> OFFLOAD_DEVICE T_ atomicCAS_system(T_ *address, OFFLOAD_VALUE expected, OFFLOAD_VALUE desired) {
  __atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
#undef OFFLOAD_SYSTEM
#undef OFFLOAD_SYSTEM_INTEGER
#undef OFFLOAD_VALUE

#endif
