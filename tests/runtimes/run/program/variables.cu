struct Params {
  float scale;
  int count;
  double bias;
};

// The weights of each element.
__constant__ float table[256];
__constant__ Params params;
__device__ int counters[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ unsigned long long total = 7;
__device__ bool is_done;
__device__ float *result;
__constant__ float4 colors[2];
static __device__ int hidden = 1;
static __constant__ const int fixed = 5;
namespace ns {
__device__ double value = 1.5;
}
template <typename T> __device__ T limit = T(2);
template <> __device__ float limit<float> = 4;
template __device__ int limit<int>;
// `Table` equals `table` in upper case. The other names are those of a kernel and of the pack.
__device__ int Table = 11;
__device__ int pack = 12;
__device__ short KERNEL = 13;
extern "C" __global__ void KERNEL_(short *y) { *y = KERNEL; }
#if defined(OFFLOAD_CPU)
__device__ float differs;
__device__ int sized[2];
int of_the_host = 15;
#else
__device__ int on_gpus_only = 14;
__device__ int differs;
__device__ int sized[3];
#endif
__shared__ int shared[4];

__device__ int add(int x) { return x + hidden + fixed; }

extern "C" __global__ void weigh(int n, const float *x) {
  int i = threadIdx.x;
  shared[0] = 1;
  if (i < n)
    result[i] = params.scale * x[i] * table[i] + float(params.bias) + colors[1].w;
  if (i == 0) {
    counters[1][2] += add(int(differs) + sized[0]) + params.count;
    total += (unsigned long long)ns::value;
    is_done = !is_done;
  }
}
