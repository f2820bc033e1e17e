//! Writes a text bundle, reads it back, and compares the result with the input.
#![no_main]

use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
use offload_fuzz::taken;

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<(u8, Vec<u8>)>)| {
    let (leader, entries) = input;
    let leader = CommentLeader::ALL[usize::from(leader) % CommentLeader::ALL.len()];
    let mut builder = TextBundleBuilder::new(leader);
    // The reader would end a payload at `____END__`, so leave out payloads that contain it.
    let whole =
        entries.iter().filter(|(_, payload)| !payload.windows(9).any(|word| word == b"____END__"));
    let expected = taken(whole, |id, size| builder.entry(id, size).is_ok());
    let payloads: Vec<&[u8]> = expected.iter().map(|(_, payload)| *payload).collect();
    let bytes = builder.layout().to_vec(&payloads);
    let bundle = TextBundle::parse(&bytes, leader).unwrap();
    let found: Vec<(String, &[u8])> =
        bundle.entries().map(|entry| (entry.id_str.to_owned(), entry.code_object)).collect();
    assert_eq!(found, expected);
});
