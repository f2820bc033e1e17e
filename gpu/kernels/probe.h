// A kernel that writes a number for each thread. Each module contains it, so that each image can be tested separately.
#pragma once
#define PROBE(name)                                                                                                    \
  extern "C" __global__ void name(unsigned *y) {                                                                       \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                                \
    y[i] = i * 2654435761u + 12345u;                                                                                   \
  }
