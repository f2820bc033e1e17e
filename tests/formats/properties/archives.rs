//! Random archives: the reader must return the same members and symbols that were written.

use super::{bytes, check};
use offload_format::archive::{Archive, ArchiveBuilder};
use offload_tests::data::archive_symbols;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample;

#[test]
fn archives_have_the_members_and_symbols_that_went_in() {
    let odd = ["/", "//", "a/", "a b", " ", "#1", "#1/3", "/SYM64/", "/0", "__.SYMDEF"];
    let odd = [&odd[..], &["exactly15bytes.", "exactly16bytes.o"]].concat();
    let name = prop_oneof![
        4 => sample::select(odd).prop_map(|name| name.as_bytes().to_vec()),
        4 => vec(prop_oneof![Just(b'/'), Just(b' '), 33..=126u8, 128..=255u8], 1..40),
        1 => vec(b'a'..=b'c', 100..300),
    ];
    let symbols = proptest::option::of(vec(vec(1..=255u8, 0..20), 0..5));
    check(300, vec((name, bytes(100), symbols), 0..8), |members| {
        let mut builder = ArchiveBuilder::new();
        for (name, bytes, symbols) in &members {
            match symbols {
                Some(symbols) => builder.object(name, bytes.len() as u64, symbols).unwrap(),
                None => builder.member(name, bytes.len() as u64).unwrap(),
            };
        }
        let contents: Vec<&[u8]> = members.iter().map(|(_, bytes, _)| bytes.as_slice()).collect();
        let file = builder.layout().to_vec(&contents);
        let archive = Archive::parse(&file).unwrap();
        let read = archive.members().map(|member| (member.name, member.data.unwrap()));
        let written = members.iter().map(|(name, bytes, _)| (name.as_slice(), bytes.as_slice()));
        assert_eq!(read.collect::<Vec<_>>(), written.collect::<Vec<_>>());

        let symbols = members.iter().flat_map(|(name, _, symbols)| {
            symbols.iter().flatten().map(|symbol| (symbol.as_slice(), name.as_slice()))
        });
        let read = archive_symbols(&file);
        let read = read.iter().map(|(symbol, member)| (symbol.as_slice(), member.as_slice()));
        assert!(read.eq(symbols));
    });
}
