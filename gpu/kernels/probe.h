// A kernel in each module, for testing each image separately. It writes a number for each thread.
#pragma once
#define PROBE(name)                                                                                                    \
  extern "C" __global__ void name(unsigned *y) {                                                                       \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                                \
    y[i] = i * 2654435761u + 12345u;                                                                                   \
  }
