// Classes for each way in which C++ passes a class by value. `before` and `after` show that all
// arguments are where the kernel expects them.
typedef float vector __attribute__((vector_size(16)));
struct Empty {};
struct Other {};
union Small { int i; float f; };
struct Destroyed { int x, y; ~Destroyed() {} };
struct Uncopied { int x, y; Uncopied(const Uncopied &) = delete; };
// Only a member makes this struct not copyable: clang passes its address, g++ its value.
struct Uncopies { Uncopied x[2]; float y; };
struct Copied { Copied(const Copied &other) : x(other.x), y(0) {} int x, y; };
struct Moved { Moved(Moved &&) = default; int x, y; };
// Because of this attribute, clang passes the value. g++ ignores the attribute.
struct __attribute__((trivial_abi)) Trivial { int x, y; __device__ ~Trivial() {} };
struct Made { Made(int); int x; float y; };
struct Holder { Destroyed x; float y; };
struct Heir : Destroyed { float z; };
struct alignas(32) Aligned { float x[8]; ~Aligned() {} };
struct Virtual { virtual ~Virtual(); double x; int y; };
struct Bases : Empty, Other { float x; int y; };
struct Middle : Empty {};
struct Deep : Middle { float x; int y; };
struct Nested { Middle x; Other y[2]; };
struct alignas(16) Line {};
struct alignas(32) Lines {};
struct Gap { Other x; int : 3; };
struct alignas(8) Apart { Other x; float y; };
class Hidden { float x; friend __device__ float sum(Hidden); int y; };
struct Bits { unsigned x : 3; int y : 20; float z; };
struct __attribute__((packed)) Packed { char x; float y; };
struct Floats { float x, y; };
struct Doubles { double x, y; };
struct Longs { long x, y; };
struct Mixed { float x; long y; };
struct Large { float x[5]; int y; };
union Union { double x[3]; int y; };
struct Rows { vector x[2]; };
struct LargeTail { double x[3]; int y[0]; };
struct Tail { float x; int y[0]; };
struct OneVector { vector x; };
struct Half { _Float16 x; };
struct Unnamed { double x; float y; int : 3; };
struct Named { long x : 40; float y; int : 3; };
#pragma pack(push, 4)
struct Capped { alignas(16) float x[4]; };
#pragma pack(pop)

__device__ float sum(Hidden hidden) { return hidden.x + hidden.y; }

#define KERNEL(type, sum)                                                                          \
  extern "C" __global__ void take_##type(char before, type it, float after, double *out) {        \
    out[0] = before + 10 * (sum) + 1000000 * after;                                                \
  }
KERNEL(Destroyed, it.x + it.y)
KERNEL(Uncopied, it.x + it.y)
KERNEL(Uncopies, it.x[0].x + it.x[1].y + it.y)
KERNEL(Copied, it.x + it.y)
KERNEL(Moved, it.x + it.y)
KERNEL(Trivial, it.x + it.y)
KERNEL(Made, it.x + it.y)
KERNEL(Holder, it.x.x + it.x.y + it.y)
KERNEL(Heir, it.x + it.y + it.z)
KERNEL(Aligned, it.x[0] + it.x[7])
KERNEL(Virtual, it.x + it.y)
KERNEL(Bases, it.x + it.y)
KERNEL(Deep, it.x + it.y)
KERNEL(Hidden, ::sum(it))
KERNEL(Bits, it.x + it.y + it.z)
KERNEL(Packed, it.x + it.y)
KERNEL(Floats, it.x + it.y)
KERNEL(Doubles, it.x + it.y)
KERNEL(Mixed, it.x + it.y)
KERNEL(Large, it.x[0] + it.x[4] + it.y)
KERNEL(Union, it.x[0] + it.x[2])
KERNEL(Rows, it.x[0][0] + it.x[1][3])
KERNEL(LargeTail, it.x[0] + it.x[2])
KERNEL(Tail, it.x)
KERNEL(OneVector, it.x[0] + it.x[3])
KERNEL(Half, (float)it.x)
KERNEL(Small, it.i)
KERNEL(Lines, 0)
KERNEL(Gap, 0)
KERNEL(Apart, it.y)
KERNEL(Unnamed, it.x + it.y)
KERNEL(Named, it.x + it.y)

extern "C" __global__ void empties(Empty, int x, Nested, double y, Line, float z, Middle, double *out) {
  *out = x + y + z;
}

// Empty structs that select an operation. Kernels and parameters may have the same names.
struct Op {};
struct Abs { __device__ float operator()(float x) const { return x < 0 ? -x : x; } };
extern "C" __global__ void Op(const struct Op Op, int x, double *out) { (void)Op, *out = x; }
__device__ float apply(Other, float x) { return x; }
__device__ float apply(Abs abs, float x) { return abs(x); }
template <class T> __global__ void map(const T Abs, float x, double *out) { *out = apply(Abs, x); }
template __global__ void map<Other>(const Other, float, double *);
template __global__ void map<Abs>(const Abs, float, double *);

// A kernel that reads and writes structs with padding, addresses and unions in memory.
struct Inner { short s; int i; };
struct Padded { char flag; double value; Inner inner[2]; Padded *next; union Small either; struct Empty nothing; };
extern "C" __global__ void advance(Padded *all, const Inner *by, int n) {
  for (int i = 0; i < n; ++i) {
    Padded &it = all[i];
    it.value *= 2, it.inner[1].i += by[i].i * it.flag + by[i].s, it.either.i += 1;
    it.next = all + (i + 1) % n;
  }
}

// After `out`, no registers are left. `word` makes the next argument start at an odd word.
extern "C" __global__ void on_stack(double a, double b, double c, double d, double e, double f, double g, double h,
                                    long i, long j, long k, Longs l, double *out, double word, Capped capped,
                                    Doubles pair, float after) {
  *out = a + b + c + d + e + f + g + h + i + j + k + l.x + l.y + 100 * word;
  *out += 1e4 * capped.x[0] + 1e6 * capped.x[3] + 1e8 * pair.x + 1e10 * pair.y + 1e12 * after;
}

// Each thread must have a separate copy of the argument.
extern "C" __global__ void change(Destroyed it, double *out) {
  it.x += threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = it.x;
}

// Names that generated code uses or used, also for generic parameters.
struct __Form { int x; };
struct __arguments { int x; };
struct __offload { int x; };
struct parameter_names { int x; };
struct T0 { int x; };
struct A { int x; };
struct Clone { int x; };
extern "C" __global__ void PACK(int PACK, int MODULE, int N, double *out) { *out = PACK + MODULE + N; }
extern "C" __global__ void MODULE(__Form a, __arguments b, __offload c, double *out) { *out = a.x + b.x + c.x; }
extern "C" __global__ void __kernel(parameter_names a, T0 b, A c, double *out) { *out = a.x + b.x + c.x; }
extern "C" __global__ void __call_0(Clone symbol, double *out) { *out = symbol.x; }
extern "C" __global__ void Call_2_16(int call, double *out) { *out = call; }
extern "C" __global__ void __offload_items(double *out) { *out = 1; }
