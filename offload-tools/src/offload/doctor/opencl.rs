//! Finds OpenCL's loader and the drivers that it loads. Each driver installs a file `NAME.icd`,
//! whose only line names the driver's library.
//!
//! This module loads neither the loader nor the drivers, so it cannot list their devices;
//! `offload_gpu::run::devices` does. The search follows Khronos' extension `cl_khr_icd`. The
//! variables are those documented in the manuals of Khronos' loader and of ocl-icd.

use super::runtime::{Loader, Runtime};
use offload_build::doctor::install_opencl;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of every driver in the report.
const DRIVER: &str = "OpenCL driver";

/// The folder with the `.icd` files, unless an environment variable names a different one.
const FOLDER: &str = "/etc/OpenCL/vendors";

/// The environment variables that name a different folder, or a single file.
const VARIABLES: [&str; 2] = ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"];

/// Returns the loader and each driver. If the loader is missing or there is no driver, the result
/// contains instructions to install the missing part.
pub(super) fn all(loader: &Loader) -> Vec<Runtime> {
    let files: &[&str] = if cfg!(windows) { &["OpenCL.dll"] } else { &["libOpenCL.so.1"] };
    let mut found = loader.find(
        "OpenCL loader",
        "loads the drivers of Intel's GPUs, which compile SPIR-V (clCreateProgramWithIL)",
        files,
    );
    if found.path.is_none() {
        found.install = Some(install_opencl());
    }
    let mut all = vec![found];
    // On Windows, the registry lists the drivers.
    if !cfg!(windows) {
        all.extend(drivers(loader));
    }
    all
}

/// Returns the drivers that the loader would load. If there are none, returns a record of a missing
/// driver.
fn drivers(loader: &Loader) -> Vec<Runtime> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty());
    let place = VARIABLES.into_iter().find_map(named).map_or_else(|| FOLDER.into(), PathBuf::from);
    let drivers: Vec<Runtime> =
        files(&place).iter().filter_map(|file| driver(loader, file)).collect();
    if !drivers.is_empty() {
        return drivers;
    }
    vec![Runtime {
        name: DRIVER,
        what: "compiles SPIR-V for a GPU, and runs it".into(),
        path: None,
        looked: format!(
            "*.icd in {}; {} can name a different folder or file",
            place.display(),
            VARIABLES.join(", ")
        ),
        install: Some(install_opencl()),
    }]
}

/// Returns the `.icd` files in a folder, in alphabetical order, or the path itself if it is a file.
fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let is_icd = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "icd");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_icd).collect();
    files.sort();
    files
}

/// Returns the driver that a file names, if any.
fn driver(loader: &Loader, file: &Path) -> Option<Runtime> {
    let text = fs::read_to_string(file).ok()?;
    let library = text.lines().next().map(str::trim).filter(|line| !line.is_empty())?;
    let what = format!("named in {}", file.display());
    if !library.contains('/') {
        return Some(loader.find(DRIVER, what, &[library]));
    }
    let looked = library.to_owned();
    let path = Path::new(library).is_file().then(|| looked.clone());
    Some(Runtime { name: DRIVER, what: what.into(), path, looked, install: None })
}
