//! Tests of headers together with the names of images.

use super::*;
use crate::target::{NvidiaArch, OffloadArch, SpirvFeatures, SpirvVersion, TargetId};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Flags of code object version 6 that name no features.
const GFX803: u32 = 0x2a;
const GFX906: u32 = 0x52f;
const GFX908: u32 = 0x530;
const GFX90A: u32 = 0x53f;

fn code_object(version: u32, flags: u32) -> ImageHeader {
    ImageHeader::CodeObject(CodeObjectHeader::of(version, flags))
}

/// `gfx906:sramecc-:xnack-`, as code object version 3 encodes it.
fn without_any() -> ImageHeader {
    code_object(3, 0x2f)
}

fn cubin() -> ImageHeader {
    let mut bytes = [0; 64];
    bytes[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 51, 7]);
    bytes[18..20].copy_from_slice(&190_u16.to_le_bytes());
    bytes[48] = 90;
    ImageHeader::parse(&bytes).unwrap()
}

/// Returns SPIR-V 1.6 with these capabilities, in this byte order.
fn spirv_with(capabilities: &[u32], bytes: fn(u32) -> [u8; 4]) -> ImageHeader {
    let mut words = alloc::vec![0x0723_0203, 0x0001_0600, 0, 1, 0];
    for capability in capabilities {
        words.extend([2 << 16 | 17, *capability]);
    }
    ImageHeader::parse(&words.into_iter().flat_map(bytes).collect::<Vec<u8>>()).unwrap()
}

fn spirv() -> ImageHeader {
    spirv_with(&[6], u32::to_le_bytes)
}

fn shader() -> ImageHeader {
    spirv_with(&[1, 10], u32::to_le_bytes)
}

#[test]
fn modules_that_are_not_for_opencl() {
    let why = |image| match image {
        ImageHeader::SpirV(header) => header.why_not_opencl(),
        _ => panic!("{image}"),
    };
    assert_eq!(why(spirv_with(&[4, 6], u32::to_le_bytes)), None);
    let not_kernel = "is SPIR-V without the capability Kernel, for example a Vulkan shader";
    assert_eq!(why(shader()), Some(not_kernel));
    assert_eq!(shader().to_string(), "SPIR-V that no OpenCL driver accepts");
    let big = spirv_with(&[4, 6, 10], u32::to_be_bytes);
    assert!(why(big).is_some_and(|why| why.starts_with("is big-endian SPIR-V")));
    let ImageHeader::SpirV(header) = big else { panic!("{big}") };
    assert_eq!(header.version, SpirvVersion { major: 1, minor: 6 });
    assert_eq!(header.needs, SpirvFeatures(1));
    let target = OffloadArch::parse("spirv64").unwrap();
    let head = [0x0723_0203_u32, 0x0001_0600].map(u32::to_le_bytes).concat();
    let refused = crate::image::pack_kind_for(&target, &head, String::new());
    assert_eq!(refused, Err(format!("it {not_kernel}")));
}

fn by_name(name: &str) -> ImageCode<'_> {
    ImageCode::of_arch(OffloadArch::parse(name).unwrap(), false)
}

#[test]
fn names_that_promise_too_much() {
    let ptx = |target: &str| {
        ImageHeader::parse(format!(".version 8.6\n.target {target}\n").as_bytes()).unwrap()
    };
    let spirv = spirv();
    let off = code_object(6, GFX90A + 0x100);
    for (header, name, expected) in [
        (code_object(6, GFX90A), "gfx90a", false),
        (code_object(6, GFX90A), "gfx90a:xnack-", false),
        (off, "gfx90a", true),
        (off, "gfx90a:xnack+", true),
        (code_object(6, GFX908), "gfx90a", true),
        (code_object(6, GFX803), "fiji", false),
        (without_any(), "gfx906", false),
        (without_any(), "gfx906:xnack+", true),
        (code_object(6, GFX906), "sm_90", true),
        (code_object(6, GFX906), "amdgcnspirv", true),
        (code_object(2, 0), "gfx906", false),
        (cubin(), "sm_90", false),
        (cubin(), "sm_90a", false),
        (cubin(), "sm_80", true),
        (cubin(), "compute_90", true),
        (ptx("sm_80"), "compute_80", false),
        (ptx("sm_80"), "compute_90", false),
        (ptx("sm_90"), "compute_80", true),
        (ptx("sm_90a"), "compute_90", true),
        (ptx("sm_90a"), "sm_90a", false),
        (spirv, "amdgcnspirv", false),
        (spirv, "spirv64", false),
        (shader(), "spirv64", true),
        (shader(), "cpu", false),
        (spirv, "gfx906", true),
        (ImageHeader::Elf { machine: 62 }, "gfx906", true),
        (ImageHeader::Pe { machine: 0x8664 }, "gfx906", true),
        (ImageHeader::Bitcode, "gfx906", false),
    ] {
        assert_eq!(header.contradicts(&by_name(name)), expected, "{header} {name}");
    }
}

#[test]
fn the_header_counts_more_than_the_name() {
    let amd = |id, version| ImageCode::Amdgpu { id: TargetId::parse(id).unwrap(), version };
    let cubin_for = |name| ImageCode::Cubin(NvidiaArch::parse(name).unwrap());
    let spirv = spirv();
    for (header, name, expected) in [
        (code_object(6, GFX908), "gfx90a", amd("gfx908", Some(6))),
        (without_any(), "gfx906", amd("gfx906", Some(3))),
        (code_object(2, 0), "gfx906", amd("gfx906", Some(2))),
        (ImageHeader::Bitcode, "gfx906", amd("gfx906", None)),
        (cubin(), "sm_90a", cubin_for("sm_90a")),
        (cubin(), "sm_80", cubin_for("sm_90")),
        (spirv, "amdgcnspirv", by_name("amdgcnspirv")),
        (spirv, "gfx906", ImageCode::Other),
        (shader(), "spirv64", ImageCode::Other),
        (ImageHeader::Elf { machine: 62 }, "cpu", by_name("cpu")),
        (ImageHeader::Elf { machine: 62 }, "gfx906", ImageCode::Other),
    ] {
        assert_eq!(header.code(by_name(name)), expected, "{header} {name}");
    }
}
