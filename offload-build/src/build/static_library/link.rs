//! Determines what to link for a static library: the library itself, the vendor's runtime and the
//! C++ library.

use super::StaticLibrary;
use crate::build::run::Run;
use crate::request::Request;
use crate::toolchain::compilers::{Nvcc, library_folders};
use crate::toolchain::{Cargo, Error, files};
use offload_format::target::Vendor;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cudart {
    Static,
    Shared,
    None,
}

impl Cudart {
    /// Returns how to link CUDA's runtime, according to build.rs. The default is `static`.
    ///
    /// Returns an error for any other word.
    #[inline]
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
        match request.cudart.as_deref() {
            None | Some("static") => Ok(Self::Static),
            Some("shared") => Ok(Self::Shared),
            Some("none") => Ok(Self::None),
            Some(other) => Err(Error::config(format!(
                "build.rs calls .cudart(\"{other}\"), but the value must be \"static\", \"shared\" \
                 or \"none\""
            ))),
        }
    }
}

/// The arguments of `rustc-link-search` and `rustc-link-lib`, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkLines {
    pub(super) folders: Vec<PathBuf>,
    pub(super) libraries: Vec<String>,
}

impl LinkLines {
    /// Returns the libraries to link, starting with the build's own library.
    #[inline]
    pub(super) fn of(run: &Run<'_>, vendor: Vendor, cudart: Cudart) -> Self {
        let cargo = run.cargo;
        let mut lines = Self {
            folders: vec![run.output.root.clone()],
            libraries: vec![format!("static={}", run.name)],
        };
        // Each vendor's runtime has its own libraries.
        match vendor {
            Vendor::Nvidia => {
                let toolkit =
                    run.tools.used_nvcc().expect("the objects were compiled with its headers");
                lines.add_cuda(toolkit, run.request.device_link, cudart, cargo);
            }
            _ => {
                let rocm = run.tools.rocm().expect("the objects were compiled with its headers");
                lines.folders.extend(rocm.library_folder(&cargo.target_arch));
                lines.libraries.push("dylib=amdhip64".to_owned());
            }
        }
        let cxx_library = match cargo.user_var("CXXSTDLIB") {
            Some(named) => Some(named),
            None if cargo.target.ends_with("-msvc") => None,
            None if cargo.target_os == "android" => Some("c++_shared".to_owned()),
            None if cargo.target_os == "linux" || cargo.target_os == "windows" => {
                Some("stdc++".to_owned())
            }
            None => Some("c++".to_owned()),
        };
        lines.libraries.extend(cxx_library.map(|library| format!("dylib={library}")));
        lines
    }

    #[inline]
    fn add_cuda(&mut self, toolkit: &Nvcc, is_device_linked: bool, cudart: Cudart, cargo: &Cargo) {
        let folders = toolkit.library_folders(cargo);
        if folders.is_empty() && cudart != Cudart::None {
            cargo.warn_once(&format!(
                "programs need libcudart_static.a for {}, but it is in neither the CUDA toolkit {} \
                 (folders {}), nor CUDA_HOME, nor a -L folder in NVCC_APPEND_FLAGS. Install CUDA's \
                 runtime for this target in the toolkit, or name its folder: \
                 NVCC_APPEND_FLAGS=-L<folder>",
                cargo.target,
                toolkit.root.display(),
                library_folders(cargo).join(", ")
            ));
        }
        let has = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
        if is_device_linked && (has("libcudadevrt.a") || has("cudadevrt.lib")) {
            // Kernels that launch kernels need this library.
            self.libraries.push("static=cudadevrt".to_owned());
        }
        match cudart {
            Cudart::Static => {
                // The first call to this library loads the driver, and returns an error if there is
                // none.
                self.libraries.push("static=cudart_static".to_owned());
                if cargo.target_os == "linux" {
                    self.libraries
                        .extend(["dylib=dl", "dylib=rt", "dylib=pthread"].map(str::to_owned));
                }
            }
            Cudart::Shared => self.libraries.push(shared_runtime(&folders)),
            Cudart::None => {}
        }
        // Add the folders even without a runtime, because a program that links the runtime itself
        // needs them.
        self.folders.extend(folders);
    }

    #[inline]
    pub(super) fn tell(&self, cargo: &Cargo) {
        self.folders.iter().for_each(|folder| cargo.link_search(folder));
        self.libraries.iter().for_each(|library| cargo.link_library(library));
    }
}

/// Returns `dylib=cudart`. If the folders contain only a file such as `libcudart.so.13`, as in
/// Python packages, returns an argument that names this file.
#[inline]
fn shared_runtime(folders: &[PathBuf]) -> String {
    let has = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    if !has("libcudart.so") && !has("cudart.lib") {
        let mut names = Vec::new();
        for folder in folders {
            names.extend(files::entries(folder));
        }
        names.retain(|name| name.starts_with("libcudart.so."));
        if let Some(name) = names.iter().min() {
            return format!("dylib:+verbatim={name}");
        }
    }
    "dylib=cudart".to_owned()
}

impl StaticLibrary {
    /// Returns the folders in which the linker searches for [`StaticLibrary::link_libraries`].
    ///
    /// The library's own folder comes first. The list is empty if nothing was compiled.
    ///
    /// The build prints these folders for Cargo, unless
    /// [`Build::cargo_metadata`](crate::Build::cargo_metadata) is false. A build script can also
    /// print them itself:
    ///
    /// ```no_run
    /// # let library: offload_build::StaticLibrary = unimplemented!();
    /// for folder in library.link_folders() {
    ///     println!("cargo::rustc-link-search=native={}", folder.display());
    /// }
    /// for name in library.link_libraries() {
    ///     println!("cargo::rustc-link-lib={name}");
    /// }
    /// ```
    pub fn link_folders(&self) -> &[PathBuf] {
        &self.link.folders
    }

    /// Returns the libraries to link, in order, as arguments of `rustc-link-lib`.
    ///
    /// For example: `static=launch`, `static=cudart_static`, `dylib=stdc++`. The list is empty if
    /// nothing was compiled.
    pub fn link_libraries(&self) -> &[String] {
        &self.link.libraries
    }
}
