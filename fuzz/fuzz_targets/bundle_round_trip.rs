//! Writes a bundle, reads it back, and compares the result with the input.
#![no_main]

use offload_format::bundle::{Bundle, BundleBuilder};
use offload_fuzz::taken;

libfuzzer_sys::fuzz_target!(|input: (u16, Vec<(u8, Vec<u8>)>)| {
    let (align, entries) = input;
    let mut builder = BundleBuilder::new();
    builder.align(align.into());
    let expected = taken(&entries, |id, size| builder.entry(id, size).is_ok());
    let payloads: Vec<&[u8]> = expected.iter().map(|(_, code_object)| *code_object).collect();
    let bytes = builder.layout().to_vec(&payloads);
    let bundle = Bundle::parse(&bytes).unwrap();
    let found: Vec<(String, &[u8])> =
        bundle.entries().map(|entry| (entry.id_str.to_owned(), entry.code_object)).collect();
    assert_eq!(found, expected);
    assert!(bundle.entries().all(|entry| entry.offset % u64::from(align.max(1)) == 0));
    assert_eq!(bundle.size(), bytes.len() as u64);
});
