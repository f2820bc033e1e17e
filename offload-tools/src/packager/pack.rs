//! From files to offload binaries.

use super::arguments::{Arguments, offload_kind, split, stem_and_extension};
use super::write;
use crate::files::{Input, Source, os_message};
use offload_format::image::Bitcode;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Writes the images that `arguments`, one text for each `--image`, name.
pub(super) fn pack(arguments: &[OsString], output: &OsStr) -> Result<(), String> {
    let mut builder = OffloadBinaryBuilder::new();
    let mut inputs = Vec::new();
    for text in arguments {
        let arguments = Arguments::parse(text);
        // The words are LLVM's.
        let files = arguments.get("file").ok_or("'file' is a required image arguments")?;
        for file in split(files) {
            let input = Input::named(&file).map_err(|error| os_message(&error))?;
            add(&mut builder, &arguments, &file, &input)?;
            inputs.push(input);
        }
    }
    let payloads: Vec<Source<'_>> = inputs.iter().map(Source::File).collect();
    write(output, |output| output.layout(&builder.layout(Version::V1), &payloads))
}

fn add(builder: &mut OffloadBinaryBuilder, arguments: &Arguments, file: &OsStr, input: &Input) -> Result<(), String> {
    let offload_kind = arguments.get("kind").map_or(OffloadKind::NONE, offload_kind);
    let image = builder.image(image_kind(file, input.bytes()), offload_kind, input.size());
    for (key, value) in arguments.iter() {
        let key = key.to_str().ok_or_else(|| format!("the key '{}' of an image is not UTF-8", key.display()))?;
        match key {
            "file" | "kind" => image.argument(key),
            _ => image.string(key, value.as_encoded_bytes()),
        };
    }
    Ok(())
}

/// The kind by what the file is, or else by the extension of its name.
fn image_kind(file: &OsStr, bytes: &[u8]) -> ImageKind {
    if Bitcode::is_bitcode(bytes) {
        return ImageKind::BITCODE;
    }
    ImageKind::from_extension(&stem_and_extension(Path::new(file)).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_content_and_by_name() {
        for (name, bytes, kind) in [
            ("a.o", b"".as_slice(), ImageKind::OBJECT),
            ("a.b.cubin", b"", ImageKind::CUBIN),
            (".s", b"", ImageKind::PTX),
            ("dir.o/a", b"", ImageKind::NONE),
            ("a.O", b"", ImageKind::NONE),
            ("a.", b"", ImageKind::NONE),
            ("-", b"", ImageKind::NONE),
            ("a.o", b"BC\xc0\xde", ImageKind::BITCODE),
            ("a", b"\xde\xc0\x17\x0b", ImageKind::BITCODE),
        ] {
            assert_eq!(image_kind(OsStr::new(name), bytes), kind, "{name}");
        }
    }
}
