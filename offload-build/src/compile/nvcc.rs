//! Builds nvcc's commands for images, and the arguments that all nvcc commands share.

use super::line::Line;
use super::nvcc_variables::nvcc_env;
use super::profile::{DebugInfo, FlagSettings};
use super::{Compilation, Compilations};
use crate::plan::PlannedSource;
use crate::toolchain::compilers::{Cxx, Nvcc, identity};
use crate::toolchain::exec::{DepfileBy, NvccFlags, Step, StepKind, through_nvcc};
use offload_format::target::{NvidiaArch, NvidiaCode};
use std::borrow::Cow;
use std::ffi::OsString;

impl Compilations<'_> {
    /// Returns nvcc's compilation of an image: machine code or PTX, depending on the target.
    pub(crate) fn nvcc(&self, arch: NvidiaArch, nvcc: &Nvcc, ccbin: &Cxx) -> Compilation {
        let (extension, kind) = match arch.code {
            NvidiaCode::Cubin => ("cubin", "-cubin"),
            NvidiaCode::Ptx => ("ptx", "-ptx"),
        };
        let mut compilation = self.compilation(extension, &[&nvcc.identity, &ccbin.identity]);
        if arch.code == NvidiaCode::Ptx && self.module.options.lower_ptx != Some(false) {
            compilation.lowers_ptx = true;
            compilation.identities.push("PTX with its oldest version".to_owned());
        }
        let sources = self.sources();
        let mut parts = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let part = if sources.len() > 1 {
                self.work(&format!("{index}.o.cubin"))
            } else {
                compilation.image.clone()
            };
            let compile = Line::of(&["-x", "cu", kind])
                .one(format!("-arch={arch}"))
                .when(sources.len() > 1, &["-rdc=true"])
                .all(self.nvcc_args(nvcc, ccbin, source, &mut compilation));
            let step = Step::new(StepKind::Nvcc, &nvcc.path, compile.done())
                .env(&nvcc_env(ccbin, self.cargo))
                .output(&part);
            compilation
                .steps
                .push(step.depfile(self.work(&format!("{index}.d")), DepfileBy::Driver));
            parts.push(part);
        }
        if parts.len() > 1 {
            let nvlink = nvcc.program("nvlink");
            compilation.identities.push(identity(&nvlink));
            let link = Line::default()
                .one(format!("-arch={arch}"))
                .all(parts.into_iter().map(OsString::from));
            compilation.last(Step::new(StepKind::Link, &nvlink, link.done()));
        }
        compilation
    }

    /// Returns nvcc's arguments for both images and objects: the host compiler, the optimization,
    /// the options from build.rs, and the source.
    pub(super) fn nvcc_args(
        &self,
        nvcc: &Nvcc,
        ccbin: &Cxx,
        source: &PlannedSource,
        compilation: &mut Compilation,
    ) -> Vec<OsString> {
        // nvcc warns about repeated options, and about `-lineinfo` with `-G`, so add an option only
        // if neither build.rs nor nvcc's environment variables set it.
        let profile = self.profile(source);
        let variables = NvccFlags::set(self.cargo);
        let mut words = Vec::new();
        for flags in &variables {
            words.extend(flags.others.split(' '));
        }
        let of_variables = FlagSettings::of(&words);
        let sets_level = profile.set_by_flags.level.or(of_variables.level).is_some();
        let sets_debug = profile.set_by_flags.debug.or(of_variables.debug).is_some();
        // With debug information, nvcc writes the package folder's name into PTX and dependency
        // files without escaping quotation marks.
        let debug = match profile.debug {
            _ if self.cargo.manifest_dir.to_string_lossy().contains('"') => DebugInfo::None,
            debug => debug,
        };
        let of_devices: &[&str] = match debug {
            _ if profile.set_by_flags.device_debug.or(of_variables.device_debug).is_some() => &[],
            DebugInfo::Full => &["-G"],
            DebugInfo::Lines => &["-lineinfo"],
            DebugInfo::None => &[],
        };
        let given = self.source_args(source);
        let mut options = Vec::new();
        for arg in &given {
            options.push(arg.to_string_lossy());
        }
        for word in words {
            options.push(word.into());
        }
        let mut list = Line::of(&["-ccbin"])
            .one(&ccbin.path)
            .words(preprocessor(ccbin, &options))
            .when(!sets_level, &[&format!("-O{}", profile.level)])
            .when(!sets_debug && debug != DebugInfo::None, &["-g"])
            .words(of_devices)
            .done();
        for arg in given {
            let text = arg.to_string_lossy();
            if !text.starts_with("-ffile-prefix-map=") {
                list.push(arg);
            } else if ccbin.takes_gnu_options() {
                // This option is for the host compiler, which preprocesses sources for nvcc.
                list.extend(["-Xcompiler".into(), through_nvcc(&text)]);
            }
        }
        if let Some(folder) = nvcc.runtime_headers(self.cargo) {
            list.extend(["-I".into(), folder.clone().into()]);
            compilation.tool_folders.push(folder);
        }
        compilation.identities.extend(ccbin.env_identities());
        // nvcc reads these variables itself, so they are inputs of the compilation but not
        // arguments.
        for flags in &variables {
            compilation.identities.push(format!("{}={}", flags.name, flags.others));
            compilation.add_flags(&flags.others.split(' ').collect::<Vec<_>>(), self.cargo);
        }
        compilation.tool_folders.extend(nvcc.folders());
        list.push(source.path.clone().into());
        list
    }
}

/// Returns the options that make cl.exe preprocess as the C++ standard requires. cl.exe's default
/// mode does not conform, and CUDA's headers have rejected it since 12.9 (CCCL 3.0). `options`,
/// which come from build.rs and nvcc's variables, may already select either mode.
fn preprocessor(ccbin: &Cxx, options: &[Cow<'_, str>]) -> &'static [&'static str] {
    if ccbin.is_msvc() && !options.iter().any(|option| option.contains("Zc:preprocessor")) {
        &["-Xcompiler", "/Zc:preprocessor"]
    } else {
        &[]
    }
}

/// Returns the nvcc options from build.rs that clang also accepts: macros, folders, headers, and
/// the language version.
pub(super) fn for_clang(options: Vec<OsString>) -> Vec<OsString> {
    const JOINED: [&str; 6] = ["-D", "-U", "-I", "-isystem", "-std=c++", "-ffile-prefix-map="];
    const APART: [&str; 5] = ["-D", "-U", "-I", "-isystem", "-include"];
    let mut options = options.into_iter();
    let mut kept = Vec::new();
    while let Some(option) = options.next() {
        let text = option.to_string_lossy();
        if APART.contains(&&*text) {
            kept.push(option);
            kept.extend(options.next());
        } else if JOINED.iter().any(|start| text.starts_with(start)) {
            kept.push(option);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::compilers::Identity;

    #[test]
    fn visual_studio_preprocesses_as_the_standard_says() {
        let options = |name: &str, options: &[&'static str]| {
            let (args, env) = (Vec::new(), Vec::new());
            let identity = Identity { files: Vec::new(), version_text: String::new() };
            let cxx = Cxx { path: name.into(), args, env, identity };
            preprocessor(&cxx, &options.iter().copied().map(Cow::from).collect::<Vec<_>>())
        };
        assert_eq!(options("bin/cl.exe", &["-O2"]), ["-Xcompiler", "/Zc:preprocessor"]);
        assert!(options("bin/cl.exe", &["-Xcompiler=/Zc:preprocessor-"]).is_empty());
        for other in ["bin/clang-cl.exe", "bin/g++", "cl/c++"] {
            assert!(options(other, &[]).is_empty(), "{other}");
        }
    }

    #[test]
    fn options_that_clang_has_too() {
        let all = [
            "-Iinclude",
            "-I",
            "more",
            "-DN=1",
            "--use_fast_math",
            "-Xptxas",
            "-v",
            "-std=c++20",
            "-include",
            "a.h",
        ];
        let kept = ["-Iinclude", "-I", "more", "-DN=1", "-std=c++20", "-include", "a.h"];
        assert_eq!(for_clang(Line::of(&all).done()), Line::of(&kept).done());
    }
}
