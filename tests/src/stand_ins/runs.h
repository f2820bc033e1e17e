/* Code that runs.sh includes after a source, for the objects in FAKE_RUNS. For each kernel, this code defines a function whose
 * parameter is the array of argument addresses, as in drivers. It also defines the offset and size of each argument in a buffer
 * for AMD's GPUs. */
#pragma once
#include <stddef.h>
#include <type_traits>
#include <utility>

namespace stand_in {
/* A reference is passed as a pointer. */
template <class P> P from(void *at) {
  if constexpr (std::is_reference_v<P>)
    return static_cast<P>(**static_cast<std::remove_reference_t<P> **>(at));
  else
    return *static_cast<P *>(at);
}
template <class... P, size_t... I> void call(void (*kernel)(P...), void **a, std::index_sequence<I...>) {
  (void)a;
  kernel(from<P>(a[I])...);
}
template <class... P> void call(void (*kernel)(P...), void **a) { call(kernel, a, std::index_sequence_for<P...>()); }

/* Whether P is a struct of one number, which is passed like that number. Braces permit no conversion to a smaller number. */
template <class T, class P, class = void> struct is_struct_of : std::false_type {};
template <class T, class P>
struct is_struct_of<T, P, std::void_t<decltype(P{std::declval<T>()})>>
    : std::bool_constant<std::is_aggregate_v<P> && sizeof(P) == sizeof(T)> {};
template <class T, class P> constexpr bool is_number = std::is_same_v<T, P> || is_struct_of<T, P>::value;

/* In this buffer, a 128-bit number is aligned to 8 bytes. */
template <class P> struct passed {
  static constexpr bool is_128 = is_number<__int128, P> || is_number<unsigned __int128, P>;
  static constexpr size_t size = sizeof(P), align = is_128 ? 8 : alignof(P);
};
/* A reference is passed as a pointer. */
template <class P> struct passed<P &> : passed<P *> {};

template <size_t N> struct list {
  size_t count;
  struct {
    size_t offset, size;
  } of[N + 1];
};
template <class... P> constexpr list<sizeof...(P)> places(void (*)(P...)) {
  constexpr size_t count = sizeof...(P);
  list<count> result = {count, {}};
  size_t sizes[] = {passed<P>::size..., 0}, aligns[] = {passed<P>::align..., 1}, at = 0;
  for (size_t i = 0; i < count; ++i) {
    at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
    result.of[i] = {at, sizes[i]};
    at += sizes[i];
  }
  return result;
}
} // namespace stand_in

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))
#define STAND_IN_PLACES(name)                                                                                          \
  STAND_IN_EXPORT const decltype(stand_in::places(name)) stand_in_places_##name;                                       \
  const decltype(stand_in::places(name)) stand_in_places_##name = stand_in::places(name);
/* STAND_IN is for a kernel that C++ can call with copies of the values at the addresses. */
#define STAND_IN(name)                                                                                                 \
  STAND_IN_PLACES(name)                                                                                                \
  STAND_IN_EXPORT void stand_in_##name(void **a) { stand_in::call(name, a); }
