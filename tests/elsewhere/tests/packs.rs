//! Packs inside this program: complete, aligned, listed, and used for selection.

use offload::{DeviceInfo, KernelPack};
use offload_elsewhere::{AMD, MIXED, on_cpu};
use std::{fs, path::Path};

/// Panics unless the pack in memory equals the file that the build script wrote.
#[track_caller]
fn is_whole(pack: &KernelPack) {
    let file = Path::new(env!("OFFLOAD_ELSEWHERE_OUT")).join(format!("{}.pack", pack.name()));
    assert!(pack.bytes() == fs::read(&file).unwrap(), "{} differs", file.display());
    let align = if pack.section() == ".hip_fatbin" { 4096 } else { 8 };
    assert_eq!(pack.bytes().as_ptr().addr() % align, 0, "{} is not aligned", pack.name());
}

#[test]
fn packs_are_whole() {
    is_whole(&MIXED);
    is_whole(&AMD);
    is_whole(&on_cpu::PACK);
}

#[test]
fn devices_get_their_images() {
    for (device, target) in [("gfx90a", "gfx90a"), ("sm_86", "sm_80")] {
        let info = DeviceInfo::parse(device).unwrap();
        assert_eq!(MIXED.modules().next().unwrap().select(&info).unwrap().target(), target);
    }
    let info = DeviceInfo::parse("sm_120").unwrap();
    assert_eq!(MIXED.module("ptx").select(&info).unwrap().target(), "compute_80");
    let info = DeviceInfo::parse("gfx1100").unwrap();
    assert_eq!(AMD.select(&info).unwrap().target(), "gfx1100");
    let refused = AMD.select(&DeviceInfo::parse("gfx906").unwrap()).unwrap_err().to_string();
    assert!(refused.contains("gfx90a") && refused.contains("gfx1100"), "{refused}");
}

#[test]
fn retained_packs_are_listed() {
    let mut names: Vec<_> = offload::linked_packs().map(|pack| pack.name()).collect();
    names.sort_unstable();
    // Only ELF programs contain a list of packs.
    let listed: &[&str] = if cfg!(windows) { &[] } else { &["amd", "mixed"] };
    assert_eq!(names, listed);
}
