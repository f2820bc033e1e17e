#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef unsigned int count_t;
typedef float float4_t __attribute__((ext_vector_type(4)));
typedef float float3_t __attribute__((ext_vector_type(3)));

enum Mode : unsigned char { Fast, Exact };
enum Old { One, Two };
struct Opaque;
struct Point { float x; double y; unsigned short z[3]; bool on; };
struct alignas(16) Aligned { float x, y; };
struct __attribute__((packed)) Packed { char c; int i; };
struct Bits { unsigned a : 3; unsigned b : 9; int c; unsigned d : 1; };
struct Base { int i; };
struct Derived : Base { float f; };
struct Empty {};
union Either { int i; float f; };
struct Node { Node *next; int value; };
struct Stars { int ****************************************deep; float grid[2][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]; };
struct Tree;
struct Leaf { Tree *tree; float weight; };
struct Tree { Leaf leaf; Leaf (*rows)[2]; Tree **others; const Opaque *opaque; };
struct __attribute__((packed)) Unaligned { char c; double d; };
template <class T> struct Later { T x; };
namespace ns {
enum class Kind : long { Least = -9223372036854775807L - 1, match = 7 };
}
typedef enum { Low = 1, High = 0xffffffff } Level;
struct Chosen { enum { None, Some } option; ns::Kind kind; const Level *levels; };

namespace ns {
template <class T, int N> struct Array { T items[N]; };
struct Outer { struct { int q; } inner; Point point; };
template <class T, int N> __global__ void fill(Array<T, N> *to, const T value) { to->items[0] = value; }
__global__ void over(int a) { (void)a; }
__global__ void over(float *a) { *a = 0; }
}  // namespace ns

template __global__ void ns::fill<float, 3>(ns::Array<float, 3> *, const float);
template __global__ void ns::fill<int *, 1>(ns::Array<int *, 1> *, int *const);

/// Adds `a` times x to y.
///
///     for all n
extern "C" __global__ void saxpy(int n, float a, const float *x, float *__restrict__ y) { y[n] = a * x[n]; }

/* One of each scalar. */
extern "C" __global__ void scalars(bool b, char c, signed char sc, unsigned char uc, short s, unsigned short us, int i, count_t u,
                                   long l, unsigned long ul, long long ll, _Float16 h, float f, double d, Mode mode, Old old,
                                   double *out) {
  *out = b + c + sc + uc + s + us + i + u + l + ul + ll + (float)h + f + d + mode + old;
}

extern "C" __global__ void records(Point point, Aligned aligned, char before, Packed packed, Bits bits, Derived derived, Empty empty,
                                   Either either, float4_t lanes4, float3_t lanes3, ns::Outer outer, int *match) {
  *match = (int)point.y + (int)aligned.x + before + packed.i + (int)bits.c + derived.i + either.i + (int)lanes4.x + (int)lanes3.x +
           outer.inner.q;
}

extern "C" __global__ void pointers(Opaque *opaque, const Opaque *const_opaque, void *any, const void *const_any, int **nested,
                                    const Point &reference, Node *list, volatile int *still, void (*function)(int), float4_t *lanes,
                                    bool *flags) {
  *still = opaque != 0 || const_opaque != 0 || any != 0 || const_any != 0 || nested != 0 || reference.on || list != 0 ||
           function != 0 || lanes != 0 || flags != 0;
}

extern "C" __global__ void nothing() {}

struct Halves { _Float16 half; __bf16 brain; bool flags[2]; };
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned long row_size_t;
namespace std { using ::size_t; }

extern "C" __global__ void sizes(size_t n, ptrdiff_t step, row_size_t rows, unsigned long plain, const size_t *dims, const std::size_t &one) {
  *const_cast<size_t *>(dims) = n + step + rows + plain + one;
}

extern "C" __global__ void shared(__half h, __nv_bfloat16 b, __nv_fp8_e4m3 e, __half2 pair, float4 position, Halves halves,
                                  const __half *halves_in, _Float16 *halves_out, uchar4 *pixels, bool *flags, const void *any) {
  *flags = any != 0 || halves_in != 0 || halves_out != 0 || pixels != 0;
}

extern "C" __global__ void behind(Leaf *leaf, Unaligned *unaligned, Later<float> *later, Empty *empties, Either *either,
                                  Aligned *aligned) {
  leaf->tree = 0, unaligned->d = 0, either->i = 0, aligned->x = 0, (void)later, (void)empties;
}

extern "C" __global__ void choose(ns::Kind kind, Level level, const Chosen *chosen, int *x) {
  *x = kind == ns::Kind::match && level == High && chosen->option == Chosen::Some && chosen->levels[0] == Low;
}

struct __attribute__((packed)) Pixels { char c; uchar1 one; float3 three; };

extern "C" __global__ void tight(Pixels pixels, float *x) { *x = pixels.one.x; }

extern "C" __global__ void deep(const Stars *stars, int ****************************************all, int **two, const float rows[][16], const float (&one)[2]) {
  two[0] = 0, (void)stars, (void)all, (void)rows, (void)one;
}
