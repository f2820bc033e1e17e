//! Tests of the selection: images, a device, and the expected image or refusal.

use super::*;
use crate::target::{
    NvidiaArch, OffloadArch, PtxVersion, SpirvFeatures, SpirvVersion, TargetId, TargetTriple,
};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// An image with nothing but a code and a label.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Image<'a>(ImageCode<'a>, &'a str);

impl Candidate for Image<'_> {
    fn code(&self) -> ImageCode<'_> {
        self.0
    }

    fn label(&self) -> &str {
        self.1
    }
}

/// Returns an image with no properties except its name: `gfx90a`, `sm_80`, `compute_80@7.0` (PTX
/// ISA version), `gfx12-generic@5` (code object version), `cpu`.
fn named(text: &str) -> Image<'_> {
    let (name, version) =
        text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
    let code = match (NvidiaArch::parse(name), TargetTriple::parse(name)) {
        (Ok(arch), _) => {
            let version = version.and_then(|version| version.split_once('.'));
            let version =
                version.map(|(a, b)| PtxVersion::new(a.parse().unwrap(), b.parse().unwrap()));
            ImageCode::of_arch(OffloadArch::Nvidia(arch), false).or_ptx_version(version)
        }
        (_, Ok(_)) if !name.starts_with("gfx") => ImageCode::Cpu(name),
        _ => ImageCode::Amdgpu {
            id: TargetId::parse(name).unwrap(),
            version: version.map(|it| it.parse().unwrap()),
        },
    };
    Image(code, text)
}

fn chosen(images: &str, device: &str) -> String {
    let images = images.split(' ').map(named);
    select(images, &DeviceInfo::parse(device).unwrap())
        .map_or("none".to_string(), |choice| choice.image().1.to_string())
}

/// Returns SPIR-V 1.4 that needs these features.
fn spirv_that_needs(needs: SpirvFeatures) -> Image<'static> {
    let version = Some(SpirvVersion { major: 1, minor: 4 });
    Image(ImageCode::SpirV { version, needs }, "spirv64")
}

#[test]
fn spirv() {
    let (none, all) = (SpirvFeatures::default(), SpirvFeatures::ALL);
    let of = SpirvFeatures::of_extensions;
    assert_eq!(of("cl_khr_fp64"), SpirvFeatures(1));
    assert_eq!(of("cl_khr_icd cl_khr_fp16 cl_khr_fp64_of_another"), SpirvFeatures(2));
    for (needs, device, expected) in [
        (all, "spirv64", "SPIR-V, compiled by the runtime"),
        (all, "spirv64@driver1.4", "SPIR-V, compiled by the runtime"),
        (none, "spirv64@driver1.2", "SPIR-V 1.4, but the driver accepts SPIR-V up to 1.2"),
        (none, "spirv64:float64-", "SPIR-V, compiled by the runtime"),
        (of("cl_khr_fp16"), "spirv64:float64-", "SPIR-V, compiled by the runtime"),
        (
            of("cl_khr_fp16 cl_khr_fp64"),
            "spirv64:float64-@driver1.4",
            "uses double (capability Float64), which the device lacks",
        ),
        (
            of("cl_khr_int64_base_atomics cl_khr_fp64"),
            "spirv64:float64-:atomics64-",
            "uses double (capability Float64) and 64-bit atomics (capability Int64Atomics), \
             which the device lacks",
        ),
        (
            SpirvFeatures(0x41),
            "spirv64:float64-",
            "uses double (capability Float64) and features that this version of offload-format does not know (0x40), \
             which the device lacks",
        ),
        (
            SpirvFeatures(0x40),
            "spirv64",
            "uses features that this version of offload-format does not know (0x40), which the device lacks",
        ),
    ] {
        let device = DeviceInfo::parse(device).unwrap();
        let found = judge(&spirv_that_needs(needs), &device);
        let found = found.map_or_else(|refusal| refusal.to_string(), |fit| fit.to_string());
        assert_eq!(found, expected, "{device}");
    }
    // No other target would help, so there is no advice.
    let device = DeviceInfo::parse("spirv64:float64-@driver1.4").unwrap();
    assert_eq!(
        select([spirv_that_needs(all)], &device).unwrap_err().to_string(),
        "no image for spirv64:float64- (SPIR-V up to 1.4)\n  \
         spirv64  uses double (capability Float64), which the device lacks"
    );
    let machine_code = ImageCode::of_arch(OffloadArch::parse("bmg_g21").unwrap(), false);
    assert_eq!(
        select([Image(machine_code, "bmg_g21")], &device).unwrap_err().to_string(),
        "no image for spirv64:float64- (SPIR-V up to 1.4)\n  \
         bmg_g21  machine code for bmg_g21, but this device accepts only SPIR-V\n\
         to run on this device, add \"spirv64\" to the targets in build.rs"
    );
    for wrong in ["spirv64:float65-", "spirv64:float64", "spirv64:", "spirv64@driver1"] {
        assert!(DeviceInfo::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_best_image_is_chosen() {
    for (images, device, expected) in [
        ("gfx90a gfx942", "gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a:xnack+ gfx90a:xnack-", "gfx90a:sramecc+:xnack-", "gfx90a:xnack-"),
        // The rules do not assume a feature that the device does not report.
        ("gfx90a:xnack-", "gfx90a", "none"),
        ("gfx90a:sramecc+:xnack-", "gfx90a:xnack-", "none"),
        // The image with more named features is chosen, regardless of the images' order.
        ("gfx90a gfx90a:xnack-", "gfx90a:xnack-", "gfx90a:xnack-"),
        ("gfx90a:xnack- gfx90a", "gfx90a:xnack-", "gfx90a:xnack-"),
        // The processor precedes its family, and the family precedes SPIR-V.
        ("gfx11-generic@6 gfx1100", "gfx1100", "gfx1100"),
        ("amdgcnspirv gfx11-generic@6", "gfx1151", "gfx11-generic@6"),
        ("amdgcnspirv gfx1100", "gfx906:xnack-", "amdgcnspirv"),
        ("gfx11-generic@5", "gfx1100", "none"),
        ("gfx11-generic", "gfx1100", "gfx11-generic"),
        ("gfx9-generic", "gfx908:xnack-", "none"),
        ("gfx9-generic", "gfx90a:xnack-", "none"),
        (
            "gfx9-4-generic:xnack+ gfx9-4-generic:xnack-",
            "gfx950:sramecc+:xnack-",
            "gfx9-4-generic:xnack-",
        ),
        ("gfx12-generic", "gfx1201", "gfx12-generic"),
        ("gfx1200", "gfx1201", "none"),
        // Aliases.
        ("fiji", "gfx803", "fiji"),
        // The processor is not in the table, but an image for exactly the device's target ID fits
        // anyway.
        ("gfx9999:foo+", "gfx9999:foo+", "gfx9999:foo+"),
        // NVIDIA.
        ("sm_80 sm_90", "sm_90", "sm_90"),
        ("sm_80 sm_90", "sm_89", "sm_80"),
        ("sm_80 sm_86 sm_89", "sm_89", "sm_89"),
        ("sm_89 sm_88 sm_86 sm_80", "sm_87", "none"),
        ("sm_86", "sm_80", "none"),
        ("sm_80", "sm_90", "none"),
        // Machine code precedes PTX; among PTX images, the highest is chosen.
        ("compute_90@8.0 sm_90", "sm_90", "sm_90"),
        ("compute_70 compute_80", "sm_90", "compute_80"),
        ("compute_90", "sm_89", "none"),
        ("compute_80", "sm_121", "compute_80"),
        // Suffixes: `a` runs only on its own compute capability, `f` on its family.
        ("sm_90 sm_90a", "sm_90", "sm_90a"),
        ("sm_90a", "sm_100", "none"),
        ("sm_100a", "sm_103", "none"),
        ("sm_100 sm_100f sm_100a", "sm_100", "sm_100a"),
        ("sm_100 sm_100f sm_100a", "sm_103", "sm_100f"),
        ("sm_103 sm_100f", "sm_103", "sm_103"),
        ("sm_120f", "sm_121", "sm_120f"),
        ("sm_103f", "sm_100", "none"),
        ("sm_100f", "sm_107", "sm_100f"),
        ("compute_90a", "sm_90", "compute_90a"),
        ("compute_90a", "sm_100", "none"),
        ("compute_100f", "sm_103", "compute_100f"),
        ("compute_100f", "sm_120", "none"),
        // Machine code for Tegra GPUs does not run on other GPUs, and machine code for other GPUs
        // does not run on Tegra GPUs; PTX does.
        ("sm_86 sm_80 compute_80", "sm_87", "compute_80"),
        ("sm_86 sm_87 compute_87", "sm_87", "sm_87"),
        ("sm_87 compute_80", "sm_89", "compute_80"),
        ("sm_87 sm_86", "sm_89", "sm_86"),
        ("sm_87", "sm_88", "none"),
        ("sm_50 sm_52 compute_50", "sm_53", "compute_50"),
        ("sm_60 sm_61 compute_60", "sm_62", "compute_60"),
        ("sm_70 compute_70", "sm_72", "compute_70"),
        ("sm_72 sm_70", "sm_75", "sm_70"),
        ("sm_72", "sm_75", "none"),
        ("sm_110 sm_110f sm_110a", "sm_110", "sm_110a"),
        ("sm_120 compute_110", "sm_121", "sm_120"),
        // Since CUDA 13, compute capability 10.1 is called 11.0; 10.0 is not in the family of 11.0.
        ("sm_100 sm_100f", "sm_101", "none"),
        ("sm_101 sm_101f", "sm_103", "none"),
        ("sm_101 sm_101f", "sm_101", "sm_101f"),
        ("sm_100f compute_100f compute_100", "sm_101", "compute_100"),
        ("compute_101f", "sm_103", "none"),
        ("sm_101 compute_110", "sm_110", "sm_101"),
        ("sm_101 sm_110", "sm_110", "sm_110"),
        ("sm_101f sm_101a", "sm_110", "sm_101a"),
        ("compute_101f compute_101a", "sm_110", "compute_101a"),
        ("sm_110 sm_110f sm_110a compute_110", "sm_101", "none"),
        // The driver must be new enough for the PTX ISA version, if both are known.
        ("compute_80@8.7", "sm_90@driver12.4", "none"),
        ("compute_80@8.7", "sm_90@driver12.8", "compute_80@8.7"),
        ("compute_80@8.7 compute_70@6.3", "sm_90@driver12.4", "compute_70@6.3"),
        ("compute_80@8.7", "sm_90", "compute_80@8.7"),
        // Images for a different vendor's GPUs do not fit.
        ("gfx90a", "sm_90", "none"),
        ("sm_90", "gfx90a", "none"),
        // Of images that fit equally well, the newer PTX or the older code object is chosen.
        ("compute_80@8.0 compute_80@7.0", "sm_90", "compute_80@8.0"),
        ("compute_80@8.0 compute_80@7.0", "sm_90@driver11.4", "compute_80@7.0"),
        ("gfx90a@6 gfx90a@5", "gfx90a", "gfx90a@5"),
        ("gfx90a:xnack- gfx90a:sramecc+", "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+"),
        ("fiji gfx803", "gfx803", "fiji"),
    ] {
        assert_eq!(chosen(images, device), expected, "{images} for {device}");
    }
}

/// Checks that `select`'s choice does not depend on the images' order, and that no two images tie
/// by accident.
#[test]
fn the_order_of_the_images_does_not_matter() {
    let names: Vec<&str> = "gfx90a:xnack-@6 gfx90a:xnack- gfx90a:sramecc+ gfx90a:sramecc+:xnack- gfx90a gfx90a@6 gfx906 \
                            gfx9-4-generic@6 gfx9-4-generic:xnack-@6 gfx942 amdgcnspirv sm_80 sm_86 sm_90 sm_90a sm_100f sm_100 \
                            compute_80 compute_80@7.0 compute_80@8.0 compute_90 compute_90a compute_100f"
        .split_whitespace()
        .collect();
    let devices = [
        "gfx90a:sramecc+:xnack-",
        "gfx942:xnack-",
        "gfx1100",
        "sm_86",
        "sm_90@driver12.4",
        "sm_100",
        "sm_103",
    ];
    let (mut ties, mut state) = (0, 1_u64);
    for text in devices {
        let device = DeviceInfo::parse(text).unwrap();
        for (i, a) in names.iter().enumerate() {
            for b in &names[..i] {
                assert_eq!(
                    chosen(&[*a, *b].join(" "), text),
                    chosen(&[*b, *a].join(" "), text),
                    "{a} {b} for {text}"
                );
                if let [Ok(fit), Ok(other)] = [a, b].map(|name| judge(&named(name), &device)) {
                    let [a, b] = [a, b].map(|name| named(name));
                    assert_ne!(
                        is_before((&a, &fit), (&b, &other)),
                        is_before((&b, &other), (&a, &fit)),
                        "{a:?} {b:?}"
                    );
                    ties += usize::from(!fit.is_better_than(&other) && !other.is_better_than(&fit));
                }
            }
        }
        let first = chosen(&names.join(" "), text);
        let mut names = names.clone();
        for _ in 0..100 {
            for i in (1..names.len()).rev() {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                names.swap(i, (state >> 33) as usize % (i + 1));
            }
            assert_eq!(chosen(&names.join(" "), text), first, "{names:?} for {text}");
        }
    }
    assert!(ties > 0, "no pair is told apart by its labels");
}

#[test]
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")),
    ignore = "names the images of this host: x86_64 Linux with glibc"
)]
fn the_host_gets_its_own_image_only() {
    let this = "x86_64-unknown-linux-gnu";
    for other in [
        "aarch64-unknown-linux-gnu",
        "x86_64-unknown-linux-musl",
        "x86_64-unknown-linux-gnux32",
        "x86_64-pc-windows-msvc",
        "x86_64-apple-darwin",
    ] {
        assert_eq!(chosen(&alloc::format!("{other} {this}"), "cpu"), this);
        assert_eq!(chosen(other, "cpu"), "none");
    }
}

#[test]
fn a_refusal_lists_every_image_with_its_reason() {
    let images =
        ["gfx90a:xnack+", "gfx1100", "gfx11-generic@5", "sm_80", "compute_80@8.7"].map(named);
    let error = select(images, &DeviceInfo::hip("gfx90a:sramecc+:xnack-").unwrap()).unwrap_err();
    assert_eq!(error.refused().len(), images.len());
    assert_eq!(
        error.to_string(),
        "no image for gfx90a:sramecc+:xnack-
  gfx90a:xnack+    needs xnack+, but the device has xnack-
  gfx1100          code for another processor
  gfx11-generic@5  code for another family of processors
  sm_80            code for an NVIDIA GPU
  compute_80@8.7   code for an NVIDIA GPU
to run on this device, add \"gfx90a:xnack-\" to the targets in build.rs"
    );
    let images = [
        "sm_80",
        "sm_100f",
        "sm_90a",
        "compute_70@8.7",
        "compute_80",
        "gfx90a",
        "aarch64-apple-darwin",
        "amdgcnspirv",
    ];
    assert_eq!(
        select(
            images.map(named),
            &DeviceInfo::cuda(ComputeCapability { major: 7, minor: 5 }, 12040)
        )
        .unwrap_err()
        .to_string(),
        "no image for sm_75 (CUDA driver 12.4)
  sm_80                 machine code for compute capability 8.x, from 8.0 on
  sm_100f               runs only on the family of compute capability 10.0 (suffix 'f')
  sm_90a                runs only on compute capability 9.0 (suffix 'a')
  compute_70@8.7        the driver for CUDA 12.4 loads PTX up to 8.4, but this image is PTX 8.7, which needs CUDA 12.8 or later
  compute_80            needs compute capability 8.0
  gfx90a                code for an AMD GPU
  aarch64-apple-darwin  code for a CPU
  amdgcnspirv           code for an AMD GPU
to run on this device, add \"sm_75\" or \"compute_75\" to the targets in build.rs"
    );
    // The error explains why Tegra GPUs do not run images for other GPUs, and vice versa.
    for (images, device, reasons) in [
        (
            ["sm_86", "sm_89"],
            DeviceInfo::cuda(ComputeCapability { major: 8, minor: 7 }, 12040),
            ["machine code for 8.6, which no Tegra GPU runs", "needs compute capability 8.9"],
        ),
        (
            ["sm_87", "sm_100f"],
            DeviceInfo::cuda(ComputeCapability { major: 8, minor: 9 }, 12040),
            [
                "machine code for compute capability 8.7, only for Tegra GPUs",
                "runs only on the family of compute capability 10.0 (suffix 'f')",
            ],
        ),
    ] {
        let error = select(images.map(named), &device).unwrap_err().to_string();
        assert!(reasons.iter().all(|reason| error.contains(reason)), "{error}");
    }
    // PTX for compute capability 12.0 needs a newer driver, so the advice names only `sm_120`.
    let device = DeviceInfo::cuda(ComputeCapability { major: 12, minor: 0 }, 12060);
    let error = select([named("compute_90@8.7")], &device).unwrap_err().to_string();
    assert!(error.ends_with("add \"sm_120\" to the targets in build.rs"), "{error}");
    // The image is for the processor's family, but runtimes accept generic targets only from code
    // object version 6 on.
    let error = select([named("gfx11-generic@5")], &DeviceInfo::hip("gfx1151").unwrap())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "no image for gfx1151\n  gfx11-generic@5  a generic target needs code object version 6, but this image has version 5\n\
         to run on this device, add \"gfx1151\" to the targets in build.rs"
    );
    // The image was built with the target `cpu` for a different kind of CPU, so the error does not
    // suggest adding `cpu`.
    let error = select([named("sparc-sun-solaris")], &DeviceInfo::cpu()).unwrap_err().to_string();
    assert_eq!(error, "no image for the CPU\n  sparc-sun-solaris  made for sparc-sun-solaris");
}

#[test]
fn devices_from_text() {
    for (text, display) in [
        ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("sm_90", "sm_90"),
        ("sm_121@driver13.0", "sm_121 (CUDA driver 13.0)"),
        ("sm_80@driver12", "sm_80 (CUDA driver 12.0)"),
        ("cpu", "the CPU"),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090 (sm_89)"),
        ("rtx 4090@driver12.4", "GeForce RTX 4090 (sm_89, CUDA driver 12.4)"),
        ("MI300X", "Instinct MI300X (gfx942)"),
        ("strix halo", "Strix Halo (gfx1151)"),
    ] {
        assert_eq!(DeviceInfo::parse(text).unwrap().to_string(), display);
    }
    assert_eq!(
        DeviceInfo::parse("sm_90@driver12.8").unwrap(),
        DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 12080)
    );
    for (text, error) in [
        ("", "'': not a device: expected a name such as"),
        (
            "radeon",
            "'radeon': not a device: expected a name such as gfx90a:sramecc+:xnack-, sm_90, ",
        ),
        ("gfx90a:xnack", "'gfx90a:xnack': not a device"),
        ("host", "'host': not a device"),
        ("compute_90", "'compute_90': not a device"),
        ("cpu@driver12.8", "'cpu@driver12.8': not a device"),
        ("sm_90a", "'sm_90a': expected a device's compute capability without a letter (at 'a')"),
        ("sm_9", "'sm_9': expected a compute capability such as 80, 90a or 121 (at '9')"),
        ("sm_90@driver", "'sm_90@driver': expected a driver's CUDA version such as 12.8 (at '')"),
        (
            "sm_90@driver99999999.9",
            "'sm_90@driver99999999.9': expected a driver's CUDA version such as 12.8 (at '99999999.9')",
        ),
        (
            "RTX 4090@driverX",
            "'RTX 4090@driverX': expected a driver's CUDA version such as 12.8 (at 'X')",
        ),
        (
            "MI300X@driver12.8",
            "'MI300X@driver12.8': an AMD GPU's name cannot contain a driver version (at '@driver12.8')",
        ),
    ] {
        let found = DeviceInfo::parse(text).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}");
    }
}

/// Checks that an image for one mode (`gfx942:xnack-`) does not fit a device given by a product's
/// name, which does not determine the mode.
#[test]
fn a_product_is_its_processor_in_no_known_mode() {
    assert_eq!(chosen("gfx942:xnack- gfx942:xnack+", "MI300X"), "none");
    assert_eq!(chosen("gfx942:xnack- gfx9-4-generic", "MI300X"), "gfx9-4-generic");
    assert_eq!(chosen("sm_80 sm_86 sm_90", "RTX 4090"), "sm_86");
    let error =
        select([named("gfx942:xnack-")], &DeviceInfo::parse("MI300X").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no image for Instinct MI300X (gfx942)\n  gfx942:xnack-  needs xnack-, but the device does not report xnack"
    );
}

#[test]
fn what_no_runtime_reports_is_no_device() {
    for name in
        ["", "cpu", "sm_90", "AMD", "native", "gfx", "gfx9-generic", "amdgcnspirv", "gfx90a:xnack"]
    {
        assert!(DeviceInfo::hip(name).is_err(), "{name}");
    }
    for text in ["sm_90@driver+12.8", "sm_90@driver12.999", "sm_90@driver12.", "gfx11-generic"] {
        assert!(DeviceInfo::parse(text).is_err(), "{text}");
    }
    // Numbers that no real driver reports must not cause a panic.
    let device = DeviceInfo::cuda(ComputeCapability { major: u32::MAX, minor: u32::MAX }, u32::MAX);
    assert!(select([named("sm_100f"), named("sm_80")], &device).is_err());
}

#[test]
fn no_advice_that_the_build_would_refuse() {
    for (image, device, advice) in [
        ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", Some("gfx90a:xnack-")),
        ("gfx90a:sramecc+:xnack-", "gfx90a:xnack-", None),
        ("gfx90a:xnack-", "gfx90a", None),
    ] {
        let error =
            select([named(image)], &DeviceInfo::hip(device).unwrap()).unwrap_err().to_string();
        match advice {
            Some(target) => {
                let [a, b] = [image, target].map(|id| TargetId::parse(id).unwrap());
                assert!(!a.conflicts_with(&b), "{error}");
                assert!(error.contains(&alloc::format!("add \"{target}\"")), "{error}");
            }
            None => assert!(!error.contains("build.rs"), "{error}"),
        }
    }
}

#[test]
fn a_fit_says_how_narrow_it_is() {
    for (image, device, text) in [
        ("sm_80", "sm_86", "machine code for 8.0: same major, minor not higher"),
        ("sm_90a", "sm_90", "machine code for 9.0 only"),
        ("sm_100f", "sm_103", "machine code for the family of 10.0"),
        ("compute_80", "sm_90", "PTX for 8.0 and up, compiled by the driver"),
        ("compute_90a", "sm_90", "PTX for 9.0 only, compiled by the driver"),
        ("compute_100f", "sm_103", "PTX for the family of 10.0, compiled by the driver"),
        ("gfx90a", "gfx90a", "made for this processor, in any mode"),
        ("gfx90a:xnack-", "gfx90a:xnack-", "made for this processor in this mode"),
    ] {
        let choice = select([named(image)], &DeviceInfo::parse(device).unwrap()).unwrap();
        assert_eq!(choice.fit().to_string(), text);
        assert_eq!(choice.into_image(), named(image));
    }
}
