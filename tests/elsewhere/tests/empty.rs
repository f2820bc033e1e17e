//! Packs in 32-bit and big-endian programs must be empty, and must report the reason.
#![cfg(not(all(target_pointer_width = "64", target_endian = "little")))]

use offload_elsewhere::{AMD, MIXED, on_cpu};
use offload_gpu::DeviceInfo;
use offload_gpu::run::Device;

/// A part of the expected error.
const WHY: &str = "packs cannot be embedded in programs for ";

#[test]
fn nothing_is_selected_and_the_error_has_the_cause() {
    let devices = [DeviceInfo::parse("gfx1100").unwrap(), DeviceInfo::cpu()];
    let packs = [(&MIXED, &["mixed", "ptx"][..]), (&AMD, &["amd"]), (&on_cpu::PACK, &["on_cpu"])];
    for (pack, modules) in packs {
        let names: Vec<_> = pack.modules().map(|module| module.name()).collect();
        assert_eq!(names, modules);
        for module in pack.modules() {
            for device in &devices {
                let error = module.select(device).unwrap_err().to_string();
                assert!(error.contains(WHY), "{}: {error}", module.name());
            }
        }
    }
}

#[test]
fn nothing_is_loaded_and_the_error_has_the_cause() {
    let error = on_cpu::PACK.on(&Device::cpu()).unwrap_err().to_string();
    assert!(error.contains(WHY), "{error}");
}

#[test]
fn no_pack_is_listed() {
    assert_eq!(offload_gpu::linked_packs().count(), 0);
}
