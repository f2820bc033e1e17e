/* Runs OpenCL C kernels on the first device of the first platform. Releases nothing
 * before the process ends. */
#include <stddef.h>

int clGetPlatformIDs(unsigned, void **, unsigned *);
int clGetDeviceIDs(void *, unsigned long long, unsigned, void **, unsigned *);
void *clCreateContext(const ptrdiff_t *, unsigned, void *const *, void *, void *, int *);
void *clCreateCommandQueue(void *, void *, unsigned long long, int *);
void *clCreateProgramWithSource(void *, unsigned, const char **, const size_t *, int *);
int clBuildProgram(void *, unsigned, void *const *, const char *, void *, void *);
void *clCreateKernel(void *, const char *, int *);
void *clCreateBuffer(void *, unsigned long long, size_t, const void *, int *);
int clSetKernelArg(void *, unsigned, size_t, const void *);
int clEnqueueNDRangeKernel(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *,
                           void *);
int clEnqueueReadBuffer(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
int clFinish(void *);

static void *context, *queue, *program, *kernel, *written;

int start(const char *source) {
  void *platform, *device;
  int code = clGetPlatformIDs(1, &platform, NULL);
  if (code || (code = clGetDeviceIDs(platform, 0xffffffff, 1, &device, NULL)))
    return code;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueue(context, device, 0, NULL);
  program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  return clBuildProgram(program, 1, &device, NULL, NULL, NULL);
}

int prepare(const char *name, int n, const float *x, size_t x_size, const float *y, size_t y_size) {
  const int copy = 1 << 5;
  int code;
  void *read = clCreateBuffer(context, copy, x_size, x, NULL);
  written = clCreateBuffer(context, copy, y_size, y, NULL);
  kernel = clCreateKernel(program, name, &code);
  return code ? code
              : clSetKernelArg(kernel, 0, sizeof n, &n) | clSetKernelArg(kernel, 1, sizeof read, &read) |
                    clSetKernelArg(kernel, 2, sizeof written, &written);
}

int launch(const size_t *threads, const size_t *block) {
  int code = clEnqueueNDRangeKernel(queue, kernel, 2, NULL, threads, block, 0, NULL, NULL);
  return code ? code : clFinish(queue);
}

int results(float *y, size_t size) { return clEnqueueReadBuffer(queue, written, 1, 0, size, y, 0, NULL, NULL); }
