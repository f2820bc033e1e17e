// Kernels that a program finds by their names.

struct Range {
  int first;
  int count;
};

template <typename T> __global__ void scale(int n, T a, T *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] *= a;
}
template __global__ void scale<float>(int, float, float *);
template __global__ void scale<double>(int, double, double *);
template __global__ void scale<int>(int, int, int *);

namespace ns {
__global__ void over(int value, int *y) { y[0] = value; }
__global__ void over(float value, float *y) { y[0] = value; }
} // namespace ns

extern "C" __global__ void fill(Range range, int value, int *y) {
  for (int i = 0; i < range.count; i++)
    y[range.first + i] = value;
}

extern "C" __global__ void copy_bytes(const void *from, void *to, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++)
    ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

struct Particle {
  double mass;
  int cell;
};
struct Next {};
extern "C" __global__ void move_on(Next next, int n, const Particle *from, Particle *to) {
  for (int i = 0; i < n; i++)
    to[i] = {2 * from[i].mass, from[i].cell + 1};
}

extern "C" __global__ void nothing() {}

#if defined(__AMDGCN__)
extern "C" __global__ void differs(long *y) { *y = 1; }
#else
extern "C" __global__ void differs(long *y, int more) { *y = more; }
#endif

// The generated function that finds kernels has the same name.
extern "C" __global__ void named(int *y) { *y = 7; }

extern "C" __global__ void many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m,
                                int n, int o, int p, int q, int r, int *y) {
  *y = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n +
       15 * o + 16 * p + 17 * q + 18 * r;
}

// On some of NVIDIA's GPUs, arguments aligned to more than 16 bytes have different offsets.
struct alignas(32) Wide {
  double lanes[4];
};
extern "C" __global__ void wide(Wide w, double *y) { *y = w.lanes[3]; }
