@"{name}.uniforms" = internal constant [{uniform.count} x { i64, i64 }] [{uniforms}]
@"{name}.run" = internal constant [{count} x ptr] [{regions}]
@"{name}.kinds" = internal constant [{count} x i8] [i8 0{kinds}]
@"{name}.regions" = weak hidden constant { ptr, i64, ptr, ptr, i64, i64, ptr } { ptr @"{entry}", i64 ptrtoint (ptr getelementptr (%"{name}.kept", ptr null, i32 1) to i64), ptr @"{name}.run", ptr @"{name}.kinds", i64 {least}, i64 {uniform.count}, ptr @"{name}.uniforms" }, section "offload_regions", align 8
