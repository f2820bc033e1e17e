//! Tests reading fatbins of the corpus: one of CUDA 12, LTO-IR, relocatable PTX.

use super::{LIMIT, compressions, corpus, prebuilt, unpacked};
use offload_format::ErrorKind;
use offload_format::nv_fatbin::{Compression, Image, ImageKind, NvFatbin};
use offload_tests::data::assert_same_bytes;
use offload_tests::registry::NOTHING;

offload_tests::tests! {
    NOTHING => [nvfatbin_of_cuda_12, lto_ir_and_relocatable_ptx],
}

fn nvfatbin_of_cuda_12() {
    let theirs = corpus("lz4_12.4.fatbin");
    assert!(compressions(&theirs).iter().all(|(_, compression)| *compression == Compression::Lz4));
    let unpacked = unpacked(&theirs);
    assert_same_bytes(&unpacked["elf:80"], &prebuilt("saxpy.sm_80.cubin"), "sm_80");
    assert_same_bytes(&unpacked["elf:90"], &prebuilt("saxpy.sm_90.cubin"), "sm_90");
    let text = String::from_utf8(unpacked["ptx:80"].clone()).unwrap();
    assert!(text.contains(".target sm_80"), "{text}");
    assert!(text.ends_with("}\n"), "{text}");
    let images: Vec<Image> =
        NvFatbin::parse(&theirs).unwrap().entries().flat_map(|entry| entry.images()).collect();
    let names: Vec<(&[u8], &[u8])> =
        images.iter().map(|image| (image.name(), image.options())).collect();
    assert_eq!(names, [(&b""[..], &b""[..]), (b"saxpy", b""), (b"saxpy", b"-O3")]);
}

fn lto_ir_and_relocatable_ptx() {
    let theirs = corpus("lto.fatbin");
    let entries: Vec<_> = NvFatbin::parse(&theirs).unwrap().entries().collect();
    assert_eq!(compressions(&theirs)[0], (ImageKind::CUBIN, Compression::Zstd));
    assert_eq!(compressions(&theirs)[1], (ImageKind::LTO_IR, Compression::Unknown(0x1_8000)));
    let image = entries[1].images().next().unwrap();
    assert_eq!((image.arch(), image.compute_capability()), (None, 80));
    assert!(image.options().starts_with(b"-ftz=0 "), "{image:?}");
    let error = entries[1].decompress(LIMIT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedCompression { method: 0x1_8000 });

    let theirs = corpus("relocatable_ptx.fatbin");
    let entry = NvFatbin::parse(&theirs).unwrap().entries().next().unwrap();
    let payload = entry.decompress(LIMIT).unwrap();
    let (image, text) = payload.images().next().unwrap();
    assert_eq!(
        (image.kind(), image.arch().unwrap().to_string()),
        (ImageKind::RELOCATABLE_PTX, "compute_90".to_owned())
    );
    assert!(text.trim_ascii_end().ends_with(b"}"), "{image:?}");
    assert!(image.name().windows(10).any(|it| it == b"_kernel_cu"), "{image:?}");
}
