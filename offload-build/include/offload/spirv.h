/* offload/spirv.h: indices, barriers and lanes on GPUs whose drivers compile SPIR-V.  Part of offload/gpu.h.
 *
 * A warp is a sub-group of 32 lanes, a size that each kernel requires.  The builtins need clang 22 or newer.
 */
#ifndef OFFLOAD_SPIRV_H
#define OFFLOAD_SPIRV_H

#if !__has_builtin(__builtin_spirv_subgroup_ballot)
#error "offload/kernel.h: SPIR-V needs clang 22 or newer"
#endif

/* OpenCL may form sub-groups from each row of a block separately, but CUDA forms warps from consecutive threads.  A launch of
 * offload-gpu therefore starts each block with a single dimension, and passes the block's real size as the offset of the
 * grid, which CUDA does not have.  An offset of 0 means that another program started the block with its real dimensions: that
 * is right for one dimension. */
namespace offload_spirv {
template <int dimension> OFFLOAD_DEVICE unsigned block_size() {
  unsigned size = unsigned(__builtin_spirv_global_offset(dimension));
  return size == 0 ? unsigned(__builtin_spirv_workgroup_size(dimension)) : size;
}
/* No divisor is ever 0: compilers may move a division before the condition that guards it. */
template <int dimension> OFFLOAD_DEVICE unsigned thread() {
  unsigned thread = unsigned(__builtin_spirv_local_invocation_id(0));
  unsigned x = block_size<0>(), y = block_size<1>();
  if (y * block_size<2>() == 1)
    return dimension == 0 ? thread : 0;
  return dimension == 0 ? thread % x : dimension == 1 ? thread / x % y : thread / (x * y);
}
} // namespace offload_spirv

OFFLOAD_REGISTERS(offload_thread_index, offload_spirv::thread<0>(), offload_spirv::thread<1>(), offload_spirv::thread<2>())
OFFLOAD_REGISTERS(offload_block_index, unsigned(__builtin_spirv_workgroup_id(0)),
                  unsigned(__builtin_spirv_workgroup_id(1)), unsigned(__builtin_spirv_workgroup_id(2)))
OFFLOAD_REGISTERS(offload_block_size, offload_spirv::block_size<0>(), offload_spirv::block_size<1>(),
                  offload_spirv::block_size<2>())
OFFLOAD_REGISTERS(offload_grid_size, unsigned(__builtin_spirv_num_workgroups(0)),
                  unsigned(__builtin_spirv_num_workgroups(1)), unsigned(__builtin_spirv_num_workgroups(2)))
OFFLOAD_DEVICE unsigned offload_lane() { return __builtin_spirv_subgroup_local_invocation_id(); }

/* Declared as instructions, because clang's own barrier orders no accesses. */
__attribute__((device, convergent)) void __spirv_ControlBarrier(int execution, int memory, int semantics);
__attribute__((device)) void __spirv_MemoryBarrier(int memory, int semantics);
enum {
  offload_scope_system = 0,
  offload_scope_device = 1,
  offload_scope_workgroup = 2,
  offload_scope_subgroup = 3,
  offload_all_accesses = 0x310, /* sequentially consistent, for the block's memory and the device's */
};
OFFLOAD_DEVICE void __syncthreads() {
  __spirv_ControlBarrier(offload_scope_workgroup, offload_scope_workgroup, offload_all_accesses);
}

/* Votes among the active lanes. */
OFFLOAD_DEVICE unsigned offload_ballot(bool condition) { return __builtin_spirv_subgroup_ballot(condition)[0]; }

/* The lanes meet at the vote, and the memory barriers order their accesses.  An execution barrier of the sub-group does not
 * work: after one in a branch that other sub-groups of the block do not take, Intel's runtime for CPUs (2026.2) skips code.
 * Intel's GPUs run lanes in lockstep and have no instruction for it.  The condition keeps compilers from removing the vote. */
OFFLOAD_DEVICE void offload_sync_lanes() {
  __spirv_MemoryBarrier(offload_scope_subgroup, offload_all_accesses);
  if (offload_ballot(true) != 0)
    __spirv_MemoryBarrier(offload_scope_subgroup, offload_all_accesses);
}

/* Drivers support atomic instructions only for addresses that are known to be in the device's memory or in the block's:
 * `operation` gets such an address.  A runtime for CPUs accepts each address as both kinds.  Its instructions for the block's
 * memory are not atomic for other blocks, so the device's memory is tested first. */
template <typename T_, typename F_> OFFLOAD_DEVICE auto offload_placed(T_ *address, F_ operation) {
  typedef __attribute__((address_space(1))) T_ global;
  typedef __attribute__((address_space(3))) T_ local;
  enum { workgroup = 4, cross_workgroup = 5 };
  if (auto *place = __builtin_spirv_generic_cast_to_ptr_explicit(address, cross_workgroup))
    return operation((global *)place);
  return operation((local *)__builtin_spirv_generic_cast_to_ptr_explicit(address, workgroup));
}

#endif
