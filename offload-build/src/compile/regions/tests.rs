//! Tests the cut on LLVM IR text. Tests with real compilers are in `tests/builds/regions`.

use super::cut;
use super::text::{Line, instructions, result_type};

/// A kernel that reads a value before a wait, and uses it afterwards.
const WAITS: &str = r#"
@threadIdx = linkonce_odr thread_local global [3 x i32] zeroinitializer
define void @offload_cpu_wait(i32 %0) #0 {
  ret void
}
define void @_Z4kernPf(ptr %0) #1 {
  call void @offload_cpu_wait(i32 noundef 0)
  ret void
}
define void @offload_cpu_thread_kern(ptr %0) #1 section "offload_threads" {
    #dbg_value(ptr @_Z4kernPf, !1, !2)
  %2 = load ptr, ptr %0, align 8, !dbg !3
  %3 = load ptr, ptr %2, align 8
  %4 = load i32, ptr @threadIdx, align 4
  %5 = zext i32 %4 to i64
  %6 = getelementptr inbounds float, ptr %3, i64 %5
  %7 = load float, ptr %6, align 4
  call void @offload_cpu_wait(i32 noundef 0), !dbg !4
    #dbg_value(ptr %3, !1, !2)
  switch i32 %4, label %8 [
    i32 1, label %9
  ], !dbg !3

8:                                                ; preds = %1
  store float %7, ptr %6, align 4
  br label %9

9:                                                ; preds = %8, %1
  ret void
}
declare void @_Z5otherv() #2
declare float @expf(float) #3
attributes #0 = { noinline "target-cpu"="x86-64" }
attributes #1 = { mustprogress "target-cpu"="x86-64" }
attributes #2 = { "target-cpu"="x86-64" }
attributes #3 = { nofree "target-cpu"="x86-64" }
"#;

#[test]
fn values_over_waits_are_in_arrays_and_others_are_not() {
    let text = cut(WAITS, true);
    assert!(text.contains("c\"kern regions: 2\\0A\", section \".offload.regions\""), "{text}");
    // The value is kept, but the address is recomputed from the argument and the index.
    assert!(text.contains("%\"offload_cpu_thread_kern.kept\" = type { float }"), "{text}");
    assert!(text.contains("{ ptr @\"offload_cpu_kernel_kern\", i64 ptrtoint "), "{text}");
    assert_eq!(text.matches("\nret i32 1\nresume.1:\n").count(), 1, "{text}");
    let of_regions = text.split_once("%\"offload_cpu_thread_kern.kept\"").map_or("", |it| it.1);
    assert!(!of_regions.contains("dbg"), "{text}");
    assert!(of_regions.contains("\nswitch i32 %v4., label %b8. [ i32 1, label %b9. ]\n"), "{text}");
}

#[test]
fn comparisons_of_sums_are_the_same_for_threads_that_run_together() {
    let with = |lines: &str| {
        cut(&WAITS.replacen("  %7 = load", &format!("{lines}\n  %7 = load"), 1), true)
    };
    let sum = "  %8 = add nsw i32 %4, 7\n  %9 = sext i32 %8 to i64\n  %10 = icmp sgt i64 %9, 5\n  \
               store i1 %10, ptr %6";
    let text = with(sum);
    assert!(text.contains("i32 %region, ptr %v0., ptr %v3., i1 %v10.) alwaysinline"), "{text}");
    assert!(text.contains("\n  %v8. = add i32 %v4., 7\n  %v9. = sext i32 %v8. to i64\n"), "{text}");
    assert!(text.contains(" = icmp sle i64 %first.sum.10, %last.sum.10\n"), "{text}");
    for other in [
        sum.replace("sgt", "ne"),
        sum.replace("%4, 7", "%4, %4"),
        sum.replace("nsw i32 %4, 7", "i32 7, 8"),
        sum.replace("add nsw", "mul"),
        sum.replace("%9, 5", "%9, %5"),
        sum.replace(
            "%8 =",
            "%11 = getelementptr i8, ptr @threadIdx, i64 4\n  %12 = load i32, ptr %11\n  %8 =",
        )
        .replace("%4", "%12"),
    ] {
        assert!(!with(&other).contains("kern.sum.10"), "{other}");
    }
}

#[test]
fn loops_are_turned_if_no_order_of_threads_shows() {
    const LOOP: &str = "  br label %8

8:
  %9 = phi i64 [ 0, %1 ], [ %13, %8 ]
  %10 = phi float [ 0.0, %1 ], [ %12, %8 ]
  %11 = load float, ptr %6, align 4
  %12 = fadd float %10, %11
  %13 = add i64 %9, 1
  %14 = icmp eq i64 %13, 100
  br i1 %14, label %15, label %8

15:
  store float %12, ptr %6, align 4
  ret void
}
declare void @_Z5";
    let (start, _) = WAITS.split_once("  %7 = load").unwrap_or_default();
    let (_, end) = WAITS.split_once("declare void @_Z5").unwrap_or_default();
    let is_turned = |from: &str, to: &str| {
        let text = format!("{start}{LOOP}{end}").replacen(from, to, 1);
        let text = cut(&text, true);
        assert!(text.contains("kern regions: "), "{text}");
        text.contains(".turned.regions\"")
    };
    let line = "  %12 =";
    let before = |other: &str| is_turned(line, &format!("  {other}\n{line}"));
    assert!(is_turned("", "") && before("%7 = call float @llvm.sqrt.f32(float %11)"));
    assert!(before("call void @offload_cpu_wait(i32 noundef 0)"));
    for other in [
        "%7 = load volatile float, ptr %6, align 4",
        "store atomic float %11, ptr %6 monotonic, align 4",
        "%7 = atomicrmw fadd ptr %6, float %11 monotonic, align 4",
        "%7 = cmpxchg ptr %6, i32 %4, i32 0 monotonic monotonic, align 4",
        "fence seq_cst",
        "call void @_Z5otherv()",
        "call void asm \"nop\", \"\"()",
        "%7 = call i64 @llvm.returnaddress(ptr %6)",
        "call void @llvm.trap()",
    ] {
        assert!(!before(other), "{other}");
    }
    for (from, to) in [
        // The number of iterations differs between threads, or is unknown.
        ("%13, 100", "%13, %5"),
        ("%14 = icmp eq i64 %13, 100", "%14 = icmp slt i64 %5, 100"),
        ("%14 = icmp eq i64 %13, 100", "%7 = load i64, ptr %3\n  %14 = icmp eq i64 %13, %7"),
        ("%9, 1", "%9, %5"),
        ("phi i64 [ 0,", "phi i64 [ %5,"),
        // The loop has two exits or two entrances.
        ("%12 =", "%7 = icmp eq i64 %9, 5\n  br i1 %7, label %15, label %16\n\n16:\n  %12 ="),
        // One thread runs the loop alone.
        ("br label %8", "%7 = icmp eq i32 %4, 0\n  br i1 %7, label %8, label %15"),
        // Threads access distant memory.
        (
            "%6 = getelementptr",
            "%7 = mul i64 %5, 9\n  %6 = getelementptr float, ptr %3, i64 %7\n  %17 = getelementptr",
        ),
    ] {
        assert!(!is_turned(from, to), "{to}");
    }
}

#[test]
fn kernels_that_need_stacks_say_why() {
    let with = |line: &str| {
        let text = WAITS.replacen("  store float %7", &format!("  {line}\n  store float %7"), 1);
        let text = cut(&text, false);
        let line = text.lines().find(|line| line.contains(".record")).map(str::to_owned);
        line.and_then(|line| Some(line.split_once("stacks: ")?.1.split_once('\\')?.0.to_owned()))
    };
    for (line, why) in [
        ("call void @_Z4kernPf(ptr %3)", "it calls _Z4kernPf, which waits and cannot be inlined"),
        ("call void @_Z5otherv()", "it calls _Z5otherv from another source, which may wait"),
        ("call void %3()", "it calls a function pointer, and the function may wait"),
        (
            "%10 = alloca i8, i32 %4, align 1",
            "it has arrays whose sizes are known only at run time",
        ),
        ("indirectbr ptr %3, []", "it branches with indirectbr"),
        ("call void @offload_cpu_wait(i32 %4)", "the warp function that it calls is unknown"),
        (
            "%10 = landingpad { ptr, i32 } cleanup\n  call void @offload_cpu_wait(i32 noundef 0)",
            "threads wait after they catch an exception",
        ),
    ] {
        assert_eq!(with(line).as_deref(), Some(why), "{line}");
    }
    assert_eq!(with("call void @llvm.assume(i1 true)"), None);
    assert_eq!(with("%10 = call float @expf(float %7)"), None);
}

#[test]
fn instructions_have_types() {
    for (operation, ty) in [
        ("add nuw nsw i32 %2, 3", "i32"),
        ("tail call fast noundef nofpclass(nan inf) float @f(i32 range(i32 0, 4) %2) #3", "float"),
        ("call noundef align 8 dereferenceable(16) ptr @f()", "ptr"),
        ("call i64 @f(i64 ptrtoint (ptr @x to i64))", "i64"),
        ("icmp ult i32 %2, %3", "i1"),
        ("icmp ult <4 x i32> %2, %3", ""),
        ("select i1 %2, double %3, double 1.0", "double"),
        ("getelementptr i8, ptr %2, i64 %3", "ptr"),
        ("getelementptr i8, ptr %2, <4 x i64> %3", ""),
        ("extractvalue { i8, [2 x { i64, ptr }] } %2, 1", "[2 x { i64, ptr }]"),
        ("extractvalue %struct.s %2, 1", ""),
        ("extractvalue { i8, { i64, ptr } } %2, 1, 0", ""),
        ("cmpxchg weak ptr %2, i32 %3, i32 %4 acquire monotonic, align 4", ""),
        ("atomicrmw add ptr %2, i64 1 monotonic, align 8", "i64"),
        ("extractelement <2 x float> %2, i64 1", "float"),
        ("inttoptr i64 %2 to ptr", "ptr"),
        ("zext nneg i32 %2 to i64", "i64"),
        ("landingpad { ptr, i32 } cleanup", "{ ptr, i32 }"),
        ("load volatile x86_fp80, ptr %2, align 16", "x86_fp80"),
        ("phi %struct.s [ zeroinitializer, %1 ], [ %2, %3 ]", "%struct.s"),
    ] {
        assert_eq!(result_type(operation), ty, "{operation}");
    }
}

#[test]
fn instructions_have_names_of_values_and_labels() {
    let text = instructions("load i32, ptr @gridDim\nstore ptr @gridDimX, ptr @blockIdx.of\n");
    assert_eq!(text, "load i32, ptr %gridDim.of.0\nstore ptr @gridDimX, ptr @blockIdx.of\n");
    let line = Line::of("%5 = phi float [ %2, %14 ], [ 1.0, %9 ], [ %3, %1 ]", 0);
    assert_eq!(line.text, "%v5. = phi float [ %v2., %e14. ], [ 1.0, %e9. ], [ %v3., %e1. ]");
    assert_eq!((line.value, line.uses, line.labels), (5, vec![2, 3], vec![14, 1]));
    let line = Line::of("br i1 %3, label %4, label %5, !llvm.loop !6", 0);
    assert_eq!(line.text, "br i1 %v3., label %b4., label %b5., !llvm.loop !6");
    assert_eq!((line.value, line.uses, line.labels), (0, vec![3], vec![4, 5]));
    let line = Line::of("call void asm \"%1\", \"r\"(ptr %\"a b\", %struct.s %7)", 0);
    assert_eq!(line.text, "call void asm \"%1\", \"r\"(ptr %\"a b\", %struct.s %v7.)");
}
