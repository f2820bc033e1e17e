//! Checks for a program's own tests of its packs.

use crate::text::joined;
use crate::{Form, KernelPack, Module};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use offload_format::select::DeviceInfo;

/// Asserts that each module of a pack has an image for each of these devices, by the rules of
/// [`mod@crate::select`]. Use it in a program's own tests to find missing targets before users do.
/// Device names have the forms of [`DeviceInfo::parse`]: `"RTX 4090"`, `"gfx1151"`,
/// `"sm_90@driver12.4"`, `"cpu"`.
///
/// ```should_panic
/// # use offload_gpu::KernelPack;
/// # use offload_gpu::__expansion::{ModuleRecord, linked};
/// # static SAXPY: KernelPack = linked("saxpy", "", &[], &[ModuleRecord::new("saxpy", &[])]);
/// offload_gpu::assert_supports(&SAXPY, ["RTX 4090", "gfx1151"]);
/// ```
///
/// # Panics
/// Panics if an image is missing. The message lists why each image of the module does not fit, and
/// the lines to add to build.rs. Also panics if the pack was not built, if its images are unknown,
/// or if [`DeviceInfo::parse`] does not recognize a device's name.
#[track_caller]
pub fn assert_supports<F: Form, D: AsRef<str>>(
    pack: &KernelPack<F>,
    devices: impl IntoIterator<Item = D>,
) {
    let devices = devices.into_iter().map(|text| match DeviceInfo::parse(text.as_ref()) {
        Ok(device) => device,
        Err(error) => panic!("assert_supports for the pack \"{}\": {error}", pack.name()),
    });
    if let Some(message) = unsupported(pack, &devices.collect::<Vec<_>>()) {
        panic!("{message}");
    }
}

/// Returns the message about unsupported devices, or `None` if the pack supports all devices.
fn unsupported<F: Form>(pack: &KernelPack<F>, devices: &[DeviceInfo]) -> Option<String> {
    if let Some(why) = pack.unsupported() {
        return Some(why);
    }
    let name = pack.name();
    let (mut message, mut lines) = (String::new(), Vec::new());
    for device in devices {
        let failed =
            pack.modules().filter_map(|module| Some((module, module.select(device).err()?)));
        for (module, error) in failed {
            let place = if is_only(pack, &module) {
                String::new()
            } else {
                format!("module \"{}\": ", module.name())
            };
            message += &format!("\n\n{place}{error}");
            if let Some(target) = error.targets_to_add().into_iter().next() {
                let line = format!("\n    .arch(\"{target}\")");
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    if message.is_empty() {
        return None;
    }
    let devices: Vec<String> = devices.iter().map(DeviceInfo::to_string).collect();
    let list = joined(&devices, ", ");
    let advice = if lines.is_empty() {
        String::new()
    } else {
        format!("\n\nadd to build.rs, before .compile(...):{}", joined(&lines, ""))
    };
    Some(format!(
        "the pack \"{name}\" does not support all of these devices: {list}{message}{advice}"
    ))
}

/// Whether this is the pack's only module and has the pack's name, so that messages need not name
/// it.
fn is_only<F: Form>(pack: &KernelPack<F>, module: &Module<'_, F>) -> bool {
    pack.modules().len() == 1 && pack.name() == module.name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::__expansion::{
        ImageRecord, ModuleRecord, PackImageKind, PtxVersion, linked, not_built, opaque,
    };
    use crate::Plain;

    const IMAGES: &[ImageRecord] = &[
        ImageRecord::of("gfx1100", PackImageKind::CodeObject { version: 6 }),
        ImageRecord::of("sm_86", PackImageKind::Cubin),
        ImageRecord::of("compute_86", PackImageKind::Ptx { version: PtxVersion::new(7, 1) }),
        ImageRecord::of("gfx11-generic", PackImageKind::CodeObject { version: 6 }),
    ];
    const ONE: &[ModuleRecord] = &[ModuleRecord::new("saxpy", IMAGES.split_at(3).0)];
    const TWO: &[ModuleRecord] = &[
        ModuleRecord::new("affine", IMAGES.split_at(3).0),
        ModuleRecord::new("scale", IMAGES.split_at(2).1),
    ];

    const fn pack(modules: &'static [ModuleRecord]) -> KernelPack {
        linked("saxpy", ".llvm.offloading", &[0; 16], modules)
    }

    #[test]
    fn what_is_supported() {
        assert_supports(
            &pack(ONE),
            ["RTX 4090", "NVIDIA GeForce RTX 3090", "gfx1100", "sm_90@driver12.4", "sm_121"],
        );
        assert_supports(&pack(TWO), ["RTX 4090".to_string()]);
        assert_supports(&pack(ONE), [""; 0]);
    }

    #[test]
    fn what_is_missing_is_listed_with_the_lines_to_add() {
        let devices =
            ["RTX 4090", "gfx1151", "Tesla T4"].map(|text| DeviceInfo::parse(text).unwrap());
        assert_eq!(
            unsupported(&pack(TWO), &devices).unwrap(),
            "\
the pack \"saxpy\" does not support all of these devices: GeForce RTX 4090 (sm_89), gfx1151, T4 (sm_75)

module \"affine\": no image for gfx1151
  gfx1100     code for another processor
  sm_86       code for an NVIDIA GPU
  compute_86  code for an NVIDIA GPU
to run on this device, add \"gfx1151\" to the targets in build.rs

module \"affine\": no image for T4 (sm_75)
  gfx1100     code for an AMD GPU
  sm_86       machine code for compute capability 8.x, from 8.6 on
  compute_86  needs compute capability 8.6
to run on this device, add \"sm_75\" or \"compute_75\" to the targets in build.rs

module \"scale\": no image for T4 (sm_75)
  compute_86     needs compute capability 8.6
  gfx11-generic  code for an AMD GPU
to run on this device, add \"sm_75\" or \"compute_75\" to the targets in build.rs

add to build.rs, before .compile(...):
    .arch(\"gfx1151\")
    .arch(\"sm_75\")"
        );
    }

    #[test]
    #[should_panic(expected = "the pack \"saxpy\" was not built: OFFLOAD_SKIP was set")]
    fn a_pack_that_was_not_built() {
        assert_supports::<Plain, _>(&not_built("saxpy", "OFFLOAD_SKIP was set", ONE), ["cpu"]);
    }

    #[test]
    #[should_panic(
        expected = "the images of the pack \"saxpy\" are not known: the file is compressed"
    )]
    fn a_pack_whose_images_are_not_known() {
        assert_supports::<Plain, _>(
            &opaque("saxpy", "", &[], "the file is compressed", ONE),
            ["cpu"],
        );
    }

    #[test]
    fn no_target_is_advised_for_a_module_without_images() {
        const NONE: &[ModuleRecord] = &[ModuleRecord::new("saxpy", &[])];
        let message = unsupported(&pack(NONE), &[DeviceInfo::parse("RTX 4090").unwrap()]).unwrap();
        assert!(
            message.contains(
                "no image for GeForce RTX 4090 (sm_89): the module \"saxpy\" has no images"
            ) && !message.contains(".arch("),
            "{message}"
        );
    }

    #[test]
    #[should_panic(expected = "assert_supports for the pack \"saxpy\": 'RTX 9999': not a device")]
    fn a_device_that_nobody_knows() {
        assert_supports(&pack(ONE), ["RTX 9999"]);
    }
}
