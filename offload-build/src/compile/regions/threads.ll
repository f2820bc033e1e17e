%"{name}.kept" = type { {fields} }
define internal i32 @"{name}.threads"(ptr %frame, ptr %arrays, i64 %stride, ptr noalias %value, ptr noalias %result, ptr noalias %mask, ptr noalias %source, i64 %t, i32 %x, i32 %y, i32 %z, i32 %region, ptr %v0.{same}) alwaysinline {attributes} {
begin:
  %number = trunc i64 %t to i32
  %offload_cpu_value.0 = getelementptr inbounds i64, ptr %value, i64 %t
  %offload_cpu_result.0 = getelementptr inbounds i64, ptr %result, i64 %t
  %offload_cpu_mask.0 = getelementptr inbounds i64, ptr %mask, i64 %t
  %offload_cpu_source.0 = getelementptr inbounds i32, ptr %source, i64 %t
  %threadIdx.0 = alloca [3 x i32]
  %threadIdx.1 = getelementptr i8, ptr %threadIdx.0, i64 4
  %threadIdx.2 = getelementptr i8, ptr %threadIdx.0, i64 8
  store i32 %x, ptr %threadIdx.0
  store i32 %y, ptr %threadIdx.1
  store i32 %z, ptr %threadIdx.2
  %blockIdx.0 = getelementptr i8, ptr %frame, i64 64
  %blockIdx.1 = getelementptr i8, ptr %frame, i64 68
  %blockIdx.2 = getelementptr i8, ptr %frame, i64 72
  %blockDim.0 = getelementptr i8, ptr %frame, i64 76
  %blockDim.1 = getelementptr i8, ptr %frame, i64 80
  %blockDim.2 = getelementptr i8, ptr %frame, i64 84
  %gridDim.0 = getelementptr i8, ptr %frame, i64 88
  %gridDim.1 = getelementptr i8, ptr %frame, i64 92
  %gridDim.2 = getelementptr i8, ptr %frame, i64 96
{begin}  switch i32 %region, label %b1. [{cases} ]
{body}}
