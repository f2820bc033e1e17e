//! Names the files and folders in `OUT_DIR`, and writes layouts.

pub(crate) use crate::toolchain::files::{link_or_copy, record, remove, write_if_changed};

use crate::toolchain::files::{entries, make_folder, starts_with, write_whole};
use crate::toolchain::{Cargo, ContentHash, Error};
use offload_format::layout::{Layout, Piece};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};
use std::time::{Duration, SystemTime};

/// The folders and file names of one pack in `OUT_DIR`, as listed in
/// `docs/guide/src/reference/out-dir.md`.
pub(crate) struct OutDir {
    pub(crate) root: PathBuf,
    pub(crate) images: PathBuf,
    pub(crate) work: PathBuf,
    pack: String,
}

/// The folder of the kernel header.
pub(crate) const INCLUDE: &str = "include";

macro_rules! headers {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../include/", $name)))),*] };
}

/// `offload/kernel.h` and this crate's other headers, each with its `#include` name.
const HEADERS: &[(&str, &str)] = &headers![
    "offload/kernel.h",
    "offload/atomics.h",
    "offload/bits.h",
    "offload/builtin_atomics.h",
    "offload/check_ends.h",
    "offload/check_hooks.h",
    "offload/check_races.h",
    "offload/check_reports.h",
    "offload/check_shared.h",
    "offload/checked.h",
    "offload/checks.cpp",
    "offload/cpu.h",
    "offload/cuda_std.h",
    "offload/directed.h",
    "offload/ends.h",
    "offload/entry.h",
    "offload/fibers.h",
    "offload/fibers_windows.h",
    "offload/float16.h",
    "offload/gpu.h",
    "offload/hip.h",
    "offload/intrinsics.h",
    "offload/math.h",
    "offload/math_angle.h",
    "offload/math_base.h",
    "offload/math_exp.h",
    "offload/names.h",
    "offload/nvptx_atomics.h",
    "offload/opencl.h",
    "offload/order.h",
    "offload/regions.h",
    "offload/rust.cpp",
    "offload/schedule.h",
    "offload/spirv.h",
    "offload/spirv_atomics.h",
    "offload/stacks.h",
    "offload/system_atomics.h",
    "offload/vectors.h",
    "offload/warp.h",
    // This crate's replacements for headers of other projects, under the original names.
    "cmath",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cuda.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_fp8.h",
    "cuda_pipeline.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "driver_types.h",
    "math_constants.h",
    "sm_30_intrinsics.h",
    "sm_32_intrinsics.h",
    "vector_functions.h",
    "vector_types.h",
    "cuda/std/array",
    "cuda/std/cstddef",
    "cuda/std/cstdint",
    "cuda/std/limits",
    "cuda/std/tuple",
    "cuda/std/type_traits",
    "cuda/std/utility",
    "hip/hip_bf16.h",
    "hip/hip_bfloat16.h",
    "hip/hip_cooperative_groups.h",
    "hip/hip_fp16.h",
    "hip/hip_math_constants.h",
    "hip/hip_runtime.h",
    "hip/hip_runtime_api.h",
    "hip/hip_vector_types.h",
    "hip/hip_version.h"
];

pub(crate) fn has_header(name: &str) -> bool {
    HEADERS.iter().any(|(header, _)| *header == name)
}

impl OutDir {
    /// Creates the folder for packs in `OUT_DIR`, but no folders or headers for compilers.
    pub(crate) fn open(cargo: &Cargo, pack: &str) -> Result<Self, Error> {
        let root = cargo.out_dir.join("offload");
        make_folder(&root)?;
        if lock(&root) {
            // If OUT_DIR is emptied, this file disappears, and Cargo reruns the script.
            cargo.watch(&root.join(LOCK));
        }
        let images = root.join(pack);
        let dir = Self { work: images.join("work"), images, root, pack: pack.to_owned() };
        dir.remove_earlier_indexes();
        Ok(dir)
    }

    /// Creates the folders for packs and compilers, and writes all of this crate's headers.
    pub(crate) fn create(cargo: &Cargo, pack: &str) -> Result<Self, Error> {
        let dir = Self::open(cargo, pack)?;
        make_folder(&dir.work)?;
        let mut last = PathBuf::new();
        for (name, text) in HEADERS {
            let header = dir.include().join(name);
            if let Some(folder) = header.parent()
                && folder != last
            {
                make_folder(folder)?;
                last = folder.to_owned();
            }
            write_if_changed(&header, text.as_bytes())?;
        }
        Ok(dir)
    }

    pub(crate) fn pack_name(&self) -> &str {
        &self.pack
    }

    /// Returns the `-I` folder for `#include <offload/kernel.h>`.
    pub(crate) fn include(&self) -> PathBuf {
        self.root.join(INCLUDE)
    }

    /// Writes an empty header with this name, and returns its folder.
    pub(crate) fn empty_header(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.include().join("empty");
        make_folder(&folder)?;
        write_if_changed(&folder.join(name), b"")?;
        Ok(folder)
    }

    /// Returns the `#include` name of the header at this path, if the header is one of this
    /// crate's.
    pub(crate) fn header_name(&self, path: &Path) -> Option<&'static str> {
        HEADERS.iter().map(|(name, _)| *name).find(|name| path == self.include().join(name))
    }

    /// Returns the path of the probe cache, which all packs share.
    pub(crate) fn probe_cache(&self) -> PathBuf {
        self.root.join("probes.cache")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join(format!("{}.index", self.pack))
    }

    /// Returns the path of the pack's Rust code.
    pub(crate) fn code(&self) -> PathBuf {
        self.root.join(format!("{}.rs", self.pack))
    }

    pub(crate) fn pack(&self) -> PathBuf {
        self.root.join(format!("{}.pack", self.pack))
    }

    /// Returns the path of the static library with this name. The file name is the one that linkers
    /// search for. On Windows, rustc falls back to it if there is no `<name>.lib`.
    pub(crate) fn library(&self, name: &str) -> PathBuf {
        self.root.join(format!("lib{name}.a"))
    }

    /// Removes the indexes from earlier runs when a run of the build script starts on its first
    /// pack. Otherwise, the macro would find packs that build.rs no longer builds.
    fn remove_earlier_indexes(&self) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            for name in entries(&self.root) {
                if name.ends_with(".index") {
                    // Ignore errors, which are unlikely because this process has just created the
                    // folder or written to it.
                    let _ = fs::remove_file(self.root.join(name));
                }
            }
        });
    }

    /// Removes the libraries from earlier builds of this pack, except `keep`. Library names consist
    /// of `lib`, `prefix`, a hash and `.a`.
    pub(crate) fn remove_stale_libraries(&self, prefix: &str, keep: &Path) {
        let prefix = format!("lib{prefix}");
        for name in entries(&self.root) {
            let hash = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".a"));
            let path = self.root.join(&name);
            if path != keep && hash.is_some_and(|hash| ContentHash::parse(hash).is_some()) {
                // Ignore errors, because a remaining file only uses disk space.
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// The name of the file that a running build script locks. No pack's folder can have a name with a
/// dot.
const LOCK: &str = "build.lock";

/// The lock file's timestamp since the Unix epoch, which is older than any build.
const BEFORE_EVERY_BUILD: Duration = Duration::from_secs(1 << 30);

/// Waits for other processes that work in the folder, and locks it until this process ends.
///
/// If a user kills only Cargo, the build script keeps running. Without the lock, it and the next
/// build's script could write to the folder at the same time.
///
/// Returns whether Cargo can watch the lock file. The file needs an old timestamp, because Cargo
/// reruns a script if a watched file is newer than the start of the last run.
fn lock(root: &Path) -> bool {
    static LOCKED: OnceLock<Option<(File, bool)>> = OnceLock::new();
    let locked = LOCKED.get_or_init(|| {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join(LOCK))
            .ok()?;
        // Ignore errors: some file systems do not support locks, which is no reason to fail the
        // build.
        let _ = file.lock();
        let is_old = file.set_modified(SystemTime::UNIX_EPOCH + BEFORE_EVERY_BUILD).is_ok();
        Some((file, is_old))
    });
    locked.as_ref().is_some_and(|(_, is_old)| *is_old)
}

/// Returns a file name such as `gfx90a_xnack-.hsaco`. Colons are replaced, because some systems
/// forbid them in file names.
pub(crate) fn image_file_name(stem: &str, extension: &str) -> String {
    format!("{}.{extension}", stem.replace(':', "_"))
}

/// Writes a layout, whose payload numbers are indices into `payloads`. If possible, the operating
/// system copies the payloads from file to file.
pub(crate) fn write_layout(
    path: &Path,
    layout: &Layout,
    payloads: &[PathBuf],
) -> Result<(), Error> {
    if has_layout(path, layout, payloads).unwrap_or(false) {
        return Ok(());
    }
    write_whole(path, |out| {
        for piece in layout.pieces() {
            match piece {
                Piece::Bytes(bytes) => out.write_all(bytes)?,
                Piece::Zeros(size) => {
                    io::copy(&mut io::Read::take(io::repeat(0), *size), out)?;
                }
                Piece::Payload { index, size } => {
                    let mut file = File::open(&payloads[*index])?;
                    let copied = io::copy(&mut file, out)?;
                    if copied != *size {
                        let message = format!(
                            "{} is {copied} bytes long, not {size}",
                            payloads[*index].display()
                        );
                        return Err(io::Error::other(message));
                    }
                }
            }
        }
        Ok(())
    })
}

/// Whether a file already contains exactly the layout's bytes.
fn has_layout(path: &Path, layout: &Layout, payloads: &[PathBuf]) -> io::Result<bool> {
    let mut file = BufReader::new(File::open(path)?);
    if file.get_ref().metadata()?.len() != layout.size() {
        return Ok(false);
    }
    for piece in layout.pieces() {
        let same = match piece {
            Piece::Bytes(bytes) => starts_with(&mut file, bytes.as_slice())?,
            Piece::Zeros(size) => starts_with(&mut file, io::repeat(0).take(*size))?,
            Piece::Payload { index, .. } => starts_with(&mut file, File::open(&payloads[*index])?)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}
