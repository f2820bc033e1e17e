// Code that keeps masks of 64 lanes in 32 bits. If a line causes warnings, its last comment lists their kinds. If a
// compiler follows a kind after a colon, only this compiler warns. All other lines are right with 32 lanes and with 64.

#include "lanes.cuh"

#define FULL 0xffffffff
enum { ALL_OF_32 = 0xffffffff };
constexpr unsigned CONSTANT = 0xffffffff;
template <unsigned mask> __device__ int with_mask(int p) { return __any_sync(mask, p); } // half: mask
struct Active { unsigned lanes; };
struct Wrapped { unsigned lanes; __device__ operator unsigned() const { return lanes; } };

// A mask of 32 bits contains only half of the lanes, whether or not it is a constant.
extern "C" __global__ void masks(int *x, int p, unsigned some, Wrapped wrapped) {
  x += __any_sync(0xffffffffu, p); // half: mask
  x += __all_sync(0xffffffff, p); // half: mask
  x += __popcll(__ballot_sync(~0u, p)); // half: mask
  x += __shfl_sync(FULL, p, 1); // half: mask
  x += __shfl_up_sync(UINT_MAX, p, 1); // half: mask
  x += __shfl_down_sync(CONSTANT, p, 1, 32); // half: mask
  x += __shfl_xor_sync(0xffff0000, p, 1); // half: mask
  x += __any_sync(ALL_OF_32, p); // half: mask:clang
  x += __any_sync(some, p); // half: mask
  x += __any_sync(wrapped, p); // half: mask:clang
  x += __any_sync((1u << p) - 1, p); // half: mask
  x += __any_sync(p > 1 ? 0x0000ffff : 0xffff0000, p); // half: mask
  x += with_mask<0xffffffff>(p) + of_header(p, 0xffffffff) + of_template(p) + of_template(2.0f);
  __syncwarp(0xffffffff); // half: mask
  x += __any_sync((1ull << warpSize) - 1, p); // half: shift
  *x = 0;
}

// Only half of a result is used.
extern "C" __global__ void results(unsigned *x, int p, unsigned long long below) {
  unsigned votes = __ballot_sync(OFFLOAD_ALL_LANES, p); // half: result
  int active = __activemask(); // half: result
  const unsigned same = __activemask(); // half: result
  auto lanes = __ballot_sync(-1, p);
  offload_lanes others = ~lanes;
  unsigned kept = lanes; // half: result:clang
  kept = others; // half: result
  kept |= __activemask(); // half: result:g++
  x[0] = __activemask(); // half: result
  x[1] = __popc(__ballot_sync(OFFLOAD_ALL_LANES, p)); // half: result
  x[2] = __popc(__activemask() & below); // half: result
  x[3] = p ? __activemask() : 0; // half: result
  uint64_t wide = __ballot_sync(-1, p);
  x[5] = __popc(wide); // half: result
  x[6] = __brev(below); // half: result
  x[7] = __ffs(wide & (wide - 1)); // half: result
  Active both = {1};
  both.lanes = __activemask(); // half: result
  x[4] = votes + active + same + kept + both.lanes;
}

// Right code, for all lanes, or for some lanes that the author has chosen.
extern "C" __global__ void right(unsigned long long *x, int p, unsigned long long some, size_t count) {
  auto votes = __ballot_sync(~0ull, p);
  uint64_t active = __activemask();
  x[0] = votes + active;
  x[1] = __ballot_sync(0xffffffffffffffff, p) + __ballot_sync(-1, p) + __ballot_sync(-1ll, p);
  x[2] = __any_sync(OFFLOAD_ALL_LANES, p) + __any_sync(UINT64_MAX, p) + __any_sync(some, p) + __any_sync(votes, p);
  if (threadIdx.x % warpSize < 4)
    x[3] = __shfl_sync(0xf, p, 1) + __shfl_sync(0x0000ffff, p, 2);
  if (threadIdx.x % warpSize < 4)
    x[3] += __shfl_sync(0xfu, p, 1); // half: mask:g++
  x[4] = __any_sync((1ull << (warpSize - 1)) * 2 - 1, p);
  x[5] = unsigned(__popcll(votes)) + (__activemask() == OFFLOAD_ALL_LANES) + (votes >> p & 1);
  int first = __ffsll((long long)(active)) - 1;
  x[6] = __shfl_sync(votes, first, first) + __shfl_sync(__activemask(), p, 0);
  bool any = votes;
  unsigned low = unsigned(votes), high = unsigned(uint64_t(votes) >> 32), few = votes & 0xff;
  unsigned place = some + __popc(low), next = count - __ffs(low);
  int unrelated = count, index = some;
  x[7] = any + low + high + few + unsigned(unrelated + index) + place + next;
  __syncwarp();
  __syncwarp(votes);
}
