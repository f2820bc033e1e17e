// Kernels whose threads keep many kinds of values while they wait.
#include "run.h"

#define I int t = threadIdx.x, g = blockIdx.x * blockDim.x + t
struct P { int a[3]; double d; short s; };
KERNEL(local_array) { I; __shared__ int s[1024]; int v[16]; for (int i = 0; i < 16; i++) v[i] = in[g] * i; s[t] = v[in[g] & 15]; __syncthreads(); int x = 0; for (int i = 0; i < 16; i++) { x += v[(i + s[(t + 1) % blockDim.x]) & 15] * i; } __syncthreads(); v[x & 15]++; s[t] = x; __syncthreads(); for (int i = 0; i < 16; i++) x = x * 31 + v[i]; out[g] = x + s[(t + 7) % blockDim.x]; }
KERNEL(structs) { I; __shared__ P s[1024]; P p{{in[g], 2, 3}, in[g] * .5, 7}, *q = &p; p.a[in[g] % 3 & 1] += 4; s[t] = p; __syncthreads(); q->d += s[(t + 3) % blockDim.x].d; P r = s[(t + 5) % blockDim.x]; __syncthreads(); q->a[1] += r.a[0]; out[g] = q->a[0] + q->a[1] * 3 + (int)q->d + r.s; }
KERNEL(early_return) { I; __shared__ int s[1024]; s[t] = in[g]; if (t % 2) return; __syncthreads(); out[g] = s[(t + 2) % blockDim.x]; __syncthreads(); s[t] = out[g] + 1; __syncthreads(); out[g] += s[(t + 4) % blockDim.x]; }
KERNEL(two_sites) { I; __shared__ int s[1024]; s[t] = in[g]; int x = 0; if (in[g] & 1) { x = 5; __syncthreads(); x += s[(t + 1) % blockDim.x]; } else { __syncthreads(); x = s[(t + 9) % blockDim.x] * 2; } __syncthreads(); s[t] = x; __syncthreads(); out[g] = s[(t + 3) % blockDim.x]; }
KERNEL(trips) { I; __shared__ int s[1024]; s[t] = in[g]; __syncthreads(); int x = 0; for (int i = 0; i < 1 + t % 7; i++) { x += s[(t + i) % blockDim.x]; __syncthreads(); if (t % 7 == 6) s[t] = x & 255; __syncthreads(); } out[g] = x; }
KERNEL(branch_shuffle) { I; int v = in[g]; if (t / 32 % 2) { for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d); } out[g] = v; }
#if !defined(OFFLOAD_CPU_LANES) // its masks are for 32 lanes
KERNEL(half_mask) { I; int v = in[g]; if (t % 32 < 16) v += __shfl_down_sync(0xffffu, v, 3, 16); else v -= __shfl_up_sync(0xffff0000u, v, 2, 8); __syncwarp(); unsigned b = __ballot_sync(~0u, v & 1); if (t % 32 == 5) return; b ^= __ballot_sync(~0u, v & 2); out[g] = v + b; }
#endif
KERNEL(votes) { I; int v = in[g]; v += __any_sync(~0u, v == 3) * 2 + __all_sync(~0u, v != 4) * 8; v += __syncthreads_count(v & 1); v += __syncthreads_or(v == 77) + 2 * __syncthreads_and(v >= 0); double d = v * .25; d += __shfl_sync(~0u, d, t + 1); out[g] = v + (int)(d * 4); }
__device__ __noinline__ int block_reduce(int v) { __shared__ int s[1024]; int t = threadIdx.x; s[t] = v; __syncthreads(); for (int k = blockDim.x / 2; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); } v = s[0]; __syncthreads(); return v; }
__device__ int twice(int v) { return block_reduce(v) + block_reduce(v + 1); }
__device__ int f(int a, int b, int c) { return a * 7 + b * 3 + c; }
KERNEL(device_fn) { I; out[g] = twice(in[g]); }
KERNEL(cross) { I; out[g] = f(in[g] + block_reduce(in[g] & 3), in[(g + 1) % n] - block_reduce(in[g] & 7), in[g] * 5); }
KERNEL(switches) { I; __shared__ int s[1024]; int x = in[g]; s[t] = x; for (int i = 0; i < 4; i++) { switch ((blockIdx.x + i) % 4) { case 0: x += 1; __syncthreads(); x += s[(t + 1) % blockDim.x]; break; case 1: x ^= 9; case 2: __syncthreads(); x += 3 * s[(t + 2) % blockDim.x]; break; default: x *= 2; } __syncthreads(); s[t] = x; __syncthreads(); } out[g] = x; }
KERNEL(switch_mixed) { I; __shared__ int s[1024]; int x = in[g]; s[t] = x; switch (x % 5) { case 0: x += 1; __syncthreads(); x += s[(t + 1) % blockDim.x]; break; case 1: x ^= 9; case 2: __syncthreads(); x += 3; break; case 3: return; default: __syncthreads(); x *= 2; } out[g] = x; }
KERNEL(shared_atomics) { I; __shared__ int c[4]; if (t < 4) c[t] = 0; if (blockDim.x < 4) for (int i = 0; i < 4; i++) c[i] = 0; __syncthreads(); atomicAdd(&c[in[g] & 3], 1); __syncthreads(); out[g] = c[in[g] & 3]; }
KERNEL(volatiles) { I; __shared__ volatile int s[1024]; volatile int v = in[g]; s[t] = v; __syncthreads(); v = v + s[(t + 1) % blockDim.x]; __syncthreads(); out[g] = v; }
KERNEL(pointer_kept) { I; __shared__ int s[1024]; int a = in[g], b = 2, *p = a & 1 ? &a : &b; s[t] = a; __syncthreads(); *p += s[(t + 1) % blockDim.x]; __syncthreads(); out[g] = a * 3 + b; }
struct Node { int v; Node *next; };
KERNEL(self_pointer) { I; Node a{in[g], 0}, b{2, &a}; a.next = &b; __syncthreads(); Node *q = &a; for (int i = 0; i < 5; i++) { q->v += i; q = q->next; __syncthreads(); } out[g] = a.v + b.v * 7; }
KERNEL(wide_array) { I; alignas(64) float v[5]; for (int i = 0; i < 5; i++) v[i] = in[g] + i; __syncthreads(); float s = 0; for (int i = 0; i < 5; i++) s = s * 3 + v[(i + t) % 5]; out[g] = (int)s + (((size_t)v & 63) != 0); }
KERNEL(index_3d) { __shared__ int s[1024]; int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), nt = blockDim.x * blockDim.y * blockDim.z, g = blockIdx.x * nt + t; s[t] = in[g] + threadIdx.y * 3 + threadIdx.z * 5; __syncthreads(); out[g] = s[(t + 11) % nt]; }
// Sums that wrap. Only threads in the middle of a block have a different result.
KERNEL(sums_wrap) { I; int x = in[g]; if (t + 0xfffffff0u > 9u) x += 3; out[g] = x; }
KERNEL(signed_sums_wrap) { I; int x = in[g]; if ((int)(t + 0x7ffffff0u) > (int)0x80000010) x *= 5; out[g] = x; }
KERNEL(wide_sums_wrap) { I; int x = in[g]; if ((unsigned long long)(int)(t + 0xfffffff0u) > 9u) x ^= 9; out[g] = x; }
KERNEL(sums_in_3d) { int nt = blockDim.x * blockDim.y * blockDim.z, t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), g = blockIdx.x * nt + t, x = in[g]; if (t >= 13 && t < 77) x += 2; if (threadIdx.x + threadIdx.z > 3 || threadIdx.y + 5 < blockDim.y) x *= 3; if (g >= n - 3) return; out[g] = x; }
// Global variables whose names begin like those of a thread's variables.
__device__ int gridDimX = 3, blockIdx_of[] = {5, 7};
KERNEL(like_variables) { I; __shared__ int s[1024]; s[t] = in[g] * gridDimX; __syncthreads(); out[g] = s[(t + 1) % blockDim.x] + blockIdx_of[blockIdx.x & 1]; }
__device__ int helper(int a) { return a + threadIdx.x; }
KERNEL(helper_tid) { I; out[g] = helper(in[g]) + helper(t); }
KERNEL(gotos) { I; int i = 0, x = in[g]; again: x += i; __syncthreads(); if (++i < 4) goto again; if (blockIdx.x) goto end; x *= 2; __syncthreads(); end: out[g] = x; }
KERNEL(loop_break) { I; __shared__ int s[1024]; int x = in[g]; for (int i = 0; i < 6; i++) { s[t] = x; __syncthreads(); if (s[0] % 5 == i) break; if ((i & 1) == 0) { __syncthreads(); continue; } x += s[(t + i) % blockDim.x]; __syncthreads(); } out[g] = x; }
KERNEL(long_double_and_bool) { I; long double d = in[g]; bool b = in[g] & 1; __int128 w = (__int128)in[g] << 70; __syncthreads(); d *= 1.5L; out[g] = (int)d + b + (int)(w >> 69); }
__device__ int thrower(int x) { if (x & 1) throw x; return x * 2; }
struct D { int *p; ~D() { *p += 5; } };
KERNEL(throws_inside) { I; __shared__ int s[1024]; int x = 0; try { x = thrower(in[g]); } catch (int e) { x = e + 1; } s[t] = x; __syncthreads(); out[g] = s[(t + 1) % blockDim.x]; }
KERNEL(wait_in_try) { I; __shared__ int s[1024]; int x = 0; try { s[t] = in[g]; __syncthreads(); x = thrower(s[(t + 1) % blockDim.x]); __syncthreads(); x++; } catch (int e) { __syncthreads(); } __syncthreads(); out[g] = x; }
KERNEL(wait_in_try2) { I; __shared__ int s[1024]; int x = 0; try { s[t] = in[g]; __syncthreads(); x = thrower(s[(t + 1) % blockDim.x]); x++; } catch (int e) { x = e * 3; } __syncthreads(); s[t] = x; __syncthreads(); out[g] = s[(t + 5) % blockDim.x]; }
KERNEL(destructor) { I; int x = in[g]; { D d{&x}; __syncthreads(); x += thrower(t * 2); __syncthreads(); } out[g] = x; }
KERNEL(wait_in_catch) { I; int x = 0; try { x = thrower(in[g]); } catch (int e) { __syncthreads(); x = e; } out[g] = x; }
KERNEL(vla) { I; int v[(in[g] & 7) + 1]; for (int i = 0; i <= (in[g] & 7); i++) v[i] = i * t; __syncthreads(); out[g] = v[in[g] & 7]; }
KERNEL(dyn_alloca) { I; int *v = (int *)__builtin_alloca((in[g] & 7) * 4 + 4); v[0] = t; __syncthreads(); out[g] = v[0]; }
KERNEL(vla_no_wait) { I; int v[(in[g] & 7) + 1]; for (int i = 0; i <= (in[g] & 7); i++) v[i] = i * t; out[g] = v[in[g] & 7]; }
__device__ int rec(int d) { __syncthreads(); return d ? rec(d - 1) + 1 : 0; }
KERNEL(recursion_waits) { I; out[g] = rec(3); }
__device__ int fib(int d) { return d < 2 ? d + threadIdx.x : fib(d - 1) + fib(d - 2); }
KERNEL(recursion_tid) { I; out[g] = fib(in[g] & 7); }
__device__ int viaptr(int x) { __syncthreads(); return x + threadIdx.x; }
KERNEL(pointer_waits) { I; int (*volatile p)(int) = viaptr; out[g] = p(in[g]); }
__device__ int tidp(int x) { return x + threadIdx.x; }
KERNEL(tid_by_pointer) { I; int (*volatile p)(int) = tidp; __syncthreads(); out[g] = p(in[g]); }
struct Base { __attribute__((always_inline)) virtual int f(int x) { __syncthreads(); return x; } }; struct Der : Base { int f(int x) override { __syncthreads(); return x + 1; } };
KERNEL(virtual_waits) { I; Der d; Base b; Base *volatile p = &d; out[g] = p->f(in[g]) + b.f(1); }
KERNEL(lambda_waits) { I; int x = in[g]; auto l = [&](int k) { x += k; __syncthreads(); return x * 2; }; out[g] = l(1) + l(2); }
KERNEL(computed_goto) { I; void *to[] = {&&A, &&B}; int x = in[g]; goto *to[blockIdx.x & 1]; A: x++; __syncthreads(); B: x += 2; __syncthreads(); out[g] = x; }
KERNEL(asm_code) { I; int x = in[g]; asm volatile("addl $3, %0" : "+r"(x)); __syncthreads(); asm volatile("" ::: "memory"); out[g] = x; }
struct Obj { int v; Obj(const Obj &o) : v(o.v + 1) {} Obj(int x) : v(x) {} ~Obj() {} };
__device__ void take(Obj o, int *p) { __syncthreads(); *p = o.v; }
KERNEL(by_value) { I; take(Obj(in[g]), out + g); }
struct Big { int v[20]; };
__device__ Big big(int x) { Big b; for (int i = 0; i < 20; i++) b.v[i] = x + i; __syncthreads(); return b; }
KERNEL(big_result) { I; Big b = big(in[g]); __syncthreads(); out[g] = b.v[in[g] % 20]; }
KERNEL(varargs_printf) { I; int x = in[g]; if (x < -5) __builtin_printf("%d\n", x); __syncthreads(); out[g] = x; }
typedef float f4 __attribute__((vector_size(16)));
KERNEL(vectors) { I; f4 a = {(float)in[g], 2, 3, 4}, m[3] = {a, a * 2, a + 1}; __syncthreads(); f4 r = a + m[in[g] % 3]; __syncthreads(); out[g] = r[0] + r[in[g] & 3]; }
KERNEL(bitfields) { I; struct { unsigned a : 3, b : 7; int c : 5; } f = {(unsigned)in[g], (unsigned)t, 3}; __syncthreads(); f.a++; f.c += t; __syncthreads(); out[g] = f.a + f.b * 8 + f.c * 1000; }

// Loops that the build turns (see turn.rs in offload-build), and loops that it must not turn. Only one thread writes
// each out[g].
#define T unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), g = blockIdx.x * (n / 4) + t; unsigned x = in[g]
KERNEL(turned_3d) { T; for (int i = 0; i < n % 37; i++) x = x * 3 + in[g + i] + i; out[g] = x; }
KERNEL(turned_twice_3d) { T; for (int i = 1; i < 9; i += 2) { for (int j = i; j < n % 11 + i; j++) x = x * i + j; x ^= i; } for (int i = n % 5; i > 0; i--) x += i * x; out[g] = x; }
KERNEL(turned_guarded_3d) { T; if (threadIdx.x + 3 < n % 29 && threadIdx.y < 2) for (int i = 0; i < n % 17 + 2; i++) { out[g] += x * i; if (threadIdx.x + i < 9) x += i; } out[g] += x; }
KERNEL(turned_pointer_3d) { T; for (const int *p = in; p != in + n % 13; p++) x = x * 5 + *p; out[g] = x; }
KERNEL(turned_waits_3d) { T; __shared__ unsigned s[1024]; s[t] = x; __syncthreads(); for (unsigned k = n / 8; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); } x += s[0]; int last = 0; for (int i = 0; i < n % 7; i++) { x = x * 7 + i; last = i * 3; __syncwarp(); } out[g] = x + last; }
KERNEL(drift_3d) { T; for (unsigned i = 0; i < 5; i++) { x = x * 3 + i; if (threadIdx.x + i * 8 >= 24) x += __syncthreads_count(x & 1) * i; } out[g] = x; }
KERNEL(drift_in_warps_3d) { T; for (unsigned i = 0; i < 5; i++) { x = x * 3 + i; if (threadIdx.x + i * 32 < 100) x += __shfl_xor_sync(__activemask(), x, 1) * i; } out[g] = x; }
KERNEL(returns_inside_3d) { T; for (int i = 0; i < 9; i++) { x = x * 3 + i; out[g] += x; if (threadIdx.x + i > 20) return; } out[g] += x; }
KERNEL(breaks_3d) { T; for (unsigned r = 0; r < 1 + (threadIdx.y + 1) % 3; r++) for (int i = 0; i < 2 + n % 5; i++) { x = x * 3 + i; if (threadIdx.x + i < 6) break; out[g] += i; } out[g] += x; }
KERNEL(breaks_together_3d) { T; int i = 0; for (; i < 99; i++) { x = x * 3 + i; if (i == n % 9) break; out[g] += i; } out[g] += x * i; }
KERNEL(skips_3d) { T; for (unsigned i = 0; i < 9; i++) { x = x * 3 + i; out[g] += i; if (x & 4) i++; } out[g] += x; }
KERNEL(bound_in_memory_3d) { T; out[g] = in[g] & 7; for (int i = 0; i < out[g]; i++) { x += i; if (x & 1) out[g]--; } out[g] += x; }
KERNEL(bound_by_row_3d) { T; for (int i = 0; i < threadIdx.y + 2; i++) { x = x * 3 + i; if (i > 1) x += __syncthreads_count(x & 1) * i; } out[g] = x; }
KERNEL(warp_memory_3d) { T; __shared__ volatile unsigned s[1024]; for (int i = 1; i < 16; i *= 2) { s[t] = x; __syncwarp(); x += s[t / 32 * 32 + (t + i) % 32 < n / 4 ? t / 32 * 32 + (t + i) % 32 : t]; __syncwarp(); } out[g] = x; }
KERNEL(counts_3d) { T; __shared__ unsigned c; if (t == 0) c = 0; __syncthreads(); for (int i = 0; i < 5; i++) { atomicAdd(&c, x & i); x = x * 3 + i; } __syncthreads(); out[g] = x + c; }
KERNEL(turned_wait_in_try_3d) { T; try { x = thrower(in[g]); } catch (int e) { x = e + 1; } for (int i = 0; i < n % 9; i++) x = x * 3 + i; out[g] = x; }
