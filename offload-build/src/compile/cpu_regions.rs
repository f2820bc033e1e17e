//! Steps in which clang compiles a source of the image for the CPU, and its kernels are cut into
//! regions between them.

use super::Compilations;
use super::cpu::common;
use super::line::Line;
use super::regions;
use offload_toolchain::compilers::Cxx;
use offload_toolchain::exec::{Step, StepKind};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The options with which clang writes LLVM IR for [`regions::mark`]. Functions that are not
/// optimized yet are marked as such without `-O1`. No kernel reads `errno`.
const UNOPTIMIZED: &[&str] = &[
    "-DOFFLOAD_CPU_REGIONS",
    "-O1",
    "-fno-math-errno",
    "-Xclang",
    "-disable-llvm-passes",
    "-fdiscard-value-names",
    "-emit-llvm",
    "-S",
];

/// The options with which clang inlines for [`regions::cut`]. The loops over the threads come
/// after, and are vectorized then.
const INLINED: &[&str] =
    &["-O1", "-finline-functions", "-fno-vectorize", "-fno-slp-vectorize", "-emit-llvm", "-S"];

impl Compilations<'_> {
    /// Whether the kernels that a compiler compiles with these options are cut into regions.
    pub(super) fn has_regions(&self, cxx: &Cxx, options: &[OsString]) -> bool {
        let target = &self.cargo.target;
        let is_known = ["x86_64-", "aarch64-"].iter().any(|it| target.starts_with(it))
            && ["-linux-gnu", "-linux-musl"].iter().any(|it| target.ends_with(it));
        !cxx.is_gcc() && is_known && level(options).is_some_and(|it| it != "-O0")
    }

    /// Returns the steps that replace the step that compiles a source to an object. `first` is the
    /// position of the first of them.
    pub(super) fn cpu_regions(&self, cxx: &Cxx, step: Step, first: usize) -> Vec<Step> {
        let object = step.output.clone().unwrap_or_default();
        let named = |extension: &str| object.with_extension(extension);
        let (unoptimized, marked) = (named("unoptimized.ll"), named("marked.ll"));
        let (inlined, cut) = (named("inlined.ll"), named("regions.ll"));
        let level = level(&step.args);
        let of_ir = |input: &Path, options: Line, output: &Path, after| {
            // Options for sources mean nothing for LLVM IR.
            let line = common(cxx)
                .words(&["-Wno-unused-command-line-argument", "-Wno-override-module"])
                .line(&options)
                .words(&["-x", "ir"])
                .one(input);
            let step = Step::new(StepKind::Generate, &cxx.path, line.done());
            Step { after: vec![after], ..step.env(&cxx.env).output(output) }
        };
        let inline = of_ir(&marked, Line::of(INLINED), &inlined, first);
        let generate = Line::default().all(level).words(&["-c"]);
        let generate = of_ir(&cut, generate, &object, first + 1);
        let is_alone = self.sources().len() == 1;
        let mut compile = step.output(&unoptimized);
        compile.args.retain(|option| option != "-c");
        compile.args.extend(UNOPTIMIZED.iter().map(OsString::from));
        let mark = move || rewrite(&unoptimized, &marked, &|ir| regions::mark(&ir).unwrap_or(ir));
        let regions = move || rewrite(&inlined, &cut, &|ir| regions::cut(&ir, is_alone));
        vec![compile, inline.prepare(mark), generate.prepare(regions)]
    }
}

/// Returns the last option for the level of optimization.
fn level(options: &[OsString]) -> Option<OsString> {
    let is_level = |option: &&OsString| option.to_string_lossy().starts_with("-O");
    options.iter().rev().find(is_level).cloned()
}

/// Writes a file from another. If that is not possible, the compiler does not find the file, and
/// reports that.
fn rewrite(from: &Path, to: &Path, change: &dyn Fn(String) -> String) {
    if let Ok(text) = fs::read(from) {
        let _ = fs::write(to, change(String::from_utf8_lossy(&text).into_owned()));
    }
}
