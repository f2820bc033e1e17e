define internal i64 @"{name}.region.{region}"(ptr noalias %frame, i32 %from, i32 %to) {attributes} {
begin:
  %v0. = load ptr, ptr %frame, !invariant.load !900000001
  %at.arrays = getelementptr i8, ptr %frame, i64 8
  %arrays = load ptr, ptr %at.arrays, !invariant.load !900000001
  %at.stride = getelementptr i8, ptr %frame, i64 16
  %stride = load i64, ptr %at.stride, !invariant.load !900000001
  %at.next = getelementptr i8, ptr %frame, i64 24
  %next = load ptr, ptr %at.next, !invariant.load !900000001
  %at.value = getelementptr i8, ptr %frame, i64 32
  %value = load ptr, ptr %at.value, !invariant.load !900000001
  %at.result = getelementptr i8, ptr %frame, i64 40
  %result = load ptr, ptr %at.result, !invariant.load !900000001
  %at.mask = getelementptr i8, ptr %frame, i64 48
  %mask = load ptr, ptr %at.mask, !invariant.load !900000001
  %at.source = getelementptr i8, ptr %frame, i64 56
  %source = load ptr, ptr %at.source, !invariant.load !900000001
  %blockIdx.of.0 = getelementptr i8, ptr %frame, i64 64
  %blockIdx.of.1 = getelementptr i8, ptr %frame, i64 68
  %blockIdx.of.2 = getelementptr i8, ptr %frame, i64 72
  %blockDim.of.0 = getelementptr i8, ptr %frame, i64 76
  %blockDim.of.1 = getelementptr i8, ptr %frame, i64 80
  %blockDim.of.2 = getelementptr i8, ptr %frame, i64 84
  %gridDim.of.0 = getelementptr i8, ptr %frame, i64 88
  %gridDim.of.1 = getelementptr i8, ptr %frame, i64 92
  %gridDim.of.2 = getelementptr i8, ptr %frame, i64 96
  %width = load i32, ptr %blockDim.of.0, !invariant.load !900000001
  %height = load i32, ptr %blockDim.of.1, !invariant.load !900000001
  %first.t = zext i32 %from to i64
  %first.row = udiv i32 %from, %width
  %first.x = urem i32 %from, %width
  %end.t = zext i32 %to to i64
{own}  br label %again
again:
{once}  br label %row
row:
  %r = phi i32 [ %first.row, %again ], [ %next.row, %row.end ]
  %start = phi i32 [ %first.x, %again ], [ 0, %row.end ]
  %row.least = phi i32 [ -1, %again ], [ %next.least, %row.end ]
  %row.most = phi i32 [ 0, %again ], [ %next.most, %row.end ]
  %base = mul i32 %r, %width
  %left = sub i32 %to, %base
  %is.last = icmp ult i32 %left, %width
  %end.x = select i1 %is.last, i32 %left, i32 %width
  %z = udiv i32 %r, %height
  %y = urem i32 %r, %height
  br label %run
run:
  %first = phi i32 [ %start, %row ], [ %end.run, %run.end ]
  %run.least = phi i32 [ %row.least, %row ], [ %next.least, %run.end ]
  %run.most = phi i32 [ %row.most, %row ], [ %next.most, %run.end ]
  br label %compare
compare:
  %end.run = phi i32 [ %end.x, %run ], [ %shorter, %shorten ]
  %last = sub i32 %end.run, 1
  %agree.0 = icmp eq i32 %y, %y
{agree}  br i1 %agree, label %thread, label %shorten
shorten:
  %length = sub i32 %end.run, %first
  %half = lshr i32 %length, 1
  %shorter = add i32 %first, %half
  br label %compare
thread:
  %x = phi i32 [ %first, %compare ], [ %next.x, %thread ]
  %least = phi i32 [ %run.least, %compare ], [ %next.least, %thread ]
  %most = phi i32 [ %run.most, %compare ], [ %next.most, %thread ]
  %number = add nuw i32 %base, %x
  %t = zext i32 %number to i64
  %came.to = call i32 @"{name}.threads"(ptr %frame, ptr %arrays, i64 %stride, ptr %value, ptr %result, ptr %mask, ptr %source, i64 %t, i32 %x, i32 %y, i32 %z, i32 {region}, ptr %v0.{same}{results}{owns})
{arrive}  %is.less = icmp ult i32 %came.to, %least
  %next.least = select i1 %is.less, i32 %came.to, i32 %least
  %is.more = icmp ugt i32 %came.to, %most
  %next.most = select i1 %is.more, i32 %came.to, i32 %most
  %next.x = add nuw i32 %x, 1
  %has.more = icmp ult i32 %next.x, %end.run
  br i1 %has.more, label %thread, label %run.end, !llvm.loop !900000002
run.end:
  %has.runs = icmp ult i32 %end.run, %end.x
  br i1 %has.runs, label %run, label %row.end
row.end:
  %next.row = add nuw i32 %r, 1
  %done = mul i32 %next.row, %width
  %has.rows = icmp ult i32 %done, %to
  br i1 %has.rows, label %row, label %end
end:
  %is.one = icmp eq i32 %next.least, %next.most
  %is.turn = icmp eq i32 %next.least, {turn}
  %is.again = and i1 %is.one, %is.turn
  br i1 %is.again, label %again, label %leave
leave:
{fill}  %low = zext i32 %next.least to i64
  %high = zext i32 %next.most to i64
  %shifted = shl i64 %high, 32
  %both = or i64 %low, %shifted
  ret i64 %both
}
