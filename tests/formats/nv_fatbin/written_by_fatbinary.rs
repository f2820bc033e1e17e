//! Tests reading fatbins of `fatbinary`: every mode of compression, names and options.

use super::{
    ARCHES, CUDA, INPUTS, all_images, assert_are_inputs, compressions, extracted_ptx, fatbinary,
    name_of,
};
use offload_format::nv_fatbin::{Compression, HostOs, ImageKind, NvFatbin};
use offload_tests::data::read;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    CUDA => [fatbinary_in_every_mode_of_compression, fatbinary_with_names_and_options],
}

fn fatbinary_in_every_mode_of_compression() {
    let folder = scratch::folder("nv-fatbin-modes");
    let images = all_images();
    let plain = fatbinary(&folder, &["-64", "--compress-mode=none"], &images);
    let ptx = extracted_ptx(&folder, &plain);
    assert_eq!(ptx.len(), ARCHES.len());
    assert!(compressions(&plain).iter().all(|(_, compression)| *compression == Compression::None));
    assert_are_inputs(&plain, &images, &ptx, "none");
    for (mode, compression) in [
        ("default", Compression::Zstd),
        ("size", Compression::Zstd),
        ("balance", Compression::Zstd),
        ("speed", Compression::Lz4),
    ] {
        let mode = format!("--compress-mode={mode}");
        let theirs = fatbinary(&folder, &["-64", &mode], &images);
        assert_are_inputs(&theirs, &images, &ptx, &mode);
        let is = |kind, compression| compressions(&theirs).contains(&(kind, compression));
        assert!(is(ImageKind::PTX, compression), "{mode}");

        let theirs = fatbinary(&folder, &["-64", "--compress-all", &mode], &images);
        assert_are_inputs(&theirs, &images, &ptx, &mode);
        assert!(compressions(&theirs).iter().all(|(_, found)| *found == compression), "{mode}");

        let theirs = fatbinary(&folder, &["-64", "--compress-all", "--concat", &mode], &images);
        assert_are_inputs(&theirs, &images, &ptx, &format!("{mode} --concat"));
        let groups = compressions(&theirs)
            .iter()
            .filter(|entry| **entry == (ImageKind::GROUP, compression))
            .count();
        assert!(groups >= 2, "{mode} --concat: {:?}", compressions(&theirs));
    }
    let relocatable: Vec<String> =
        ARCHES.iter().map(|(arch, ..)| format!("elf:{arch}:{arch}.o.cubin")).collect();
    assert_are_inputs(
        &fatbinary(&folder, &["-64", "-c"], &relocatable),
        &relocatable,
        &ptx,
        "--device-c",
    );
}

fn fatbinary_with_names_and_options() {
    let folder = scratch::folder("nv-fatbin-names");
    let images = all_images();
    let ptx =
        extracted_ptx(&folder, &fatbinary(&folder, &["-64", "--compress-mode=none"], &images));
    // Names and options have every length from 1 to 9, because they are padded.
    for length in 1..10 {
        let (name, options) = (&"a/b.cu.cu"[..length], &"-O3 -v -w"[..length]);
        for more in [&["--compress-mode=none"][..], &["--concat", "--compress-all"]] {
            let mut arguments = vec!["-64", "-g", "-ident", name];
            let cmdline = format!("--cmdline={options}");
            arguments.push(&cmdline);
            arguments.extend(more);
            let theirs = fatbinary(&folder, &arguments, &images);
            assert_are_inputs(&theirs, &images, &ptx, name);
            let mut seen = 0;
            for image in
                NvFatbin::parse(&theirs).unwrap().entries().flat_map(|entry| entry.images())
            {
                assert_eq!(image.name(), name.as_bytes(), "{image:?}");
                let found = (image.has_debug_info(), image.is_64_bit(), image.host());
                assert_eq!(found, (true, true, Some(HostOs::Linux)), "{image:?}");
                let expected = if image.kind().is_ptx() {
                    options.as_bytes().to_vec()
                } else {
                    compat(&name_of(&image))
                };
                assert_eq!(image.options(), expected, "{image:?}");
                seen += 1;
            }
            assert_eq!(seen, images.len());
        }
    }
    let theirs = fatbinary(&folder, &["-32"], &["ptx:80:80.ptx".to_owned()]);
    let image =
        NvFatbin::parse(&theirs).unwrap().entries().next().unwrap().images().next().unwrap();
    assert_eq!(
        (image.is_64_bit(), image.version(), image.compute_capability()),
        (false, (7, 0), 80)
    );
    assert_eq!((image.name(), image.options()), (&b""[..], &b""[..]));
}

/// Returns the part of a cubin that its entry repeats: `.nv.compat` from `sm_100` on.
fn compat(key: &str) -> Vec<u8> {
    let arch = key.trim_start_matches("elf:");
    if !arch.starts_with('1') {
        return Vec::new();
    }
    let cubin = INPUTS.join(format!("{arch}.cubin"));
    let dump = scratch::target_dir().join("offload-tests").join(format!("nv-fatbin-compat-{arch}"));
    let mut objcopy = llvm("llvm-objcopy");
    objcopy.arg(format!("--dump-section=.nv.compat={}", dump.display()));
    succeed(objcopy.arg(cubin).arg(dump.with_extension("copy")));
    read(dump)
}
