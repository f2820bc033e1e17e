//! Random fatbins, alone and in a row. The reader must return the inputs.

use super::{LIMIT, check};
use offload_format::image::PtxHeader;
use offload_format::nv_fatbin::{HostOs, NvFatbin, NvFatbinBuilder};
use offload_format::target::NvidiaArch;
use offload_tests::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample;
use std::fmt::Debug;

#[derive(Debug, Clone)]
enum NvImage {
    Cubin(&'static str, Vec<u8>),
    Ptx(Vec<u8>),
}

fn nv_images() -> impl Strategy<Value = Vec<NvImage>> {
    let cubins = [("sm_80", 80), ("sm_90", 90), ("sm_90a", 90)].map(|(arch, file)| {
        NvImage::Cubin(arch, corpus_file(&format!("image/cuda12.sm_{file}.cubin")))
    });
    let arch = sample::select(&["sm_70", "sm_90a", "sm_100f"][..]);
    let ptx = (6..10u32, 0..9u32, arch, "[ -~\n]{0,60}[!-~]");
    let ptx = ptx.prop_map(|(major, minor, arch, rest)| {
        NvImage::Ptx(format!(".version {major}.{minor}\n.target {arch}\n{rest}").into_bytes())
    });
    vec(prop_oneof![sample::select(cubins.to_vec()), ptx], 0..5)
}

fn nv_hosts() -> impl Strategy<Value = HostOs> {
    sample::select(&[HostOs::Linux, HostOs::MacOs, HostOs::Windows][..])
}

fn write_fatbin(images: &[NvImage], host: HostOs) -> Vec<u8> {
    let mut builder = NvFatbinBuilder::new(host);
    for image in images {
        match image {
            NvImage::Cubin(arch, bytes) => {
                builder.cubin(NvidiaArch::parse(arch).expect("a name"), bytes).unwrap()
            }
            NvImage::Ptx(text) => builder.ptx(text).unwrap(),
        };
    }
    let bytes = images.iter().map(|image| match image {
        NvImage::Cubin(_, bytes) | NvImage::Ptx(bytes) => bytes.as_slice(),
    });
    builder.layout().to_vec(&bytes.collect::<Vec<_>>())
}

fn compare_fatbin(fatbin: &NvFatbin<'_>, images: &[NvImage], host: HostOs) {
    assert_eq!(fatbin.entries().count(), images.len());
    for (entry, image) in fatbin.entries().zip(images) {
        let payload = entry.decompress(LIMIT).unwrap();
        let [(read, bytes)] = payload.images().collect::<Vec<_>>()[..] else {
            panic!("one image in each entry")
        };
        let flags = (read.host(), read.is_64_bit(), read.has_debug_info());
        assert_eq!(flags, (Some(host), true, false));
        let arch = read.arch().expect("a known kind").to_string();
        match image {
            NvImage::Cubin(name, cubin) => {
                assert_eq!(arch, *name);
                assert_same_bytes(bytes, cubin, name);
            }
            NvImage::Ptx(text) => {
                let header = PtxHeader::parse(text).unwrap();
                assert_eq!(arch, header.arch.to_string());
                let version = (read.version.0.into(), read.version.1.into());
                assert_eq!(version, (header.version.major, header.version.minor));
                assert_same_bytes(bytes, text, "PTX");
            }
        }
    }
}

#[test]
fn each_fatbin_in_a_row_is_read() {
    check(80, vec((nv_images(), nv_hosts(), 0..20usize), 0..4), |fatbins| {
        let mut file = Vec::new();
        for (images, host, padding) in &fatbins {
            file.extend(write_fatbin(images, *host));
            file.resize(file.len() + 8 * padding, 0);
        }
        let found: Vec<_> = NvFatbin::in_a_row(&file).map(Result::unwrap).collect();
        assert_eq!(found.len(), fatbins.len());
        for ((at, found), (images, host, _)) in found.iter().zip(&fatbins) {
            assert_eq!(at % 8, 0);
            assert_eq!(found.size(), write_fatbin(images, *host).len() as u64);
            compare_fatbin(found, images, *host);
        }
    });
}
