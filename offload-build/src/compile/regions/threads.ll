%"{name}.kept" = type { {fields} }
define internal i32 @"{name}.threads"(ptr %frame, ptr %arrays, i64 %stride, ptr noalias %value, ptr noalias %result, ptr noalias %mask, ptr noalias %source, i64 %t, i32 %x, i32 %y, i32 %z, i32 %region, ptr %v0.{same}{results}{owns}) alwaysinline {attributes} {
begin:
  %number = trunc i64 %t to i32
  %offload_cpu_value.of.0 = getelementptr inbounds i64, ptr %value, i64 %t
  %offload_cpu_value.of.4 = getelementptr i8, ptr %offload_cpu_value.of.0, i64 4
  %offload_cpu_result.of.0 = getelementptr inbounds i64, ptr %result, i64 %t
  %offload_cpu_result.of.4 = getelementptr i8, ptr %offload_cpu_result.of.0, i64 4
  %offload_cpu_mask.of.0 = getelementptr inbounds i64, ptr %mask, i64 %t
  %offload_cpu_source.of.0 = getelementptr inbounds i32, ptr %source, i64 %t
  %threadIdx.of.0 = alloca [3 x i32]
  %threadIdx.of.1 = getelementptr i8, ptr %threadIdx.of.0, i64 4
  %threadIdx.of.2 = getelementptr i8, ptr %threadIdx.of.0, i64 8
  store i32 %x, ptr %threadIdx.of.0
  store i32 %y, ptr %threadIdx.of.1
  store i32 %z, ptr %threadIdx.of.2
  %blockIdx.of.0 = getelementptr i8, ptr %frame, i64 64
  %blockIdx.of.1 = getelementptr i8, ptr %frame, i64 68
  %blockIdx.of.2 = getelementptr i8, ptr %frame, i64 72
  %blockDim.of.0 = getelementptr i8, ptr %frame, i64 76
  %blockDim.of.1 = getelementptr i8, ptr %frame, i64 80
  %blockDim.of.2 = getelementptr i8, ptr %frame, i64 84
  %gridDim.of.0 = getelementptr i8, ptr %frame, i64 88
  %gridDim.of.1 = getelementptr i8, ptr %frame, i64 92
  %gridDim.of.2 = getelementptr i8, ptr %frame, i64 96
{begin}  switch i32 %region, label %b1. [{cases} ]
{body}}
