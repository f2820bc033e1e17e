//! Random bundles in text: the reader returns the inputs, and the writer writes them again.

use super::{Entries, IDS, bytes, check, compare, entries, payloads};
use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
use offload_tests::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample;

offload_tests::tests! {
    NOTHING => [text_bundles_are_written_again_as_they_were],
}

/// Generates text that is nearly a marker. Payloads that contain a complete END line would be read
/// as something else.
fn text(leader: CommentLeader) -> impl Strategy<Value = Vec<u8>> {
    let marks = ["__CLANG_OFFLOAD_BUNDLE__", "__START__ ", "__END__ ", "host--"];
    let pieces = [&marks[..], &["\n", leader.as_str(), " ", "\r\n", "x"]].concat();
    let start = format!("\n{} __CLANG_OFFLOAD_BUNDLE____START__ {}\n", leader.as_str(), IDS[0]);
    let piece = prop_oneof![
        6 => sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => Just(start.into_bytes()),
        1 => bytes(20),
    ];
    let end = format!("\n{} __CLANG_OFFLOAD_BUNDLE____END__ ", leader.as_str()).into_bytes();
    vec(piece, 0..12)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("it has an END line", move |payload| {
            !payload.windows(end.len()).any(|window| window == end)
        })
}

fn text_bundles_are_written_again_as_they_were() {
    for file_type in ["i", "ii", "cui", "hipi", "d", "s", "ll"] {
        let leader = CommentLeader::of_file_type(file_type).expect("a type of text");
        let write = |entries: &Entries<'_>| {
            let mut builder = TextBundleBuilder::new(leader);
            for (id, payload) in entries {
                builder.entry(id, payload.len() as u64).unwrap();
            }
            builder.layout().to_vec(&payloads(entries))
        };
        check(60, entries(text(leader)), |entries| {
            let file = write(&entries);
            let bundle = TextBundle::parse(&file, leader).unwrap();
            compare(bundle.entries().map(|entry| (entry.id_str(), entry.payload())), &entries);
            let read = bundle.entries().map(|entry| (entry.id_str(), entry.payload().to_vec()));
            assert_same_bytes(&write(&read.collect()), &file, file_type);
            assert_eq!(TextBundle::detect(&file), (!entries.is_empty()).then_some(leader));
        });
    }
}
