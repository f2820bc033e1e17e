  %at = getelementptr inbounds i32, ptr %next, i64 %t
  store i32 %came.to, ptr %at, !llvm.access.group !900000000
