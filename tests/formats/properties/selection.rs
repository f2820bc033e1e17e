//! Random lists of images: the selected image must fit, no other image may be better, and the
//! images' order must not matter.

use super::check;
use offload_format::select::{self, Candidate, DeviceInfo};
use offload_format::target::{ImageCode, NvidiaArch, NvidiaCode, PtxVersion, TargetId};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy};
use proptest::sample;
use std::fmt::Debug;

/// An image without bytes: only a target, a label, and the version of the code object or PTX.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    target: &'static str,
    version: Option<u32>,
    label: &'static str,
}

impl Candidate for Named {
    fn code(&self) -> ImageCode<'_> {
        match NvidiaArch::parse(self.target) {
            Ok(arch) if arch.code == NvidiaCode::Ptx => ImageCode::Ptx {
                arch,
                version: self.version.map(|version| PtxVersion::new(version, 0)),
            },
            Ok(arch) => ImageCode::Cubin(arch),
            Err(_) => match TargetId::parse(self.target) {
                Ok(id) if self.target.starts_with("gfx") || self.target == "amdgcnspirv" => {
                    ImageCode::Amdgpu { id, version: self.version }
                }
                _ => ImageCode::Cpu(self.target),
            },
        }
    }

    fn label(&self) -> &str {
        self.label
    }
}

const TARGETS: &str = "
    gfx906 gfx906:sramecc+ gfx906:xnack- gfx906:sramecc+:xnack- gfx906:xnack-:sramecc+ gfx90a:xnack+
    gfx942 gfx9-generic gfx9-4-generic gfx9-4-generic:xnack- gfx803 fiji amdgcnspirv
    sm_80 sm_86 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103
    compute_70 compute_80 compute_90 compute_90a compute_100 compute_100f
    x86_64-unknown-linux-gnu x86_64-pc-linux-gnu x86_64-linux-gnu aarch64-unknown-linux-gnu what";

const DEVICES: &str = "
    gfx906:sramecc+:xnack- gfx906 gfx900:xnack- gfx942:sramecc+:xnack- gfx803 gfx1030
    sm_75 sm_86 sm_90 sm_90@driver11.4 sm_100 sm_103 sm_120 cpu";

fn one_of(names: &'static str) -> impl Strategy<Value = &'static str> {
    sample::select(names.split_whitespace().collect::<Vec<_>>())
}

/// Tests that the order of the images does not change the choice, that the selected image fits, and
/// that no other image precedes it.
#[test]
fn the_selected_image_does_not_depend_on_the_order() {
    let label = sample::select(&["a", "b", ""][..]);
    let image = (one_of(TARGETS), proptest::option::of(4..9_u32), label);
    let image = image.prop_map(|(target, version, label)| Named { target, version, label });
    let images = vec(image, 0..12)
        .prop_flat_map(|images| (Just(images.clone()), Just(images).prop_shuffle()));
    let chosen = std::cell::Cell::new(0);
    check(4000, (images, one_of(DEVICES)), |((images, shuffled), device)| {
        let device = DeviceInfo::parse(device).unwrap();
        let choice = select::select(&images, &device);
        let again = select::select(&shuffled, &device);
        match (&choice, &again) {
            (Ok(choice), Ok(again)) => {
                // Returns the properties of an image that the rules use. The rules ignore a cubin's
                // version.
                let seen = |image: &Named| (format!("{:?}", image.code()), image.label);
                assert_eq!((seen(choice), choice.fit()), (seen(again), again.fit()));
                assert_eq!(select::judge(choice.image(), &device), Ok(*choice.fit()));
                for image in &images {
                    let Ok(fit) = select::judge(image, &device) else { continue };
                    let chosen = (*choice.image(), choice.fit());
                    assert!(!select::is_before((image, &fit), chosen), "{image:?}");
                }
                chosen.set(chosen.get() + 1);
            }
            (Err(error), Err(_)) => {
                let refused = error.refused().iter().map(|(image, refusal)| {
                    assert_eq!(select::judge(image, &device).as_ref(), Err(refusal));
                    *image
                });
                assert!(refused.eq(&images), "{error}");
                assert_ne!(error.to_string(), "");
            }
            _ => panic!("{device}: {choice:?} or {again:?}"),
        }
    });
    assert!(chosen.get() > 500, "{}", chosen.get());
}
