  br label %fill.{value}
fill.{value}:
  %t.{value} = phi i64 [ %first.t, %leave{last} ], [ %next.{value}, %fill.{value} ]
  %at.{value} = getelementptr inbounds i32, ptr %next, i64 %t.{value}
  %wait.{value} = load i32, ptr %at.{value}
  %is.here.{value} = icmp eq i32 %wait.{value}, {wait}
  %new.{value} = load {ty}, ptr %own.{value}.
  %kept.{value} = select i1 %is.here.{value}, {ty} %new.{value}, {ty} %v{value}.
  %to.{value} = getelementptr inbounds {ty}, ptr %same.{value}.array, i64 %t.{value}
  store {ty} %kept.{value}, ptr %to.{value}
  %next.{value} = add i64 %t.{value}, 1
  %has.more.{value} = icmp ult i64 %next.{value}, %end.t
  br i1 %has.more.{value}, label %fill.{value}, label %leave.{value}
leave.{value}:
