//! Tests that `select`, `reach` and `verify` agree on which images of a file a device can use: for
//! the corpus, and for random sets of images in every container.

use crate::containers::{binary, code_object, hip_bundle};
use crate::kernel_packs::{GFX906, GFX1100, library_of_entry};
use crate::select::images;
use crate::{json, list};
use offload_format::bundle::BundleBuilder;
use offload_format::compressed::{CompressOptions, Version as BundleVersion, compress};
use offload_format::nv_fatbin::{HostOs, NvFatbinBuilder};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_format::target::NvidiaArch;
use offload_tests::bytes::{number, set};
use offload_tests::data::corpus_folders;
use offload_tests::own::run;
use offload_tests::prelude::*;
use serde_json::Value;

const AMD: &str = "
    gfx906 gfx906:xnack- gfx906:sramecc+:xnack- gfx908:xnack+ gfx90a gfx90a:xnack+ gfx90a:sramecc-:xnack-
    gfx942 gfx942:xnack- gfx9-generic gfx9-generic:xnack- gfx9-4-generic gfx1100 gfx11-generic gfx12-generic gfx1250";

/// Targets, each with a cubin from the corpus or a PTX version.
const NVIDIA: &str = "
    sm_80=cuda12.sm_80 sm_90=cuda12.sm_90 sm_90=saxpy.sm_90 sm_90a=saxpy.sm_90 sm_120=cuda12.sm_120
    sm_120a=cuda12.sm_120 compute_70=6.0 compute_80=7.4 compute_90=8.8 compute_90a=8.0 compute_100f=8.8";

const DEVICES: &str = "
    gfx803 gfx906:sramecc+:xnack- gfx906 gfx908 gfx908:sramecc+:xnack+ gfx90a gfx90a:sramecc+:xnack- gfx90a:sramecc-:xnack+
    gfx942:sramecc+:xnack- gfx950:sramecc+:xnack+ gfx1100 gfx1103 gfx1201 gfx1250 sm_75 sm_86@driver11.4 sm_86
    sm_90@driver12.2 sm_90@driver13.0 sm_103 sm_121 cpu";

fn one_of(random: &mut Random, names: &'static str) -> &'static str {
    random.pick(&names.split_whitespace().collect::<Vec<_>>())
}

/// Runs the three commands on a file and a device. Returns whether every module gets an image, and
/// whether any does.
pub fn ask(file: &Path, device: &str, what: &str) -> (bool, bool) {
    let own = |words: &[&str]| run(own::offload(words).arg(file));
    let selected = own(&["select", "--json", "--device", device]);
    let reached = own(&["reach", "--require", device]);
    let verified = own(&["verify", "--for", device]);
    let what = format!("{what} {} {device}: {reached:?} {verified:?}", file.display());
    let is_served = !verified.stdout.contains("[device]");
    assert_eq!(reached.code == 0, is_served, "{what}");
    let records = json(&own(&["reach", "--json", "--require", device]));
    let rows: Vec<&Value> = list(&records).iter().flat_map(|it| list(&it["required"])).collect();
    let modes = rows.iter().map(|row| row["device"].as_str().expect("a device"));
    let modes: BTreeSet<&str> = modes.filter(|mode| *mode != device).collect();
    if selected.stderr.contains("does not say whether it is on or off") {
        let answers: Vec<_> = modes.iter().map(|mode| ask(file, mode, &what)).collect();
        assert_eq!(is_served, !answers.is_empty() && answers.iter().all(|it| it.0), "{what}");
        return (is_served, answers.iter().any(|it| it.1));
    }
    let document = json(&selected);
    let chosen = images(&document);
    assert_eq!(selected.code == 0, !chosen.is_empty(), "{what}");
    let modules = document.get("modules").map_or(1, |modules| list(modules).len());
    assert_eq!(is_served, chosen.len() == modules, "{what}");
    if modes.is_empty() {
        let names = chosen.iter().map(|it| it["target_id"].as_str().or(it["triple"].as_str()));
        let reached = rows.iter().flat_map(|row| list(&row["gets"])).map(|it| it["image"].as_str());
        let [selected, reached] =
            [names.flatten().collect(), reached.flatten().collect::<BTreeSet<_>>()];
        assert_eq!(selected, reached, "{what}");
    }
    (is_served, !chosen.is_empty())
}

#[test(NOTHING.slow())]
fn files_of_the_corpus() {
    let (mut served, mut not) = (0, 0);
    let folders = corpus_folders().into_iter().filter(|folder| folder != "malformed");
    for file in folders.flat_map(|folder| corpus(&folder)) {
        for device in
            "gfx906:sramecc+:xnack+ gfx908 gfx1100 sm_86@driver12.2 sm_90@driver13.0 sm_120 cpu"
                .split(' ')
        {
            let (is_served, _) = ask(&file, device, "corpus");
            served += i32::from(is_served);
            not += i32::from(!is_served);
        }
    }
    assert!(served > 40 && not > 40, "{served} {not}");
}

/// Returns an image's name and bytes. Sometimes, the bytes belong to a different target.
fn image(random: &mut Random, is_amd: bool) -> (&'static str, Vec<u8>) {
    if is_amd {
        let name = one_of(random, AMD);
        let header = if random.below(8) == 0 { one_of(random, AMD) } else { name };
        return (name, code_object(header));
    }
    let (name, from) = one_of(random, NVIDIA).split_once('=').expect("a pair");
    let bytes = match name.strip_prefix("compute_") {
        None => corpus_file(&format!("image/{from}.cubin")),
        Some(number) => format!(
            ".version {from}\n.target sm_{number}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
        )
        .into_bytes(),
    };
    (name, bytes)
}

/// Writes a bundle of these images. Leaves out images that conflict with earlier ones.
fn bundle(images: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let ids = images.iter().map(|(name, _)| format!("hipv4-amdgcn-amd-amdhsa--{name}"));
    let ids: Vec<String> = ids.collect();
    let mut builder = BundleBuilder::hip();
    let mut entries: Vec<(&str, &[u8])> = Vec::new();
    for (id, (_, bytes)) in ids.iter().zip(images) {
        if builder.entry(id, bytes.len() as u64).is_ok() {
            entries.push((id, bytes));
        }
    }
    hip_bundle(4096, &entries)
}

fn fatbin(images: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = NvFatbinBuilder::new(HostOs::Linux);
    for (name, bytes) in images {
        let arch = NvidiaArch::parse(name).expect("a target");
        let is_cubin = name.starts_with("sm_");
        if is_cubin { builder.cubin(arch, bytes) } else { builder.ptx(bytes) }.expect("an image");
    }
    builder.layout().to_vec(&images.iter().map(|(_, bytes)| &**bytes).collect::<Vec<_>>())
}

/// Compresses each image of a fatbin, because our writer cannot compress.
fn zstd_fatbin(plain: &[u8]) -> Vec<u8> {
    let mut entries = Vec::new();
    let mut rest = &plain[16..];
    while !rest.is_empty() {
        let header = u32::from_le_bytes(rest[4..8].try_into().expect("four bytes")) as usize;
        let size = number(rest, 8) as usize;
        let stored = zstd::bulk::compress(&rest[header..header + size], 3).expect("it compresses");
        let mut head = rest[..header].to_vec();
        set(&mut head, 8, stored.len().next_multiple_of(8) as u64);
        head[16..20].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        head[41] |= 0x80;
        set(&mut head, 56, size as u64);
        entries.extend([head, stored].concat());
        entries.resize(entries.len().next_multiple_of(8), 0);
        rest = &rest[header + size..];
    }
    [&plain[..8], &(entries.len() as u64).to_le_bytes(), &entries].concat()
}

/// Writes offload binaries with images that belong to two modules.
fn offload_binaries(
    random: &mut Random,
    version: Version,
    images: &[(&'static str, Vec<u8>)],
) -> Vec<u8> {
    let mut image = |(name, bytes): &(&'static str, Vec<u8>)| {
        let (triple, stated, kind) = match &name[..2] {
            "gf" => ("amdgcn-amd-amdhsa", StatedKind::OBJECT, OffloadKind::HIP),
            "sm" => ("nvptx64-nvidia-cuda", StatedKind::CUBIN, OffloadKind::CUDA),
            _ => ("nvptx64-nvidia-cuda", StatedKind::PTX, OffloadKind::CUDA),
        };
        let module = random.pick(&["a", "b"]);
        (stated, kind, [("triple", triple), ("arch", *name), ("module", module)], bytes.clone())
    };
    binary(version, &images.iter().map(&mut image).collect::<Vec<_>>())
}

/// Writes a library whose wrapper names one of two entries of its kernel packs. Also writes some of
/// these packs.
fn library(random: &mut Random, folder: &Path) -> PathBuf {
    for pack in [GFX906, GFX1100] {
        if random.below(3) > 0 {
            scratch::write(folder.join(pack), corpus_file(&format!("kpack/{pack}")));
        }
    }
    let file = folder.join("libk.so");
    scratch::write(&file, library_of_entry(random.below(2) as u8));
    file
}

#[test(NOTHING.slow())]
fn random_sets() {
    let folder = scratch::folder("offload-agreement");
    let (mut all, mut none) = (0, 0);
    for seed in 0..80 {
        let random = &mut Random::new(seed);
        let form = seed % 10;
        let is_amd = match form {
            0..3 => Some(true),
            3 | 4 => Some(false),
            _ => None,
        };
        let images: Vec<_> = (0..1 + random.below(5))
            .map(|_| {
                let is_amd = is_amd.unwrap_or_else(|| random.below(2) == 0);
                image(random, is_amd)
            })
            .collect();
        let compressed = |version| {
            let mut options = CompressOptions::default();
            options.version = version;
            compress(&bundle(&images), &options).expect("it compresses")
        };
        let bytes = match form {
            0 => bundle(&images),
            1 => compressed(BundleVersion::V2),
            2 => compressed(BundleVersion::V3),
            3 => fatbin(&images),
            4 => zstd_fatbin(&fatbin(&images)),
            5 => offload_binaries(random, Version::V1, &images),
            6 => offload_binaries(random, Version::V2, &images),
            7 => offload_binaries(random, Version::V3, &images),
            _ => images[0].1.clone(),
        };
        let mut file = folder.join(format!("{seed}.bin"));
        scratch::write(&file, bytes);
        if form == 9 {
            file = library(random, &folder.join(seed.to_string()));
        }
        let names: Vec<&str> = images.iter().map(|(name, _)| *name).collect();
        for _ in 0..5 {
            let (is_served, one) = ask(&file, one_of(random, DEVICES), &format!("{names:?}"));
            all += i32::from(is_served);
            none += i32::from(!one);
        }
    }
    assert!(all > 30 && none > 30, "{all} {none}");
}
