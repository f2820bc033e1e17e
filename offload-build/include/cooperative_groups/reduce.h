/* cooperative_groups/reduce.h: a part of cooperative_groups.h here. */
#if __has_include_next(<cooperative_groups/reduce.h>)
#include_next <cooperative_groups/reduce.h>
#else
#include <cooperative_groups.h>
#endif
