//! A text bundle that was written is read as what was put in.
#![no_main]

use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
use offload_fuzz::entry_id;

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<(u8, Vec<u8>)>)| {
    let (leader, entries) = input;
    let leader = CommentLeader::ALL[usize::from(leader) % CommentLeader::ALL.len()];
    let mut builder = TextBundleBuilder::new(leader);
    let mut expected: Vec<(String, &[u8])> = Vec::new();
    for (name, payload) in &entries {
        let id = entry_id(*name);
        // An END line in a payload ends it.
        let has_end = payload.windows(9).any(|word| word == b"____END__");
        if !has_end && builder.entry(&id, payload.len() as u64).is_ok() {
            expected.push((id, payload));
        }
    }
    let payloads: Vec<&[u8]> = expected.iter().map(|(_, payload)| *payload).collect();
    let bytes = builder.layout().to_vec(&payloads);
    let bundle = TextBundle::parse(&bytes, leader).unwrap();
    let found: Vec<(String, &[u8])> = bundle.entries().map(|entry| (entry.id_str().to_owned(), entry.payload())).collect();
    assert_eq!(found, expected);
});
