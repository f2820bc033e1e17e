/* offload/opencl.h: the work-item functions of OpenCL C, and its barriers.  offload-build includes this header before the first
 * line of every .cl file.
 *
 *   get_global_id, get_local_id, get_group_id, get_global_size, get_local_size, get_num_groups and kin
 *   barrier, work_group_barrier, mem_fence, read_mem_fence, write_mem_fence
 *
 * clang declares these functions.  A source may define them itself.
 */
#ifndef OFFLOAD_OPENCL_H
#define OFFLOAD_OPENCL_H

/* With this attribute, another definition may follow. */
#define OFFLOAD_FUNCTION extern inline __attribute__((gnu_inline, always_inline))

#if defined(__AMDGCN__)
#define OFFLOAD_GROUP(x) __builtin_amdgcn_workgroup_id_##x()
#define OFFLOAD_ITEM(x) __builtin_amdgcn_workitem_id_##x()
#define OFFLOAD_SIZE(x) __builtin_amdgcn_workgroup_size_##x()
/* The dispatch packet counts work-items. */
#define OFFLOAD_GROUPS(x) (__builtin_amdgcn_grid_size_##x() / __builtin_amdgcn_workgroup_size_##x())
#else
#define OFFLOAD_GROUP(x) __nvvm_read_ptx_sreg_ctaid_##x()
#define OFFLOAD_ITEM(x) __nvvm_read_ptx_sreg_tid_##x()
#define OFFLOAD_SIZE(x) __nvvm_read_ptx_sreg_ntid_##x()
#define OFFLOAD_GROUPS(x) __nvvm_read_ptx_sreg_nctaid_##x()
#endif

#define OFFLOAD_OF_DIMENSION(name, of, other)                                                                          \
  OFFLOAD_FUNCTION size_t name(uint dimension) {                                                                       \
    return dimension == 0 ? of(x) : dimension == 1 ? of(y) : dimension == 2 ? of(z) : other;                           \
  }
OFFLOAD_OF_DIMENSION(get_group_id, OFFLOAD_GROUP, 0)
OFFLOAD_OF_DIMENSION(get_local_id, OFFLOAD_ITEM, 0)
OFFLOAD_OF_DIMENSION(get_local_size, OFFLOAD_SIZE, 1)
OFFLOAD_OF_DIMENSION(get_enqueued_local_size, OFFLOAD_SIZE, 1)
OFFLOAD_OF_DIMENSION(get_num_groups, OFFLOAD_GROUPS, 1)
#undef OFFLOAD_OF_DIMENSION
#undef OFFLOAD_GROUP
#undef OFFLOAD_ITEM
#undef OFFLOAD_SIZE
#undef OFFLOAD_GROUPS

/* Launches of CUDA and HIP have no offset. */
OFFLOAD_FUNCTION size_t get_global_offset(uint dimension) { return 0; }
OFFLOAD_FUNCTION size_t get_global_id(uint dimension) {
  return get_group_id(dimension) * get_local_size(dimension) + get_local_id(dimension);
}
OFFLOAD_FUNCTION size_t get_global_size(uint dimension) {
  return get_num_groups(dimension) * get_local_size(dimension);
}
OFFLOAD_FUNCTION size_t get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);
}
OFFLOAD_FUNCTION size_t get_global_linear_id(void) {
  return (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
}
OFFLOAD_FUNCTION uint get_work_dim(void) {
  return get_global_size(2) > 1 ? 3 : get_global_size(1) > 1 ? 2 : 1;
}

OFFLOAD_FUNCTION __attribute__((convergent)) void barrier(cl_mem_fence_flags flags) {
#if defined(__AMDGCN__)
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#else
  __nvvm_bar_sync(0);
#endif
}
OFFLOAD_FUNCTION __attribute__((convergent)) void work_group_barrier(cl_mem_fence_flags flags) { barrier(flags); }
/* Fences for the whole device, as in NVIDIA's OpenCL. */
OFFLOAD_FUNCTION void mem_fence(cl_mem_fence_flags flags) {
#if defined(__AMDGCN__)
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");
#else
  __nvvm_membar_gl();
#endif
}
OFFLOAD_FUNCTION void read_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
OFFLOAD_FUNCTION void write_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
#undef OFFLOAD_FUNCTION

#endif
