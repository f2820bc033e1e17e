// Template instances, which a program calls through generic functions.

struct Point {
  float x;
  int y;
};
struct Twice {};
struct Thrice {};
template <typename T> struct Pair {
  T first, second;
};
enum class Mode : unsigned char { Set, Add };
__device__ inline Point operator*(Point a, Point b) { return {a.x * b.x, a.y * b.y}; }

template <typename T> __global__ void scale(T *x, T a, int n) {
  for (int i = 0; i < n; i++)
    x[i] = x[i] * a;
}
template __global__ void scale<float>(float *, float, int);
template __global__ void scale<double>(double *, double, int);
template __global__ void scale<Point>(Point *, Point, int);
template __global__ void scale<long>(long *, long, int);
template __global__ void scale<long long>(long long *, long long, int);

namespace ns {
template <typename From, typename To> __global__ void convert(const From *x, To *y, int n) {
  for (int i = 0; i < n; i++)
    y[i] = static_cast<To>(x[i]);
}
template __global__ void convert<float, int>(const float *, int *, int);
template __global__ void convert<double, int>(const double *, int *, int);
template __global__ void convert<float, double>(const float *, double *, int);
} // namespace ns

// No parameter is of the functor's type, and the constants have several types.
template <typename Op, int N, typename T, bool Is, Mode M> __global__ void apply(Pair<T> *x, T *sum) {
  T result = (x->first + x->second) * (sizeof(Op) == 1 ? N : 0);
  *sum = Is && M == Mode::Add ? *sum + result : result;
}
template __global__ void apply<Twice, 2, float, true, Mode::Add>(Pair<float> *, float *);
template __global__ void apply<Thrice, -3, double, false, Mode::Set>(Pair<double> *, double *);

// A kernel that is not an instance is also called `fill`, and must keep this name.
template <unsigned N> __global__ void fill(int *y) {
  for (unsigned i = 0; i < N; i++)
    y[i] = N;
}
template __global__ void fill<1>(int *);
template __global__ void fill<3>(int *);
extern "C" __global__ void fill(int *y) { y[0] = 7; }

// The programs' type for a `bool` in memory allows any byte.
template <typename T> __global__ void store(T *y, const T *from, T value) { *y = from ? *from : value; }
template __global__ void store<bool>(bool *, const bool *, bool);
template __global__ void store<int>(int *, const int *, int);
template <> __global__ void store(float *y, const float *from, float value) { *y = from ? *from : -value; }
template __global__ void store<float *>(float **, float *const *, float *);

// The program has an item with this name.
template <typename T> __global__ void hidden(T *y) { *y = 1; }
template __global__ void hidden<int>(int *);
