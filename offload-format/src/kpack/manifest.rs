//! Manifests: files that list `.kpack` files.

use crate::msgpack::Cursor;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

const WHAT: &str = "kpack manifest";

/// A `.kpm` file, which lists one `.kpack` file in the same folder for each target. It is a
/// MessagePack map without a magic, with the keys `component_name`, `prefix` and `kpack_files`.
/// `kpack_files` maps each target ID to a map with `file`, `size` and `kernel_count`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KpackManifest<'data> {
    /// The name of the component, such as `blas_lib`.
    pub component: &'data str,
    /// The files, in the order of the manifest.
    pub files: Vec<ManifestFile<'data>>,
}

/// One `.kpack` file of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestFile<'data> {
    /// The target ID of the file's code objects.
    pub target: &'data str,
    /// The file's name, in the manifest's folder.
    pub file: &'data str,
    /// The file's size in bytes, from the manifest.
    pub size: u64,
    /// The number of code objects in the file, from the manifest.
    pub kernels: u64,
}

impl<'data> KpackManifest<'data> {
    /// Reads a manifest.
    ///
    /// Returns an error if the manifest is malformed or lacks `kpack_files`, or if a file's name
    /// contains a folder (the files must be in the manifest's folder).
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(data, WHAT);
        let (mut component, mut files) = ("", None);
        for _ in 0..cursor.map(WHAT)? {
            match cursor.str("key of the kpack manifest")? {
                "component_name" => {
                    component = cursor.str("component_name of the kpack manifest")?
                }
                "kpack_files" => files = Some(Self::files(&mut cursor)?),
                _ => cursor.skip()?,
            }
        }
        let files = files.ok_or(Error::new(
            ErrorKind::Malformed,
            "kpack manifest (without kpack_files)",
            0,
        ))?;
        Ok(Self { component, files })
    }

    fn files(cursor: &mut Cursor<'data>) -> Result<Vec<ManifestFile<'data>>> {
        let mut files = Vec::new();
        for _ in 0..cursor.map("kpack_files of the kpack manifest")? {
            let target = cursor.str("target in the kpack manifest")?;
            let mut found = ManifestFile { target, file: "", size: 0, kernels: 0 };
            for _ in 0..cursor.map("file in the kpack manifest")? {
                match cursor.str("key of a file in the kpack manifest")? {
                    "file" => found.file = cursor.str("name of a file in the kpack manifest")?,
                    "size" => found.size = cursor.uint("size of a file in the kpack manifest")?,
                    "kernel_count" => {
                        found.kernels =
                            cursor.uint("kernel_count of a file in the kpack manifest")?
                    }
                    _ => cursor.skip()?,
                }
            }
            if matches!(found.file, "" | "." | "..") || found.file.contains(['/', '\\', '\0']) {
                return Err(cursor.wrong("name of a file in the kpack manifest (with a folder)"));
            }
            files.push(found);
        }
        Ok(files)
    }
}
