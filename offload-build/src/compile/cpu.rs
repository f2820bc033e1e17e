//! Builds the command lines for the CPU image, a shared object that is plain or has a sanitizer.
//! The methods that return steps come first, followed by those that each return a command line as
//! one expression.

use super::before_link::{self, LateSource};
use super::cpu_variables;
use super::extern_shared::ExternShared;
use super::lanes;
use super::line::Line;
use super::rust::Crate;
use super::sanitizer::Sanitizer;
use super::with_entries::WithEntries;
use super::{Compilation, Compilations};
use crate::plan::PlannedSource;
use crate::request::Language;
use crate::toolchain::compilers::{Clang, Cxx};
use crate::toolchain::exec::{DepfileBy, Step, StepKind};
use offload_pack::checks::Check;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The functions that UndefinedBehaviorSanitizer calls to report findings.
/// `offload/check_reports.h` adds the thread to the reports.
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

/// The language options. They make `char` signed, as on GPUs, although it is unsigned by default on
/// Arm. They also accept `int x[] = {0.0}`, as nvcc and clang do for GPUs.
const DIALECT: [&str; 4] =
    ["-std=c++17", "-Wno-error=register", "-Wno-error=narrowing", "-fsigned-char"];

/// The start of the option that sets the size of each thread's stack in bytes.
pub(crate) const STACK_SIZE: &str = "-DOFFLOAD_CPU_STACK=";

/// The functions that end a process. `offload/check_ends.h` reports calls to them.
const ENDS: [&str; 6] = ["abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail"];

impl Compilations<'_> {
    /// Returns the compilation of an image, which is plain if there are no sanitizers.
    ///
    /// The image for the first sanitizer contains the images for the others. The kernels come from
    /// the Rust crate if there is one, otherwise from the sources.
    pub(crate) fn cpu(
        &self,
        cxx: &Cxx,
        sanitizers: &[Sanitizer],
        of: Option<Crate<'_>>,
    ) -> Compilation {
        let mut tools = vec![&cxx.identity];
        tools.extend(of.map(|of| &of.rust.identity));
        let mut compilation = self.compilation("so", &tools);
        self.add_cxx(&mut compilation, cxx);
        if of.is_none() {
            compilation.steps = self.cpu_describe(cxx);
            for step in &compilation.steps {
                compilation.checked.extend(step.output.clone());
            }
        }
        let mut inside = None;
        for sanitizer in sanitizers.iter().skip(1).rev() {
            let name = sanitizer.check.name();
            let image = self.work(&format!("{name}.so"));
            let link =
                self.cpu_image(&mut compilation, cxx, of, Some(sanitizer), inside.as_deref(), name);
            compilation.steps.push(link.output(&image));
            inside = Some(image);
        }
        let link =
            self.cpu_image(&mut compilation, cxx, of, sanitizers.first(), inside.as_deref(), "");
        compilation.last(link);
        if let Some(of) = of {
            self.describe_for_cpu(&mut compilation, of);
        }
        compilation
    }

    /// Adds the inputs that the C++ compiler's environment and options name.
    fn add_cxx(&self, compilation: &mut Compilation, cxx: &Cxx) {
        compilation.identities.extend(cxx.env_identities());
        let mut flags = Vec::new();
        for arg in &cxx.args {
            flags.extend(arg.to_str());
        }
        compilation.add_flags(&flags, self.cargo);
    }

    /// Adds the steps that build an image's objects, in files whose names begin with `name`.
    /// Returns the step that links the objects, whose output the caller sets.
    fn cpu_image(
        &self,
        compilation: &mut Compilation,
        cxx: &Cxx,
        of: Option<Crate<'_>>,
        sanitizer: Option<&Sanitizer>,
        inside: Option<&Path>,
        name: &str,
    ) -> Step {
        let first = compilation.steps.len();
        let file = |end: &str| {
            self.work(&if name.is_empty() { end.into() } else { format!("{name}.{end}") })
        };
        let mut objects = Vec::new();
        if let Some(of) = of {
            let object = file("crate.o");
            let step = self.crate_for_cpu(compilation, of, sanitizer, file("target"), &object);
            compilation.steps.push(step);
            objects.push(object);
        }
        let mut add = |kind, line: Line, stem: &str, after, warnings| {
            let object = file(&format!("{stem}.o"));
            let step = Step::new(kind, &cxx.path, line.done()).env(&cxx.env).output(&object);
            let step = lanes::show(step, warnings);
            let step = step.depfile(file(&format!("{stem}.d")), DepfileBy::Driver);
            objects.push(object);
            Step { after, ..step }
        };
        match of {
            Some(of) => {
                let line = self.cpu_rust(cxx, of, sanitizer);
                compilation.steps.push(add(StepKind::Compile, line, "rust", Vec::new(), &[]));
            }
            None => {
                for (index, source) in self.sources().into_iter().enumerate() {
                    let warnings = lanes::warnings_of_cpu(cxx, &self.source_args(source));
                    let with = WithEntries {
                        source: source.path.clone(),
                        description: compilation.checked[index].clone(),
                        copy: file(&format!("{index}.cpp")),
                    };
                    let line = self.cpu_compile(cxx, source, &with.copy, sanitizer, warnings);
                    // The step at position `index` describes the source.
                    let after = vec![index];
                    let step = add(StepKind::Compile, line, &index.to_string(), after, warnings);
                    let step = step.prepare(move || with.write());
                    if sanitizer.is_none() && self.has_regions(cxx, &step.args) {
                        let steps = self.cpu_regions(cxx, step, compilation.steps.len());
                        compilation.steps.extend(steps);
                    } else {
                        compilation.steps.push(step);
                    }
                }
            }
        }
        if let Some(sanitizer) = sanitizer {
            // If the object embeds another image, do not use a compiler launcher, which cannot
            // detect that.
            let kind = if inside.is_some() { StepKind::Generate } else { StepKind::Compile };
            let after = inside.map(|_| first - 1).into_iter().collect();
            let line = self.cpu_checks(cxx, of, sanitizer, inside).all(of.map(rust_folder));
            compilation.steps.push(add(kind, line, "checks", after, &[]));
        }
        // The work before the link reads symbols of ELF objects, which other systems do not use.
        let is_elf =
            !["-windows-", "-apple-"].iter().any(|system| self.cargo.target.contains(system));
        let names = if is_elf { &["variables.txt", "shared.txt"][..] } else { &[] };
        let lists: Vec<PathBuf> = names.iter().map(|name| file(name)).collect();
        let link = self.cpu_link(cxx, sanitizer, &objects, &lists);
        let link = Step::new(StepKind::Link, &cxx.path, link.done()).env(&cxx.env);
        let link = Step { after: (first..compilation.steps.len()).collect(), ..link };
        let [of_variables, of_shared] = &lists[..] else { return link };
        let late = |name, arguments: &PathBuf, language| {
            let (source, arguments) = (file(name), arguments.clone());
            LateSource { source, arguments, language }
        };
        let variables = late("variables.s", of_variables, "assembler");
        let shared = late("shared.cpp", of_shared, "c++");
        let extern_shared = ExternShared::new(sanitizer);
        link.prepare(move || {
            let objects = before_link::read(&objects);
            let symbols = before_link::symbols(&objects);
            variables.write(cpu_variables::source(&symbols));
            shared.write(extern_shared.source(&symbols));
        })
    }

    /// Returns the steps in which the image's C++ compiler describes the kernels and their
    /// parameters. If a describing step fails, the step that compiles the source also fails and
    /// reports the error.
    fn cpu_describe(&self, cxx: &Cxx) -> Vec<Step> {
        let (options, extension) =
            if cxx.is_gcc() { (DESCRIBED_BY_GCC, "s") } else { (DESCRIBED_BY_CLANG, "ll") };
        let sources = self.sources().into_iter().enumerate();
        let step = |(index, source): (usize, &PlannedSource)| {
            let line = self.cpu_source(cxx, source).words(options);
            let output = format!("{index}.parameters.{extension}");
            self.cpu_describing(&cxx.path, cxx, source, line, &output)
        };
        sources.map(step).collect()
    }

    /// Returns a compilation in which clang describes the kernels of the CPU image. clang gets the
    /// C++ compiler's options, so that conditional code and types match the image, but may reject
    /// an option or a source that was written for a different compiler.
    pub(crate) fn cpu_described(&self, cxx: &Cxx, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("so", &[&clang.identity]);
        self.add_cxx(&mut compilation, cxx);
        // Cargo's name for the RISC-V architecture includes the extensions, but clang's name does
        // not.
        let triple = self.cargo.target.replacen("riscv64gc-", "riscv64-", 1);
        let is_cross = self.cargo.target != self.cargo.host;
        let sources = self.sources().into_iter().enumerate();
        let step = |(index, source): (usize, &PlannedSource)| {
            let line = Line::default()
                .when(is_cross, &[&format!("--target={triple}")])
                .all(cxx.args.clone())
                .words(&DIALECT)
                .all(self.kernel_header(source.language))
                .all(self.source_args(source))
                .words(DESCRIBED_BY_CLANG);
            self.cpu_describing(&clang.path, cxx, source, line, &format!("{index}.ll"))
        };
        compilation.describing = sources.map(step).collect();
        compilation
    }

    /// Returns a step in which a compiler emits a source's debug information, unless it rejects the
    /// source.
    fn cpu_describing(
        &self,
        compiler: &Path,
        cxx: &Cxx,
        source: &PlannedSource,
        options: Line,
        output: &str,
    ) -> Step {
        let line = options.words(&["-w", "-x", "c++", "-S"]).one(&source.path);
        let step = Step::new(StepKind::Describe { may_fail: true }, compiler, line.done())
            .env(&cxx.env)
            .output(&self.work(output))
            .depfile(self.work(&format!("{output}.d")), DepfileBy::Driver);
        // Outside CUDA mode, clang rejects the attribute that marks variables if it precedes a
        // lambda's parameters.
        let otherwise = output.ends_with(".ll").then_some("-DOFFLOAD_DESCRIBE_LAMBDAS");
        Step { otherwise, ..step }
    }

    /// Returns the C++ compiler options for a source. The language and sanitizer options follow
    /// these.
    fn cpu_source(&self, cxx: &Cxx, source: &PlannedSource) -> Line {
        let asked = [&source.options, &self.module.options];
        let level = asked.iter().find_map(|options| options.opt_level);
        let debug = asked.iter().find_map(|options| options.debug);
        // Tests on the CPU run the kernel for each element, which takes seconds without
        // optimization.
        let is_raised = self.cargo.opt_level == "0" && debug != Some(true);
        let level = level.or(is_raised.then_some(2));
        common(cxx)
            .words(&DIALECT)
            // Kernels stay visible despite the first option. The second option lets g++ inline
            // kernels into their entries.
            .words(&["-fvisibility=hidden"])
            .when(self.cargo.target.contains("-linux-"), &["-fno-semantic-interposition"])
            // Otherwise, g++ with `-O1` refuses to pass an always inlined function to another one.
            .when(cxx.is_gcc(), &["-findirect-inlining"])
            // These options override the earlier options from Cargo's profile.
            .all(level.map(|level| format!("-O{level}").into()))
            .all(debug.map(|debug| if debug { "-g".into() } else { "-g0".into() }))
            .all(self.kernel_header(source.language))
            .all(self.source_args(source))
    }

    /// Returns the command that compiles `copy`, the copy of a source with entries, to an object.
    fn cpu_compile(
        &self,
        cxx: &Cxx,
        source: &PlannedSource,
        copy: &Path,
        sanitizer: Option<&Sanitizer>,
        warnings: &[&str],
    ) -> Line {
        // With `-fstack-clash-protection`, a thread that overflows its stack hits the guard below
        // the stack, not another thread's stack. Not every clang for AArch64 supports the option.
        let target = &self.cargo.target;
        let is_known =
            target.starts_with("x86_64-") || target.starts_with("aarch64-") && cxx.is_gcc();
        // The source may include headers from its own folder, which is not the copy's.
        let folder = source.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // GNU's tools show the file name of the copy, unless clang names the source in DWARF 5.
        let name = ["-Xclang", "-main-file-name", "-Xclang"].map(OsString::from);
        let name = name.into_iter().chain([source.path.clone().into()]);
        Line::of(warnings)
            .all(name.filter(|_| !cxx.is_gcc()))
            .words(&["-iquote"])
            .one(folder)
            .line(&self.cpu_source(cxx, source))
            .words(&["-Wno-builtin-macro-redefined"])
            .one(format!("-D__BASE_FILE__={:?}", source.path.display().to_string()))
            .when(is_known && target.contains("-linux-"), &["-fstack-clash-protection"])
            .all(sanitizer.into_iter().flat_map(|it| it.of_kernels().done()))
            .words(&["-x", "c++", "-c"])
            .one(copy)
    }

    /// Returns the command that compiles the functions that Rust kernels call.
    fn cpu_rust(&self, cxx: &Cxx, of: Crate<'_>, sanitizer: Option<&Sanitizer>) -> Line {
        let mut line = common(cxx)
            .words(&DIALECT)
            .words(&["-fvisibility=hidden", "-O2"])
            .all(self.kernel_header(Language::Cuda))
            .one(rust_folder(of))
            .all(self.stack_size(Some(of)));
        if let Some(sanitizer) = sanitizer {
            line = line.line(&sanitizer.macros());
        }
        line.words(&["-x", "c++", "-c"]).one(self.output.include().join("offload/rust.cpp"))
    }

    /// Returns the command that compiles the scheduler of a checked image, which embeds the image
    /// `inside`.
    fn cpu_checks(
        &self,
        cxx: &Cxx,
        of: Option<Crate<'_>>,
        sanitizer: &Sanitizer,
        inside: Option<&Path>,
    ) -> Line {
        let inside = inside.map(|image| image.display().to_string());
        common(cxx)
            .words(&DIALECT)
            .words(&["-fvisibility=hidden", "-O2"])
            .all(self.kernel_header(Language::Cuda))
            .line(&sanitizer.macros())
            .words(&["-DOFFLOAD_CPU_CHECK_RUNTIME"])
            .one(format!("-DOFFLOAD_CPU_CHECK_SAYS={:?}", sanitizer.description().to_string()))
            .all(self.stack_size(of))
            .all(inside.map(|it| format!("-DOFFLOAD_CPU_CHECK_INSIDE={it:?}").into()))
            .words(&["-x", "c++", "-c"])
            .one(self.output.include().join("offload/checks.cpp"))
    }

    /// Returns the options that set the size of the scheduler's stacks.
    fn stack_size(&self, of: Option<Crate<'_>>) -> Vec<OsString> {
        let mut defines = self.module.options.define_args();
        if of.is_some() {
            defines.append(&mut self.sources()[0].options.define_args());
        }
        defines.retain(|define| define.starts_with(STACK_SIZE));
        defines.into_iter().map(OsString::from).collect()
    }

    /// Returns the command that links the objects of an image. `lists` contains the argument file
    /// of each [`LateSource`].
    fn cpu_link(
        &self,
        cxx: &Cxx,
        sanitizer: Option<&Sanitizer>,
        objects: &[PathBuf],
        lists: &[PathBuf],
    ) -> Line {
        let is_for = |system| self.cargo.target.contains(system);
        common(cxx)
            .words(&["-shared"])
            // clang warns about the `-x none` after the last late source, because no other source
            // follows.
            .when(!cxx.is_gcc(), &["-Wno-unused-command-line-argument"])
            // g++ always links its C++ library, which kernels seldom use. With this option, the
            // linker drops unused libraries.
            .when(is_for("-linux-"), &["-Wl,--as-needed"])
            // Without this option, entries call the program's functions instead of kernels with the
            // same names, such as the C library's `advance`.
            .when(is_for("-linux-"), &["-Wl,-Bsymbolic-functions"])
            // With this option, an undefined function makes this link fail, not the program that
            // loads the image.
            .when(is_for("-linux-"), &["-Wl,-z,defs"])
            // Without this option, the image needs DLLs that few machines have, such as
            // libgcc_s_seh-1.dll.
            .when(is_for("-windows-gnu"), &["-static"])
            .all(sanitizer.into_iter().flat_map(|it| it.of_link().done()))
            .all(objects.iter().map(OsString::from))
            .all(lists.iter().map(|list| arguments_of(list)))
    }
}

/// g++'s options for emitting a source's debug information as assembly. They undo options for other
/// forms of debug information. Without optimization, each parameter's location shows whether the
/// parameter is passed by address.
const DESCRIBED_BY_GCC: &[&str] = &[
    "-DOFFLOAD_DESCRIBE",
    "-O0",
    "-g",
    "-gdwarf-4",
    "-gno-strict-dwarf",
    "-gno-split-dwarf",
    "-fno-lto",
    "-fno-debug-types-section",
    "-femit-class-debug-always",
    "-dA",
    "-Wno-psabi",
];

/// clang's options for emitting a source's debug information as LLVM IR.
const DESCRIBED_BY_CLANG: &[&str] = &[
    "-DOFFLOAD_DESCRIBE",
    "-emit-llvm",
    "-g",
    "-fstandalone-debug",
    "-Xclang",
    "-disable-llvm-passes",
];

/// Returns the options that all commands for an image share.
pub(super) fn common(cxx: &Cxx) -> Line {
    Line::default()
        .all(cxx.args.clone())
        .words(&["-fPIC"])
        // Without this option, all images in a process share equally named static variables of
        // templates and inline functions, unlike with other compilers.
        .when(cxx.is_gcc(), &["-fno-gnu-unique"])
}

/// Returns the option that marks an image of Rust kernels. Its value is the folder in which rustc
/// starts.
fn rust_folder(of: Crate<'_>) -> OsString {
    let folder = of.package.root.display().to_string();
    let folder = if folder.is_empty() { "." } else { &folder };
    format!("-DOFFLOAD_RUST_FOLDER={folder:?}").into()
}

/// Returns the option that reads more arguments from a file.
fn arguments_of(file: &Path) -> OsString {
    let mut option = OsString::from("@");
    option.push(file);
    option
}

impl Sanitizer {
    /// Returns the options for kernels. They come after all options from build.rs, which could
    /// otherwise remove the line information that findings need.
    fn of_kernels(&self) -> Line {
        let sees_volatile: &[&str] = match (self.check, self.is_clang) {
            (Check::Races, true) => &["-mllvm", "-tsan-distinguish-volatile"],
            (Check::Races, false) => &["--param=tsan-distinguish-volatile=1"],
            _ => &[],
        };
        self.macros()
            // Use `-O1`, because higher levels remove accesses that should be checked, and `-O0`
            // makes stacks and checks large.
            .words(&["-O1", "-g", "-fno-omit-frame-pointer", self.option(), "-fno-sanitize=vptr"])
            // With this option and ASAN_OPTIONS=halt_on_error=0, the program continues after a
            // finding. Otherwise, the first finding ends the program.
            .when(self.checks_memory(), &["-fsanitize-recover=address"])
            // These options turn volatile accesses into calls to functions in
            // `offload/check_shared.h`.
            .words(sees_volatile)
            // With this option, a finding can show the position of a thread that did not reach a
            // barrier.
            .words(&["-fsanitize-coverage=trace-pc"])
    }

    fn of_link(&self) -> Line {
        let mut line = Line::of(&[self.option()]).when(self.is_clang, &["-shared-libsan"]);
        for it in REPORTS {
            line = line.one(format!("-Wl,--wrap=__ubsan_handle_{it}"));
        }
        for it in ENDS {
            line = line.one(format!("-Wl,--wrap={it}"));
        }
        line
    }

    fn macros(&self) -> Line {
        let mut line = Line::of(&["-DOFFLOAD_CPU_CHECK"]);
        for part in self.check.parts() {
            line = line.one(format!("-DOFFLOAD_CPU_CHECK_{}", part.name().to_uppercase()));
        }
        // With this option, the image itself provides the storage for `__shared__`. With g++, a
        // macro has the same effect.
        line.when(self.is_clang, &["-femulated-tls"])
    }

    fn checks_memory(&self) -> bool {
        self.check.parts().contains(&Check::Memory)
    }
}
