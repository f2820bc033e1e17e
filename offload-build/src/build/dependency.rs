//! Embeds packs that a different package builds. Cargo metadata passes on the pack's path: the
//! build script of a package with a `links` key prints `key=value`, and the build scripts of
//! dependents read the value from `DEP_<LINKS>_<KEY>`.

use super::reserved_name::reserve;
use crate::output::{OutDir, link_or_copy, write_if_changed};
use crate::targets::Product;
use crate::toolchain::{Cargo, Error, ErrorKind};
use offload_pack::pack_index::Index;
use std::fs;
use std::path::{Path, PathBuf};

/// The prefix of the metadata keys for packs. Each value is the path of a pack's index.
const KEY: &str = "offload_pack_";

/// Imports a dependency's pack into this package, so that `include_offload!` finds it.
///
/// `links` is the value of `links` in the dependency's `Cargo.toml`, and `pack` is the name that
/// the dependency passes to [`Build::compile`](crate::Build::compile).
///
/// ```no_run
/// // build.rs of the package that embeds, in fn main():
/// offload_build::embed_from("kernels", "saxpy");
/// ```
///
/// ```toml
/// # Cargo.toml of the package with the kernels, one of the embedding package's [dependencies]
/// [package]
/// name = "my-kernels"
/// links = "kernels"
/// ```
///
/// Nothing is compiled. The pack's files are linked into `OUT_DIR`, or copied if the file system
/// cannot link files. Packages of one program that embed the same pack share its bytes. If the
/// dependency offers no such pack, ends the build script with the reason.
#[inline]
pub fn embed_from(links: &str, pack: &str) {
    Cargo::demand(&format!("make the pack \"{pack}\""), |cargo| {
        reserve(Product::Pack(pack), || take(links, pack, cargo))
    });
}

/// Offers a pack to dependents, if this package has a `links` key.
pub(crate) fn offer(pack: &str, output: &OutDir, cargo: &Cargo) {
    if cargo.has_links {
        cargo.metadata(&format!("{KEY}{pack}"), &output.index().display().to_string());
    }
}

#[inline]
fn take(links: &str, pack: &str, cargo: &Cargo) -> Result<(), Error> {
    let output = OutDir::open(cargo, pack)?;
    let Some(index_path) = cargo.of_dependency(links, &format!("{KEY}{pack}")) else {
        return Err(none(links, pack, cargo));
    };
    let index_path = PathBuf::from(index_path);
    cargo.watch(&index_path);
    let text =
        fs::read_to_string(&index_path).map_err(|error| Error::io("read", &index_path, error))?;
    let index = text.parse::<Index>().map_err(|error| {
        let message = format!(
            "{}: {error}\nThis package and the one with links = \"{links}\" must use the same \
             version of offload-build.",
            index_path.display()
        );
        Error::new(ErrorKind::Dependency, message)
    })?;
    let there = index_path.parent().unwrap_or(Path::new(""));
    let bring = |path: &Path| link_or_copy(&there.join(path.file_name().unwrap_or_default()), path);
    bring(&output.code())?;
    if let Index::Built(built) = &index {
        let library = output.library(&built.library);
        bring(&library)?;
        bring(&output.pack())?;
        output.remove_stale_libraries(&format!("offload_{pack}_"), &library);
        cargo.link_search(&output.root);
    }
    write_if_changed(&output.index(), text.as_bytes())?;
    offer(pack, &output, cargo);
    Ok(())
}

/// Returns the error for a pack that the dependency does not offer.
#[inline]
fn none(links: &str, pack: &str, cargo: &Cargo) -> Error {
    // Cargo uppercases the keys, but the path of the index contains the original name.
    let stem = |path: &String| {
        Path::new(path).file_stem().map(|stem| format!("\"{}\"", stem.to_string_lossy()))
    };
    let offered: Vec<String> =
        cargo.all_of_dependency(links, KEY).iter().filter_map(stem).collect();
    let message = if offered.is_empty() {
        format!(
            "no dependency with links = \"{links}\" has a pack.\nIn the package with the kernels, \
             set links = \"{links}\" under [package] in Cargo.toml, and call \
             offload_build::Build::new()....compile(\"{pack}\") in build.rs.\nIn this package, \
             list that package in [dependencies]: Cargo does not pass on packs from \
             [build-dependencies] or from indirect dependencies."
        )
    } else {
        format!(
            "the dependency with links = \"{links}\" has no pack \"{pack}\": its build.rs makes {}",
            offered.join(", ")
        )
    };
    Error::new(ErrorKind::Dependency, message)
}
