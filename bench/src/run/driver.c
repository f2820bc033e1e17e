/* A fake NVIDIA driver with one GPU. Its functions do almost nothing, so the time of a call
 * through offload-gpu is spent in offload-gpu itself. */
#include <stddef.h>
#include <stdlib.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

/* As in the real driver, each thread has its own stack of contexts. */
static __thread void *stack[8];
static __thread int depth;
static char context, module, function;

CUresult cuInit(unsigned flags) { return 0; }
CUresult cuGetErrorName(CUresult code, const char **out) { return 1; }
CUresult cuGetErrorString(CUresult code, const char **out) { return 1; }
CUresult cuDriverGetVersion(int *out) { return *out = 12080, 0; }
CUresult cuDeviceGetCount(int *out) { return *out = 1, 0; }
CUresult cuDeviceGet(int *out, int ordinal) { return *out = ordinal, 0; }
CUresult cuDeviceGetName(char *out, int size, int device) { return *out = 0; }
CUresult cuDeviceTotalMem_v2(size_t *out, int device) { return *out = 1 << 30, 0; }

CUresult cuDeviceGetAttribute(int *out, int attribute, int device) {
  /* The compute capability is 9.0. */
  *out = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute >= 8 ? 48 << 10 : 1024;
  return 0;
}

CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { return *flags = *active = 0; }
CUresult cuDevicePrimaryCtxRetain(void **out, int device) { return *out = &context, 0; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
CUresult cuCtxGetCurrent(void **out) { return *out = depth ? stack[depth - 1] : NULL, 0; }
CUresult cuCtxPushCurrent_v2(void *context) { return stack[depth++] = context, 0; }
CUresult cuCtxPopCurrent_v2(void **out) { return *out = stack[--depth], 0; }
CUresult cuCtxGetDevice(int *out) { return *out = 0; }
CUresult cuCtxSynchronize(void) { return 0; }
CUresult cuModuleLoadData(void **out, const void *image) { return *out = &module, 0; }
CUresult cuModuleUnload(void *module) { return 0; }
CUresult cuModuleGetFunction(void **out, void *module, const char *name) { return *out = &function, 0; }
CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *size, void *module, const char *name) { return 500; }
CUresult cuFuncGetAttribute(int *out, int attribute, void *function) { return *out = 0, 0; }
CUresult cuFuncSetAttribute(void *function, int attribute, int value) { return 0; }
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) { return *out = (CUdeviceptr)malloc(size), 0; }
CUresult cuMemFree_v2(CUdeviceptr address) { return free((void *)address), 0; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) { return 0; }
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) { return 0; }
CUresult cuStreamSynchronize(void *stream) { return 0; }

CUresult cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments,
                        void **extra) {
  return depth ? 0 : 201;
}
