//! Writes an archive, reads it back, and compares the result with the input.
#![no_main]

use offload_format::archive::{Archive, ArchiveBuilder};
use offload_tests::data::archive_symbols;

/// One member: its name, its symbols if it is an object, and its bytes.
type Member = (Vec<u8>, Option<Vec<Vec<u8>>>, Vec<u8>);

libfuzzer_sys::fuzz_target!(|input: Vec<Member>| {
    let mut builder = ArchiveBuilder::new();
    let (mut expected, mut expected_symbols) = (Vec::new(), Vec::new());
    for (name, symbols, bytes) in &input {
        let size = bytes.len() as u64;
        let added = match symbols {
            Some(symbols) => builder.object(name, size, symbols.iter().map(Vec::as_slice)).is_ok(),
            None => builder.member(name, size).is_ok(),
        };
        if added {
            expected.push((name.as_slice(), bytes.as_slice()));
            expected_symbols.extend(symbols.iter().flatten().cloned());
        }
    }
    let payloads: Vec<&[u8]> = expected.iter().map(|(_, bytes)| *bytes).collect();
    let bytes = builder.layout().to_vec(&payloads);
    let archive = Archive::parse(&bytes).unwrap();
    let members: Vec<_> = archive.members().collect();
    let found: Vec<(&[u8], &[u8])> =
        members.iter().map(|member| (member.name, member.data.unwrap())).collect();
    assert_eq!(found, expected);
    for member in &members {
        assert_eq!(
            &bytes[member.data_offset as usize..][..member.size as usize],
            member.data.unwrap()
        );
    }
    assert!(archive_symbols(&bytes).into_iter().map(|(name, _)| name).eq(expected_symbols));
});
