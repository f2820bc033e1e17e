define internal { i1, {ty} } @"{name}.sum.{value}"(i32 %x, i32 %y, i32 %z, ptr %v0.{same}) alwaysinline {attributes} {
begin:
  %threadIdx.of.0 = alloca [3 x i32]
  %threadIdx.of.1 = getelementptr i8, ptr %threadIdx.of.0, i64 4
  %threadIdx.of.2 = getelementptr i8, ptr %threadIdx.of.0, i64 8
  store i32 %x, ptr %threadIdx.of.0
  store i32 %y, ptr %threadIdx.of.1
  store i32 %z, ptr %threadIdx.of.2
{lines}  %with.result = insertvalue { i1, {ty} } poison, i1 %v{value}., 0
  %with.sum = insertvalue { i1, {ty} } %with.result, {ty} %v{sum}., 1
  ret { i1, {ty} } %with.sum
}
