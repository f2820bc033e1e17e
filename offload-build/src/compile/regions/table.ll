@"NAME.run" = internal constant [COUNT x ptr] [REGIONS]
@"NAME.kinds" = internal constant [COUNT x i8] [KINDS]
@"NAME.regions" = hidden constant { ptr, i64, i64, i64, ptr, ptr } { ptr @"ENTRY", i64 WAITS, i64 ptrtoint (ptr getelementptr (%"NAME.slots", ptr null, i32 1) to i64), i64 ptrtoint (ptr getelementptr (%"NAME.memory", ptr null, i32 1) to i64), ptr @"NAME.run", ptr @"NAME.kinds" }, section "offload_regions", align 8
