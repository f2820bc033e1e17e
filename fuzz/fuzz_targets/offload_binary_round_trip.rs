//! Writes offload binaries in each version, reads them back, and compares the results with the
//! input.
#![no_main]

use offload_format::compression::Method;
use offload_format::offload_binary::{
    OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use std::collections::BTreeMap;

/// An image: its kind, the offload kind, the flags, the strings, and the bytes.
type Image = (u16, u16, u32, Vec<(String, Vec<u8>)>, Vec<u8>);

libfuzzer_sys::fuzz_target!(|input: Vec<Image>| {
    let mut builder = OffloadBinaryBuilder::new();
    let mut expected = Vec::new();
    for (image_kind, offload_kind, flags, strings, bytes) in &input {
        let image = builder
            .image(StatedKind(*image_kind), OffloadKind(*offload_kind), bytes.len() as u64)
            .flags(*flags);
        // The builder joins the values of equal keys with a comma.
        let mut map: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (key, value) in strings {
            let key = key.replace('\0', "");
            let value: Vec<u8> = String::from_utf8_lossy(value).replace('\0', "").into_bytes();
            image.string(&key, &value);
            map.entry(key)
                .and_modify(|old| {
                    old.push(b',');
                    old.extend_from_slice(&value);
                })
                .or_insert(value);
        }
        expected.push((*image_kind, *offload_kind, *flags, map, bytes.as_slice()));
    }
    let images: Vec<&[u8]> = input.iter().map(|image| image.4.as_slice()).collect();
    for version in [Version::V1, Version::V2, Version::V3] {
        assert_eq!(read(&builder.layout(version).to_vec(&images)), expected, "{version:?}");
    }
    for method in [Method::Zlib, Method::Zstd] {
        let bytes = builder.compressed(method, None, &images).unwrap();
        if !bytes.is_empty() {
            let binary = OffloadBinary::parse(&bytes).unwrap();
            let plain = binary.compressed.unwrap().decompress(1 << 24).unwrap();
            assert_eq!(read(&plain), expected, "{method}");
        }
    }
});

fn read(bytes: &[u8]) -> Vec<(u16, u16, u32, BTreeMap<String, Vec<u8>>, &[u8])> {
    let mut found = Vec::new();
    for binary in OffloadBinary::in_a_row(bytes) {
        for image in binary.unwrap().1.images() {
            let strings =
                image.strings().map(|(key, value)| (key.to_owned(), value.to_vec())).collect();
            found.push((
                image.image_kind.0,
                image.offload_kind.0,
                image.flags,
                strings,
                image.data,
            ));
        }
    }
    found
}
