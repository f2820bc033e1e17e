//! The command lines: from the sources to the image of one target.
//!
//! | target | each source | all of them |
//! |---|---|---|
//! | AMD | clang, HIP language mode, to LLVM bitcode | clang and lld: code object |
//! | `compute_*` | clang, CUDA language mode, to LLVM bitcode | clang: PTX |
//! | `sm_*` | the same | the same, then ptxas: cubin |
//! | `cpu` | the C++ compiler, to an object | the C++ compiler: shared object |
//!
//! Sources become bitcode and not objects so that calls between them can be inlined, and because PTX has no linker.

use crate::cargo::Cargo;
use crate::jobs::Step;
use crate::options::Options;
use crate::output::OutDir;
use crate::toolchain::{Clang, Cxx, Ptxas, identity};
use offload_format::target::{NvidiaArch, NvidiaCode, OffloadArch, TargetId, amdgpu};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The steps for one target. The `after` of each counts from the first of them.
#[derive(Debug)]
pub(crate) struct Compilation {
    pub(crate) target: String,
    pub(crate) image: PathBuf,
    pub(crate) steps: Vec<Step>,
    /// Written by the steps: what each source includes.
    pub(crate) depfiles: Vec<PathBuf>,
    /// Of the tools, for the rebuild key.
    pub(crate) identities: Vec<String>,
}

impl Compilation {
    /// The step that says first whether the compiler knows the target.
    pub(crate) fn first(&self) -> &Step {
        &self.steps[0]
    }
}

/// What stands in a dependency file for the file that is made.
const DEPFILE_TARGET: &str = "image";

/// Makes the compilations of one pack: all that they have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compilations<'a> {
    pub(crate) options: &'a Options,
    pub(crate) output: &'a OutDir,
    pub(crate) cargo: &'a Cargo,
}

impl Compilations<'_> {
    pub(crate) fn amdgpu(&self, target: &str, id: TargetId<'_>, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation(target, "hsaco", &[&clang.path]);
        let mut compile = args(["-x", "hip", "--no-gpu-bundle-output"]);
        compile.push(format!("--offload-arch={target}").into());
        let mut link = args(["--target=amdgcn-amd-amdhsa", "-nogpulib"]);
        link.push(format!("-mcpu={target}").into());
        // Older compilers make an earlier version unless told, and then refuse generic targets.
        let generic = amdgpu::is_generic(id.processor()).then_some(amdgpu::FIRST_GENERIC_VERSION);
        if let Some(version) = self.options.code_object_version.or(generic) {
            for list in [&mut compile, &mut link] {
                list.push(format!("-mcode-object-version={version}").into());
            }
        }
        let bitcode = self.compile_device(&mut compilation, clang, compile);
        link.push(self.optimization());
        // Device functions that no kernel calls do not stay.
        link.push("-Wl,-plugin-opt=-amdgpu-internalize-symbols".into());
        link.extend(bitcode.into_iter().map(OsString::from));
        link.extend(["-o".into(), compilation.image.clone().into()]);
        compilation.then(&clang.path, link);
        compilation
    }

    pub(crate) fn ptx(&self, target: &str, arch: NvidiaArch, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation(target, "ptx", &[&clang.path]);
        let ptx = compilation.image.clone();
        self.compile_ptx(&mut compilation, arch, clang, &ptx);
        compilation
    }

    pub(crate) fn cubin(&self, target: &str, arch: NvidiaArch, clang: &Clang, ptxas: &Ptxas) -> Compilation {
        let mut compilation = self.compilation(target, "cubin", &[&clang.path, &ptxas.path]);
        let ptx = self.work(target, "ptx");
        self.compile_ptx(&mut compilation, arch, clang, &ptx);
        let mut assemble = vec![OsString::from(format!("-arch={arch}"))];
        match (self.cargo.opt_level.as_str(), self.cargo.debug) {
            ("0", true) => assemble.extend(args(["-O0", "-g"])),
            ("0", false) => assemble.push("-O0".into()),
            // ptxas has no debug information of optimized code but lines.
            (_, true) => assemble.extend(args(["-O3", "-lineinfo"])),
            (_, false) => assemble.push("-O3".into()),
        }
        assemble.extend([ptx.into(), "-o".into(), compilation.image.clone().into()]);
        compilation.then(&ptxas.path, assemble);
        compilation
    }

    pub(crate) fn cpu(&self, cxx: &Cxx) -> Compilation {
        let mut compilation = self.compilation("cpu", "so", &[&cxx.path]);
        compilation.identities.extend(cxx.env.iter().map(|(name, value)| format!("{name:?}={value:?}")));
        let mut common = cxx.args.clone();
        common.extend(args(["-fPIC"]));
        let mut objects = Vec::new();
        for (index, source) in self.options.files.iter().enumerate() {
            let (object, depfile) = (self.work("cpu", &format!("{index}.o")), self.work("cpu", &format!("{index}.d")));
            let mut compile = common.clone();
            compile.extend(args(["-std=c++17", "-fvisibility=hidden"]));
            compile.extend(self.source_args());
            compile.extend(args(["-MMD", "-MT", DEPFILE_TARGET, "-MF"]));
            compile.push(depfile.clone().into());
            compile.extend(args(["-x", "c++", "-c"]));
            compile.extend([source.into(), "-o".into(), object.clone().into()]);
            compilation.steps.push(Step {
                program: cxx.path.clone(),
                args: compile,
                env: cxx.env.clone(),
                after: vec![],
            });
            compilation.depfiles.push(depfile);
            objects.push(object);
        }
        let mut link = common;
        link.push("-shared".into());
        if self.cargo.target.contains("-linux-") {
            // g++ names its C++ library whether it is used or not; a kernel seldom does.
            link.push("-Wl,--as-needed".into());
            // A function that no source defines is an error now, not when the program loads the image.
            link.push("-Wl,-z,defs".into());
        }
        link.extend(objects.into_iter().map(OsString::from));
        link.extend(["-o".into(), compilation.image.clone().into()]);
        compilation.then(&cxx.path, link).env = cxx.env.clone();
        compilation
    }

    fn compilation(&self, target: &str, extension: &str, tools: &[&Path]) -> Compilation {
        tools.iter().for_each(|tool| self.cargo.watch(tool));
        Compilation {
            target: target.to_owned(),
            image: self.output.images.join(image_file_name(target, extension)),
            steps: Vec::new(),
            depfiles: Vec::new(),
            identities: tools.iter().map(|tool| identity(tool)).collect(),
        }
    }

    fn work(&self, target: &str, extension: &str) -> PathBuf {
        self.output.work.join(image_file_name(target, extension))
    }

    fn compile_ptx(&self, compilation: &mut Compilation, arch: NvidiaArch, clang: &Clang, ptx: &Path) {
        let sm = arch.with_code(NvidiaCode::Cubin);
        let mut compile = args(["-x", "cuda", "-Wno-unknown-cuda-version"]);
        compile.push(format!("--offload-arch={sm}").into());
        let mut generate = args(["--target=nvptx64-nvidia-cuda", "-nogpulib", "-Wno-unknown-cuda-version", "-S"]);
        generate.push(format!("-march={sm}").into());
        if let Some(version) = arch.lowest_ptx() {
            // Without it clang takes the version of a CUDA installation, or else one that no current GPU knows.
            for list in [&mut compile, &mut generate] {
                list.push(format!("--cuda-feature=+ptx{}{}", version.major, version.minor).into());
            }
        }
        let mut bitcode = self.compile_device(compilation, clang, compile).into_iter();
        generate.push(self.optimization());
        generate.extend(bitcode.next().map(OsString::from));
        for other in bitcode {
            generate.extend(args(["-Xclang", "-mlink-bitcode-file", "-Xclang"]));
            generate.push(other.into());
        }
        generate.extend(["-o".into(), ptx.into()]);
        compilation.then(&clang.path, generate);
    }

    /// Adds a step for each source; returns the bitcode files.
    fn compile_device(&self, compilation: &mut Compilation, clang: &Clang, language: Vec<OsString>) -> Vec<PathBuf> {
        let mut bitcode = Vec::new();
        for (index, source) in self.options.files.iter().enumerate() {
            let out = self.work(&compilation.target, &format!("{index}.bc"));
            let depfile = self.work(&compilation.target, &format!("{index}.d"));
            let mut compile = language.clone();
            compile.extend(args(["--cuda-device-only", "-nogpuinc", "-nogpulib", "-fgpu-rdc", "-emit-llvm", "-c"]));
            compile.extend(args(["-std=c++17", "-fms-extensions"]));
            // Each source's own, and the same wherever the package lies: clang's default is a hash of the full path.
            compile.push(format!("-cuid={index}").into());
            compile.push(self.optimization());
            if self.cargo.debug {
                let generates_ptx = !matches!(OffloadArch::parse(&compilation.target), Ok(OffloadArch::Amdgpu(_)));
                let lines_only = generates_ptx && self.cargo.opt_level != "0";
                compile.push(if lines_only { "-gline-tables-only".into() } else { "-g".into() });
            }
            compile.extend(self.source_args());
            // To the compiler proper: the driver of clang 22 forgets -MF for device code in HIP language mode.
            for word in
                [OsString::from("-dependency-file"), depfile.clone().into(), "-MT".into(), DEPFILE_TARGET.into()]
            {
                compile.extend(["-Xclang".into(), word]);
            }
            compile.extend([source.into(), "-o".into(), out.clone().into()]);
            compilation.steps.push(Step { program: clang.path.clone(), args: compile, env: vec![], after: vec![] });
            compilation.depfiles.push(depfile);
            bitcode.push(out);
        }
        bitcode
    }

    /// What build.rs asks for.
    fn source_args(&self) -> Vec<OsString> {
        let mut list: Vec<OsString> = Vec::new();
        list.extend(["-I".into(), self.output.include().into(), "-include".into(), "offload/kernel.h".into()]);
        for folder in &self.options.includes {
            list.extend(["-I".into(), folder.into()]);
        }
        for (name, value) in &self.options.defines {
            list.push(match value {
                Some(value) => format!("-D{name}={value}").into(),
                None => format!("-D{name}").into(),
            });
        }
        // Debug information and __FILE__ say the same wherever the work folder lies.
        for (folder, name) in [(&self.output.root, "offload"), (&self.cargo.manifest_dir, ".")] {
            list.push(format!("-ffile-prefix-map={}={name}", folder.display()).into());
        }
        list.extend(self.options.flags.iter().map(OsString::from));
        list
    }

    fn optimization(&self) -> OsString {
        format!("-O{}", self.cargo.opt_level).into()
    }
}

impl Compilation {
    /// Adds a step that comes after all there are.
    fn then(&mut self, program: &Path, args: Vec<OsString>) -> &mut Step {
        let after = (0..self.steps.len()).collect();
        self.steps.push(Step { program: program.to_owned(), args, env: vec![], after });
        self.steps.last_mut().expect("a step was just added")
    }
}

/// `gfx90a_xnack-.hsaco`: a colon is no character for file names everywhere.
pub(crate) fn image_file_name(target: &str, extension: &str) -> String {
    format!("{}.{extension}", target.replace(':', "_"))
}

fn args<const N: usize>(list: [&str; N]) -> Vec<OsString> {
    list.map(OsString::from).to_vec()
}
