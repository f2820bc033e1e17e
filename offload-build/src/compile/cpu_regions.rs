//! Creates the two clang steps that compile a source for the CPU image. Between them, the build
//! cuts the kernels into regions.

use super::Compilations;
use super::cpu::common;
use super::regions;
use crate::toolchain::compilers::Cxx;
use crate::toolchain::exec::{Step, StepKind};
use std::ffi::OsString;
use std::fs;

/// clang's options for emitting the LLVM IR that [`regions::cut`] reads. clang inlines as for GPUs,
/// with 11 times the threshold for CPUs. It fully unrolls loops with few iterations, so that a
/// thread keeps a sum in a register. Other loops may be turned (see `regions/turn.rs`). The build
/// later adds the loops over the threads, which clang then vectorizes. No kernel reads `errno`.
/// These options make clang ignore some `#pragma unroll`, so hide its warnings.
const INLINED: &[&str] = &[
    "-DOFFLOAD_CPU_REGIONS",
    "-O1",
    "-finline-functions",
    "-mllvm",
    "-inline-threshold=2475",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-funroll-loops",
    "-mllvm",
    "-unroll-runtime=false",
    "-mllvm",
    "-unroll-allow-partial=false",
    "-fno-math-errno",
    "-Wno-pass-failed",
    "-fdiscard-value-names",
    "-Xclang",
    "-emit-llvm",
];

impl Compilations<'_> {
    /// Whether to cut kernels compiled with these options into regions.
    pub(super) fn has_regions(&self, cxx: &Cxx, options: &[OsString]) -> bool {
        let target = &self.cargo.target;
        let is_known = ["x86_64-", "aarch64-"].iter().any(|it| target.starts_with(it))
            && ["-linux-gnu", "-linux-musl"].iter().any(|it| target.ends_with(it));
        !cxx.is_gcc() && is_known && level(options).is_some_and(|it| it != "-O0")
    }

    /// Splits the step that compiles a source to an object into two. `first` is the position of the
    /// first returned step.
    pub(super) fn cpu_regions(&self, cxx: &Cxx, step: Step, first: usize) -> [Step; 2] {
        let object = step.output.clone().unwrap_or_default();
        let (inlined, cut) =
            (object.with_extension("inlined.ll"), object.with_extension("regions.ll"));
        // This step compiles IR, so it needs no options for sources.
        let line = common(cxx)
            // Small inner loops are up to 50% slower if they span two cache lines, so align them.
            // The last option hoists a comparison with the same result in several threads out of
            // the loop over these threads.
            .words(&[
                "-Wno-unused-command-line-argument",
                "-Wno-override-module",
                "-Wno-pass-failed",
                "-falign-loops=32",
                "-mllvm",
                "-enable-nontrivial-unswitch",
            ])
            .all(level(&step.args))
            .words(&["-c", "-x", "ir"])
            .one(&cut);
        let generate = Step::new(StepKind::Generate, &cxx.path, line.done());
        let mut generate = generate.env(&cxx.env).output(&object);
        generate.after = vec![first];
        let mut compile = step.output(&inlined);
        compile.args.extend(INLINED.iter().map(OsString::from));
        let is_alone = self.sources().len() == 1;
        // If reading or writing fails, the compiler reports the missing file.
        let generate = generate.prepare(move || {
            if let Ok(ir) = fs::read(&inlined) {
                let _ = fs::write(&cut, regions::cut(&String::from_utf8_lossy(&ir), is_alone));
            }
        });
        [compile, generate]
    }
}

/// Returns the last option for the optimization level.
fn level(options: &[OsString]) -> Option<OsString> {
    let is_level = |option: &&OsString| option.to_string_lossy().starts_with("-O");
    options.iter().rev().find(is_level).cloned()
}
