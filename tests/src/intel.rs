//! Intel's OpenCL runtime for CPUs, which set-up downloads. This runtime compiles and runs the same
//! SPIR-V as the runtime for Intel's GPUs.

use crate::published;
use crate::scratch;
use std::env;
use std::ffi::OsString;

/// The runtime's path in the folder of published files.
pub const RUNTIME: &str = "intel-opencl-rt/intel_opencl_rt-2026.2.0.data/data/lib/libintelocl.so";

/// One library in each folder that the runtime needs.
pub const LIBRARIES: [&str; 3] = [
    RUNTIME,
    "intel-cmplr-lib-rt/intel_cmplr_lib_rt-2026.2.0.data/data/lib/libimf.so",
    "tbb/tbb-2023.2.0.data/data/lib/libtbb.so.12",
];

/// Returns the variables that make programs find only this runtime. Requires `Tool::IntelOpenCl`.
pub fn variables() -> [(&'static str, OsString); 3] {
    let folder = scratch::target_dir().join("offload-tests/intel-opencl");
    let runtime = published::path(RUNTIME);
    scratch::write(folder.join("intel.icd"), format!("{}\n", runtime.display()));
    let folders = LIBRARIES.map(|library| {
        published::path(library).parent().expect("a library lies in a folder").to_owned()
    });
    let libraries = env::join_paths(folders).expect("no folder has a colon in its name");
    // On systems without /sys, the runtime's library hwloc would print a complaint.
    let hwloc = ("HWLOC_HIDE_ERRORS", "2".into());
    [("OCL_ICD_VENDORS", folder.into()), ("LD_LIBRARY_PATH", libraries), hwloc]
}
