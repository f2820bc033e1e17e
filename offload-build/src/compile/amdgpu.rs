//! Builds the clang and lld command lines for code objects for AMD's GPUs.

use super::device::{Device, is_bitcode, link_inputs};
use super::line::Line;
use super::sdk;
use super::{Compilation, Compilations};
use crate::toolchain::compilers::Clang;
use crate::toolchain::exec::{Step, StepKind};
use offload_format::target::{TargetId, amdgpu};

impl Compilations<'_> {
    pub(crate) fn amdgpu(&self, id: TargetId<'_>, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("hsaco", &clang.with_lld());
        let target = self.target();
        // Generic targets need `-mcode-object-version`, because older compilers default to a code
        // object version that lacks these targets.
        let generic = amdgpu::is_generic(id.processor()).then_some(amdgpu::FIRST_GENERIC_VERSION);
        let version = self.code_object_version.or(generic).or(self.sdk.code_object_version);
        let device = Device {
            offload: Line::of(&["--no-gpu-bundle-output"]).one(format!("--offload-arch={target}")),
            direct: Line::of(&["--target=amdgcn-amd-amdhsa"]).one(format!("-mcpu={target}")),
            version: version.map(|version| format!("-mcode-object-version={version}").into()),
            describe: &[],
            // For newer versions of HIP, clang adds headers that replace those of the C++ library.
            without_sdk: &["--hip-version=3.5"],
            is_for_ptxas: false,
            has_64_lanes: sdk::wavefront_size(id.processor()) == 64,
        };
        let parts = self.compile_device(&mut compilation, clang, &device);
        // `-amdgpu-internalize-symbols` removes device functions that no kernel calls.
        let internalize = ["-nogpulib", "-mllvm", "-amdgpu-internalize-symbols"];
        let link = device
            .direct
            .all(device.version)
            .one(self.link_optimization())
            .when(parts.iter().any(|part| is_bitcode(part)), &internalize)
            .all(link_inputs(parts));
        compilation.last(Step::new(StepKind::Link, &clang.path, link.done()));
        compilation
    }
}
