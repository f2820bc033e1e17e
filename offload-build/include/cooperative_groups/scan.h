/* cooperative_groups/scan.h: here, cooperative_groups.h contains all of it. */
#if __has_include_next(<cooperative_groups/scan.h>)
#include_next <cooperative_groups/scan.h>
#else
#include <cooperative_groups.h>
#endif
