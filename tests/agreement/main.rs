//! Vendors' own programs choose the images that our rules choose: every image alone, which shows what fits, and images together,
//! which shows what comes first, for every device that the program knows.
//!
//! Where they do otherwise: docs/formats.md, "Selection".

mod cpu;
mod hip;
#[path = "../stand_ins/hsa.rs"]
mod hsa;
mod nvidia;
#[path = "../stand_ins/mod.rs"]
#[allow(dead_code, reason = "part of it is for packages")]
mod stand_ins;

use offload_format::select::{Candidate, Code};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId};
use offload_tests::test;
use offload_tests::tools::Tool;
use std::process::ExitCode;

fn main() -> ExitCode {
    const HIP: &[Tool] = &[Tool::Llvm22, Tool::Hip5, Tool::Gcc];
    const JIT_LINK: &[Tool] = &[Tool::Cuda, Tool::NvJitLink];
    const OMP_TARGET: &[Tool] = &[Tool::Llvm22, Tool::OmpTarget, Tool::Gcc];
    offload_tests::run(vec![
        test("hip_runtime_alone", HIP, hip::alone),
        test("hip_runtime_together", HIP, hip::together),
        test("nvjitlink_alone", JIT_LINK, nvidia::alone),
        test("nvjitlink_pairs", JIT_LINK, nvidia::pairs),
        test("omptarget_alone", OMP_TARGET, cpu::alone),
        test("omptarget_among_others", OMP_TARGET, cpu::among_others),
        test("cuda_driver", &[Tool::Cuda, Tool::NvidiaGpu], nvidia::driver),
    ])
}

/// An image, for the rules and for a judge.
#[derive(Debug, Clone, PartialEq)]
struct Image {
    /// `gfx90a:xnack-`, `sm_90a`, `compute_80`, a target triple.
    target: String,
    bytes: Vec<u8>,
}

impl Candidate for Image {
    fn code(&self) -> Code<'_> {
        match NvidiaArch::parse(&self.target) {
            Ok(arch) if arch.code == NvidiaCode::Ptx => {
                let header = offload_format::image::PtxHeader::parse(&self.bytes).expect("the image is PTX");
                Code::Ptx { arch, version: Some(header.version()) }
            }
            Ok(arch) => Code::Cubin(arch),
            Err(_) if self.target.starts_with("gfx") => {
                let id = TargetId::parse(&self.target).expect("a target ID");
                Code::Amdgpu { id, version: Some(hip::CODE_OBJECT_VERSION) }
            }
            Err(_) => Code::Cpu(&self.target),
        }
    }

    fn label(&self) -> &str {
        &self.target
    }
}

/// Compares one choice with another; `how` says what was given to the judge.
#[track_caller]
fn assert_same_choice(ours: Option<&Image>, theirs: Option<&str>, how: &str) {
    assert_eq!(ours.map(|image| image.target.as_str()), theirs, "{how}: ours is on the left");
}
