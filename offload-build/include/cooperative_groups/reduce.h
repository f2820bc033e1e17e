/* cooperative_groups/reduce.h: here, cooperative_groups.h contains all of it. */
#if __has_include_next(<cooperative_groups/reduce.h>)
#include_next <cooperative_groups/reduce.h>
#else
#include <cooperative_groups.h>
#endif
