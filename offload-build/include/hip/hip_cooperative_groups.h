/* hip_cooperative_groups.h: for sources that include HIP's header of this name; the groups are those of
 * cooperative_groups.h. */
#include "offload/hip.h"

#include "cooperative_groups.h"
