define internal i32 @"{name}.threads"(ptr %frame, ptr noalias %slots, ptr %memory, i64 %stride, ptr noalias %value, ptr noalias %result, ptr noalias %mask, ptr noalias %source, i64 %t, i32 %x, i32 %y, i32 %z, i32 %region, ptr %v0{same}) alwaysinline {attributes} {
begin:
  %number = trunc i64 %t to i32
  %own.value = getelementptr inbounds i64, ptr %value, i64 %t
  %own.result = getelementptr inbounds i64, ptr %result, i64 %t
  %own.mask = getelementptr inbounds {mask}, ptr %mask, i64 %t
  %own.source = getelementptr inbounds i32, ptr %source, i64 %t
  %index.threadIdx.0 = alloca [3 x i32]
  %index.threadIdx.1 = getelementptr i8, ptr %index.threadIdx.0, i64 4
  %index.threadIdx.2 = getelementptr i8, ptr %index.threadIdx.0, i64 8
  store i32 %x, ptr %index.threadIdx.0
  store i32 %y, ptr %index.threadIdx.1
  store i32 %z, ptr %index.threadIdx.2
  %index.blockIdx.0 = getelementptr i8, ptr %frame, i64 72
  %index.blockIdx.1 = getelementptr i8, ptr %frame, i64 76
  %index.blockIdx.2 = getelementptr i8, ptr %frame, i64 80
  %index.blockDim.0 = getelementptr i8, ptr %frame, i64 84
  %index.blockDim.1 = getelementptr i8, ptr %frame, i64 88
  %index.blockDim.2 = getelementptr i8, ptr %frame, i64 92
  %index.gridDim.0 = getelementptr i8, ptr %frame, i64 96
  %index.gridDim.1 = getelementptr i8, ptr %frame, i64 100
  %index.gridDim.2 = getelementptr i8, ptr %frame, i64 104
