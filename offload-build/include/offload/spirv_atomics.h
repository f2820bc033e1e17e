/* offload/spirv_atomics.h: atomic instructions of SPIR-V.  Part of offload/kernel.h.
 *
 * clang 22 writes atomic loads and stores as plain ones, its orders apply to no memory, and its compare-and-swap makes invalid
 * modules.  So offload/builtin_atomics.h and offload/atomics.h use these instructions instead of the compiler's.
 */
#ifndef OFFLOAD_SPIRV_ATOMICS_H
#define OFFLOAD_SPIRV_ATOMICS_H
#if defined(OFFLOAD_SPIRV)

#define OFFLOAD_BUILTIN static __attribute__((host, device, always_inline)) inline

#define OFFLOAD_FETCH(space, number, name)                                                                             \
  __attribute__((device)) number name(__attribute__((address_space(space))) number *place, int scope, int semantics,   \
                                      number value);
#define OFFLOAD_INSTRUCTIONS(space, number, integer)                                                                   \
  __attribute__((device)) number __spirv_AtomicLoad(__attribute__((address_space(space))) number *place, int scope,    \
                                                    int semantics);                                                    \
  __attribute__((device)) void __spirv_AtomicStore(__attribute__((address_space(space))) number *place, int scope,     \
                                                   int semantics, number value);                                       \
  __attribute__((device)) number __spirv_AtomicCompareExchange(__attribute__((address_space(space))) number *place,    \
                                                               int scope, int success, int failure, number desired,    \
                                                               number expected);                                       \
  OFFLOAD_FETCH(space, number, __spirv_AtomicExchange)                                                                 \
  OFFLOAD_FETCH(space, number, __spirv_AtomicIAdd)                                                                     \
  OFFLOAD_FETCH(space, number, __spirv_AtomicAnd)                                                                      \
  OFFLOAD_FETCH(space, number, __spirv_AtomicOr)                                                                       \
  OFFLOAD_FETCH(space, number, __spirv_AtomicXor)                                                                      \
  OFFLOAD_FETCH(space, number, __spirv_AtomicUMin)                                                                     \
  OFFLOAD_FETCH(space, number, __spirv_AtomicUMax)                                                                     \
  OFFLOAD_FETCH(space, integer, __spirv_AtomicSMin)                                                                    \
  OFFLOAD_FETCH(space, integer, __spirv_AtomicSMax)
OFFLOAD_INSTRUCTIONS(1, unsigned, int)
OFFLOAD_INSTRUCTIONS(3, unsigned, int)
OFFLOAD_INSTRUCTIONS(1, unsigned long long, long long)
OFFLOAD_INSTRUCTIONS(3, unsigned long long, long long)
#undef OFFLOAD_INSTRUCTIONS
#undef OFFLOAD_FETCH

namespace offload_atomics {

/* The SPIR-V semantics for an order of accesses to the block's memory and the device's. */
OFFLOAD_BUILTIN int semantics(int order) {
  return order == __ATOMIC_RELAXED   ? 0
         : order == __ATOMIC_RELEASE ? 0x304
         : order == __ATOMIC_ACQ_REL ? 0x308
         : order == __ATOMIC_SEQ_CST ? 0x310
                                     : 0x302;
}
/* The semantics of an operation that writes nothing, and so cannot release. */
OFFLOAD_BUILTIN int semantics_of_read(int order) {
  return semantics(order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : order);
}

template <typename T_, typename F_> OFFLOAD_BUILTIN T_ update(volatile T_ *at, F_ f, int order, int scope);

/* The integer type for the bits of a number, by its size, and its loads and stores.  Scopes have the same numbers in SPIR-V. */
template <int size> struct bits {
  static constexpr bool are_here = false;
};
#define OFFLOAD_BITS(number)                                                                                           \
  template <> struct bits<sizeof(number)> {                                                                            \
    typedef number type;                                                                                               \
    static constexpr bool are_here = true;                                                                             \
    OFFLOAD_BUILTIN number load(const volatile void *at, int order, int scope) {                                       \
      return offload_placed((number *)at,                                                                              \
                            [=](auto *place) { return __spirv_AtomicLoad(place, scope, semantics_of_read(order)); });  \
    }                                                                                                                  \
    OFFLOAD_BUILTIN void store(volatile void *at, number value, int order, int scope) {                                \
      offload_placed((number *)at,                                                                                     \
                     [=](auto *place) { __spirv_AtomicStore(place, scope, semantics(order), value); });                \
    }                                                                                                                  \
  };
OFFLOAD_BITS(unsigned)
OFFLOAD_BITS(unsigned long long)
#undef OFFLOAD_BITS
/* Smaller numbers, in the word around them. */
#define OFFLOAD_PART(number)                                                                                           \
  template <> struct bits<sizeof(number)> {                                                                            \
    typedef number type;                                                                                               \
    static constexpr bool are_here = true;                                                                             \
    OFFLOAD_BUILTIN number load(const volatile void *at, int order, int scope) {                                       \
      auto address = reinterpret_cast<unsigned long long>(at);                                                         \
      unsigned word = bits<4>::load((void *)(address & ~3ull), order, scope);                                          \
      return static_cast<number>(word >> unsigned(address & 3) * 8);                                                   \
    }                                                                                                                  \
    OFFLOAD_BUILTIN void store(volatile void *at, number value, int order, int scope) {                                \
      update((volatile number *)at, [=](number) { return value; }, order, scope);                                      \
    }                                                                                                                  \
  };
OFFLOAD_PART(unsigned char)
OFFLOAD_PART(unsigned short)
#undef OFFLOAD_PART

/* The instructions that return the old number. */
#define OFFLOAD_INSTRUCTION(name, number, instruction)                                                                 \
  OFFLOAD_BUILTIN number name(volatile void *at, number value, int order, int scope) {                                 \
    return offload_placed((number *)at,                                                                                \
                          [=](auto *place) { return instruction(place, scope, semantics(order), value); });            \
  }
#define OFFLOAD_INSTRUCTIONS(name, instruction)                                                                        \
  OFFLOAD_INSTRUCTION(name, unsigned, instruction)                                                                     \
  OFFLOAD_INSTRUCTION(name, unsigned long long, instruction)
OFFLOAD_INSTRUCTIONS(exchange, __spirv_AtomicExchange)
OFFLOAD_INSTRUCTIONS(add, __spirv_AtomicIAdd)
OFFLOAD_INSTRUCTIONS(and_bits, __spirv_AtomicAnd)
OFFLOAD_INSTRUCTIONS(or_bits, __spirv_AtomicOr)
OFFLOAD_INSTRUCTIONS(xor_bits, __spirv_AtomicXor)
OFFLOAD_INSTRUCTIONS(min, __spirv_AtomicUMin)
OFFLOAD_INSTRUCTIONS(max, __spirv_AtomicUMax)
OFFLOAD_INSTRUCTION(min, int, __spirv_AtomicSMin)
OFFLOAD_INSTRUCTION(min, long long, __spirv_AtomicSMin)
OFFLOAD_INSTRUCTION(max, int, __spirv_AtomicSMax)
OFFLOAD_INSTRUCTION(max, long long, __spirv_AtomicSMax)
#undef OFFLOAD_INSTRUCTIONS
#undef OFFLOAD_INSTRUCTION

/* Writes `value` if the bits are `expected`.  Returns the old bits. */
#define OFFLOAD_COMPARISON(number)                                                                                     \
  OFFLOAD_BUILTIN number compare(volatile void *at, number expected, number value, int order, int scope) {             \
    return offload_placed((number *)at, [=](auto *place) {                                                             \
      return __spirv_AtomicCompareExchange(place, scope, semantics(order), semantics_of_read(order), value, expected); \
    });                                                                                                                \
  }
OFFLOAD_COMPARISON(unsigned)
OFFLOAD_COMPARISON(unsigned long long)
#undef OFFLOAD_COMPARISON

} // namespace offload_atomics

OFFLOAD_BUILTIN void offload_atomic_thread_fence(int order, int scope = __MEMORY_SCOPE_SYSTEM) {
  if (order != __ATOMIC_RELAXED)
    __spirv_MemoryBarrier(scope, offload_atomics::semantics(order));
}
OFFLOAD_BUILTIN void offload_atomic_signal_fence(int order) {
  offload_atomic_thread_fence(order, __MEMORY_SCOPE_SINGLE);
}

#include "builtin_atomics.h"

#endif
#endif
