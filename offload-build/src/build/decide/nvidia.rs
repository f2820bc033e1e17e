//! Makes images for NVIDIA's GPUs, with clang and ptxas or with nvcc.

use super::super::jobs::Source;
use super::super::missing_tool::{MissingTool, NotMade};
use super::super::run::Run;
use super::Needed;
use crate::compile::sdk::Sdk;
use crate::request::Headers;
use crate::toolchain::compilers::Ptxas;
use offload_format::target::{NvidiaArch, NvidiaCode};

impl Run<'_> {
    /// Decides how to make PTX with clang, or machine code with clang and ptxas. A PTX source needs
    /// only ptxas.
    pub(super) fn by_clang_for_nvidia(
        &self,
        needed: &Needed<'_>,
        arch: NvidiaArch,
    ) -> Result<Source, NotMade> {
        let sdk = match needed.with_headers(Headers::Cuda) {
            Some(_) => Sdk::cuda(self.tools.nvcc()?.map_err(MissingTool::nvcc)?, self.output)?,
            None => Sdk::default(),
        };
        let compilations = self.compilations(needed, &sdk);
        if arch.code == NvidiaCode::Ptx {
            let clang = self.clang()?;
            return self.by_clang(needed, clang, compilations.ptx(arch, clang));
        }
        let ptxas = self
            .tools
            .ptxas_for(&arch.to_string(), arch.number())?
            .map_err(|log| MissingTool::ptxas(log, Some(arch)))?;
        let source = match needed.alone() {
            Some(ptx) => {
                self.fresh_or_stale(needed, compilations.cubin_of_ptx(arch, ptxas, ptx))?
            }
            None => {
                let clang = self.clang()?;
                self.by_clang(needed, clang, compilations.cubin(arch, clang, ptxas))?
            }
        };
        self.check_with_ptxas(ptxas, arch, &source)?;
        Ok(source)
    }

    /// Decides how to make machine code or PTX with nvcc.
    pub(super) fn by_nvcc(&self, needed: &Needed<'_>, arch: NvidiaArch) -> Result<Source, NotMade> {
        let nvcc = self.tools.nvcc()?.map_err(MissingTool::nvcc)?;
        // nvcc needs a host compiler to read the source, but the output contains no host code, so
        // the build machine's own compiler suffices.
        let ccbin =
            self.tools.ccbin(&self.cargo.host).map_err(|why| MissingTool::ccbin(nvcc, &why))?;
        let sdk = Sdk::default();
        let mut compilation = self.compilations(needed, &sdk).nvcc(arch, nvcc, &ccbin);
        if needed.module.options.clang_signatures == Some(true) {
            let sdk = Sdk::of_nvcc(nvcc, self.output)?;
            let described = self.compilations(needed, &sdk).ptx(arch, self.clang()?);
            compilation.described_by(described, true);
        }
        let source = self.fresh_or_stale(needed, compilation)?;
        let ask = || nvcc.refusal(&arch.to_string(), &ccbin, self.tools.probes());
        match source.is_stale().then(|| self.ask(format!("nvcc {arch}"), ask)).flatten() {
            Some(text) => Err(MissingTool::refusal(&nvcc.path, &text).into()),
            None => Ok(source),
        }
    }

    /// Checks that ptxas supports the architecture, if a step must run.
    pub(super) fn check_with_ptxas(
        &self,
        ptxas: &Ptxas,
        arch: NvidiaArch,
        source: &Source,
    ) -> Result<(), MissingTool> {
        let refusal = source
            .is_stale()
            .then(|| self.ask(format!("ptxas {arch}"), || ptxas.refusal(&arch.to_string())));
        refusal
            .flatten()
            .map_or(Ok(()), |text| Err(MissingTool::ptxas_refusal(&ptxas.path, arch, &text)))
    }
}
