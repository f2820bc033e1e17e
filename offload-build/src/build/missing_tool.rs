//! Explains why this machine's compilers cannot make an image, and how to fix that.

use super::prebuilt::Prebuilt;
use crate::targets::Target;
use crate::toolchain::compilers::install::Installable;
use crate::toolchain::compilers::{Clang, NoRust, Nvcc, Ptxas, SearchLog};
use crate::toolchain::{Cargo, Error, ErrorKind};
use offload_format::target::{NvidiaArch, similar};
use std::fmt;
use std::path::Path;

/// The reason why this machine cannot compile for one target, and how to fix that.
#[derive(Debug, Clone)]
pub(crate) struct MissingTool {
    /// The reason in a few words.
    pub(crate) short: String,
    /// The full reason.
    pub(crate) long: String,
    /// The help. Lines that begin with two spaces are commands.
    pub(crate) help: Option<String>,
    kind: ErrorKind,
}

impl MissingTool {
    /// Describes a missing clang. `version` is the oldest clang that supports the targets.
    pub(crate) fn clang(log: &SearchLog, version: u32) -> Self {
        Self::tool("clang", log, Installable::Clang(version))
    }

    /// Describes a missing ptxas. Without an architecture, the help is for the architectures that
    /// current versions of ptxas support.
    pub(crate) fn ptxas(log: &SearchLog, arch: Option<NvidiaArch>) -> Self {
        let old = arch.is_some_and(|arch| Ptxas::has_dropped(arch.number()));
        Self::tool("ptxas", log, Installable::Ptxas { old, or_ptx: true })
    }

    /// Describes a ptxas that is missing outside a build, where no prebuilt image can be used
    /// instead.
    pub(crate) fn ptxas_alone(log: &SearchLog) -> Self {
        Self::tool("ptxas", log, Installable::Ptxas { old: false, or_ptx: false })
    }

    pub(crate) fn nvcc(log: &SearchLog) -> Self {
        Self::tool("nvcc", log, Installable::Nvcc)
    }

    pub(crate) fn rocm(log: &SearchLog) -> Self {
        Self::tool("ROCm", log, Installable::Rocm)
    }

    /// Describes an nvcc without a host compiler.
    pub(crate) fn ccbin(nvcc: &Nvcc, why: &str) -> Self {
        let long = format!("{} needs a C++ compiler for the host: {why}", nvcc.path.display());
        Self::lacks(
            long,
            "nvcc finds no C++ compiler for the host".to_owned(),
            Installable::Cxx("NVCC_CCBIN or CXX"),
        )
    }

    pub(crate) fn rust(NoRust { short, long, help }: NoRust) -> Self {
        Self { short, long, help: Some(help), kind: ErrorKind::ToolNotFound }
    }

    /// Describes a kernel crate that is missing from the package. For a GPU, a prebuilt image may
    /// be used instead. For the CPU, the reason suggests a fix in build.rs.
    pub(crate) fn left_out(manifest: &Path, target: &Target) -> Self {
        let manifest = manifest.display();
        let short = format!("this package does not contain {manifest}");
        let mut long = format!("{short}: Cargo leaves folders with a Cargo.toml out of packages");
        if !target.is_gpu() {
            long += &format!(
                ". In build.rs, add this target only if the crate exists: if \
                 std::path::Path::new(\"{manifest}\").is_file() {{ build.arch(\"{target}\"); }}"
            );
        }
        Self { short, long, help: None, kind: ErrorKind::SourceNotFound }
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.long, &self.help) == (&other.long, &other.help)
    }

    /// Describes a missing C++ compiler for the host, which compiles for the CPU.
    pub(crate) fn cxx(cargo: &Cargo, why: &str) -> Self {
        let long = format!("this target needs a C++ compiler for {}: {why}", cargo.target);
        let short = format!("no C++ compiler for {} was found", cargo.target);
        let wanted = if cargo.target == cargo.host {
            Installable::Cxx("CXX")
        } else {
            Installable::CrossCxx(cargo.target.clone())
        };
        Self::lacks(long, short, wanted)
    }

    fn tool(name: &str, log: &SearchLog, wanted: Installable) -> Self {
        let short = format!("no {name} was found");
        let help = log.help().unwrap_or_else(|| wanted.help());
        let (long, kind) = (format!("{short} ({log})"), ErrorKind::ToolNotFound);
        Self { short, long, help: Some(help), kind }
    }

    fn lacks(long: String, short: String, wanted: Installable) -> Self {
        Self { short, long, help: Some(wanted.help()), kind: ErrorKind::ToolNotFound }
    }

    pub(crate) fn lld(clang: &Clang) -> Self {
        let long =
            format!("{} finds no ld.lld, which links AMD code objects", clang.path.display());
        Self::lacks(
            long,
            "no ld.lld was found".to_owned(),
            Installable::Lld(clang.packaged_version()),
        )
    }

    #[inline]
    pub(crate) fn linker_wrapper(clang: &Clang) -> Self {
        let long = format!(
            "{} ({}) cannot link device code for .device_link()",
            clang.path.display(),
            clang.version
        );
        let short = format!("{} cannot link device code", clang.path.display());
        Self::lacks(long, short, Installable::LinkingClang)
    }

    pub(crate) fn header(clang: &Clang, source: &Path, why: &str) -> Self {
        let long = format!(
            "{} needs a header that only newer clangs have: {} has {why}",
            source.display(),
            clang.path.display()
        );
        let short = format!("{} has {why}", clang.path.display());
        Self::lacks(long, short, Installable::NewClang)
    }

    pub(crate) fn refusal(tool: &Path, text: &str) -> Self {
        let long = format!("{} rejects this target\n{}", tool.display(), text.trim_end());
        let short = format!("{} rejects this target", tool.display());
        Self { short, long, help: None, kind: ErrorKind::ToolFailed }
    }

    /// Describes why clang rejects a command: because of a flag or the target.
    ///
    /// If clang is too old for the target, the reason states its version and the required one, and
    /// the help installs a newer clang. If the target is not in the tables, the reason names the
    /// closest known target.
    pub(crate) fn clang_refusal(clang: &Clang, target: &Target, text: &str) -> Self {
        let (refusal, path) = (Self::refusal(&clang.path, text), clang.path.display());
        let is_of_flag = text.contains("unknown argument") || text.contains("unsupported option");
        let (why, help) = match (target.arch().first_clang(), similar(target.as_str())) {
            _ if is_of_flag => {
                let help =
                    "correct the flag in build.rs: .flag(...), .flag_for(...) or Source::flag(...)";
                (format!("{path} rejects a flag, not the target"), Some(help.to_owned()))
            }
            (None, Some(known)) => {
                (format!("{path} rejects this target; did you mean {known}?"), None)
            }
            (Some(first), _) if clang.is_older_than(first) => (
                format!(
                    "this target needs clang {first} or newer, but {path} is {}",
                    clang.version
                ),
                Some(Installable::Clang(first).help()),
            ),
            _ => return refusal,
        };
        Self { long: format!("{why}\n{}", text.trim_end()), help, ..refusal }
    }

    pub(crate) fn ptxas_refusal(tool: &Path, arch: NvidiaArch, text: &str) -> Self {
        let help = Ptxas::has_dropped(arch.number())
            .then(|| Installable::Ptxas { old: true, or_ptx: true }.help());
        Self { help, ..Self::refusal(tool, text) }
    }

    /// Returns the reason alone, for messages that list the searched places and the help
    /// separately.
    pub(crate) fn reason(&self) -> String {
        match self.kind {
            ErrorKind::ToolNotFound => self.short.clone(),
            _ => self.to_string(),
        }
    }

    pub(crate) fn only_prebuilt() -> Self {
        let short = "OFFLOAD_PREBUILT=only".to_owned();
        Self {
            long: format!("{short} forbids compiling the image"),
            short,
            help: None,
            kind: ErrorKind::Prebuilt,
        }
    }
}

pub(crate) enum NotMade {
    /// The compilers of this machine cannot make the image. A prebuilt image may be used instead.
    MissingTool(MissingTool),
    /// The build ends with this error.
    Fatal(Error),
}

impl From<MissingTool> for NotMade {
    fn from(missing: MissingTool) -> Self {
        NotMade::MissingTool(missing)
    }
}

impl From<Error> for NotMade {
    fn from(error: Error) -> Self {
        NotMade::Fatal(error)
    }
}

impl From<NotMade> for Error {
    fn from(not_made: NotMade) -> Self {
        match not_made {
            NotMade::MissingTool(missing) => Error::new(missing.kind, missing.to_string()),
            NotMade::Fatal(error) => error,
        }
    }
}

/// Prints the full reason and the help.
impl fmt::Display for MissingTool {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.long)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "\nto compile it, {help}"))
    }
}

/// Returns one error for all targets without an image. Its message contains each reason only once.
pub(crate) fn missing(
    failures: &[(&Target, MissingTool, String)],
    set: Option<&Prebuilt>,
) -> Error {
    let mut groups: Vec<(Vec<&str>, &MissingTool, &str)> = Vec::new();
    for (target, missing, no_prebuilt) in failures {
        let target = target.as_str();
        match groups.iter_mut().find(|(_, other, no)| other.is_same(missing) && no == no_prebuilt) {
            // The image for this target may also be missing from an earlier module.
            Some((targets, _, _)) if targets.contains(&target) => {}
            Some((targets, _, _)) => targets.push(target),
            None => groups.push((vec![target], missing, no_prebuilt)),
        }
    }
    let mut message = String::new();
    for (targets, missing, no_prebuilt) in groups {
        message += &format!("no image for {}: {}\n", targets.join(", "), missing.long);
        // If a compiler rejects a target, the target's name may be misspelt, so without a prebuilt
        // set, the reason for the missing prebuilt image would not help.
        if set.is_some() || missing.kind != ErrorKind::ToolFailed {
            message += &format!("  and no prebuilt image: {no_prebuilt}\n");
        }
        if let Some(help) = &missing.help {
            message += &format!("  to compile it, {}\n", help.replace('\n', "\n  "));
        }
    }
    if let Some(set) = set {
        let compilers = set.compilers().join(", ");
        message += &if compilers.is_empty() {
            "regenerate the prebuilt set with OFFLOAD_PREBUILT=update cargo build --release\n"
                .to_owned()
        } else {
            format!(
                "the prebuilt set was made with {compilers}; regenerate it with \
                 OFFLOAD_PREBUILT=update cargo build --release\n"
            )
        };
    }
    Error::new(failures[0].1.kind, message.trim_end())
}

/// Returns the error for a prebuilt set that does not match the package that Cargo is packaging.
/// `reasons` lists each reason with its targets.
pub(crate) fn stale_package(
    reasons: &[(String, Vec<&str>)],
    has_images: bool,
    package: &str,
) -> Error {
    let command = if has_images {
        "OFFLOAD_PREBUILT=update cargo build --release"
    } else {
        "OFFLOAD_PREBUILT=signatures cargo build"
    };
    let reasons =
        reasons.iter().map(|(reason, targets)| format!("{}: {reason}", targets.join(", ")));
    let message = format!(
        "the prebuilt set does not match this package:\n  {}\nOn a machine with the compilers, \
         regenerate the set with\n  {command} -p {package}\nand package again. (A file that exists \
         but is not in the package is excluded by .gitignore, or by `exclude` or `include` in \
         Cargo.toml.)",
        reasons.collect::<Vec<_>>().join("\n  ")
    );
    Error::new(ErrorKind::Prebuilt, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_a_set_was_made_with() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        let advice = |tools: &str| {
            fs::write(
                folder.join("add.manifest"),
                format!("offload-prebuilt 1\n{tools}optimization 3\n"),
            )
            .unwrap();
            let set = Prebuilt::load(folder, "add").unwrap();
            let target = Target::parse("sm_80").unwrap();
            let failures = [(&target, MissingTool::only_prebuilt(), "it is gone".to_owned())];
            missing(&failures, set.as_ref()).to_string().lines().last().unwrap().to_owned()
        };
        let command = "with OFFLOAD_PREBUILT=update cargo build --release";
        let made_with =
            |what: &str| format!("the prebuilt set was made with {what}; regenerate it {command}");
        assert_eq!(
            advice("compiler clang version 22\nptxas release 13.0\n"),
            made_with("clang version 22")
        );
        assert_eq!(advice("nvcc release 13.0, V13.0.1\n"), made_with("nvcc release 13.0, V13.0.1"));
        assert_eq!(
            advice("compiler clang 22\nnvcc release 13.0\n"),
            made_with("clang 22, nvcc release 13.0")
        );
        assert_eq!(
            advice("ptxas release 13.0\n"),
            format!("regenerate the prebuilt set {command}")
        );
    }
}
