//! Source languages, and the table of recipes for each language and kind of target.

use crate::request::Compiler;
use offload_format::target::Vendor;
use std::path::Path;

/// The language of a source. The file extension determines the language, unless
/// [`Source::language`](crate::Source::language) sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// `.cu`: the CUDA dialect. The compiler includes this crate's header before the source.
    Cuda,
    /// `.hip`: the CUDA dialect and HIP's names. The compiler includes this crate's header before
    /// the source, or uses ROCm's headers for AMD's GPUs in the cases listed at
    /// [`Compiler::ClangRocm`].
    Hip,
    /// `.cl`: OpenCL C, with clang's header of types and builtins. This crate's header defines
    /// `get_global_id`, `barrier` and similar functions. No library is linked: math functions are
    /// declared, but a source of the module must define them.
    OpenCl,
    /// `.c`: C, with clang's `<gpuintrin.h>` and freestanding headers.
    C,
    /// `.ll`, `.bc`: LLVM's intermediate representation, as text or bitcode, for the GPUs of its
    /// target triple.
    LlvmIr,
    /// `.s`: assembly for AMD GPUs, for the target in its `.amdgcn_target`.
    Assembly,
    /// `.ptx`: PTX for the target named in the text. ptxas also compiles the PTX to machine code
    /// for that GPU and for later ones.
    Ptx,
    /// `.toml`: the `Cargo.toml` of a Rust kernel crate, which
    /// [`Build::rust_crate`](crate::Build::rust_crate) adds. A nightly toolchain compiles the crate
    /// for GPUs, and the program's toolchain for the CPU.
    Rust,
    /// Supplied images: AMD code objects (`.hsaco`, `.co`), cubins (`.cubin`), SPIR-V that was
    /// compiled with this crate's header (`.spv`), offload bundles (`.hipfb`, `.bundle`) and
    /// offload binaries (`.offload`). The `containers` feature adds NVIDIA's fatbins (`.fatbin`),
    /// consecutive bundles, and archives of any of these (`.a`). The `compression` feature adds
    /// compressed containers. The build reads the format and the targets from the file's bytes.
    Image,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// clang compiles the source to LLVM bitcode, in its vendor's dialect and with these headers.
    Offload(Headers),
    /// nvcc compiles the sources with its own headers: a single source to the image, and several to
    /// relocatable cubins.
    Nvcc,
    /// clang compiles the source to LLVM bitcode for a single target, with this `-x` language and
    /// these options.
    Direct(&'static str, &'static [&'static str]),
    /// clang assembles the source to an object for a single target.
    Assemble,
    /// The host's C++ compiler compiles the source, after the kernel header, to an object.
    Host,
    /// The PTX source is itself the image, or ptxas compiles it to the image. PTX cannot be linked
    /// with other sources.
    Ptx,
    /// The source is a crate's manifest, and Cargo compiles the crate for a single target. The
    /// crate has its own dependencies, and cannot be linked with other sources.
    Cargo,
    /// The file is or contains a supplied image, which cannot be linked with other sources.
    Supplied,
}

/// The headers for a source in an offloading language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headers {
    /// This crate's header, included before the source.
    Ours,
    /// The headers of a CUDA toolkit.
    Cuda,
    /// The headers of ROCm.
    Rocm,
}

impl Recipe {
    /// Whether this recipe's output can be linked with that of other sources.
    pub(crate) fn is_linked(self) -> bool {
        !matches!(self, Recipe::Ptx | Recipe::Cargo | Recipe::Supplied)
    }
}

/// One row of the table: a language, and its recipe for each kind of target.
struct Row {
    language: Language,
    /// The language's name in messages.
    name: &'static str,
    extensions: &'static [&'static str],
    /// Whether the language has `#include` and macros.
    is_preprocessed: bool,
    /// The recipe for each vendor, in the order of [`Vendor::ALL`]: AMD, NVIDIA, Intel and the CPU.
    recipes: Recipes,
}

type Recipes = [Option<Recipe>; Vendor::ALL.len()];

/// The recipes for the CUDA dialect and HIP.
const DIALECT: Recipes = [
    Some(Recipe::Offload(Headers::Ours)),
    Some(Recipe::Offload(Headers::Ours)),
    Some(Recipe::Offload(Headers::Ours)),
    Some(Recipe::Host),
];

/// Returns the recipes for a language that clang compiles for AMD's and NVIDIA's GPUs.
const fn direct(mode: &'static str, options: &'static [&'static str]) -> Recipes {
    [Some(Recipe::Direct(mode, options)), Some(Recipe::Direct(mode, options)), None, None]
}

// `-nostdlibinc` excludes the headers of the host's C library, which are not meant for devices.
const C_OPTIONS: &[&str] = &["-nogpulib", "-ffreestanding", "-nostdlibinc"];
// `-Wno-override-module` suppresses a warning about the triple, which the plan has already compared
// with the target. A file without a triple gets the target's.
const IR_OPTIONS: &[&str] = &["-nogpulib", "-Wno-override-module"];

const TABLE: &[Row] = &[
    Row {
        language: Language::Cuda,
        name: "CUDA dialect",
        extensions: &["cu"],
        is_preprocessed: true,
        recipes: DIALECT,
    },
    Row {
        language: Language::Hip,
        name: "HIP",
        extensions: &["hip"],
        is_preprocessed: true,
        recipes: DIALECT,
    },
    Row {
        language: Language::OpenCl,
        name: "OpenCL C",
        extensions: &["cl"],
        is_preprocessed: true,
        // On Intel's GPUs, code needs the kernel header to read a launch's block size.
        recipes: direct("cl", &["-nogpulib"]),
    },
    Row {
        language: Language::C,
        name: "C",
        extensions: &["c"],
        is_preprocessed: true,
        recipes: direct("c", C_OPTIONS),
    },
    Row {
        language: Language::LlvmIr,
        name: "LLVM IR",
        extensions: &["ll", "bc"],
        is_preprocessed: false,
        recipes: direct("ir", IR_OPTIONS),
    },
    Row {
        language: Language::Assembly,
        name: "AMD assembly",
        extensions: &["s"],
        is_preprocessed: false,
        recipes: [Some(Recipe::Assemble), None, None, None],
    },
    Row {
        language: Language::Ptx,
        name: "PTX",
        extensions: &["ptx"],
        is_preprocessed: false,
        recipes: [None, Some(Recipe::Ptx), None, None],
    },
    Row {
        language: Language::Rust,
        name: "a kernel crate in Rust",
        extensions: &["toml"],
        is_preprocessed: false,
        recipes: [Some(Recipe::Cargo), Some(Recipe::Cargo), None, Some(Recipe::Cargo)],
    },
    Row {
        language: Language::Image,
        name: "a file of images",
        extensions: &["hsaco", "co", "cubin", "spv", "fatbin", "hipfb", "bundle", "offload", "a"],
        is_preprocessed: false,
        recipes: [Some(Recipe::Supplied), Some(Recipe::Supplied), Some(Recipe::Supplied), None],
    },
];

impl Language {
    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.language == self).expect("every language has a row")
    }

    pub(crate) fn has_templates(self) -> bool {
        matches!(self, Language::Cuda | Language::Hip)
    }

    /// Returns the language for the file's extension. The error lists the known extensions.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let extension =
            path.extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let row = TABLE.iter().find(|row| row.extensions.contains(&extension.as_str()));
        row.map(|row| row.language).ok_or_else(|| {
            let mut known = Vec::new();
            for row in TABLE {
                known.extend(row.extensions.iter().map(|it| format!(".{it}")));
            }
            format!(
                "unknown extension of the source {}: the known extensions are {}. For other \
                 extensions, name the language: Source::new({:?}).language(Language::Cuda)",
                path.display(),
                known.join(" "),
                path.display().to_string()
            )
        })
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn is_preprocessed(self) -> bool {
        self.row().is_preprocessed
    }

    /// Returns the recipe for this kind of target with the compilers that build.rs requests, or
    /// `None` if there is no recipe.
    pub(crate) fn recipe(self, vendor: Vendor, compilers: &[Compiler]) -> Option<Recipe> {
        match (self.row().recipes[vendor as usize]?, Compiler::of(compilers, vendor)) {
            (Recipe::Offload(_), Compiler::Nvcc) => Some(Recipe::Nvcc),
            (Recipe::Offload(_), Compiler::ClangCuda) => Some(Recipe::Offload(Headers::Cuda)),
            (Recipe::Offload(_), Compiler::ClangRocm) => Some(Recipe::Offload(Headers::Rocm)),
            (recipe, _) => Some(recipe),
        }
    }

    /// Returns the reason why there is no recipe for a kind of target, and what to do instead, or
    /// an empty string if this crate merely lacks a recipe.
    pub(crate) fn obstacle(self, vendor: Vendor) -> &'static str {
        match (self, vendor) {
            (Language::Rust, Vendor::Intel) => {
                " (rustc 1.96 has no target for SPIR-V: for spirv64, use a module with the same \
                 kernels in C++)"
            }
            _ => "",
        }
    }

    /// Returns a selector for each kind of target that this language can be compiled for.
    pub(crate) fn vendors(self) -> Vec<String> {
        let mut vendors = Vec::new();
        for vendor in Vendor::ALL {
            if self.recipe(vendor, &[]).is_some() {
                vendors.push(vendor.to_string());
            }
        }
        vendors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_is_of_one_language_and_each_language_has_one_row() {
        let mut extensions: Vec<_> = TABLE.iter().flat_map(|row| row.extensions).collect();
        let count = extensions.len();
        extensions.sort_unstable();
        extensions.dedup();
        assert_eq!(extensions.len(), count);
        for row in TABLE {
            assert_eq!(row.language.row().name, row.name);
            assert!(!row.language.vendors().is_empty());
        }
    }
}
