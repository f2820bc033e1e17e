/* offload/regions.h: threads that wait without stacks.  Part of offload/schedule.h.
 *
 * offload-build cuts kernels at their waits into regions.  A region is a function that runs threads of a block from one
 * wait to the next, in a loop.  What a thread has to remember while it waits is in arrays over the threads of the block.
 * So a thread that waits is a place in arrays and the number of its wait.
 *
 * A block runs as a whole as long as all of its threads come to the same wait.  Otherwise each thread has a state, as
 * threads with stacks have, and rounds run the threads that can go on.  Both ways have the scheduler's rules.
 */
#ifndef OFFLOAD_REGIONS_H
#define OFFLOAD_REGIONS_H

extern "C" {
/* What regions know of a block.  offload-build knows the layout. */
struct offload_cpu_frame {
  void *const *addresses; /* of the arguments */
  char *slots, *memory;   /* the arrays of the kernel's values, and of its variables in memory */
  size_t stride;          /* elements of each array, at least one for each thread */
  unsigned *next;         /* the wait that each thread has come to; 0: it has returned */
  uint64_t *value, *result;
  offload_lanes *mask;
  unsigned *source;
  unsigned dimensions[9]; /* blockIdx, blockDim, gridDim */
};

/* Runs some threads of the block.  Returns the least wait that they have come to, and above 32 bits the greatest. */
typedef uint64_t offload_cpu_region(const offload_cpu_frame *, unsigned from, unsigned to);

/* What offload-build writes for a kernel that it could cut. */
struct offload_cpu_regions {
  size_t waits, slots, memory; /* the number of waits, and the bytes of each thread in the arrays */
  offload_cpu_region *const *run; /* region 0 begins the kernel, region n goes on after wait n */
  const unsigned char *kinds;     /* of wait n: 0: a barrier, 1: one that counts, 2 and more: a warp function */
};
}

namespace offload_cpu {

/* The part of a launch by regions. */
struct region_launch {
  const offload_cpu_regions *of; /* or null */
  offload_cpu_frame frame;
  void *arrays;
  unsigned region, from, to; /* what runs */
  uint64_t came_to;          /* what it returned */
};

} // namespace offload_cpu

#endif
