//! The HTML page of `cargo offload size --html`: a treemap in a self-contained file.
//!
//! One element contains the file's data as JSON, escaped so that the data cannot end the element.
//! The script inserts the data into the document as text. The page's Content-Security-Policy allows
//! only its own script and style to load or run.

use crate::offload::size::account::Account;
use crate::offload::size::part::Share;
use crate::offload::size::tree;
use crate::text::{escaped, escaped_str};
use serde::Serialize;
use serde_json::ser::Formatter;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::Path;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = concat!(include_str!("tree.js"), "\n", include_str!("map.js"));

/// The data for the page's script. Each share in a list consists of three numbers: the name's
/// index, the bytes in the file, and the bytes after decompression.
#[derive(Serialize)]
struct Data<'a> {
    file: String,
    size: u64,
    names: Vec<String>,
    images: Vec<ImageData<'a>>,
    /// The bytes of containers outside their images.
    containers: u64,
    /// The bytes outside all containers, whose shares by section are in `host`.
    rest: u64,
    host: Vec<u64>,
    is_compressed: bool,
    /// Labels of rows that occur for every file.
    labels: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize)]
struct ImageData<'a> {
    target: String,
    vendor: &'static str,
    module: Option<String>,
    /// The place, which distinguishes images with the same target and module.
    image: String,
    bytes: u64,
    size: u64,
    kernels: Option<Vec<u64>>,
    sections: Vec<u64>,
    /// The bytes outside all kernels and sections: name, bytes in the file, bytes after
    /// decompression.
    other: (&'a str, u64, u64),
}

pub(super) fn write(out: &mut impl Write, path: &Path, account: &Account) -> io::Result<()> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let file = escaped(name.as_encoded_bytes());
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut rest = PAGE;
    while let Some((before, (field, behind))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        out.write_all(before.as_bytes())?;
        match field {
            "title" => out.write_all(as_markup(&format!("{file}: sizes")).as_bytes())?,
            "style hash" => out.write_all(hash(STYLE).as_bytes())?,
            "script hash" => out.write_all(hash(SCRIPT).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(SCRIPT.as_bytes())?,
            "data" => {
                let data = data(file.clone(), account);
                data.serialize(&mut serde_json::Serializer::with_formatter(&mut out, InScript))?;
            }
            _ => unreachable!("the page has no other fields"),
        }
        rest = behind;
    }
    out.write_all(rest.as_bytes())?;
    out.flush()
}

fn data(file: String, account: &Account) -> Data<'_> {
    let (mut names, mut numbers) = (Vec::new(), HashMap::new());
    let mut shares = |all: &[Share]| {
        let share = |it: &Share| {
            let number = *numbers.entry(it.name.clone()).or_insert_with(|| {
                names.push(escaped_str(&it.name));
                names.len() as u64 - 1
            });
            [number, it.bytes, it.size]
        };
        all.iter().flat_map(share).collect()
    };
    let images = account.parts.iter().map(|part| {
        let (bytes, size) = part.other();
        let is_known = part.kernels.is_some() || !part.sections.is_empty();
        ImageData {
            target: escaped_str(&part.target),
            vendor: part.vendor,
            module: part.module.as_deref().map(escaped_str),
            image: part.place.clone(),
            bytes: part.bytes,
            size: part.size,
            kernels: part.kernels.as_deref().map(&mut shares),
            sections: shares(&part.sections),
            other: (if is_known { tree::OTHER } else { tree::whole(part.kind) }, bytes, size),
        }
    });
    let (images, host) = (images.collect(), shares(&account.host));
    Data {
        file,
        size: account.size,
        images,
        containers: account.overhead(),
        rest: account.rest,
        host,
        names,
        is_compressed: account.is_compressed,
        labels: BTreeMap::from([
            ("kernels", tree::KERNELS),
            ("not_kernels", tree::NOT_KERNELS),
            ("no_module", tree::NO_MODULE),
            ("containers", tree::CONTAINERS),
            ("rest", tree::REST),
            ("rest_other", tree::REST_OTHER),
        ]),
    }
}

/// Formats JSON for a script element, so that the output can neither end the element nor begin a
/// comment.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(at);
            let c = from.chars().next().unwrap_or_default();
            write!(writer, "{before}\\u{:04x}", u32::from(c))?;
            rest = &from[c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

/// Returns text, escaped for use between tags.
fn as_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a script's or style's hash for a Content-Security-Policy: `sha256-`, followed by the
/// hash in base64.
fn hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = "sha256-".to_owned();
    for chunk in Sha256::digest(text).chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_browsers_make_them() {
        // The output of `printf '' | openssl dgst -sha256 -binary | base64`.
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn nothing_ends_the_script() {
        let mut out = Vec::new();
        let text = "</script><!--\u{2028}&\"\\";
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, InScript)).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, r#""\u003c/script\u003e\u003c!--\u2028\u0026\"\\""#);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
