// The kernels with which tests/builds/kernel_header checks the header on the CPU.
#include "../../tests/builds/kernel_header/kernels.cu"

#include "probe.h"

// Writes 13 numbers for each thread: its indices, the sizes of its block and grid, and the warp
// size.
extern "C" __global__ void places(unsigned *out) {
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned *mine = out + 13 * (block * block_size() + thread_of_block());
  mine[0] = threadIdx.x, mine[1] = threadIdx.y, mine[2] = threadIdx.z;
  mine[3] = blockIdx.x, mine[4] = blockIdx.y, mine[5] = blockIdx.z;
  mine[6] = blockDim.x, mine[7] = blockDim.y, mine[8] = blockDim.z;
  mine[9] = gridDim.x, mine[10] = gridDim.y, mine[11] = gridDim.z;
  mine[12] = unsigned(warpSize);
}

PROBE(probe_header)
