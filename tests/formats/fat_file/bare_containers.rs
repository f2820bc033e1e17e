//! Containers that are separate files, without an object or program around them.

use super::{only_container, places};
use offload_format::fat_file::{Container, FileKind, wrappers};
use offload_tests::data::corpus_file;
use offload_tests::registry::NOTHING;

offload_tests::tests! {
    NOTHING => [files_by_themselves],
}

fn files_by_themselves() {
    for (file, kind) in [
        (corpus_file("bundle/concat.bc"), FileKind::Bundle),
        (corpus_file("compressed/concat_padded.ccob"), FileKind::CompressedBundle),
        (corpus_file("offload_binary/multi.bin"), FileKind::OffloadBinary),
        (corpus_file("nv_fatbin/group.fatbin"), FileKind::NvFatbin),
        (corpus_file("text_bundle/basic.ll"), FileKind::TextBundle),
        (corpus_file("image/cuda12.sm_80.cubin"), FileKind::Image),
        (corpus_file("image/saxpy.compute_80.ptx"), FileKind::Image),
        (b"BC\xc0\xde\x35\x14\0\0".to_vec(), FileKind::Image),
    ] {
        assert_eq!(FileKind::identify(&file), Some(kind));
        let (place, container) = only_container(&file);
        assert_eq!((place.slice, place.member, place.section, place.offset), (None, None, None, 0));
        let bytes = match (kind, &container) {
            (FileKind::Bundle | FileKind::CompressedBundle, Container::Bundles(bytes))
            | (FileKind::OffloadBinary, Container::OffloadBinaries(bytes))
            | (FileKind::NvFatbin, Container::NvFatbins(bytes))
            | (FileKind::Image, Container::Image(bytes)) => bytes,
            (FileKind::TextBundle, Container::TextBundle(bundle)) => {
                assert_eq!(bundle.entries().count(), 3);
                continue;
            }
            _ => panic!("{kind:?}: {container:?}"),
        };
        assert_eq!(*bytes, file, "{kind:?}");
    }
    for nothing in [&b""[..], b"text", b"\x7fELF", b"!<arch>", b"MZ", &[0; 100]] {
        assert!(places(nothing).iter().all(|(_, container)| container.is_err()), "{nothing:?}");
        wrappers(nothing, |wrapper| panic!("{wrapper:?}"));
    }
}
