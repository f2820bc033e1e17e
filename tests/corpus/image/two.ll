target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x i32] undef, align 4
define amdgpu_kernel void @one(i8 %a, i32 addrspace(1)* %p, [3 x i32] %s) "amdgpu-flat-work-group-size"="1,64" {
  %t = getelementptr [64 x i32], [64 x i32] addrspace(3)* @tile, i32 0, i32 3
  store i32 1, i32 addrspace(3)* %t
  store i32 7, i32 addrspace(1)* %p
  ret void
}
define amdgpu_kernel void @two() !reqd_work_group_size !0 { ret void }
!0 = !{i32 8, i32 4, i32 2}
