//! Errors that the compiler shows at the user's literal. Each message contains the attempted
//! action, the cause and advice.

use crate::suggest;
use std::io;
use std::path::Path;

/// The message if the package has no build script.
pub(crate) const NO_OUT_DIR: &str = "this package has no build script, so it has no packs. Add a \
                                     build.rs that calls offload_build::Build::new().file(\"kernels/saxpy.cu\").archs([\"gfx90a\", \
                                     \"sm_80\", \"cpu\"]).compile(\"saxpy\")";

/// Advice for files of a pack that are missing or wrong.
pub(crate) const CURE: &str =
    "To run the build script again, change build.rs, or run cargo clean -p for this package";

/// Returns the error for a file of the pack that cannot be read.
pub(crate) fn unread(path: &Path, error: &io::Error) -> String {
    format!("could not read {}: {error}. {CURE}", path.display())
}

/// Returns the error for a name that no pack has. Lists the existing packs.
pub(crate) fn no_pack(name: &str, folder: &Path, others: &[String]) -> String {
    let path = folder.display();
    if !folder.is_dir() {
        return format!(
            "there is no pack \"{name}\", because {path} is missing: call compile(\"{name}\") in \
             build.rs. If build.rs does that, OUT_DIR was emptied after build.rs ran. {CURE}"
        );
    }
    let meant = suggest::closest(name, others).map_or_else(
        || "call".to_owned(),
        |other| format!("did you mean \"{other}\"? Otherwise call"),
    );
    let made = if others.is_empty() {
        "no packs".to_owned()
    } else {
        format!("\"{}\"", others.join("\", \""))
    };
    format!(
        "there is no pack \"{name}\" in {path}: {meant} compile(\"{name}\") in build.rs, which made {made}"
    )
}

/// Returns the error for a file name that is given in place of a pack's name, with advice if the
/// file can be embedded.
pub(crate) fn file_name(name: &str) -> String {
    const FILES: [&str; 10] =
        ["hipfb", "fatbin", "hsaco", "co", "cubin", "ptx", "spv", "bundle", "offload", "ob"];
    let extension =
        Path::new(name).extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let stem =
        name.rsplit(['/', '\\']).next().and_then(|file| file.split('.').next()).unwrap_or(name);
    let advice = if FILES.contains(&&*extension) {
        format!(
            ". To embed a file, write include_offload!(path = \"{name}\"), which needs the feature \
             `files`"
        )
    } else {
        String::new()
    };
    format!(
        "'{name}' is a file name, but the macro expects the name of a pack that build.rs passes to \
         compile(...), such as \"{stem}\"{advice}"
    )
}
