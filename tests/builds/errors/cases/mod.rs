//! Tables of builds that fail, with the message for each.

/// Creates a table of cases. A case has a name, the calls in build.rs, variables, and sentences of
/// the message. Without calls, build.rs compiles `kernels/add.cu` for three targets. The word
/// `tool` means that a compiler refuses something. Then the message must contain everything that
/// the compiler prints.
macro_rules! cases {
    ($(#[$attribute:meta])* $table:ident: $(
        $name:literal $([$($calls:tt)*])? $({$($variable:ident: $value:literal),+})? $($tool:ident)?
            => $($sentence:expr),+;
    )+) => {
        $(#[$attribute])*
        pub const $table: &[super::Case] = &[$(super::Case {
            name: $name,
            calls: cases!(@calls $([$($calls)*])?),
            env: &[$($((stringify!($variable), $value)),+)?],
            sentences: &[$($sentence),+],
            is_of_tool: cases!(@is_of_tool $($tool)?),
        }),+];
    };
    (@calls) => { r#".file("kernels/add.cu").archs(["gfx90a", "compute_80", "cpu"])"# };
    (@calls [$($calls:tt)*]) => { stringify!($($calls)*) };
    (@is_of_tool) => { false };
    (@is_of_tool tool) => { true };
}

mod compilers;
mod languages;
mod sources;
mod targets;
mod variables;

use super::{Problems, each_once, message};
use offload_tests::prelude::*;
use offload_tests::spirv;

#[test(CLANG.slow())]
fn what_cannot_be_built() {
    let tables =
        [targets::CASES, sources::CASES, languages::CASES, compilers::CASES, variables::CASES];
    check(&Scenario::new("errors_build"), &tables.concat());
}

#[test(COMPILERS)]
fn what_ptxas_refuses() {
    check(&Scenario::new("errors_ptxas"), compilers::PTXAS_CASES);
}

#[test(CLANG.slow())]
fn containers_that_cannot_be_read() {
    let mut scenario = Scenario::new("errors_containers");
    check(scenario.features_without("compression"), languages::CONTAINER_CASES);
}

/// A build that fails.
#[derive(Clone, Copy)]
struct Case {
    /// The case's name, which is also the pack's.
    name: &'static str,
    /// The calls in build.rs between `Build::new()` and `compile`.
    calls: &'static str,
    env: &'static [(&'static str, &'static str)],
    /// Each sentence must appear in the message exactly once. `{clang}`, `{ptxas}` and `{folder}`
    /// are paths on this machine.
    sentences: &'static [&'static str],
    /// Whether the message contains a tool's whole output and ends with its command line.
    is_of_tool: bool,
}

fn check(scenario: &Scenario, cases: &[Case]) {
    write_sources(scenario);
    let arm = |case: &Case| {
        format!("        {:?} => Build::new(){}.compile(&case),\n", case.name, case.calls)
    };
    let arms: String = cases.iter().map(arm).collect();
    scenario.build_script(&format!(
        "println!(\"cargo::rerun-if-env-changed=CASE\");\n    let case = std::env::var(\"CASE\").unwrap();\n    \
         match &*case {{\n{arms}        _ => panic!(\"no such case\"),\n    }};"
    ));
    let mut problems = Problems::default();
    for case in cases {
        let printed = scenario.build().env("CASE", case.name).envs(case.env.iter().copied()).ends();
        problems.check(case.name, check_case(case, scenario, &printed), &printed);
    }
    problems.assert_none();
}

/// Writes the sources that the cases name.
fn write_sources(scenario: &Scenario) {
    let add = kernel("add", "y[i]");
    let long_line =
        format!("#error \"one line of 150 columns: {} to its end\"", "long ".repeat(24));
    let compressed = scratch::workspace().join("tests/corpus/compressed/v3_zstd.ccob");
    scenario
        .write("kernels/add.cu", format!("{add}#ifdef BROKEN\n{long_line}\n#endif\n"))
        .write("kernels/add.metal", &add)
        .write("kernels/more/add.cu", &add)
        .write("kernels/add.v2.cu", &add)
        .write("kernels/bad.cu", kernel("add", "undeclared"))
        .write("kernels/log.cu", "extern \"C\" __global__ void log(float *x) { x[0] = 1; }\n")
        .write(
            "kernels/open.cu",
            "__device__ float twice(float x);\n".to_owned() + &kernel("add", "twice(x[i])"),
        )
        .write(
            "kernels/open.cl",
            "kernel void add(global float *y) { y[get_global_id(0)] = sin(y[0]); }\n",
        )
        .write(
            "kernels/unique.cu",
            "template <class T> __global__ void last(T *y) {\n  static T kept;\n  *y = kept++;\n}\n\
             template __global__ void last<int>(int *y);\n",
        )
        .write("kernels/text.ptx", ".version 7.0\n.target sm_80\n.address_size 64\n")
        .write("kernels/add.s", ".amdhsa_kernel add\n")
        .write("kernels/noise.hsaco", "noise")
        .write("kernels/noise.ptx", "noise")
        .write("kernels/cut.hipfb", "__CLANG_OFFLOAD_BUNDLE__\u{1}")
        .write("kernels/compressed.hipfb", data::read(compressed))
        .write("kernels/host.ll", "target triple = \"x86_64-unknown-linux-gnu\"\n");
    spirv::write_refused(&scenario.folder.join("kernels"));
}

fn check_case(case: &Case, scenario: &Scenario, printed: &Printed) -> Result<(), String> {
    let message = message(printed, case.name)?;
    each_once(&message, case.sentences.iter().map(|sentence| with_paths(sentence, scenario)))?;
    if case.is_of_tool {
        check_tool_text(&message, scenario)?;
    }
    match scratch::times(&scenario.out_dir("debug")).keys().find(|path| is_of_pack(path, case.name))
    {
        Some(path) => Err(format!("{} was left behind", path.display())),
        None => Ok(()),
    }
}

/// Returns a message's sentence with this machine's paths.
fn with_paths(sentence: &str, scenario: &Scenario) -> String {
    let sentence = sentence
        .replace("{clang}", &llvm_bin().join("clang").to_string_lossy())
        .replace("{folder}", &scenario.folder.to_string_lossy());
    if sentence.contains("{ptxas}") {
        sentence.replace("{ptxas}", &cuda("ptxas").get_program().to_string_lossy())
    } else {
        sentence
    }
}

/// Whether a file in `OUT_DIR` would look like part of a built pack, or is a partially written
/// file.
fn is_of_pack(path: &Path, pack: &str) -> bool {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.ends_with(".part")
        || file == format!("{pack}.index")
        || file == format!("{pack}.pack")
        || file.starts_with(&format!("liboffload_{}_", pack.replace('-', "_")))
}

/// Checks that the message ends with a command. If the command is run by hand, it must print the
/// same text as in the message.
fn check_tool_text(message: &str, scenario: &Scenario) -> Result<(), String> {
    let (before, command) =
        message.split_once("; the command was\n  ").ok_or("no command line in the message")?;
    if command.lines().count() != 1 {
        return Err("something follows the command line".to_owned());
    }
    let mut shell = Command::new("sh");
    // The build script also makes its compilers print English messages.
    let again =
        shell.arg("-c").arg(command).current_dir(&scenario.folder).env("LC_ALL", "C").output();
    let again = again.expect("the shell starts");
    if again.status.success() {
        return Err("the command succeeds when it is run by hand".to_owned());
    }
    let text = stderr(&again).trim_end().to_owned();
    if text.is_empty() {
        return Err("the command prints nothing when it is run by hand".to_owned());
    }
    each_once(message, [&text])?;
    match before.strip_prefix(&text) {
        Some(rest) if rest.lines().count() == 2 && rest.contains(" ended with exit status: ") => {
            Ok(())
        }
        _ => Err(format!("the message is not the tool's text, then one line:\n{before}")),
    }
}
