target triple = "spirv64-unknown-unknown"
%element = type { [16 x i8] }
%record = type { [5 x i64] }
@offload_dynamic_shared = internal addrspace(3) global [1048576 x %element] undef, align 128
@tile = internal addrspace(3) global [25 x i8] undef, align 1
@wide = internal addrspace(3) global [3 x i64] undef, align 256
@count = addrspace(1) global i32 0
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
define spir_kernel void @k(ptr addrspace(1) %out, ptr byval(%record) %record, i32 %n) !reqd_work_group_size !0 !intel_reqd_sub_group_size !1 {
  %is_less = icmp slt i32 %n, 1048576
  %number = zext i1 %is_less to i32
  %shared = load i32, ptr addrspace(3) @offload_dynamic_shared
  store i32 %shared, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @offload_dynamic_shared, i64 4)
  %byte = load i8, ptr addrspace(3) @tile
  store i8 %byte, ptr addrspace(3) @wide
  %count = load i32, ptr addrspace(1) @count
  %sum = add i32 %count, %number
  store i32 %sum, ptr addrspace(1) %out
  %next = getelementptr i8, ptr addrspace(1) %out, i64 64
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 4 %next, ptr addrspace(1) align 4 %out, i64 40, i1 false)
  ret void
}
!0 = !{i32 8, i32 4, i32 2}
!1 = !{i32 32}
