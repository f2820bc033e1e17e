//! Packs inside this program must be complete, aligned, listed, and usable for selection.
#![cfg(all(target_pointer_width = "64", target_endian = "little"))]

use offload_elsewhere::{AMD, MIXED, is_whole, on_cpu};
use offload_gpu::DeviceInfo;

#[test]
fn packs_are_whole() {
    for pack in [&MIXED, &AMD, &on_cpu::PACK] {
        assert!(is_whole(pack), "{} differs from its file", pack.name());
        let align = if pack.section() == ".hip_fatbin" { 4096 } else { 8 };
        assert_eq!(pack.bytes().as_ptr().addr() % align, 0, "{} is not aligned", pack.name());
    }
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
    let mut names: Vec<_> = offload_gpu::linked_packs().map(|pack| pack.name()).collect();
    names.sort_unstable();
    // Only ELF programs contain a list of packs.
    let listed: &[&str] = if cfg!(windows) { &[] } else { &["amd", "mixed"] };
    assert_eq!(names, listed);
}
