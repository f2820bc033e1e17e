//! Writes offload binaries from files.

use super::arguments::{Arguments, offload_kind, stem_and_extension};
use super::write;
use crate::files::{Input, PayloadSource, os_message};
use crate::llvm_args::{Parsed, split};
use crate::text::escaped_str;
use offload_format::compression::Method;
use offload_format::image::Bitcode;
use offload_format::offload_binary::{OffloadBinaryBuilder, OffloadKind, StatedKind, Version};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

/// The compression options: `--compress`, `--compression-format` and `--compression-level` of
/// LLVM's main branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compression {
    method: Method,
    level: Option<i32>,
}

impl Compression {
    /// Reads the options. Returns `None` if there is no `--compress`.
    ///
    /// Returns an error for an unknown format, or for a level that the format does not support.
    pub(super) fn of(parsed: &Parsed) -> Result<Option<Self>, String> {
        if parsed.flag("compress") != Some(true) {
            return Ok(None);
        }
        let method = match parsed.last("compression-format").map(OsStr::to_string_lossy).as_deref()
        {
            None | Some("zstd") => Method::Zstd,
            Some("zlib") => Method::Zlib,
            Some(other) => {
                return Err(format!(
                    "unknown compression format '{}'; expected 'zlib' or 'zstd'",
                    escaped_str(other)
                ));
            }
        };
        let range = match method {
            Method::Zlib => 0..=9,
            Method::Zstd => zstd::compression_level_range(),
        };
        match parsed.number("compression-level") {
            None => Ok(Some(Self { method, level: None })),
            Some(level) => match i32::try_from(level).ok().filter(|level| range.contains(level)) {
                Some(level) => Ok(Some(Self { method, level: Some(level) })),
                // LLVM's text.
                None => Err(format!(
                    "invalid {method} compression level {level}; expected a value in [{}, {}]",
                    range.start(),
                    range.end()
                )),
            },
        }
    }
}

/// Packs the images named by `arguments`, which holds the argument of each `--image`.
pub(super) fn pack(
    arguments: &[OsString],
    output: &OsStr,
    compression: Option<Compression>,
) -> Result<(), String> {
    let mut builder = OffloadBinaryBuilder::new();
    let mut inputs = Vec::new();
    for text in arguments {
        let arguments = Arguments::parse(text);
        // LLVM's text.
        let files = arguments.get("file").ok_or("'file' is a required image arguments")?;
        for file in split(files) {
            let input = Input::named(&file).map_err(|error| os_message(&error))?;
            add(&mut builder, &arguments, &file, &input)?;
            inputs.push(input);
        }
    }
    if let Some(Compression { method, level }) = compression {
        let images: Vec<&[u8]> = inputs.iter().map(Input::bytes).collect();
        let binary =
            builder.compressed(method, level, &images).map_err(|error| error.to_string())?;
        return write(output, |output| output.write_all(&binary));
    }
    let payloads: Vec<PayloadSource<'_>> = inputs.iter().map(PayloadSource::file).collect();
    write(output, |output| output.layout(&builder.layout(Version::V1), &payloads))
}

fn add(
    builder: &mut OffloadBinaryBuilder,
    arguments: &Arguments,
    file: &OsStr,
    input: &Input,
) -> Result<(), String> {
    let offload_kind = arguments.get("kind").map_or(OffloadKind::NONE, offload_kind);
    let image = builder.image(image_kind(file, input.bytes()), offload_kind, input.size());
    for (key, value) in arguments.iter() {
        let key = key
            .to_str()
            .ok_or_else(|| format!("the key '{}' of an image is not UTF-8", key.display()))?;
        match key {
            "file" | "kind" => image.argument(key),
            _ => image.string(key, value.as_encoded_bytes()),
        };
    }
    Ok(())
}

/// Returns the kind of an image: bitcode is detected from the bytes, other kinds from the file's
/// extension.
fn image_kind(file: &OsStr, bytes: &[u8]) -> StatedKind {
    if Bitcode::is_bitcode(bytes) {
        return StatedKind::BITCODE;
    }
    StatedKind::from_extension(&stem_and_extension(Path::new(file)).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_content_and_by_name() {
        for (name, bytes, kind) in [
            ("a.o", b"".as_slice(), StatedKind::OBJECT),
            ("a.b.cubin", b"", StatedKind::CUBIN),
            (".s", b"", StatedKind::PTX),
            ("dir.o/a", b"", StatedKind::NONE),
            ("a.O", b"", StatedKind::NONE),
            ("a.", b"", StatedKind::NONE),
            ("-", b"", StatedKind::NONE),
            ("a.o", b"BC\xc0\xde", StatedKind::BITCODE),
            ("a", b"\xde\xc0\x17\x0b", StatedKind::BITCODE),
        ] {
            assert_eq!(image_kind(OsStr::new(name), bytes), kind, "{name}");
        }
    }
}
