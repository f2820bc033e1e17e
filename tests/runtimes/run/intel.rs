//! Runs the run-time tests' program on Intel's OpenCL runtime for CPUs, which computes the kernels.

use super::{Program, assert_expected, transcript};
use offload_tests::intel;
use offload_tests::judges::spirv_listing;
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged};

static PROGRAM: LazyLock<Program> = LazyLock::new(|| Program::build("run_time_intel", "spirv64"));

/// The program's modes. The flag states whether a mode prints the same on Intel's runtime as on the
/// CPU.
const MODES: [(&str, bool); 14] = [
    ("saxpy", false),
    ("all", true),
    ("shared-memory", true),
    ("modules", false),
    ("lacking", false),
    ("by-path", false),
    ("static", true),
    ("thread-local", true),
    ("named", false),
    ("named-types", true),
    ("templates", true),
    ("variables", true),
    ("variable-errors", false),
    ("variable-threads", true),
];

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]).slow())]
fn the_program_computes_on_intels_runtime_what_it_does_on_the_cpu() {
    let mut text = String::new();
    for (mode, is_same) in MODES {
        let (intel, cpu) = (run("opencl:0", mode), run("cpu", mode));
        intel.keeps_the_rules();
        if is_same {
            // Some lines are printed only on the CPU.
            assert!(cpu.stdout.starts_with(&intel.stdout), "{mode}: {intel:#?} {cpu:#?}");
        }
        text += &transcript(mode, &intel);
    }
    assert_expected("intel", &text);
}

/// Compares 64 sums of 256 sines. Each sine may be off by one unit in the last place. Half a unit
/// of that is the C library's error. No intermediate sum exceeds 2.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]).slow())]
fn sums_of_sines_are_within_the_documented_error() {
    let sums = |device| -> Vec<f32> {
        let outcome = run(device, "bits");
        let printed = outcome.succeeds().stdout.trim().trim_matches(['[', ']']).to_owned();
        let bits = printed.split(", ").map(|bits| u32::from_str_radix(bits, 16));
        bits.map(|bits| f32::from_bits(bits.expect("it is a number"))).collect()
    };
    let (intel, cpu) = (sums("opencl:0"), sums("cpu"));
    assert_eq!((intel.len(), cpu.len()), (64, 64));
    let most = 256.0 * f32::EPSILON;
    for (at, (intel, cpu)) in intel.iter().zip(&cpu).enumerate() {
        assert!((intel - cpu).abs() <= most, "sum {at}: {intel:e}, on the CPU {cpu:e}");
    }
}

/// Tests a module's variables across launches with several sizes of shared memory. Also tests
/// required block sizes in several dimensions, launch bounds, and kernels that allow fewer threads
/// than the device.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]).slow())]
fn launches_that_opencl_lacks_run_or_are_refused() {
    let scenario = Scenario::without_sources("run_intel_launches");
    scenario
        .write("src/main.rs", include_str!("program/launches.rs"))
        .write("kernels/launches.cu", include_str!("program/launches.cu"))
        .write("kernels/aligned.cu", include_str!("program/aligned.cu"))
        .build_script(
            r#"for name in ["launches", "aligned"] {
        Build::new().file(format!("kernels/{name}.cu")).arch("spirv64").compile(name);
    }"#,
        );
    scenario.build().passes();
    let program = scenario.program("debug", scenario.name());
    let outcome = run_on("opencl:0", &program, &[]);
    assert_expected("launches", &transcript("Intel's runtime", &outcome));
}

/// Sources from the examples and from other tests. Each becomes a module. One vector addition
/// suffices, because all examples that add vectors have the same kernel.
const SOURCES: [&str; 11] = [
    "examples/several-gpus/kernels/vector_add.cu",
    "examples/saxpy/kernels/saxpy.cu",
    "examples/module-library/kernels/limit.cu",
    "examples/module-library/kernels/scale.cu",
    "examples/module-library/kernels/shift.cu",
    "examples/one-source/kernels/block_sum.cu",
    "examples/kernels-by-name/kernels/elementwise.cu",
    "examples/kernel-tests/kernels/linear.cu",
    "tests/builds/kernel_signatures/launches.cu",
    "tests/builds/kernel_signatures/native.cu",
    "tests/runtimes/run/program/matmul.cu",
];

/// Compares Intel's runtime with the CPU's image: kernels from the examples and other tests, a
/// kernel for each row of the table of functions, and all conversions of halves and bytes. (The
/// kernel header's tests compare these conversions with those of NVIDIA's headers.) `gpu_checks`
/// covers the kernels in `gpu/` and of the kernel header. The first test in this file covers those
/// of the run time.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl, Tool::SpirvTools]).slow())]
fn each_kernel_and_row_of_the_table_is_as_on_the_cpu() {
    let scenario = Scenario::without_sources("run_intel_same");
    let root = scratch::workspace();
    let text = |path: &str| fs::read_to_string(root.join(path)).expect(path);
    let mut modules = Vec::new();
    for path in SOURCES {
        let name = format!("kernels/{}", path.rsplit('/').next().unwrap_or_default());
        scenario.write(&name, text(path));
        modules.push(name);
    }
    for example in ["cuda-vector-add", "hip-vector-add"] {
        assert_eq!(text(&format!("examples/{example}/kernels/vector_add.cu")), text(SOURCES[0]));
    }
    let conversions = text("tests/builds/kernel_header/conversions.cu");
    let waiting = ["waiting.cu", "others.cu"];
    for name in waiting {
        scenario
            .write(&format!("kernels/{name}"), text(&format!("tests/elsewhere/kernels/{name}")));
    }
    scenario
        .write("src/main.rs", include_str!("program/same.rs"))
        .write("kernels/rows.cu", include_str!("program/rows.cu"))
        .write("kernels/conversions.cu", conversions)
        .write("kernels/searches.cu", include_str!("program/searches.cu"))
        .build_script(&format!(
            "let targets = [\"spirv64\", \"cpu\"];
    Build::new().modules({modules:?}).archs(targets).compile(\"kernels\");
    Build::new().files({:?}).archs(targets).compile(\"waiting\");
    Build::new().file(\"kernels/rows.cu\").archs(targets).compile(\"rows\");
    // The runtime takes three times as long for fewer optimizations.
    Build::new().files([\"kernels/conversions.cu\", \"kernels/searches.cu\"]).opt_level(3).archs(targets).compile(\"conversions\");",
            waiting.map(|name| format!("kernels/{name}"))
        ));
    scenario.build().passes();
    for image in modules.iter().map(|path| path.replace(".cu", ".spirv64.spv")) {
        spirv_listing(&scenario.output("debug", &image));
    }
    spirv_listing(&scenario.output("debug", "rows/spirv64.spv"));
    let program = scenario.program("debug", scenario.name());
    let kernels = run_on("opencl:0", &program, &[]);
    assert_expected("same", &transcript("kernels of the project", &kernels));

    // The names of the kernels come from the first cell of each row.
    let page = text("docs/guide/src/reference/kernels.md");
    let (_, table) = page.split_once("\n|---|").expect("the page has a table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with("| "));
    let names: Vec<String> = rows
        .map(|line| line.split('|').nth(1).unwrap_or_default().trim().trim_matches('`'))
        .map(|cell| cell.replace(", ", "_").replace(' ', "_"))
        .collect();
    let arguments: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = run_on("opencl:0", &program, &arguments);
    let expected: Vec<String> = names
        .iter()
        .map(|name| match name.as_str() {
            "math" => "math: within 1e-6\n".to_owned(),
            "fast_math" => "fast_math: within 1e-5\n".to_owned(),
            name => format!("{name}: equal\n"),
        })
        .collect();
    assert_eq!(rows.stdout, expected.concat(), "{rows:#?}");
    assert!(expected.len() >= 18, "{names:?}");
}

/// Runs the program on a device. In the output, `DEVICE` replaces the device's name.
fn run(device: &str, mode: &str) -> Outcome {
    run_on(device, &PROGRAM.path, &[mode])
}

fn run_on(device: &str, program: &Path, arguments: &[&str]) -> Outcome {
    let folder = scratch::folder(&format!("run_intel_{device}{:.100}", arguments.concat()));
    let staged = Staged::new(program, &folder).with("OFFLOAD_DEVICE", device);
    let staged =
        intel::variables().into_iter().fold(staged, |it, (name, value)| it.with(name, value));
    let mut outcome = staged.run(arguments, &folder.join("log"));
    for text in [&mut outcome.stdout, &mut outcome.stderr] {
        while let Some(start) = text.find(&format!("{device} (")) {
            // A product's name may contain parentheses: `Intel(R) Xeon(R) Processor`.
            let mut depth = 0;
            let is_end = |c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                c == ')' && depth == 0
            };
            let end = start + text[start..].find(is_end).expect("a product ends") + 1;
            text.replace_range(start..end, "DEVICE");
        }
    }
    outcome
}
