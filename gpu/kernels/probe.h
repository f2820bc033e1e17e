// A kernel that each module has, so that each image can be run by itself: it writes a number for each thread.
#pragma once
#define PROBE(name)                                                                                                    \
  extern "C" __global__ void name(unsigned *y) {                                                                       \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                                \
    y[i] = i * 2654435761u + 12345u;                                                                                   \
  }
