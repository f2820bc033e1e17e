  %{kind}{value}.offset = mul i64 %stride, ptrtoint (ptr getelementptr (%"{name}.kept", ptr null, i64 0, i32 {field}) to i64)
  %{kind}{value}.array = getelementptr inbounds i8, ptr %arrays, i64 %{kind}{value}.offset
  %{kind}{value}. = getelementptr inbounds {ty}, ptr %{kind}{value}.array, i64 %t
