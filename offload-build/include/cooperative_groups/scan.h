/* cooperative_groups/scan.h: a part of cooperative_groups.h here. */
#if __has_include_next(<cooperative_groups/scan.h>)
#include_next <cooperative_groups/scan.h>
#else
#include <cooperative_groups.h>
#endif
