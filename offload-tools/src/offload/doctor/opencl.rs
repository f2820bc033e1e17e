//! Finds OpenCL's loader, and the drivers that the loader starts: each is in a file `NAME.icd`,
//! whose only line names the driver's library.
//!
//! Neither is started, so the devices of a driver are unknown here: `offload_gpu::run::devices`
//! lists them. Source: Khronos' extension `cl_khr_icd`, and the manuals of both loaders, Khronos'
//! and ocl-icd, for the variables.

use super::runtime::{Loader, Runtime};
use offload_build::doctor::install_opencl;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of each driver in the report.
const DRIVER: &str = "OpenCL driver";

/// The folder of the drivers' files, unless a variable names another.
const FOLDER: &str = "/etc/OpenCL/vendors";

/// The variables that name another folder, or one file.
const VARIABLES: [&str; 2] = ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"];

/// Returns the loader, and after it each driver. If one of both is missing, it has the instructions
/// to install it.
pub(super) fn all(loader: &Loader) -> Vec<Runtime> {
    let files: &[&str] = if cfg!(windows) { &["OpenCL.dll"] } else { &["libOpenCL.so.1"] };
    let mut found = loader.find(
        "OpenCL loader",
        "starts the drivers of Intel's GPUs, which compile SPIR-V: clCreateProgramWithIL",
        files,
    );
    if found.path.is_none() {
        found.install = Some(install_opencl());
    }
    let mut all = vec![found];
    // Windows has the drivers in its registry.
    if !cfg!(windows) {
        all.extend(drivers(loader));
    }
    all
}

/// Returns each driver that the loader starts, or one that is missing.
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
            "*.icd in {}; {} can name a different place",
            place.display(),
            VARIABLES.join(", ")
        ),
        install: Some(install_opencl()),
    }]
}

/// Returns the files of drivers in a folder, in alphabetical order, or the one file that the path
/// names.
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

/// Returns the driver that a file names; `None` if it names none.
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
