//! Fatbins that this library writes must equal `fatbinary`'s, and `cuobjdump` and nvJitLink must
//! read them.

use super::*;
use offload_format::ErrorKind;
use offload_format::nv_fatbin::{HostOs, NvFatbin, NvFatbinBuilder};
use offload_tests::bytes::number;
use offload_tests::jit_link::JitLink;

/// Borrows images in the form that [`ours`] needs.
fn borrowed<'a>(images: &'a [(&'a str, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
    images.iter().map(|(arch, bytes)| (*arch, bytes.as_slice())).collect()
}

#[test(CUDA)]
fn ours_is_what_fatbinary_writes() {
    let folder = scratch::folder("nv-fatbin-same-bytes");
    let images = all_images();
    let theirs = uncompressed(&folder, &images);
    let ptx = unpacked(&theirs);
    let inputs = images.iter().map(|image| {
        let [kind, arch, file] = parts(image);
        (arch, if kind == "ptx" { ptx[&format!("ptx:{arch}")].clone() } else { input(file) })
    });
    let inputs: Vec<_> = inputs.collect();
    let inputs = borrowed(&inputs);
    assert_same_bytes(&ours(&inputs), &theirs, "all images");
    for (image, input) in images.iter().zip(&inputs) {
        let theirs = uncompressed(&folder, std::slice::from_ref(image));
        assert_same_bytes(&ours(&[*input]), &theirs, image);
    }
    for (arch, ..) in ARCHES {
        let file = format!("{arch}.o.cubin");
        let options = ["-64", "--compress-mode=none", "-c"];
        let theirs = fatbinary(&folder, &options, &[format!("elf:{arch}:{file}")]);
        assert_same_bytes(&ours(&[(arch, &input(&file))]), &theirs, &file);
    }
    // Test PTX of every length modulo the alignment, with the padding after it.
    for comma in 0..9 {
        let name = "b".repeat(comma);
        let text =
            format!(".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 a{name};\n");
        scratch::write(INPUTS.join("length.ptx"), &text);
        let theirs = uncompressed(&folder, &["ptx:90:length.ptx".to_owned()]);
        assert_same_bytes(&ours(&[("90", text.as_bytes())]), &theirs, &text);
    }
}

#[test(JIT_LINK)]
fn nvjitlink_chooses_from_ours() {
    let library = JitLink::load();
    // nvJitLink ignores the code in cubins that ptxas compiled without `-c`, so use `-c`.
    let cubins = ["80", "90a", "100f"].map(|arch| (arch, input(&format!("{arch}.o.cubin"))));
    let cubins = borrowed(&cubins);
    let without_ptx = ours(&cubins);
    let ptx = input("90.ptx");
    let with_ptx = ours(&[&cubins[..], &[("90", ptx.as_slice())]].concat());
    // Each row contains the GPU, whether a cubin fits, and whether any image fits.
    for (gpu, by_cubin, by_ptx) in [
        ("sm_75", false, false),
        ("sm_80", true, true),
        ("sm_86", true, true),
        ("sm_90", false, true),
        ("sm_90a", true, true),
        ("sm_100", true, true),
        ("sm_103", true, true),
        ("sm_120", false, true),
    ] {
        assert_eq!(library.link(&without_ptx, gpu).is_some(), by_cubin, "{gpu}");
        assert_eq!(library.link(&with_ptx, gpu).is_some(), by_ptx, "{gpu} with PTX");
    }
    // The linked cubin is for the requested GPU and contains the kernel.
    for (gpu, number) in [("sm_80", 80), ("sm_90", 90), ("sm_100", 100), ("sm_120", 120)] {
        let linked = library.link(&with_ptx, gpu).unwrap();
        assert_eq!(offload_format::image::CubinHeader::parse(&linked).unwrap().number, number);
        assert!(linked.windows(3).any(|window| window == b"add"), "{gpu}");
    }
    // This fatbin contains only PTX, which nvJitLink compiles for each GPU.
    let text = ours(&[("90", &ptx)]);
    assert!(library.link(&text, "sm_100").is_some());
    assert!(library.link(&text, "sm_80").is_none());
}

#[test]
fn the_end_of_a_row() {
    let a = ours(&[("80", &prebuilt("saxpy.sm_80.cubin"))]);
    let found: Vec<_> =
        NvFatbin::in_a_row(&[&a[..], b"behind"].concat()).map(|it| it.map(|(at, _)| at)).collect();
    assert_eq!((found.len(), found[0]), (2, Ok(0)));
    let error = found[1].unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadMagic, a.len() as u64));
    assert_eq!(NvFatbin::in_a_row(b"").count() + NvFatbin::in_a_row(&[0; 99]).count(), 0);
}

#[test]
fn what_is_no_cubin_or_ptx_is_refused() {
    let cubin = prebuilt("saxpy.sm_90.cubin");
    let refused =
        |arch, cubin: &[u8]| NvFatbinBuilder::new(HostOs::Linux).cubin(sm(arch), cubin).err();
    assert_eq!(refused("90", &cubin), None);
    assert_eq!(refused("90a", &cubin), None);
    assert!(refused("80", &cubin).is_some());
    assert!(refused("90", b"text").is_some());
    assert!(refused("90", &prebuilt("saxpy.gfx90a.hsaco")).is_some());
    // If bit 1 of the cubin's flags is set, the writer searches the section table for `.nv.compat`.
    let portable = patched(&cubin, 48, &[cubin[48] | 2]);
    assert_eq!(refused("90", &portable), None);
    let table = number(&portable, 40) as usize;
    let cases = [(40, 8), (58, 2), (60, 2), (62, 2), (table, 4), (table + 24, 8), (table + 32, 8)];
    for (at, size) in cases {
        for byte in [0, 1, 0xff] {
            let _ = refused("90", &patched(&portable, at, &[byte; 8][..size]));
        }
    }
    for cut in 0..portable.len() {
        let error = refused("90", &portable[..cut]);
        assert!(error.is_some() || cut > table, "{cut}");
    }
    let ptx = |text: &[u8]| NvFatbinBuilder::new(HostOs::Linux).ptx(text).err();
    assert_eq!(ptx(b".version 8.0\n.target sm_90\n"), None);
    assert!(ptx(b".version 65536.0\n.target sm_90\n").is_some());
    assert!(ptx(b"").is_some());
}
