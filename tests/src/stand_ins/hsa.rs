//! Runs AMD's HIP runtime on a fake GPU. The stand-in `hsa_runtime.c` replaces the HSA runtime, the
//! layer below the HIP runtime.

use crate::scratch;
use crate::stand_ins::{compile, empty_library};
use crate::tools::{shared_library, stdout, succeed};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The file name of version 5 of the HIP runtime.
pub const RUNTIME: &str = "libamdhip64.so.5";

/// Creates a folder with two libraries: the stand-in under the name of AMD's HSA runtime, and the
/// HIP runtime. The folder also contains the HIP runtime under the name that programs try first,
/// because they must not load another version from this machine. Requires `Tool::Hip5` and
/// `Tool::Gcc`.
pub fn libraries(name: &str) -> PathBuf {
    let folder = scratch::folder(name);
    let runtime = shared_library(RUNTIME).expect("Tool::Hip5 was checked");
    for name in [RUNTIME, "libamdhip64.so"] {
        scratch::symlink(&runtime, folder.join(name)).expect("the target folder can be written");
    }
    let object = folder.join("hsa_runtime.o");
    compile("hsa_runtime.c", &["-fPIC", "-c"], &object);

    let written = symbols(Command::new("nm").arg("--defined-only").arg(&object));
    let imported = symbols(Command::new("nm").args(["-D", "--undefined-only"]).arg(&runtime));
    let mut rest = String::new();
    for name in imported.iter().filter(|name| !written.contains(name)) {
        let _ = writeln!(rest, "unsigned long {name}(void) {{ return 0; }}");
    }
    scratch::write(folder.join("rest.c"), rest);
    scratch::write(folder.join("versions"), "ROCR_1 { global: hsa_*; local: *; };\n");
    let mut link = Command::new("gcc");
    link.current_dir(&folder).args(["-shared", "-fPIC", "-Wl,-soname,libhsa-runtime64.so.1"]);
    link.args(["-Wl,--version-script=versions", "hsa_runtime.o", "rest.c"]);
    succeed(link.args(["-o", "libhsa-runtime64.so.1"]));
    folder
}

/// Creates a folder like [`libraries`], but `libamdhip64.so` also contains the additions of HIP 6.
/// The crate cubecl-hip-sys searches for a runtime of HIP 6 or later, and for `libhiprtc.so` in the
/// same folder.
pub fn libraries_of_hip_6(name: &str) -> PathBuf {
    let folder = libraries(name);
    let (hip, runtime) = (folder.join("libamdhip64.so"), folder.join(RUNTIME));
    fs::remove_file(&hip).expect("it is a link to the runtime");
    let runtime = runtime.to_str().expect("the target folder's name is UTF-8");
    compile("hip6_names.c", &["-shared", "-fPIC", "-Wl,--no-as-needed", runtime], &hip);
    empty_library(&folder, "libhiprtc.so");
    folder
}

/// Returns the names that begin with `hsa_` in a listing by `nm`, without the version that may
/// follow a name.
fn symbols(nm: &mut Command) -> Vec<String> {
    let names = stdout(&succeed(nm));
    let names = names.lines().filter_map(|line| line.split_whitespace().last()?.split('@').next());
    names.filter(|name| name.starts_with("hsa_")).map(str::to_owned).collect()
}
