// Functions in a header that several sources include.
static __device__ int of_header(int p, unsigned mask) { return __any_sync(mask, p); } // half: mask
template <typename T> __device__ int of_template(T p) {
  unsigned votes = __ballot_sync(OFFLOAD_ALL_LANES, p > 0); // half: result
  return __shfl_sync(0xffffffff, int(votes), 0); // half: mask
}
