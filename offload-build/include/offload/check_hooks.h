/* offload/check_hooks.h: the moments at which a checked build does something.  Part of offload/schedule.h, which includes
 * it in its namespace; what happens is in check_races.h, check_shared.h,
 * check_reports.h and check_ends.h.
 */

namespace check {

/* What unordered threads are ordered by; 0 is nothing. */
typedef unsigned edge;

void launch_begins(launch &l);
/* Returns how many findings there were. */
unsigned launch_ended(launch &l);
void block_begins(launch &l);
void block_ended(launch &l);

/* On the stack of a thread of the block, before the kernel. */
void thread_begins(launch &l);

/* Before the stack is changed: to that of the thread `self`, and back. */
void enter(launch &l);
void leave(launch &l);

/* The thread `self` arrives at a barrier or in a warp function; after it has waited, it goes on. */
edge barrier_edge(launch &l);
edge warp_edge(launch &l, warp_function function, offload_lanes mask);
void releases(launch &l, edge by);
void acquires(launch &l, edge by);

/* These lanes of the warp that begins with thread `base` have all come to a warp function with the same mask. */
void warp_is_complete(launch &l, unsigned base, offload_lanes lanes);
/* All threads that have not returned are at a barrier. */
void barrier_is_complete(launch &l);
/* The threads of the block wait for each other for ever. */
void never_goes_on(const launch &l);

/* The memory of OFFLOAD_DYNAMIC_SHARED, of which there is some. */
void *dynamic_shared(launch &l);
/* A thread comes to OFFLOAD_DYNAMIC_SHARED in a launch that gives no memory. */
[[noreturn]] void no_dynamic_shared(launch &l, const code_place &at);

/* The thread `self` throws an exception that the kernel does not catch. */
[[noreturn]] void thrown(void *exception);

} // namespace check
