//! Environment variables that compilers read directly.
//!
//! | variables | documented by | effect |
//! |---|---|---|
//! | `CPATH`, `C_INCLUDE_PATH`, `CPLUS_INCLUDE_PATH`, `OBJC_INCLUDE_PATH`, `OBJCPLUS_INCLUDE_PATH` | GCC, clang | inputs |
//! | `COMPILER_PATH`, `LIBRARY_PATH`, `GCC_EXEC_PREFIX`, `SOURCE_DATE_EPOCH` | GCC; clang reads them, too | inputs |
//! | `SDKROOT`, `MACOSX_DEPLOYMENT_TARGET` | clang | inputs |
//! | `CCC_OVERRIDE_OPTIONS`, `QA_OVERRIDE_GCC3_OPTIONS` | clang's sources | inputs |
//! | `NVCC_PREPEND_FLAGS`, `NVCC_APPEND_FLAGS` | nvcc | inputs, without the GPUs that they name ([`NvccFlags`]) |
//! | `INCLUDE`, `LIB`, `LIBPATH`, `CL`, `_CL_` | Visual Studio's compiler | inputs |
//! | `DEPENDENCIES_OUTPUT`, `SUNPRO_DEPENDENCIES` | GCC, clang: a second dependency file | withheld |
//!
//! When an input changes, Cargo reruns the build script, which recompiles the images that used the
//! earlier value. Probes run without nvcc's variables. Sources: the GCC 12 manual, "Environment
//! Variables Affecting GCC"; the clang 22 man page; the nvcc 13.5 documentation.

use crate::toolchain::cargo::Cargo;

/// The variables that list header folders. They are inputs of every compilation, by any compiler.
pub const HEADER_FOLDERS: [&str; 6] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "INCLUDE",
];

/// The other variables that are inputs of every compilation.
pub const OTHER_INPUTS: [&str; 12] = [
    "COMPILER_PATH",
    "LIBRARY_PATH",
    "GCC_EXEC_PREFIX",
    "SOURCE_DATE_EPOCH",
    "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET",
    "CCC_OVERRIDE_OPTIONS",
    "QA_OVERRIDE_GCC3_OPTIONS",
    "LIB",
    "LIBPATH",
    "CL",
    "_CL_",
];

/// The variables with nvcc's flags, which are inputs only if nvcc compiles.
pub(super) const NVCC_FLAGS: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// The variables that are removed from the environment of every step.
pub(super) const WITHHELD: [&str; 2] = ["DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"];

/// Options of nvcc and clang whose value names GPUs. The value follows `=` in the same word or, for
/// nvcc, is the next word.
const GPU_OPTIONS: [&str; 8] = [
    "-arch",
    "--gpu-architecture",
    "-code",
    "--gpu-code",
    "-gencode",
    "--generate-code",
    "--offload-arch",
    "--cuda-gpu-arch",
];

/// Returns the first option in these flags that names GPUs, with its value.
#[inline]
pub fn gpu_option(flags: &[&str]) -> Option<String> {
    let mut words = Vec::new();
    for flag in flags {
        words.extend(flag.split_whitespace());
    }
    split(words).0.into_iter().next()
}

/// Splits flags into the options that name GPUs, each with its value, and all other words.
fn split(words: Vec<&str>) -> (Vec<String>, Vec<&str>) {
    let (mut gpu_options, mut others) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let option = word.split('=').next().unwrap_or_default();
        if !GPU_OPTIONS.contains(&option) {
            others.push(word);
            continue;
        }
        let value = if option == word { words.next() } else { None };
        gpu_options.push(value.map_or_else(|| word.to_owned(), |it| format!("{word} {it}")));
    }
    (gpu_options, others)
}

/// A variable of `NVCC_FLAGS` that is set.
///
/// nvcc adds the flags in this variable to every command. If the flags name a GPU, nvcc rejects a
/// command for a cubin, because it would have to compile two images. Other commands would compile
/// an image for a GPU that the build does not list. The build therefore removes options that name
/// GPUs from the variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvccFlags {
    pub name: &'static str,
    /// The value that the user set.
    pub value: String,
    /// The options that name GPUs.
    pub gpu_options: String,
    /// All other flags, which are passed to nvcc.
    pub others: String,
}

impl NvccFlags {
    /// Returns advice to set `OFFLOAD_ARCH` to the targets that the options name.
    pub fn advice(&self) -> String {
        let targets = self.targets();
        match &targets[..] {
            [] => "list them in OFFLOAD_ARCH".to_owned(),
            targets => format!("set OFFLOAD_ARCH=\"{}\"", targets.join(";")),
        }
    }

    /// Returns the variables that are set.
    pub fn set(cargo: &Cargo) -> Vec<Self> {
        let mut set = Vec::new();
        for name in NVCC_FLAGS {
            set.extend(cargo.user_var(name).map(|value| Self::of(name, value)));
        }
        set
    }

    /// Splits a value as nvcc does, at spaces and without regard to quotes.
    fn of(name: &'static str, value: String) -> Self {
        let words = value.split(' ').filter(|word| !word.is_empty()).collect();
        let (gpu_options, others) = split(words);
        Self { name, gpu_options: gpu_options.join(" "), others: others.join(" "), value }
    }

    /// Returns the targets that the options name, in the form of `OFFLOAD_ARCH`. nvcc does not
    /// allow a dot in names, as in `sm_9.0`.
    fn targets(&self) -> Vec<String> {
        // If an option contains a `code` list, only this list determines the images, so there is
        // none for the virtual architecture.
        let mut lists = Vec::new();
        for option in self.gpu_options.split(" -") {
            if let Some((_, code)) =
                option.rsplit_once("code=").or_else(|| option.split_once("code "))
            {
                lists.push(code);
            }
        }
        if lists.is_empty() {
            lists.push(&self.gpu_options);
        }
        let mut targets = Vec::new();
        for list in lists {
            for word in list.split([' ', ',', '=', '[', ']', '"', '\\']) {
                let number = word.strip_prefix("sm_").or_else(|| word.strip_prefix("compute_"));
                let is_target =
                    number.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
                let stands_for_several = ["native", "all", "all-major"].contains(&word);
                let word = word.replace('.', "");
                if (is_target || stands_for_several) && !targets.contains(&word) {
                    targets.push(word);
                }
            }
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_in_nvccs_variables() {
        for (value, gpu_options, others, targets) in [
            ("-arch=sm_80", "-arch=sm_80", "", "sm_80"),
            ("-O1 -arch sm_80  -lineinfo", "-arch sm_80", "-O1 -lineinfo", "sm_80"),
            (
                "-gencode arch=compute_80,code=sm_80 -DA",
                "-gencode arch=compute_80,code=sm_80",
                "-DA",
                "sm_80",
            ),
            (
                "--generate-code=arch=compute_90,code=[sm_90,compute_90]",
                "--generate-code=arch=compute_90,code=[sm_90,compute_90]",
                "",
                "sm_90 compute_90",
            ),
            (
                "--gpu-architecture=compute_9.0 --gpu-code=compute_9.0,sm_9.0a,sm_",
                "--gpu-architecture=compute_9.0 --gpu-code=compute_9.0,sm_9.0a,sm_",
                "",
                "compute_90 sm_90a",
            ),
            ("--gpu-architecture=all-major", "--gpu-architecture=all-major", "", "all-major"),
            (
                "-arch=compute_75 -code=sm_80,sm_90",
                "-arch=compute_75 -code=sm_80,sm_90",
                "",
                "sm_80 sm_90",
            ),
            (
                "-gencode=arch=compute_80,code=sm_80 -gencode arch=compute_90,code=compute_90",
                "-gencode=arch=compute_80,code=sm_80 -gencode arch=compute_90,code=compute_90",
                "",
                "sm_80 compute_90",
            ),
            ("-arch-other=sm_80 -DCODE=sm_80", "", "-arch-other=sm_80 -DCODE=sm_80", ""),
        ] {
            let flags = NvccFlags::of("NVCC_APPEND_FLAGS", value.to_owned());
            let found =
                (flags.gpu_options.as_str(), flags.others.as_str(), flags.targets().join(" "));
            assert_eq!(found, (gpu_options, others, targets.to_owned()), "{value}");
        }
    }
}
