//! Tests on text. Tests with real compilers are in `tests/builds/regions`.

use super::text::{blocks, functions, result_type};
use super::{cut, mark};

/// A kernel with a wait, before which a value is read and after which it is used.
const WAITS: &str = r#"
@threadIdx = linkonce_odr thread_local global [3 x i32] zeroinitializer
define i32 @_ZN11offload_cpu7barrierEb(i1 %0) #0 {
  ret i32 0
}
define void @_Z4kernPf(ptr %0) #1 {
  %2 = load float, ptr %0, align 4
  %3 = call i32 @_ZN11offload_cpu7barrierEb(i1 false)
  store float %2, ptr %0, align 4
  ret void
}
define void @offload_cpu_thread_kern(ptr %0) #1 section "offload_threads" {
  %2 = load ptr, ptr %0, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = load i32, ptr @threadIdx, align 4
  %5 = zext i32 %4 to i64
  %6 = getelementptr inbounds float, ptr %3, i64 %5
  %7 = load float, ptr %6, align 4
  %8 = call i32 @_ZN11offload_cpu7barrierEb(i1 false)
  store float %7, ptr %6, align 4
  ret void
}
attributes #0 = { noinline "target-cpu"="x86-64" }
attributes #1 = { mustprogress noinline "target-cpu"="x86-64" }
"#;

#[test]
fn what_waits_is_inlined_into_threads() {
    let called = WAITS.replace("ptr @threadIdx", "ptr %2");
    let called = called.replacen(
        "%8 = call i32 @_ZN11offload_cpu7barrierEb(i1 false)",
        "call void @_Z4kernPf(ptr %3)",
        1,
    );
    let marked = mark(&called).expect("there is a kernel");
    assert!(marked.contains("@_ZN11offload_cpu7barrierEb(i1 %0) nounwind #0 {"), "{marked}");
    assert!(marked.contains("define void @_Z4kernPf(ptr %0) alwaysinline #10000"), "{marked}");
    let group = marked.lines().find(|line| line.starts_with("attributes #10000"));
    assert!(group.is_some_and(|it| it.contains("{ mustprogress \"target-cpu\"")), "{marked}");
    assert_eq!(mark("define void @f() {\n  ret void\n}\n"), None);
}

#[test]
fn values_over_waits_are_in_arrays_and_others_are_not() {
    let text = cut(WAITS, true);
    assert!(text.contains("c\"kern 2 regions\\0A\", section \".offload.regions\""), "{text}");
    // The value is kept; the address follows from the argument and the index.
    assert!(text.contains("%\"offload_cpu_thread_kern.slots\" = type { float }"), "{text}");
    assert!(text.contains("ptr @\"offload_cpu_kernel_kern\", i64 1, "), "{text}");
    assert_eq!(text.matches("ret i32 1\nresume.1:").count(), 1, "{text}");
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
        ("call void @_Z5otherv()", "it calls _Z5otherv of another source, which may wait"),
        ("call void %3()", "it calls through a pointer, and may so reach a wait"),
        ("%9 = alloca i8, i32 %4, align 1", "it has arrays whose sizes are known when it runs"),
        ("indirectbr ptr %3, []", "it jumps to the address of a label"),
    ] {
        assert_eq!(with(line).as_deref(), Some(why), "{line}");
    }
    assert_eq!(with("call void @llvm.assume(i1 true)"), None);
}

#[test]
fn instructions_have_types() {
    let module = "\n%struct.s = type { i8, [2 x { i64, ptr }] }\n";
    for (line, ty) in [
        ("%1 = add nuw nsw i32 %2, 3", "i32"),
        (
            "%1 = tail call fast noundef nofpclass(nan inf) float @f(i32 range(i32 0, 4) %2) #3",
            "float",
        ),
        ("%1 = call noundef align 8 dereferenceable(16) ptr @f()", "ptr"),
        ("%1 = icmp ult <4 x i32> %2, %3", "<4 x i1>"),
        ("%1 = select i1 %2, double %3, double 1.0", "double"),
        ("%1 = extractvalue %struct.s %2, 1, 0, 0", "i64"),
        ("%1 = cmpxchg weak ptr %2, i32 %3, i32 %4 acquire monotonic, align 4", "{ i32, i1 }"),
        ("%1 = atomicrmw add ptr %2, i64 1 monotonic, align 8", "i64"),
        (
            "%1 = shufflevector <2 x float> %2, <2 x float> poison, <4 x i32> zeroinitializer",
            "<4 x float>",
        ),
        ("%1 = extractelement <2 x float> %2, i64 1", "float"),
        ("%1 = inttoptr i64 %2 to ptr", "ptr"),
        ("%1 = landingpad { ptr, i32 } cleanup", "{ ptr, i32 }"),
        ("%1 = load volatile x86_fp80, ptr %2, align 16", "x86_fp80"),
    ] {
        assert_eq!(result_type(line, module).as_deref(), Some(ty), "{line}");
    }
}

#[test]
fn blocks_have_numbers_and_no_debug_information() {
    let ir = "\ndefine void @f(ptr %0) {\n    #dbg_value(ptr %0, !1, !2)\n  switch i32 3, label %end [\n    i32 1, label %5\n  ], \
              !dbg !9\n5:   ; preds = %1\n  %\"a b\" = phi i32 [ 1, %1 ]\n  br label %end\nend:\n  ret void, !dbg !10\n}\n";
    let found = blocks(&functions(ir)[0]);
    let lines: Vec<String> =
        found.iter().map(|it| format!("{}: {}", it.label, it.lines.join("; "))).collect();
    let expected = [
        "2: switch i32 3, label %4 [ i32 1, label %3 ]",
        "3: %1 = phi i32 [ 1, %2 ]; br label %4",
        "4: ret void",
    ];
    assert_eq!(lines, expected);
}
