@"{name}.run" = internal constant [{count} x ptr] [{regions}]
@"{name}.kinds" = internal constant [{count} x i8] [i8 0{kinds}]
@"{name}.regions" = weak hidden constant { ptr, i64, ptr, ptr } { ptr @"{entry}", i64 ptrtoint (ptr getelementptr (%"{name}.kept", ptr null, i32 1) to i64), ptr @"{name}.run", ptr @"{name}.kinds" }, section "offload_regions", align 8
