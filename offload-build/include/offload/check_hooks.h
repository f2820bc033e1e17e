/* offload/check_hooks.h: the functions that the scheduler calls in a checked build.  Part of offload/schedule.h, which
 * includes it in its namespace.  The functions are defined in check_races.h, check_shared.h, check_reports.h and
 * check_ends.h.
 */

namespace check {

/* A number of an address by which threads are ordered; 0 is none. */
typedef unsigned edge;

void launch_begins(launch &l, const offload_cpu_settings *settings);
/* Returns the number of findings. */
unsigned launch_ended(launch &l);
void block_begins(launch &l);
void block_ended(launch &l);

/* Called on the stack of a thread of the block, before the kernel. */
void thread_begins(launch &l);

/* Called before a switch to the stack of the thread `self`, and before the switch back. */
void enter(launch &l);
void leave(launch &l);

/* The thread `self` releases when it arrives at a barrier or in a warp function, and acquires when it goes on. */
edge barrier_edge(launch &l);
edge warp_edge(launch &l, warp_function function, offload_lanes mask);
void releases(launch &l, edge by);
void acquires(launch &l, edge by);

/* These lanes, of the warp that begins with thread `base`, have all reached a warp function with the same mask. */
void warp_is_complete(launch &l, unsigned base, offload_lanes lanes);
/* All threads that have not returned are at a barrier. */
void barrier_is_complete(launch &l);
/* The threads of the block wait for each other forever. */
void never_goes_on(const launch &l);

/* The memory of OFFLOAD_DYNAMIC_SHARED, if the launch provides some. */
void *dynamic_shared(launch &l);
/* A thread uses OFFLOAD_DYNAMIC_SHARED in a launch that provides no memory for it. */
[[noreturn]] void no_dynamic_shared(launch &l, const code_place &at);

/* The thread `self` throws an exception that the kernel does not catch. */
[[noreturn]] void thrown(void *exception);

} // namespace check
