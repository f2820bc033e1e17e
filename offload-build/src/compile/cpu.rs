//! Command lines of the image for the CPU: a shared object, plain or with a sanitizer.

use super::extern_shared::ExternShared;
use super::{Compilation, Compilations, Described, args};
use crate::exec::{DepfileBy, Kind, Step};
use crate::plan::PlannedSource;
use crate::toolchain::{Clang, Cxx, Sanitizer};
use offload_format::checks::Check;
use std::ffi::OsString;
use std::path::Path;

/// The functions with which UndefinedBehaviorSanitizer reports; `offload/check_reports.h` adds the
/// thread to the reports.
const REPORTS: [&str; 13] = [
    "add_overflow",
    "sub_overflow",
    "mul_overflow",
    "negate_overflow",
    "divrem_overflow",
    "shift_out_of_bounds",
    "out_of_bounds",
    "type_mismatch_v1",
    "pointer_overflow",
    "load_invalid_value",
    "float_cast_overflow",
    "vla_bound_not_positive",
    "nonnull_arg",
];

/// The functions that end a process; `offload/check_ends.h` reports calls of them.
const ENDS: [&str; 6] = ["abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail"];

impl Compilations<'_> {
    /// Returns the compilation of a plain image, or of an image for these sanitizers: the image for
    /// the first one contains the images for the others.
    pub(crate) fn cpu(&self, cxx: &Cxx, sanitizers: &[Sanitizer]) -> Compilation {
        let mut compilation = self.compilation("so", &[&cxx.identity]);
        compilation.identities.extend(cxx.env_identities());
        let mut inside = None;
        for sanitizer in sanitizers.iter().skip(1).rev() {
            let name = sanitizer.check.name();
            let (after, link) =
                self.cpu_objects(&mut compilation, cxx, Some(sanitizer), inside.as_deref(), name);
            let image = self.work(&format!("{name}.so"));
            compilation.steps.push(Step { after, ..link.output(&image) });
            inside = Some(image);
        }
        let (_, link) =
            self.cpu_objects(&mut compilation, cxx, sanitizers.first(), inside.as_deref(), "");
        compilation.last(link);
        compilation.checked = self.cpu_checked(cxx);
        compilation
    }

    /// Adds the steps that make the objects of an image, whose files begin with `name`. Returns the
    /// positions of these steps, and the step that links the objects, without its output.
    fn cpu_objects(
        &self,
        compilation: &mut Compilation,
        cxx: &Cxx,
        sanitizer: Option<&Sanitizer>,
        inside: Option<&Path>,
        name: &str,
    ) -> (Vec<usize>, Step) {
        let first = compilation.steps.len();
        let file =
            |end: String| self.work(&if name.is_empty() { end } else { format!("{name}.{end}") });
        let common = cpu_common(cxx);
        let mut objects = Vec::new();
        for (index, source) in self.sources().into_iter().enumerate() {
            let (object, depfile) = (file(format!("{index}.o")), file(format!("{index}.d")));
            let mut compile = self.cpu_source(cxx, source);
            compile.extend(sanitizer.map(Sanitizer::of_kernels).unwrap_or_default());
            compile.extend(args(&["-x", "c++", "-c"]));
            compile.push(source.path.clone().into());
            let step = Step::new(Kind::Compile, &cxx.path, compile).env(&cxx.env);
            compilation.steps.push(step.output(&object).depfile(depfile, DepfileBy::Driver));
            objects.push(object);
        }
        if let Some(sanitizer) = sanitizer {
            let (object, depfile) = (file("checks.o".to_owned()), file("checks.d".to_owned()));
            let mut compile = common.clone();
            compile.extend(args(&["-std=c++17", "-fvisibility=hidden", "-O2"]));
            compile.extend(self.kernel_header());
            compile.extend(sanitizer.of_scheduler());
            // The scheduler reserves the stacks, so it must know their size.
            let defines = self.module.options.define_args();
            compile.extend(
                defines.filter(|it| it.starts_with("-DOFFLOAD_CPU_STACK=")).map(OsString::from),
            );
            // Compiler launchers do not know that the object contains another image.
            let kind = if inside.is_some() { Kind::Generate } else { Kind::Compile };
            let inside = inside.map(|image| image.display().to_string());
            compile.extend(
                inside.as_ref().map(|it| format!("-DOFFLOAD_CPU_CHECK_INSIDE={it:?}").into()),
            );
            compile.extend(args(&["-x", "c++", "-c"]));
            compile.push(self.output.include().join("offload/checks.cpp").into());
            let step = Step::new(kind, &cxx.path, compile).env(&cxx.env);
            let after = if inside.is_some() { vec![first - 1] } else { Vec::new() };
            let step = step.output(&object).depfile(depfile, DepfileBy::Driver);
            compilation.steps.push(Step { after, ..step });
            objects.push(object);
        }
        let mut link = common;
        link.push("-shared".into());
        if self.cargo.target.contains("-linux-") {
            // g++ links its C++ library even if it is not used. Kernels seldom use this library.
            // With this option, the linker drops the library if nothing uses it.
            link.push("-Wl,--as-needed".into());
            // With this option, a function that no source defines is an error of this link, not of
            // the program that loads the image.
            link.push("-Wl,-z,defs".into());
        }
        if self.cargo.target.contains("-windows-gnu") {
            // Without this option, the image needs libgcc_s_seh-1.dll and similar files, which few
            // machines have.
            link.push("-static".into());
        }
        link.extend(sanitizer.map(Sanitizer::of_link).unwrap_or_default());
        link.extend(objects.iter().map(OsString::from));
        let steps = (first..compilation.steps.len()).collect();
        let step = |link| Step::new(Kind::Link, &cxx.path, link).env(&cxx.env);
        // Other systems do not have ELF, whose symbols `ExternShared` reads.
        if self.cargo.target.contains("-windows-") || self.cargo.target.contains("-apple-") {
            return (steps, step(link));
        }
        let (source, list) = (file("shared.cpp".to_owned()), file("shared.txt".to_owned()));
        let mut argument = OsString::from("@");
        argument.push(&list);
        link.push(argument);
        let shared = ExternShared::new(objects, sanitizer, source, list);
        (steps, step(link).prepare(move || shared.write()))
    }

    /// Returns the options with which the C++ compiler compiles a source, before those of its
    /// language and of sanitizers.
    fn cpu_source(&self, cxx: &Cxx, source: &PlannedSource) -> Vec<OsString> {
        let mut compile = cpu_common(cxx);
        compile.extend(args(&["-std=c++17", "-fvisibility=hidden"]));
        // These options replace those of Cargo's profile, which come first.
        let asked = [&source.options, &self.module.options];
        let level = asked.iter().find_map(|options| options.opt_level);
        compile.extend(level.map(|level| format!("-O{level}").into()));
        let debug = asked.iter().find_map(|options| options.debug);
        compile.extend(debug.map(|debug| if debug { "-g".into() } else { "-g0".into() }));
        compile.extend(self.kernel_header());
        compile.extend(self.source_args(source));
        compile
    }

    /// Returns the steps in which the C++ compiler of the image describes the kernels' parameters.
    /// The steps may fail: then nobody compares the parameters.
    fn cpu_checked(&self, cxx: &Cxx) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, source) in self.sources().into_iter().enumerate() {
            let mut options = self.cpu_source(cxx, source);
            // Options for other forms of debug information are undone. Without optimization, the
            // place of each parameter shows whether it is passed by its address.
            const READABLE: &str = "-O0 -g -gdwarf-4 -gno-strict-dwarf -gno-split-dwarf -fno-lto \
                                    -fno-debug-types-section -femit-class-debug-always -dA -Wno-psabi";
            let (own, extension) =
                if cxx.is_gcc() { (READABLE, "s") } else { (DESCRIBED_BY_CLANG, "ll") };
            options.extend(own.split_whitespace().map(OsString::from));
            let output = format!("{index}.parameters.{extension}");
            steps.push(self.cpu_describing(&cxx.path, cxx, source, options, &output));
        }
        steps
    }

    /// Returns the step in which a compiler with these options writes the debug information of a
    /// source. The compiler may refuse the source.
    fn cpu_describing(
        &self,
        compiler: &Path,
        cxx: &Cxx,
        source: &PlannedSource,
        mut options: Vec<OsString>,
        output: &str,
    ) -> Step {
        options.extend(args(&["-w", "-x", "c++", "-S"]));
        options.push(source.path.clone().into());
        Step::new(Kind::Describe { may_fail: true }, compiler, options)
            .env(&cxx.env)
            .output(&self.work(output))
            .depfile(self.work(&format!("{output}.d")), DepfileBy::Driver)
    }

    /// Returns a compilation in which clang describes the kernels of the image for the CPU. clang
    /// gets the C++ compiler's options, so that conditional code and types are those of the image.
    /// clang may refuse such an option or a source: many are written for another compiler.
    pub(crate) fn cpu_described(&self, cxx: &Cxx, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("so", &[&clang.identity]);
        compilation.identities.extend(cxx.env_identities());
        let mut common = Vec::new();
        if self.cargo.target != self.cargo.host {
            // Cargo's name of this architecture has the extensions, which clang's has not.
            let triple = self.cargo.target.replacen("riscv64gc-", "riscv64-", 1);
            common.push(format!("--target={triple}").into());
        }
        common.extend(cxx.args.clone());
        common.extend(args(&["-std=c++17"]));
        common.extend(self.kernel_header());
        let mut describing = Vec::new();
        for (index, source) in self.sources().into_iter().enumerate() {
            let mut options = common.clone();
            options.extend(self.source_args(source));
            options.extend(DESCRIBED_BY_CLANG.split_whitespace().map(OsString::from));
            let output = format!("{index}.ll");
            describing.push(self.cpu_describing(&clang.path, cxx, source, options, &output));
        }
        compilation.described = Described::BySteps(describing);
        compilation
    }
}

/// The options with which clang writes the debug information of a source as LLVM IR.
const DESCRIBED_BY_CLANG: &str =
    "-DOFFLOAD_DESCRIBE -emit-llvm -g -fstandalone-debug -Xclang -disable-llvm-passes";

/// Returns the options for all commands that make an image.
fn cpu_common(cxx: &Cxx) -> Vec<OsString> {
    let mut common = cxx.args.clone();
    common.extend(args(&["-fPIC"]));
    // Without this option, static variables of templates and inline functions are the same in all
    // images of a program that name them alike. No other compiler shares them.
    common.extend(cxx.is_gcc().then(|| "-fno-gnu-unique".into()));
    common
}

impl Sanitizer {
    fn macros(&self) -> Vec<OsString> {
        let mut list = args(&["-DOFFLOAD_CPU_CHECK"]);
        for part in self.check.parts() {
            list.push(format!("-DOFFLOAD_CPU_CHECK_{}", part.name().to_uppercase()).into());
        }
        // With this option, the image itself provides the storage for __shared__; for g++, a macro
        // does this.
        list.extend(self.is_clang.then(|| "-femulated-tls".into()));
        list
    }

    /// Returns the options for kernels. They come after all options of build.rs, which could
    /// otherwise remove the line information that findings need.
    fn of_kernels(&self) -> Vec<OsString> {
        let mut list = self.macros();
        // `-O1`: more optimization omits accesses that should be checked, and less makes stacks and
        // tests large.
        list.extend(args(&[
            "-O1",
            "-g",
            "-fno-omit-frame-pointer",
            self.option(),
            "-fno-sanitize=vptr",
        ]));
        // With this option and ASAN_OPTIONS=halt_on_error=0, the program continues after a finding;
        // otherwise the first finding ends the program.
        list.extend(self.checks_memory().then(|| "-fsanitize-recover=address".into()));
        if self.check == Check::Races {
            // With these options, volatile accesses are calls of functions in
            // `offload/check_shared.h`.
            list.extend(if self.is_clang {
                args(&["-mllvm", "-tsan-distinguish-volatile"])
            } else {
                args(&["--param=tsan-distinguish-volatile=1"])
            });
        }
        // With this option, a finding can show where a thread is that did not reach a barrier.
        list.push("-fsanitize-coverage=trace-pc".into());
        // With this option, a thread that overflows its stack touches the page below the stack, and
        // not another thread's stack.
        list.push("-fstack-clash-protection".into());
        list
    }

    fn of_scheduler(&self) -> Vec<OsString> {
        let mut list = self.macros();
        list.push("-DOFFLOAD_CPU_CHECK_RUNTIME".into());
        let said = self.description().to_string();
        list.push(format!("-DOFFLOAD_CPU_CHECK_SAYS={said:?}").into());
        list
    }

    fn of_link(&self) -> Vec<OsString> {
        let mut list = args(&[self.option()]);
        list.extend(self.is_clang.then(|| "-shared-libsan".into()));
        for report in REPORTS {
            list.push(format!("-Wl,--wrap=__ubsan_handle_{report}").into());
        }
        for end in ENDS {
            list.push(format!("-Wl,--wrap={end}").into());
        }
        list
    }

    fn checks_memory(&self) -> bool {
        self.check.parts().contains(&Check::Memory)
    }
}
