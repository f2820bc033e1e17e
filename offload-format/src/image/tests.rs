//! Tests of headers beside the names of images.

use super::*;
use crate::target::{NvidiaArch, OffloadArch, SpirvVersion, TargetId};
use alloc::format;

/// Flags of version 6, without named features.
const GFX803: u32 = 0x2a;
const GFX906: u32 = 0x52f;
const GFX908: u32 = 0x530;
const GFX90A: u32 = 0x53f;

fn code_object(version: u32, flags: u32) -> Image {
    Image::CodeObject(CodeObjectHeader::of(version, flags))
}

/// `gfx906:sramecc-:xnack-`, as version 3 writes it.
fn without_any() -> Image {
    code_object(3, 0x2f)
}

fn cubin() -> Image {
    let mut bytes = [0; 64];
    bytes[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 51, 7]);
    bytes[18..20].copy_from_slice(&190_u16.to_le_bytes());
    bytes[48] = 90;
    Image::parse(&bytes).unwrap()
}

fn by_name(name: &str) -> ImageCode<'_> {
    ImageCode::of_arch(OffloadArch::parse(name).unwrap(), false)
}

#[test]
fn names_that_promise_too_much() {
    let ptx = |target: &str| {
        Image::parse(format!(".version 8.6\n.target {target}\n").as_bytes()).unwrap()
    };
    let spirv = Image::SpirV(SpirvVersion { major: 1, minor: 6 });
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
        (spirv, "gfx906", true),
        (Image::Elf { machine: 62 }, "gfx906", true),
        (Image::Pe { machine: 0x8664 }, "gfx906", true),
        (Image::Bitcode, "gfx906", false),
    ] {
        assert_eq!(header.contradicts(&by_name(name)), expected, "{header} {name}");
    }
}

#[test]
fn the_header_counts_more_than_the_name() {
    let amd = |id, version| ImageCode::Amdgpu { id: TargetId::parse(id).unwrap(), version };
    let cubin_for = |name| ImageCode::Cubin(NvidiaArch::parse(name).unwrap());
    let spirv = Image::SpirV(SpirvVersion { major: 1, minor: 6 });
    for (header, name, expected) in [
        (code_object(6, GFX908), "gfx90a", amd("gfx908", Some(6))),
        (without_any(), "gfx906", amd("gfx906", Some(3))),
        (code_object(2, 0), "gfx906", amd("gfx906", Some(2))),
        (Image::Bitcode, "gfx906", amd("gfx906", None)),
        (cubin(), "sm_90a", cubin_for("sm_90a")),
        (cubin(), "sm_80", cubin_for("sm_90")),
        (spirv, "amdgcnspirv", by_name("amdgcnspirv")),
        (spirv, "gfx906", ImageCode::Other),
        (Image::Elf { machine: 62 }, "cpu", by_name("cpu")),
        (Image::Elf { machine: 62 }, "gfx906", ImageCode::Other),
    ] {
        assert_eq!(header.code(by_name(name)), expected, "{header} {name}");
    }
}
