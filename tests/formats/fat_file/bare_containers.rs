//! Containers that are separate files, without an object or program around them.

use super::{containers, places};
use offload_format::fat_file::{Container, FileKind, wrappers};
use offload_tests::data::read;
use offload_tests::registry::NOTHING;
use offload_tests::scratch;

offload_tests::tests! {
    NOTHING => [files_by_themselves],
}

fn files_by_themselves() {
    let of = |folder: &str, name: &str| read(scratch::workspace().join(folder).join(name));
    let cases = [
        (of("tests/corpus/bundle", "concat.bc"), FileKind::Bundle),
        (of("tests/corpus/compressed", "concat_padded.ccob"), FileKind::CompressedBundle),
        (of("tests/corpus/offload_binary", "multi.bin"), FileKind::OffloadBinary),
        (of("tests/corpus/nv_fatbin", "group.fatbin"), FileKind::NvFatbin),
        (of("tests/corpus/text_bundle", "basic.ll"), FileKind::TextBundle),
        (of("examples/saxpy/prebuilt", "saxpy.sm_80.cubin"), FileKind::Image),
        (of("examples/saxpy/prebuilt", "saxpy.compute_80.ptx"), FileKind::Image),
        (b"BC\xc0\xde\x35\x14\0\0".to_vec(), FileKind::Image),
    ];
    for (file, kind) in cases {
        assert_eq!(FileKind::identify(&file), Some(kind));
        let found = containers(&file);
        let [(place, container)] = &found[..] else { panic!("{kind:?}: {found:?}") };
        assert_eq!((place.slice, place.member, place.section, place.offset), (None, None, None, 0));
        let is_it = match container {
            Container::Bundles(bytes) => {
                matches!(kind, FileKind::Bundle | FileKind::CompressedBundle) && *bytes == file
            }
            Container::OffloadBinaries(bytes) => kind == FileKind::OffloadBinary && *bytes == file,
            Container::NvFatbins(bytes) => kind == FileKind::NvFatbin && *bytes == file,
            Container::TextBundle(bundle) => {
                kind == FileKind::TextBundle && bundle.entries().count() == 3
            }
            Container::Image(bytes) => kind == FileKind::Image && *bytes == file,
            _ => false,
        };
        assert!(is_it, "{kind:?}: {container:?}");
    }
    for nothing in [&b""[..], b"text", b"\x7fELF", b"!<arch>", b"MZ", &[0; 100]] {
        assert!(places(nothing).iter().all(|(_, container)| container.is_err()), "{nothing:?}");
        wrappers(nothing, |wrapper| panic!("{wrapper:?}"));
    }
}
