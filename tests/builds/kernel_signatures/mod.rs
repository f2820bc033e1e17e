//! Signatures of kernels. Tests how the build reads sources, and which functions programs get. Two
//! compilers check the results. clang's images contain the offsets and sizes of all arguments, and
//! rustc lays out the structs.

mod all;
mod declared;
mod documentation;
mod pairs;
mod random;
mod vendors;

pub use all::assert_each_kernel_has_a_function;

use offload_tests::prelude::*;

fn data(name: &str) -> PathBuf {
    workspace().join("tests/builds/kernel_signatures").join(name)
}

fn with_source(name: &str, source: &[u8]) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.write("kernels/types.cu", source);
    scenario.build_script(
        r#"Build::new().file("kernels/types.cu").archs(["gfx90a", "gfx1100", "compute_80"]).compile("pack");"#,
    );
    scenario
}

/// Returns the signature lines in the pack's index.
fn signatures(scenario: &Scenario, profile: &str) -> String {
    let modules = scenario.index(profile, "pack").modules;
    modules.iter().map(|module| module.signatures.to_string()).collect()
}

#[test(CLANG.slow())]
fn every_type_has_a_counterpart() {
    let scenario = with_source("signatures_types", &read(data("types.cu")));
    scenario.write("src/main.rs", read(data("main.rs")));
    let printed = scenario.build().passes();
    assert!(!printed.stderr.contains("different parameters"), "{printed}");
    assert_as_checked_in(&data("types.txt"), &signatures(&scenario, "debug"));
    assert_as_checked_in(&data("main.txt"), &scenario.run().passes().stdout);
}

/// A C-style typedef in the same file gives a struct its name. With other typedefs, the struct
/// keeps its name.
#[test(CLANG.slow())]
fn structs_have_the_names_that_kernels_write() {
    let source = "#include \"other.h\"\n\
        typedef struct point_s {\n  float x;\n  int type;\n  int in;\n} Point;\n\
        typedef struct node_s { struct node_s *next; Point at; } Node;\n\
        struct late_s { int a; };\ntypedef struct late_s Late;\n\
        typedef union any_s { int i; float f; } Any;\ntypedef enum color_e { Red, Green } Color;\n\
        typedef struct Same { int b; } Same;\ntypedef Other Mine;\ntypedef float4 Four;\n\
        namespace ns { typedef struct in_s { int c; } In; }\ntypedef ns::In Inner;\n\
        template <class T> struct Box { T d; };\ntypedef Box<int> IntBox;\n\
        extern \"C\" __global__ void k(const Point *points, Node *list, const Late late, Any any, Color color, \
        Same same, Mine mine, Four four, Inner inner, IntBox box, struct point_s one) { list->next = 0; }\n";
    let scenario = Scenario::new("signatures_typedefs");
    scenario
        .pack("pack", r#".file("kernels/k.cu").archs(["gfx90a", "compute_80", "spirv64", "cpu"])"#)
        .write("kernels/k.cu", source)
        .write("kernels/other.h", "struct Other { int e; };\n")
        .write(
            "src/main.rs",
            "mod kernels { offload_gpu::include_kernels!(\"pack\"); }\n\
             use kernels::*;\n\
             fn main() {\n    let point = Point { x: 1.0, r#type: 2, r#in: 3 };\n    \
             let node = Node { next: std::ptr::null_mut(), at: point };\n    \
             let (late, same) = (Late { a: 1 }, Same { b: 2 });\n    \
             let (mine, inner) = (Other { e: 3 }, ns_In { c: 4 });\n    \
             let size = size_of::<Any>() + size_of_val(&node) + Color::Green as usize;\n    \
             println!(\"{size}\");\n    let _ = (late, same, mine, inner, Box_int { d: 5 });\n}\n",
        );
    scenario.build().passes();
}

/// Runs launches like those of a published library, with the same arguments.
#[test(CLANG.slow())]
fn launches_with_sizes_and_halves_compile_unchanged() {
    let mut scenario = Scenario::without_sources("signatures_launches");
    let half = "half = { version = \"2\", default-features = false }\n";
    scenario.feature("offload-gpu", "half").manifest("dependencies", half);
    for name in ["launches.cu", "native.cu"] {
        scenario.write(&format!("kernels/{name}"), read(data(name)));
    }
    scenario.write("src/main.rs", read(data("launches.rs"))).pack(
        "dfdx",
        r#".modules(["kernels/launches.cu", "kernels/native.cu"]).archs(["gfx90a", "compute_80", "cpu"])"#,
    );
    let printed = scenario.run().passes();
    assert_as_checked_in(&data("launches.txt"), &printed.stdout);
}

#[test(CLANG.slow())]
fn static_kernels_of_one_name_cannot_be_called() {
    let scenario = Scenario::new("signatures_one_name");
    for name in ["a", "b"] {
        let source = "static __global__ void set(float *x) { *x = 1; }\n";
        scenario.write(&format!("kernels/{name}.cu"), source);
    }
    scenario.pack("k", r#".files(["kernels/a.cu", "kernels/b.cu"]).archs(["gfx90a", "cpu"])"#);
    let one = "have the same name in the image for the CPU, so programs that call them do not \
               compile. Rename one of the kernels";
    scenario.build().passes().once(one).has("kernels/a.cu:1").has("kernels/b.cu:1");
}

/// g++ and clang name the instances of static templates differently. The names of instances without
/// internal linkage are the same, even if g++ makes their symbols local.
#[test(CLANG.slow())]
fn instances_of_static_templates_are_found_in_the_images_of_either_compiler() {
    let source = "template <int N> static __global__ void put(int *y) { *y = N; }\n\
                  template __global__ void put<3>(int *);\n\
                  namespace ns { template <int N> static __global__ void inside(int *y) { *y += N; } }\n\
                  template __global__ void ns::inside<4>(int *);\n\
                  namespace { struct Local { static const int value = 5; }; }\n\
                  template <typename T> __global__ void add(int *y) { *y += T::value; }\n\
                  template __global__ void add<Local>(int *);\n";
    let scenario = Scenario::new("signatures_static_templates");
    scenario
        .write("kernels/a.cu", source)
        .pack("k", r#".file("kernels/a.cu").archs(["gfx90a", "cpu"])"#);
    let main = "use offload_gpu::run::Device;\nmod kernels { offload_gpu::include_kernels!(\"k\"); }\n\
                fn main() -> Result<(), Box<dyn std::error::Error>> {\n\
                let cpu = Device::cpu();\nlet mut y = cpu.buffer(&[0])?;\n\
                for name in [\"put<3>\", \"ns::inside<4>\", \"add<(anonymous namespace)::Local>\"] {\n\
                unsafe { kernels::named(name)?.call((&mut y,))?.launch(&cpu, 1, 1)? };\n}\n\
                println!(\"{:?}\", y.to_vec()?);\nOk(())\n}\n";
    scenario.write("src/main.rs", main);
    for cxx in ["g++".into(), llvm_bin().join("clang++")] {
        let printed = scenario.run().env("CXX", &cxx).passes();
        assert_eq!(printed.stdout, "[12]\n", "{printed}");
    }
}

#[test(CLANG.slow())]
fn a_kernel_that_differs_between_images_cannot_be_called() {
    let source = "#ifdef __AMDGCN__\ntypedef long wide;\n#else\ntypedef int wide;\n#endif\n\
                  extern \"C\" __global__ void k(float *x, wide n, int m) { x[n] = m; }\n\
                  extern \"C\" __global__ void same(float *x) { *x = 1; }\n\
                  static __global__ void hidden(float *x) { *x = 1; }\n\
                  namespace { __global__ void unnamed(float *x) { *x = 1; } }\n\
                  struct Part { wide n; };\nextern \"C\" __global__ void part(Part *x) { x->n = 1; }";
    let scenario = with_source("signatures_differ", source.as_bytes());
    let printed = scenario.build().passes();
    assert!(!printed.stderr.contains("hidden") && !printed.stderr.contains("unnamed"), "{printed}");
    printed.once("the kernel k has different parameters for gfx90a and for compute_80");
    printed.once("kernels/types.cu:6 has (x: *mut f32, n: i64, m: i32) for gfx90a");
    printed.once("kernels/types.cu:6 has (x: *mut f32, n: i32, m: i32) for compute_80");
    // `cargo offload verify` must find the same problem in the pack.
    let pack = scenario.output("debug", "pack.pack");
    let verified = stdout(&succeed(own::offload(&["verify", "--notes"]).arg(&pack)));
    let of_parameters: Vec<&str> =
        verified.lines().filter(|line| line.ends_with(" [parameters]")).collect();
    let expected = "compute_80: the kernel k has the parameters (8 bytes, 4 bytes, 4 bytes), \
                    but (8 bytes, 8 bytes, 4 bytes) in the image for gfx90a [parameters]";
    assert!(of_parameters.len() == 1 && of_parameters[0].ends_with(expected), "{verified}");
    let main = |call: &str| {
        format!(
            "mod kernels {{ offload_gpu::include_kernels!(\"pack\"); }}\nfn main() {{ let _ = kernels::{call}; }}"
        )
    };
    scenario.write("src/main.rs", main("same(std::ptr::null_mut::<f32>())"));
    scenario.build().passes();
    for name in ["hidden", "unnamed"] {
        scenario.write("src/main.rs", main(&format!("{name}(std::ptr::null_mut::<f32>())")));
        scenario.build().passes();
    }
    // A launch that passes a pointer may be right even if the struct behind the pointer differs.
    let known = signatures(&scenario, "debug");
    assert!(known.contains("record Part - - differs Part\n"), "{known}");
    scenario.write("src/main.rs", main("part(std::ptr::null_mut::<kernels::Part>())"));
    scenario.build().passes();
    scenario.write("src/main.rs", main("Part { n: 1 }"));
    scenario.build().fails().has("_fields_differ_between_targets");
    scenario.write("src/main.rs", main("k(std::ptr::null_mut::<f32>(), 1, 2)"));
    let printed = scenario.build().fails();
    printed.once(
        "error[E0277]: the kernel `k` has different parameters in some images, so no call can be \
         correct for all images",
    );
    assert!(printed.stderr.contains("(x: *mut f32, n: i32, m: i32) for compute_80"), "{printed}");
}

/// Tests kernels whose arguments have different offsets in the images, so that calls have no
/// buffer. The PTX has the same offsets as the source. GPUs such as sm_90 have different offsets,
/// because their argument memory is only aligned to 16.
#[test(CLANG.slow())]
fn without_one_layout_for_all_images_there_is_no_buffer() {
    let source = "struct alignas(32) Row { float items[8]; };\n\
                  extern \"C\" __global__ void k(char c, Row row) { (void)c, (void)row; }\n\
                  extern \"C\" __global__ void wide(char c, __int128 n) { (void)c, (void)n; }\n\
                  extern \"C\" __global__ void same(char c, float f) { (void)c, (void)f; }";
    let scenario = with_source("signatures_places", source.as_bytes());
    let main = |calls: &str| {
        format!(
            "mod kernels {{ offload_gpu::include_kernels!(\"pack\"); }}\n\
             mod declared {{\n    #[derive(Clone, Copy, offload_gpu::Parameter)]\n    #[repr(C, align(32))]\n    \
             pub struct Row {{ pub items: [f32; 8] }}\n    \
             offload_gpu::include_kernels!(\"pack\", extern {{\n        fn k(c: i8, row: Row);\n        fn wide(c: i8, n: i128);\n        fn same(c: i8, f: f32);\n    }});\n}}\n\
             const ITEMS: [f32; 8] = [0.0; 8];\n\
             fn main() {{\n{calls}}}\n"
        )
    };
    let [row, declared] =
        ["kernels", "declared"].map(|of| format!("{of}::k(1, {of}::Row {{ items: ITEMS }})"));
    let calls = format!(
        "{row}.pointers(); {declared}.pointers(); kernels::wide(1, 2).pointers(); declared::wide(1, 2).pointers();"
    );
    scenario.write(
        "src/main.rs",
        main(&format!("{calls} kernels::same(1, 2.0).buffer(); declared::same(1, 2.0).buffer();")),
    );
    scenario.build().passes().lacks("different parameters");
    let calls = format!(
        "{row}.buffer();\n{declared}.buffer();\nkernels::wide(1, 2).buffer();\ndeclared::wide(1, 2).buffer();\n"
    );
    scenario.write("src/main.rs", main(&calls));
    let message = "error[E0277]: the offsets of this kernel's arguments differ between images, so \
                   one buffer cannot fit all images";
    scenario
        .build()
        .fails()
        .times(4, message)
        .times(4, "use `pointers()` instead, for `kernelParams`");
}

const SAXPY: &str = "/// Adds.\nextern \"C\" __global__ void saxpy(int n, float a, const float *x, float *y) { y[n] = a * x[n]; }";

const CALL: &str = "mod kernels { offload_gpu::include_kernels!(\"pack\"); }\n\
    fn main() { println!(\"{:?}\", kernels::saxpy(1, 2.0, std::ptr::null::<f32>(), std::ptr::null_mut()).kernel()); }";

/// Tests builds without compilers. A prebuilt set contains the parameters, and otherwise an earlier
/// build's signatures are kept.
#[test(CLANG.slow())]
fn builds_without_compilers_have_the_same_functions() {
    let scenario = with_source("signatures_prebuilt", SAXPY.as_bytes());
    scenario.write("src/main.rs", CALL);
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    let expected = signatures(&scenario, "release");
    assert_eq!(scenario.text("prebuilt/pack.signatures"), expected);

    // Also test a release build for NVIDIA's GPUs alone.
    let nvidia = with_source("signatures_release", SAXPY.as_bytes());
    nvidia
        .write("src/main.rs", CALL)
        .pack("pack", r#".file("kernels/types.cu").arch("compute_80")"#);
    nvidia.build().release().passes().lacks("warning");
    assert_eq!(signatures(&nvidia, "release"), expected);

    scenario.build().env("OFFLOAD_PREBUILT", "only").passes();
    assert_eq!(signatures(&scenario, "debug"), expected);
    // A skipped build uses the signatures of the prebuilt set or of an earlier build. Without
    // either, there are no functions.
    scenario.check().env("OFFLOAD_SKIP", "1").passes();
    let fresh = with_source("signatures_skipped", SAXPY.as_bytes());
    fresh.write("src/main.rs", CALL);
    let printed = fresh.check().env("OFFLOAD_SKIP", "1").fails();
    printed
        .once(UNKNOWN)
        .once("OFFLOAD_SKIP was set, and no earlier build read the parameters")
        .once("the prebuilt set has no prebuilt/pack.signatures")
        .lacks("E0425");
    // The documentation can be built without functions.
    fresh.cargo(&["doc", "--no-deps"]).env("DOCS_RS", "1").passes();
    fresh.build().passes();
    fresh.check().env("OFFLOAD_SKIP", "1").passes();
}

const UNKNOWN: &str = "error: the parameters of the kernels in the pack \"pack\" are not known, \
                       so the kernels have no functions: ";

/// A kernel with a parameter whose type differs on GPUs, and a kernel only for the CPU.
const GUARDED: &str = "#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)\ntypedef long wide;\n#else\ntypedef short wide;\n\
    struct Tail { int a[10]; };\nstruct Whole { int first; Tail tail; };\n\
    __global__ void on_cpu(float4 *rows, Whole whole) { rows->x = whole.tail.a[9]; }\n#endif\n\
    template <typename T> __global__ void fill(T *x, wide n) { x[n] = T(); }\n\
    template __global__ void fill<float>(float *, wide);\n";

/// Tests builds for the CPU without a GPU target. clang reads the parameters in the image for the
/// CPU. Without clang, the parameters come from a file in the package.
#[test(CLANG.slow())]
fn functions_for_the_cpu_alone() {
    const CPU: (&str, &str) = ("OFFLOAD_ARCH", "cpu");
    const NO_CLANG: (&str, &str) = ("OFFLOAD_CLANG", "/nowhere/clang");
    let scenario = with_source("signatures_cpu", GUARDED.as_bytes());
    let main = "mod kernels { offload_gpu::include_kernels!(\"pack\"DECLARED); }\n\
        fn main() { println!(\"{:?}\", kernels::fill_float(std::ptr::null_mut(), 1_i16).kernel().name());CALL }";
    // On the stack of x86-64, a struct of 44 bytes is aligned to 8. Elsewhere, such a struct is
    // aligned to 4.
    let calls = main.replace(
        "CALL",
        "let whole = kernels::Whole { first: 1, tail: kernels::Tail { a: [0; 10] } };\n    \
         let _ = kernels::on_cpu(std::ptr::null_mut::<kernels::float4>(), whole);\n    assert_eq!(&whole.tail.a, &[0; 10]);",
    );
    scenario.write("src/main.rs", calls.replace("DECLARED", ""));
    let named = "\"_Z4fillIfEvPT_s\"\n";
    assert_eq!(scenario.run().envs([CPU]).passes().stdout, named);

    let unknown = || scenario.build().envs([CPU, NO_CLANG]).fails();
    unknown().once(UNKNOWN).once("OFFLOAD_CLANG names /nowhere/clang").lacks("E0425");
    scenario.build().envs([CPU, ("OFFLOAD_PREBUILT", "signatures")]).passes();
    let names = [".gitattributes", "pack.manifest", "pack.signatures"];
    assert_eq!(scenario.files("prebuilt"), names);
    assert_eq!(scenario.run().envs([CPU, NO_CLANG]).passes().stdout, named);
    // After the source has changed, the build does not use prebuilt/pack.signatures.
    scenario.write("kernels/types.cu", GUARDED.replace("short", "char"));
    unknown().once("kernels/types.cu has changed since prebuilt/pack.manifest was made");
    // If a program declares the kernels, it needs neither clang nor this file.
    let declared =
        ", extern { #[link_name = \"_Z4fillIfEvPT_s\"] fn fill_float(x: *mut f32, n: i16); }";
    let declared = main.replace("DECLARED", declared).replace("CALL", "");
    scenario.write("src/main.rs", declared);
    assert_eq!(scenario.run().envs([CPU, NO_CLANG]).passes().stdout, named);

    // A source that only g++ accepts is built if `CXX` names g++. If the program needs the kernels'
    // functions, the error contains clang's message.
    const BY_GCC: (&str, &str) = ("CXX", "g++");
    let source = format!("#ifdef __clang__\n#error not for clang\n#endif\n{GUARDED}");
    scenario.write("kernels/types.cu", source);
    scenario.run().envs([CPU, BY_GCC]).passes();
    scenario.write("src/main.rs", calls.replace("DECLARED", ""));
    scenario.build().envs([CPU, BY_GCC]).fails().once(UNKNOWN).once("error: not for clang");
}

/// Kernels whose parameters have different types for g++ and clang. Some of these types have the
/// same size, and others do not.
const BY_COMPILER: &str = "#ifdef __clang__\ntypedef float real;\nstruct Pair { int a; float b; };\n#else\n\
    typedef double real;\nstruct Pair { float a; int b; };\n#endif\ntemplate <typename T> struct Two { T a; real b; };\n\
    extern \"C\" __global__ void scale(real by, double *x) { *x = 2 * by; }\n\
    namespace ns { __global__ void pair(const Pair pair, double *x) { *x = pair.a; } }\n\
    template <typename T> __global__ void two(Two<T> two, double *x) { *x = two.a; }\n\
    template __global__ void two<int>(Two<int>, double *);\n\
    struct Other { real a; };\n\
    extern \"C\" __global__ void same(long a, Other *other, double *x) { *x = a + (other != 0); }\n\
    struct Behind { int a; struct { double b; } c; };\n\
    extern \"C\" __global__ void behind(Behind *behind) { behind->a = 1; }\n\
    extern \"C\" __global__ void text(const char *x, char y) { (void)x, (void)y; }\n\
    struct Wide { long double a; long b[2]; };\n\
    extern \"C\" __global__ void wide(Wide wide, double *x) { *x = wide.b[1]; }\n";

#[test(CLANG.slow())]
fn types_that_depend_on_the_compiler_are_compared() {
    // As on Arm, `char` is unsigned unless the build sets its signedness.
    assert_types_are_compared("signatures_compilers", &llvm_bin(), "g++ -funsigned-char");
}

/// Tests that the build compares the types that one compiler sees with the types in the CPU's
/// image. The compiler is the clang in the folder `clang`. The image is compiled by `gcc` or by
/// that clang.
pub fn assert_types_are_compared(name: &str, clang: &Path, gcc: &str) {
    let [clang, clang_cxx] =
        ["clang", "clang++"].map(|program| clang.join(program).display().to_string());
    let scenario = with_source(name, BY_COMPILER.as_bytes());
    let with =
        |targets, cxx| [("OFFLOAD_CLANG", clang.as_str()), ("OFFLOAD_ARCH", targets), ("CXX", cxx)];
    let main = |call: &str| {
        format!(
            "mod kernels {{ offload_gpu::include_kernels!(\"pack\"); }}\nfn main() {{\n    let mut x = 0.0_f64;\n    \
             let call = kernels::{call};\n    \
             unsafe {{ call.launch(&offload_gpu::run::Device::cpu(), 1, 1).unwrap() }};\n    println!(\"{{x}}\");\n}}\n"
        )
    };
    scenario.write("src/main.rs", main("same(3, std::ptr::null_mut(), &raw mut x)"));
    // `long double` has a different size on GPUs, whichever compiler compiles the image for the
    // CPU.
    let wide = |targets: &str| usize::from(targets != "cpu");
    for targets in ["cpu", "gfx90a,cpu"] {
        let printed = scenario.build().envs(with(targets, gcc)).passes();
        printed.times(wide(targets), "the kernel wide has different parameters");
        for (kernel, has) in [
            ("scale", "(by: f64, x: *mut f64)"),
            ("ns::pair", "(pair: Pair, x: *mut f64), Pair { a: f32, b: i32 } of 8 bytes"),
            ("two<int>", "(two: Two_int, x: *mut f64), Two_int { a: i32, b: f64 } of 16 bytes"),
        ] {
            printed
                .once(&format!("the kernel {kernel} has different parameters "))
                .once(&format!(" has {has} in the image for cpu"));
        }
        printed.lacks("the kernel same").lacks("the kernel text");
        // Structs behind pointers must be complete, unless they differ.
        let known = signatures(&scenario, "debug");
        for line in ["record Behind 16 8 fields Behind\n", "record Other - - differs Other\n"] {
            assert!(known.contains(line), "{known}");
        }
    }
    scenario.write("src/main.rs", main("scale(1.5, &raw mut x)"));
    let message = "error[E0277]: the kernel `scale` has different parameters in some images, so \
                   no call can be correct for all images";
    scenario.build().envs(with("cpu", gcc)).fails().once(message);
    for targets in ["cpu", "gfx90a,cpu"] {
        let printed = scenario.build().envs(with(targets, &clang_cxx)).passes();
        printed.times(wide(targets), "has different parameters");
        let known = signatures(&scenario, "debug");
        assert!(known.contains("record Other 4 4 fields Other\n"), "{known}");
        let printed = scenario.run().envs(with(targets, &clang_cxx)).passes();
        assert_eq!(printed.stdout, "3\n");
    }
}

/// Tests packs read from disk, compressed packs, and packs with several modules.
#[test(CLANG.slow())]
fn functions_of_all_kinds_of_packs() {
    let mut scenario = with_source("signatures_kinds", SAXPY.as_bytes());
    scenario.feature("offload-build", "compression").write("src/main.rs", CALL);
    scenario.build().env("OFFLOAD_FROM_DISK", "1").passes();
    scenario.build_script(
        r#"Build::new().file("kernels/types.cu").archs(["gfx90a", "compute_80"]).compress().compile("pack");"#,
    );
    scenario.build().passes();
    scenario.build_script(
        r#"Build::new().modules(["kernels/types.cu", "kernels/add.cu"]).arch("compute_80").compile("pack");"#,
    );
    scenario.kernel("add", "1.0f");
    scenario.build().fails();
    scenario.write("src/main.rs", CALL.replace("kernels::saxpy", "kernels::types::saxpy"));
    scenario.build().passes();
}

/// Tests the program's own types in place of kernels' structs. The cases are one module, several
/// modules, no build, and declared kernels.
#[test(CLANG.slow())]
fn types_of_the_program_take_the_places_of_structs() {
    let header = "#pragma once\nstruct Point { float x, y; };\nstruct Cell { Point at[2]; long id; };\n\
                  template <class T> struct Later { T x; };\n";
    let kernels = |name: &str| {
        format!(
            "#include \"cell.h\"\nextern \"C\" __global__ void {name}(Cell *cells, const Point by, Later<int> *later) {{\n  \
             cells->at[0].x += by.x, (void)later;\n}}\n"
        )
    };
    let scenario = Scenario::without_sources("signatures_own");
    scenario.write("kernels/cell.h", header);
    for name in ["one", "two"] {
        scenario.write(&format!("kernels/{name}.cu"), kernels(name));
    }
    let main = |own: &str, rest: &str, modules: [&str; 2]| {
        let calls = modules.map(|module| {
            format!(
                "    let _ = kernels::{module}(&raw mut cells[0], Point {{ x: 1.0, y: 2.0 }}, std::ptr::null_mut::<later::Later>());\n"
            )
        });
        format!(
            "#![forbid(unsafe_code)]\n#![deny(warnings)]\nmod kernels {{\n    offload_gpu::include_kernels!(\"own\", {own}{rest});\n}}\n\
             #[derive(Clone, Copy, Default, offload_gpu::Parameter)]\n#[repr(C)]\nstruct Point {{ x: f32, y: f32 }}\n\
             #[derive(Clone, Copy, Default)]\n#[repr(C, align(16))]\nstruct Cell {{ id: [i64; 1], at: [[f32; 2]; 2] }}\n\
             mod later {{ pub(super) struct Later; }}\n\
             fn main() {{\n    let mut cells = [Cell::default()];\n    cells[0].id = [1];\n{}}}\n",
            calls.concat()
        )
    };
    let own = "use crate::Point, use crate::Cell as Cell, use super::later::Later as Later_int";
    let with_layout = |text: String| {
        text.replace("id: [i64; 1], at: [[f32; 2]; 2]", "at: [[f32; 2]; 2], id: [i64; 1]")
            .replace(", align(16)", "")
    };
    let both = ["one::one", "two::two"];
    scenario.build_script(
        r#"Build::new().modules(["kernels/one.cu", "kernels/two.cu"]).archs(["gfx90a", "compute_80"]).compile("own");"#,
    );
    scenario.write("src/main.rs", with_layout(main(own, "", both)));
    scenario
        .check()
        .env("OFFLOAD_SKIP", "1")
        .fails()
        .has("no earlier build read the parameters")
        .lacks("takes a struct");
    scenario.build().passes();
    scenario.check().env("OFFLOAD_SKIP", "1").passes();
    scenario.check().env("OFFLOAD_FROM_DISK", "1").passes();
    // The program has types only for one module's structs. The other module uses the macro's
    // structs.
    let of_one = "use crate::Point as one::Point, use crate::Cell as one::Cell, use crate::later::Later as one::Later_int";
    scenario.write("src/main.rs", with_layout(main(of_one, "", ["one::one", "one::one"])));
    scenario.build().passes();
    scenario.write("src/main.rs", with_layout(main(of_one, "", both)));
    scenario.build().fails().has("of the kernel `two` is").lacks("of the kernel `one` is");
    // The program's type has the same fields at different offsets. Each message appears once,
    // because both modules have the same struct.
    scenario.write("src/main.rs", main(own, "", both));
    let printed = scenario.build().fails();
    printed.once("the field `id` of `crate::Cell` is 8 bytes at offset 0, but in the kernels' `Cell` it is 8 bytes at offset 16");
    printed.once("the field `at` of `crate::Cell` is 16 bytes at offset 8, but in the kernels' `Cell` it is 16 bytes at offset 0");
    printed.once(
        "`crate::Cell` is 32 bytes, aligned to 16, but the kernels' `Cell` is 24 bytes, aligned to 8",
    );

    // The pack has one module, and the program declares one of its kernels.
    scenario.build_script(
        r#"Build::new().files(["kernels/one.cu", "kernels/two.cu"]).archs(["gfx90a", "compute_80"]).compile("own");"#,
    );
    let declared = ", extern { fn two(cells: *mut crate::Cell, by: crate::Point, later: *mut crate::later::Later); }";
    scenario.write("src/main.rs", with_layout(main(own, declared, ["one", "two"])));
    scenario.build().passes();
}

/// Without the `macros` feature, the program must need no Rust parser. Where the feature is needed,
/// a message must name the feature.
#[test(CLANG.slow())]
fn functions_without_a_parser() {
    let scenario = with_source("signatures_lean", SAXPY.as_bytes());
    let manifest = scenario.text("Cargo.toml");
    let lean = "offload-gpu\", default-features = false, features = [\"run\"] }";
    assert!(manifest.contains("offload-gpu\" }"), "{manifest}");
    scenario.write("Cargo.toml", manifest.replace("offload-gpu\" }", lean));
    scenario.write("src/main.rs", CALL);
    let printed = scenario.run().passes();
    assert!(printed.stdout.contains("saxpy"), "{printed}");
    let tree = scenario.cargo(&["tree", "--edges", "normal"]).passes();
    tree.has("offload-embed-macro").lacks("syn ").lacks("quote ").lacks("proc-macro2 ");

    for call in [
        "mod kernels { offload_gpu::include_kernels!(\"pack\", retain); }",
        "static PACK: offload_gpu::KernelPack = offload_gpu::include_offload!(\"pack\");",
    ] {
        scenario.write("src/main.rs", format!("{call}\nfn main() {{}}\n"));
        scenario.check().fails().has("features = [\"macros\"]");
    }
    scenario.write("src/main.rs", CALL);
    scenario.check().env("OFFLOAD_FROM_DISK", "1").fails().has("OFFLOAD_FROM_DISK");
}

/// A different package calls the functions of a library with kernels. A package that embeds the
/// library's pack has separate functions.
#[test(CLANG.slow())]
fn functions_of_a_dependency() {
    let depends = "signatures_library = { path = \"../signatures_library\" }";
    let workspace = Scenario::workspace(
        "signatures_dependency",
        &[
            ("signatures_library", "links = \"signatures\"", ""),
            ("signatures_caller", "", depends),
            ("signatures_embedder", "", depends),
        ],
    );
    let [library, caller, embedder] =
        ["signatures_library", "signatures_caller", "signatures_embedder"]
            .map(|name| workspace.member(name));
    library.write("kernels/saxpy.cu", SAXPY).write(
        "src/lib.rs",
        "pub mod own {\n    offload_gpu::include_kernels!(\"saxpy\");\n}\npub use own::{PACK, saxpy};\n",
    );
    library.pack("saxpy", r#".file("kernels/saxpy.cu").archs(["gfx90a", "compute_80"])"#);
    embedder.build_script(r#"embed_from("signatures", "saxpy");"#);
    let main = |module: &str| {
        format!(
            "{module}fn main() {{\n    \
             let call = kernels::saxpy(1, 2.0_f32, std::ptr::null::<f32>(), std::ptr::null_mut());\n    \
             println!(\"{{}} {{}} {{:?}}\", call.kernel().name(), call.pointers().len(), \
             kernels::PACK.images().map(|image| image.target()).collect::<Vec<_>>());\n}}\n"
        )
    };
    caller.write("src/main.rs", main("use signatures_library as kernels;\n"));
    embedder.write(
        "src/main.rs",
        main("mod kernels {\n    offload_gpu::include_kernels!(\"saxpy\");\n}\n"),
    );
    let runs = |variable: &[(&str, &str)], expected: &str| {
        for package in [&caller, &embedder] {
            let printed = package.run().envs(variable.iter().copied()).passes();
            assert_eq!(printed.stdout, format!("saxpy 4 {expected}\n"), "{variable:?}");
        }
    };
    const BUILT: &str = "[\"gfx90a\", \"compute_80\"]";
    runs(&[], BUILT);
    runs(&[("OFFLOAD_FROM_DISK", "1")], BUILT);
    runs(&[("OFFLOAD_SKIP", "1")], "[]");
    runs(&[], BUILT);

    // A change of the source must affect both packages.
    library.write("kernels/saxpy.cu", SAXPY.replace("float a", "double a"));
    for package in [&caller, &embedder] {
        let printed = package.check().fails();
        printed.has("error[E0277]: parameter 2, `a`, of the kernel `saxpy` is `f64` (8 bytes): `f32` cannot be passed");
    }
}
