//! Finds ROCm: HIP's headers, AMD's device libraries, and possibly ROCm's own clang.

use super::search::{Found, SearchLog};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::exec::{numbered, program};
use crate::toolchain::files;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Rocm {
    /// The folder that contains `include/hip`.
    pub root: PathBuf,
    /// The folder of the device libraries, which are LLVM bitcode.
    pub device_libraries: PathBuf,
    /// The clang that `hipcc` starts: ROCm's own clang (`amdclang++`), or else the system's clang
    /// of the version that compiled the device libraries.
    pub clang: Option<PathBuf>,
    /// The newest code object version that the device libraries support. `None` if their file names
    /// do not show the version.
    pub newest_code_object: Option<u32>,
}

/// The variables that name the user's ROCm installation.
const ROOTS: [&str; 3] = ["ROCM_PATH", "HIP_PATH", "ROCM_HOME"];

/// The file whose presence shows that HIP is installed.
const HEADER: &str = "include/hip/hip_runtime.h";

impl Rocm {
    /// Describes where [`Rocm::find`] searches.
    pub const PLACES: &'static str = "the folder above HIPCC; ROCM_PATH, HIP_PATH, ROCM_HOME; above hipcc in PATH; \
        /opt/rocm, /opt/rocm-*; /usr";

    /// Returns the first installation found.
    ///
    /// The search order is: the folder above `HIPCC`; `ROCM_PATH`, `HIP_PATH` or `ROCM_HOME`; the
    /// folder above a `hipcc` in `PATH`; `/opt/rocm`; `/opt/rocm-*`, newest first; `/usr` (Debian's
    /// packages).
    pub fn find(cargo: &Cargo) -> Found<Self> {
        let mut log = SearchLog::default();
        let mut roots: Vec<(String, PathBuf)> = Vec::new();
        match cargo.user_var("HIPCC") {
            Some(value) => roots
                .extend(above_bin(Path::new(&value)).map(|root| (format!("HIPCC={value}"), root))),
            None => log.not_set("HIPCC"),
        }
        for name in ROOTS {
            match cargo.user_var(name) {
                Some(value) => roots.push((format!("{name}={value}"), value.into())),
                None => log.not_set(name),
            }
        }
        let hipcc = cargo.search_path().into_iter().find_map(|folder| program(&folder, "hipcc"));
        roots.extend(
            hipcc.as_deref().and_then(above_bin).map(|root| ("the hipcc in PATH".to_owned(), root)),
        );
        let mut usual = vec![PathBuf::from("/opt/rocm")];
        usual.extend(numbered(Path::new("/opt"), "rocm-").into_iter().rev());
        usual.push("/usr".into());
        roots.extend(usual.into_iter().map(|root| (root.display().to_string(), root)));
        for (named, root) in roots {
            if !root.join(HEADER).is_file() {
                log.note(format!("no {HEADER} in {named}"));
                continue;
            }
            match device_libraries(&root, cargo) {
                Some(folder) => return Ok(Self::new(root, folder, cargo)),
                None => log.note(format!("no amdgcn/bitcode (device libraries) in {named}")),
            }
        }
        cargo.watch_search_path();
        Err(log)
    }

    pub fn is_named(cargo: &Cargo) -> bool {
        let mut is_named = cargo.user_var("HIPCC").is_some();
        for name in ROOTS {
            is_named |= cargo.user_var(name).is_some();
        }
        is_named
    }

    fn new(root: PathBuf, device_libraries: PathBuf, cargo: &Cargo) -> Self {
        let own =
            || ["llvm/bin", "lib/llvm/bin"].iter().find_map(|it| program(&root.join(it), "clang"));
        let named = cargo.user_var("HIP_CLANG_PATH");
        let clang = named.and_then(|folder| program(Path::new(&folder), "clang"));
        let clang = clang.or_else(own).or_else(|| of_libraries(&device_libraries, cargo));
        let newest_code_object = [6, 5, 4].into_iter().find(|version| {
            device_libraries.join(format!("oclc_abi_version_{version}00.bc")).is_file()
        });
        Self { root, device_libraries, clang, newest_code_object }
    }

    /// Returns the processors with device libraries of their own. ROCm 7 has one library for all
    /// processors, so its list is empty.
    #[inline]
    pub fn processors(&self) -> Vec<String> {
        let mut processors = Vec::new();
        for name in files::entries(&self.device_libraries) {
            let number = name.strip_prefix("oclc_isa_version_");
            if let Some(number) = number.and_then(|number| number.strip_suffix(".bc")) {
                processors.push(format!("gfx{number}"));
            }
        }
        processors
    }

    /// Returns the folder of HIP's runtime library, for linking.
    #[inline]
    pub fn library_folder(&self, target_arch: &str) -> Option<PathBuf> {
        for folder in ["lib", "lib64", &format!("lib/{target_arch}-linux-gnu")] {
            let folder = self.root.join(folder);
            if folder.join("libamdhip64.so").is_file() || folder.join("amdhip64.lib").is_file() {
                return Some(folder);
            }
        }
        None
    }
}

/// Returns the system's clang of the version that compiled the device libraries.
fn of_libraries(device_libraries: &Path, cargo: &Cargo) -> Option<PathBuf> {
    let version = clang_version(&fs::read(device_libraries.join("ocml.bc")).ok()?)?;
    let mut found = None;
    for folder in cargo.search_path() {
        found = found.or_else(|| program(&folder, &format!("clang-{version}")));
    }
    found.or_else(|| program(Path::new(&format!("/usr/lib/llvm-{version}/bin")), "clang"))
}

/// Returns the major version of the clang that wrote this bitcode, which contains clang's name and
/// version.
fn clang_version(bitcode: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(bitcode);
    let (_, version) = text.split_once("clang version ")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn above_bin(program: &Path) -> Option<PathBuf> {
    Some(program.canonicalize().ok()?.parent()?.parent()?.to_owned())
}

fn device_libraries(root: &Path, cargo: &Cargo) -> Option<PathBuf> {
    let named = cargo.user_var("HIP_DEVICE_LIB_PATH").map(PathBuf::from);
    let mut folders: Vec<PathBuf> =
        named.into_iter().chain([root.join("amdgcn/bitcode")]).collect();
    // ROCm 6 and newer keep the device libraries in clang's folder. Debian keeps them with its
    // other libraries.
    for clang in ["lib/llvm/lib/clang", "llvm/lib/clang"] {
        for version in numbered(&root.join(clang), "").into_iter().rev() {
            folders.push(version.join("lib/amdgcn/bitcode"));
        }
    }
    folders.extend(
        ["x86_64", "aarch64"].map(|arch| root.join(format!("lib/{arch}-linux-gnu/amdgcn/bitcode"))),
    );
    folders.into_iter().find(|folder| folder.join("ocml.bc").is_file())
}

#[cfg(test)]
mod tests {
    use super::clang_version;

    #[test]
    fn the_clang_of_bitcode() {
        assert_eq!(clang_version(b"BC\xc0\xde Debian clang version 15.0.5wchar_size"), Some(15));
        assert_eq!(clang_version(b"AMD clang version 9"), Some(9));
        assert_eq!(clang_version(b"clang version x"), None);
        assert_eq!(clang_version(b"rustc version 1"), None);
    }
}
