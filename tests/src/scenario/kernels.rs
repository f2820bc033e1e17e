//! Kernels in the CUDA dialect, which compiles for every target.

/// Returns a kernel `name(int n, const float *x, float *y)` that sets `y[i]` to `x[i] + value`;
/// `value` may name `x[i]` and `y[i]`.
pub fn kernel(name: &str, value: &str) -> String {
    format!(
        "extern \"C\" __global__ void {name}(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + {value};\n}}\n"
    )
}
