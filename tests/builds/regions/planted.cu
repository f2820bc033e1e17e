// Each kernel adds up the numbers of the block's threads. All kernels but the first need stacks.
__device__ int add(int *numbers, int own) {
  numbers[threadIdx.x] = own;
  __syncthreads();
  int sum = 0;
  for (unsigned i = 0; i < blockDim.x; i++)
    sum += numbers[i];
  return sum;
}
extern "C" __global__ void plain(int *y) {
  __shared__ int numbers[64];
  y[threadIdx.x] = add(numbers, threadIdx.x);
}

__device__ int deeper(int depth, int *numbers) {
  __syncthreads();
  return depth == 0 ? add(numbers, threadIdx.x) : deeper(depth - 1, numbers) + depth - depth;
}
extern "C" __global__ void recursion(int *y) {
  __shared__ int numbers[64];
  y[threadIdx.x] = deeper(int(blockDim.x) / 16, numbers);
}

extern "C" __global__ void pointer(int *y) {
  __shared__ int numbers[64];
  int (*volatile function)(int *, int) = add;
  y[threadIdx.x] = function(numbers, threadIdx.x);
}

extern "C" __global__ void array_of_any_size(int *y) {
  __shared__ int numbers[64];
  int *own = (int *)__builtin_alloca(blockDim.x * sizeof(int));
  for (unsigned i = 0; i < blockDim.x; i++)
    own[i] = threadIdx.x;
  int sum = add(numbers, own[threadIdx.x]);
  y[threadIdx.x] = own[threadIdx.x ^ 1] == int(threadIdx.x) ? sum : -1;
}
