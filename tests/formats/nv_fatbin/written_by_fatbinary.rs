//! Tests reading fatbins from `fatbinary`: in every compression mode, and with names and options.

use super::*;
use offload_format::nv_fatbin::{Compression, FatbinImageKind, HostOs};

#[test(CUDA)]
fn fatbinary_in_every_mode_of_compression() {
    let folder = scratch::folder("nv-fatbin-modes");
    let inputs = all_images();
    let plain = uncompressed(&folder, &inputs);
    let ptx = extracted_ptx(&folder, &plain);
    assert_eq!(ptx.len(), ARCHES.len());
    assert!(compressions(&plain).iter().all(|(_, compression)| *compression == Compression::None));
    assert_are_inputs(&plain, &inputs, &ptx, "none");
    for (mode, compression) in [
        ("default", Compression::Zstd),
        ("size", Compression::Zstd),
        ("balance", Compression::Zstd),
        ("speed", Compression::Lz4),
    ] {
        let mode = format!("--compress-mode={mode}");
        let theirs = fatbinary(&folder, &["-64", &mode], &inputs);
        assert_are_inputs(&theirs, &inputs, &ptx, &mode);
        let is = |kind, compression| compressions(&theirs).contains(&(kind, compression));
        assert!(is(FatbinImageKind::PTX, compression), "{mode}");

        let theirs = fatbinary(&folder, &["-64", "--compress-all", &mode], &inputs);
        assert_are_inputs(&theirs, &inputs, &ptx, &mode);
        assert!(compressions(&theirs).iter().all(|(_, found)| *found == compression), "{mode}");

        let theirs = fatbinary(&folder, &["-64", "--compress-all", "--concat", &mode], &inputs);
        assert_are_inputs(&theirs, &inputs, &ptx, &format!("{mode} --concat"));
        let mut groups = compressions(&theirs);
        groups.retain(|entry| *entry == (FatbinImageKind::GROUP, compression));
        assert!(groups.len() >= 2, "{mode} --concat: {groups:?}");
    }
    let relocatable: Vec<String> =
        ARCHES.iter().map(|(arch, ..)| format!("elf:{arch}:{arch}.o.cubin")).collect();
    let theirs = fatbinary(&folder, &["-64", "-c"], &relocatable);
    assert_are_inputs(&theirs, &relocatable, &ptx, "--device-c");
}

#[test(CUDA.slow())]
fn fatbinary_with_names_and_options() {
    let folder = scratch::folder("nv-fatbin-names");
    let inputs = all_images();
    let ptx = extracted_ptx(&folder, &uncompressed(&folder, &inputs));
    // Names and options are padded, so try every length from 1 to 9.
    for length in 1..10 {
        let (name, options) = (&"a/b.cu.cu"[..length], &"-O3 -v -w"[..length]);
        let cmdline = format!("--cmdline={options}");
        for more in [&["--compress-mode=none"][..], &["--concat", "--compress-all"]] {
            let arguments = [&["-64", "-g", "-ident", name, &cmdline], more].concat();
            let theirs = fatbinary(&folder, &arguments, &inputs);
            assert_are_inputs(&theirs, &inputs, &ptx, name);
            let images = images(&theirs);
            assert_eq!(images.len(), inputs.len());
            for image in images {
                assert_eq!(image.name, name.as_bytes(), "{image:?}");
                let found = (image.has_debug_info(), image.is_64_bit(), image.host());
                assert_eq!(found, (true, true, Some(HostOs::Linux)), "{image:?}");
                let own = compat(&name_of(&image));
                let expected = if image.kind.is_ptx() { options.as_bytes() } else { &own };
                assert_eq!(image.options, expected, "{image:?}");
            }
        }
    }
    let theirs = fatbinary(&folder, &["-32"], &["ptx:80:80.ptx".to_owned()]);
    let image = images(&theirs)[0];
    let found = (image.is_64_bit(), image.version, image.compute_capability);
    assert_eq!(found, (false, (7, 0), 80));
    assert_eq!((image.name, image.options), (&b""[..], &b""[..]));
}

/// Returns the section of a cubin that the cubin's entry repeats: `.nv.compat`, which cubins
/// contain since `sm_100`.
fn compat(key: &str) -> Vec<u8> {
    let arch = key.trim_start_matches("elf:");
    if !arch.starts_with('1') {
        return Vec::new();
    }
    let options = format!("--dump-section=.nv.compat={arch}.compat {arch}.cubin {arch}.copy");
    run(llvm("llvm-objcopy"), &INPUTS, &options);
    read(INPUTS.join(format!("{arch}.compat")))
}
