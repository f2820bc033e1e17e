//! Tests reading handmade files of versions 2 and 3, which LLVM 22's `llvm-objdump` refuses.

use super::{by_hand, made, objdump, pad, read_all, samples};
use offload_format::offload_binary::{Image, OffloadBinary, StatedKind, Version};
use offload_tests::prelude::*;

#[test]
fn files_made_by_hand_are_read() {
    for (version, expected) in [(2, Version::V2), (3, Version::V3)] {
        let file = by_hand(version, &samples());
        let binary = OffloadBinary::parse(&file).unwrap();
        assert_eq!((binary.version, binary.size()), (expected, file.len() as u64));
        assert!(binary.compressed.is_none());
        assert_eq!(read_all(&file), samples());
        let images: Vec<Image> = binary.images().collect();
        let [first, _, third, ..] = &images[..] else { panic!("{images:?}") };
        assert_eq!(first.triple(), Some("amdgcn-amd-amdhsa"));
        assert_eq!(first.arch(), Some("gfx90a:xnack-"));
        assert_eq!(third.string("symbols"), Some("one\0two\0"));
        assert_eq!(third.string("bytes"), None);
        assert_eq!(third.bytes("bytes"), Some(b"\xff\0\xfe".as_slice()));
        assert_eq!((third.arch(), third.triple(), third.string("")), (None, None, Some("")));
        assert_eq!(third.image_kind, StatedKind::SPIRV);
        for image in &images {
            assert_eq!(&file[image.offset as usize..][..image.data.len()], image.data);
        }
        assert!(read_all(&by_hand(version, &[])).is_empty());
    }
    let has_nul = |(_, value): &(String, Vec<u8>)| value.contains(&0);
    for sample in samples().into_iter().filter(|sample| !sample.strings.iter().any(has_nul)) {
        assert_eq!(read_all(&by_hand(1, std::slice::from_ref(&sample))), [sample]);
    }
}

#[test(LLVM)]
fn both_countings_of_offload_kinds() {
    let kinds = [0, 1, 2, 3, 4, 8].map(|kind| made([0, kind], 0, &[], b""));
    let file = by_hand(2, &kinds);
    let kinds: Vec<_> =
        OffloadBinary::parse(&file).unwrap().images().map(|image| image.offload_kind).collect();
    let texts: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["none", "openmp", "cuda", "hip", "hip", "sycl"]);
    assert_eq!(kinds.iter().filter(|kind| kind.is_hip()).count(), 2);

    let folder = scratch::folder("offload-binary-kinds");
    for (kind, producer) in [(3, "none"), (4, "hip")] {
        let mut file = by_hand(1, &[made([1, kind], 0, &[("arch", b"gfx906")], b"")]);
        pad(&mut file);
        let listing = objdump(&folder, &file).expect("LLVM reads version 1");
        assert!(listing.contains(&format!("producer        {producer}\n")), "{kind}: {listing}");
    }
}
