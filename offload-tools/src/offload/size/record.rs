//! Sizes in JSON.

use super::account::Account;
use super::part::Share;
use crate::offload::Result;
use crate::offload::ls::print_json;
use crate::offload::out::Out;
use serde::Serialize;
use std::path::Path;

/// The JSON record of a file. The file's size is the sum of the bytes of its images, its containers
/// and the rest.
#[derive(Serialize)]
struct FileRecord {
    file: String,
    size: u64,
    images: Vec<ImageRecord>,
    containers: Vec<ContainerRecord>,
    /// The bytes in no container.
    rest_bytes: u64,
    /// The sections in the rest, if the file is an object.
    sections: Vec<ShareRecord>,
}

/// The JSON record of an image.
#[derive(Serialize)]
struct ImageRecord {
    /// If the input is an archive, the name of the file in it that contains the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    container_index: usize,
    target: String,
    module: Option<String>,
    /// The size in the file.
    bytes: u64,
    /// The size after decompression.
    size: u64,
    /// The image's kernels; null if it does not list them, or they were not requested.
    kernels: Option<Vec<ShareRecord>>,
    /// The image's sections, without the code of kernels; only sections that were read.
    sections: Vec<ShareRecord>,
}

/// The JSON record of a kernel, or of all sections of one name.
#[derive(Serialize)]
struct ShareRecord {
    name: String,
    /// The size in the file.
    bytes: u64,
    /// The decompressed size.
    size: u64,
}

/// The JSON record of a container.
#[derive(Serialize)]
struct ContainerRecord {
    /// If the input is an archive, the name of the file in it that contains the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    container: &'static str,
    section: Option<String>,
    member: Option<String>,
    /// Offset in the file.
    offset: u64,
    /// The size in the file.
    size: u64,
    /// The container's bytes outside its images.
    bytes: u64,
}

/// Prints the account of a file as JSON.
pub(super) fn print(out: &mut Out, path: &Path, account: &Account) -> Result<()> {
    let shares = |all: &[Share]| {
        let record = |it: &Share| ShareRecord {
            name: account.names[it.name].clone(),
            bytes: it.bytes,
            size: it.size,
        };
        all.iter().map(record).collect()
    };
    let record = FileRecord {
        file: path.to_string_lossy().into_owned(),
        size: account.size,
        images: account
            .parts
            .iter()
            .map(|part| ImageRecord {
                file: part.file.clone(),
                container_index: part.container,
                target: part.target.clone(),
                module: part.module.clone(),
                bytes: part.bytes,
                size: part.size,
                kernels: part.kernels.as_deref().map(shares),
                sections: shares(&part.sections),
            })
            .collect(),
        containers: account
            .containers
            .iter()
            .map(|it| ContainerRecord {
                file: it.file.clone(),
                container: it.kind,
                section: it.section.clone(),
                member: it.member.clone(),
                offset: it.offset,
                size: it.size,
                bytes: it.bytes,
            })
            .collect(),
        rest_bytes: account.rest,
        sections: shares(&account.host),
    };
    print_json(out, &record)
}
