//! Macros that implement the methods for compiler options on builds, modules and sources.

/// Implements the option methods that builds, modules and sources share. `$example` is an
/// expression of type `$ty` for the documentation.
macro_rules! setters_of_sources {
    ($ty:ident, $($options:ident).+, $example:literal) => {
        impl $ty {
            /// Adds a file that images depend on but no compiler reports.
            ///
            /// When the file changes, the build recompiles the images. A missing file is an error.
            /// Sources, headers and files named in flags do not need this call.
            ///
            #[doc = concat!("```\n", $example, ".flag(\"-fplugin=tables.so\").input(\"kernels/table.bin\");\n```")]
            pub fn input(&mut self, file: impl AsRef<std::path::Path>) -> &mut Self {
                self.$($options).+.inputs.push(file.as_ref().to_owned());
                self
            }

            /// Defines a macro. Without a value, it expands to 1.
            ///
            #[doc = concat!("```\n", $example, ".define(\"TILE\", \"32\").define(\"FAST\", None);\n```")]
            pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
                self.$($options).+.define(name, value.into());
                self
            }

            /// Passes an option to each of the sources' compilers, after all other options.
            ///
            /// For PTX, the compiler is ptxas. Module options follow the build's, and source
            /// options follow the module's.
            ///
            #[doc = concat!("```\n", $example, ".flag(\"-std=c++20\");\n```")]
            pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
                self.$($options).+.flag(None, flag.into());
                self
            }

            /// Adds an option as `flag` does, but only for the targets of a
            /// [selector](crate::Build::supports).
            ///
            #[doc = concat!("```\n", $example, ".flag_for(\"amd\", \"-munsafe-fp-atomics\");\n```")]
            pub fn flag_for(&mut self, selector: &str, flag: impl Into<String>) -> &mut Self {
                self.$($options).+.flag(Some(selector), flag.into());
                self
            }

            /// Sets whether images contain full debug information.
            ///
            /// With `true`, the build passes `-G` to nvcc and `-g` to other compilers, and does not
            /// optimize code for NVIDIA's GPUs unless `opt_level` was called. Without this call,
            /// clang follows Cargo's profile, and vendors' compilers emit line tables.
            ///
            #[doc = concat!("```\n", $example, ".debug(true); // for cuda-gdb\n```")]
            pub fn debug(&mut self, debug: bool) -> &mut Self {
                self.$($options).+.debug = Some(debug);
                self
            }

            /// Sets the optimization level, from 0 to 3. Higher numbers mean 3.
            ///
            /// Without this call, clang follows Cargo's profile, and vendors' compilers use level
            /// 3.
            ///
            #[doc = concat!("```\n", $example, ".opt_level(2); // also in a dev build\n```")]
            pub fn opt_level(&mut self, level: u32) -> &mut Self {
                self.$($options).+.opt_level = Some(level.min(3));
                self
            }
        }
    };
}

/// Implements the option methods that only builds and modules have.
macro_rules! setters_of_modules {
    ($ty:ident, $($options:ident).+, $example:literal) => {
        impl $ty {
            /// Adds a folder to the compiler's search path for `#include` files. A module's folders
            /// are searched after the build's.
            ///
            /// A missing folder is an error if a compiler has to read a source.
            ///
            #[doc = concat!("```\n", $example, ".include(\"cutlass/include\");\n```")]
            pub fn include(&mut self, folder: impl AsRef<std::path::Path>) -> &mut Self {
                self.$($options).+.includes.push(folder.as_ref().to_owned());
                self
            }

            /// Sets the compiler for CUDA and HIP sources, on the GPUs that this compiler supports.
            ///
            /// The default is [`Compiler::Clang`]. Call this method once for each vendor.
            ///
            #[doc = concat!("```\n", $example, "\n    .compiler(offload_build::Compiler::Nvcc); // GPUs of AMD stay with clang\n```")]
            pub fn compiler(&mut self, compiler: Compiler) -> &mut Self {
                self.$($options).+.compilers.push(compiler);
                self
            }

            /// Sets whether clang also reads the sources that nvcc compiles, to find their kernels'
            /// signatures.
            ///
            /// With `true`, `offload_gpu::include_kernels!` generates functions for these kernels,
            /// and the program need not declare them. Clang uses the macros and header folders from
            /// build.rs, and the headers that nvcc itself includes. If clang rejects a source, the
            /// build warns. The program then gets only constants for that source's kernels, as
            /// without this call.
            ///
            #[doc = concat!("```\n", $example, "\n    .compiler(offload_build::Compiler::Nvcc)\n    .clang_signatures(true);\n```")]
            pub fn clang_signatures(&mut self, clang_signatures: bool) -> &mut Self {
                self.$($options).+.clang_signatures = Some(clang_signatures);
                self
            }

            /// Sets whether the build lowers the version of nvcc's PTX to the oldest that supports
            /// all of its instructions.
            ///
            /// The default is `true`, because nvcc emits its newest PTX version, which older
            /// drivers reject. The version is never lowered below 7.8 (CUDA 11.8). If the PTX
            /// contains anything that this crate does not recognize, the version stays as it is.
            ///
            #[doc = concat!("```\n", $example, "\n    .compiler(offload_build::Compiler::Nvcc)\n    .lower_ptx(false);\n```")]
            pub fn lower_ptx(&mut self, lower_ptx: bool) -> &mut Self {
                self.$($options).+.lower_ptx = Some(lower_ptx);
                self
            }
        }
    };
}

pub(crate) use {setters_of_modules, setters_of_sources};
