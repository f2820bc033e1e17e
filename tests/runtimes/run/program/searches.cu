// Loops that clang would vectorize with vectors of conditions. Each thread searches 64 bytes.
template <typename T> static __device__ bool is_in(const T *x, int n, T wanted) {
  bool is = false;
  for (int i = 0; i < n; ++i)
    if (x[i] == wanted)
      is = true;
  return is;
}
extern "C" __global__ void searches(const char *bytes, int n, int *out) {
  const char *x = bytes + 64 * threadIdx.x;
  const short *wide = (const short *)x;
  bool same = true, above = false;
  for (int i = 0; i < 8; ++i)
    same &= x[i] == x[i + 8];
  for (int i = 0; i < n; ++i)
    above |= x[i] > 100;
  out[threadIdx.x] = is_in(x, n, x[n]) + 2 * is_in(wide, n / 2, wide[n / 2]) + 4 * same + 8 * above;
}

// Kernels that are local to their source have a different name in each kind of image.
static __global__ void hidden(int *out) { out[threadIdx.x] += 5; }
namespace {
template <typename T> __global__ void unnamed(T *out) { out[threadIdx.x] *= 3; }
template __global__ void unnamed(int *);
} // namespace
