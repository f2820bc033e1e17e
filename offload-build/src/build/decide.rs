//! Where the image of one target comes from: an earlier run, a compiler, or a source that has it.

use super::missing_tool::Lack;
use super::run::{PrebuiltUse, Run, Source};
use crate::compile::cache;
use crate::compile::sdk::Sdk;
use crate::compile::{Compilations, image_file_name};
use crate::error::Error;
use crate::hash::ContentHash;
use crate::output::write_if_changed;
use crate::pack::image::Image;
use crate::plan::constraints::Facts;
use crate::plan::supplied;
use crate::plan::{PlannedModule, PlannedSource};
use crate::request::{Headers, Language, Way};
use crate::toolchain::{Clang, Found};
use offload_format::pack_index::Origin;
use offload_format::target::{NvidiaArch, NvidiaCode, OffloadArch};
use std::fs;
use std::path::Path;

impl Run<'_> {
    /// How the image comes about on this machine. The inner error says why its compilers do not make it.
    pub(super) fn decide(
        &self,
        module: &PlannedModule,
        target: &str,
        prebuilt_use: PrebuiltUse,
    ) -> Result<Result<Source, Lack>, Error> {
        let arch = OffloadArch::parse(target).map_err(|error| Error::config(error.to_string()))?;
        let sources = module.sources_for(&arch);
        // What is not linked with others stands alone.
        let alone = sources.first().filter(|source| source.way(&arch).is_some_and(|way| !way.is_linked()));
        if let Some(source) = alone
            && let Some(image) = self.take(module, target, arch, source)?
        {
            return Ok(Ok(Source::ReadyMade(image)));
        }
        if prebuilt_use == PrebuiltUse::Only && arch != OffloadArch::Cpu {
            return Ok(Err(Lack::only_prebuilt()));
        }
        let (sdk, clang_of_sdk) = match self.sdk(&sources, &arch)? {
            Ok(found) => found,
            Err(lack) => return Ok(Err(lack)),
        };
        let compilations = Compilations {
            module,
            target,
            arch,
            code_object_version: self.request.code_object_version,
            sdk: &sdk,
            output: self.output,
            cargo: self.cargo,
        };
        let source = |compilation| match cache::fresh(&compilation, self.output, self.cargo) {
            Some(made) => Source::Fresh(compilation, made),
            None => Source::Compile(compilation),
        };
        if arch == OffloadArch::Cpu {
            return Ok(Ok(source(compilations.cpu(&self.tools.cxx()?))));
        }
        if let (OffloadArch::Nvidia(arch), Some(Way::Nvcc)) = (arch, sources.first().and_then(|it| it.way(&arch))) {
            return self.compile_by_nvcc(&compilations, arch);
        }
        // What a cubin takes beside clang.
        let assembles = match arch {
            OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Cubin => match self.tools.ptxas()? {
                Found::Tool(ptxas) => Some((arch, ptxas)),
                Found::Missing(trail) => return Ok(Err(Lack::ptxas(trail))),
            },
            _ => None,
        };
        let refused_by_ptxas = |source: &Source| match (source, assembles) {
            (Source::Compile(_), Some((arch, ptxas))) => {
                let answer = self.ask(format!("ptxas {arch}"), || ptxas.refusal(arch));
                answer.map(|text| Lack::refusal(&ptxas.path, &text))
            }
            _ => None,
        };
        if let (Some(of), Some((arch, ptxas))) = (alone, assembles) {
            let source = source(compilations.cubin_of_ptx(arch, ptxas, of));
            return Ok(refused_by_ptxas(&source).map_or(Ok(source), Err));
        }
        let clang = match clang_of_sdk.map_or_else(|| self.clang(), |own| Ok(Ok(own)))? {
            Ok(clang) => clang,
            Err(lack) => return Ok(Err(lack)),
        };
        let source = source(match (arch, assembles) {
            (OffloadArch::Nvidia(arch), Some((_, ptxas))) => compilations.cubin(arch, clang, ptxas),
            (OffloadArch::Nvidia(arch), None) => compilations.ptx(arch, clang),
            (OffloadArch::Amdgpu(_), _) if clang.lld.is_none() => return Ok(Err(Lack::lld(clang))),
            (OffloadArch::Amdgpu(id), _) => compilations.amdgpu(id, clang),
            (OffloadArch::Cpu, _) => unreachable!("the CPU's image was decided on above"),
        });
        if let Source::Compile(compilation) = &source {
            let first = sources[0];
            // What the driver is asked about is the command of one module, which others share if these are the same.
            let (path, language) = (clang.path.display(), first.language.name());
            let question = format!("{path} {target} {language} {} {}", module.options, first.options);
            let answer = self.ask(question, || clang.refusal(&compilation.steps[0]));
            if let Some(text) = answer {
                return Ok(Err(Lack::refusal(&clang.path, &text)));
            }
            if let Some(source) = sources.iter().find(|source| source.language == Language::C)
                && let Some(why) = self.ask(format!("gpuintrin.h {path}"), || clang.find_header("gpuintrin.h").err())
            {
                return Ok(Err(Lack::header(clang, &source.path, &why)));
            }
        }
        Ok(refused_by_ptxas(&source).map_or(Ok(source), Err))
    }

    /// The vendor's headers that sources are compiled with, and the clang that they are for, if it is not the one that
    /// compiles everything else. The inner error says what is missing.
    fn sdk(
        &self,
        sources: &[&PlannedSource],
        arch: &OffloadArch<'_>,
    ) -> Result<Result<(Sdk, Option<&Clang>), Lack>, Error> {
        let headers =
            |source: &&&PlannedSource, wanted| matches!(source.way(arch), Some(Way::Offload(_, it)) if it == wanted);
        if sources.iter().any(|source| headers(&source, Headers::Cuda)) {
            return match self.tools.nvcc()? {
                Found::Tool(toolkit) => Ok(Ok((Sdk::cuda(toolkit, self.output)?, None))),
                Found::Missing(trail) => Ok(Err(Lack::nvcc(trail))),
            };
        }
        let Some(source) = sources.iter().find(|source| headers(source, Headers::Rocm)) else {
            return Ok(Ok(Default::default()));
        };
        let rocm = match self.tools.rocm() {
            Found::Tool(rocm) => rocm,
            // clang may know of one that is not here.
            Found::Missing(_) if matches!(source.facts, Facts::RocmHeaders) => return Ok(Ok(Default::default())),
            Found::Missing(trail) => return Ok(Err(Lack::rocm(trail))),
        };
        let own = self.tools.rocm_clang(rocm);
        let clang = match own.map_or_else(|| self.clang(), |own| Ok(Ok(own)))? {
            Ok(clang) => clang,
            Err(lack) => return Ok(Err(lack)),
        };
        let OffloadArch::Amdgpu(id) = *arch else { return Ok(Ok(Default::default())) };
        Ok(Ok((Sdk::rocm(rocm, clang, id, self.tools, self.cargo), own)))
    }

    /// The clang that compiles everything. It is looked for only where no other will do: what is looked for and not
    /// there has Cargo watch the folders of `PATH`. The inner error says what is missing.
    pub(crate) fn clang(&self) -> Result<Result<&Clang, Lack>, Error> {
        Ok(match self.tools.clang()? {
            Found::Tool(clang) => Ok(clang),
            Found::Missing(trail) => Err(Lack::clang(trail)),
        })
    }

    fn compile_by_nvcc(
        &self,
        compilations: &Compilations<'_>,
        arch: NvidiaArch,
    ) -> Result<Result<Source, Lack>, Error> {
        let nvcc = match self.tools.nvcc()? {
            Found::Tool(nvcc) => nvcc,
            Found::Missing(trail) => return Ok(Err(Lack::nvcc(trail))),
        };
        // No host code comes of it, so it is the building machine's compiler that reads the source.
        let ccbin = match self.tools.ccbin(&self.cargo.host) {
            Ok(ccbin) => ccbin,
            Err(why) => return Ok(Err(Lack::ccbin(nvcc, &why))),
        };
        let compilation = compilations.nvcc(arch, nvcc, &ccbin);
        if let Some(made) = cache::fresh(&compilation, self.output, self.cargo) {
            return Ok(Ok(Source::Fresh(compilation, made)));
        }
        let answer = self.ask(format!("nvcc {arch}"), || self.tools.nvcc_refusal(nvcc, arch, &ccbin));
        Ok(match answer {
            Some(text) => Err(Lack::refusal(&nvcc.path, &text)),
            None => Ok(Source::Compile(compilation)),
        })
    }

    /// The image that a source has, if it need not be compiled.
    fn take(
        &self,
        module: &PlannedModule,
        target: &str,
        arch: OffloadArch<'_>,
        source: &PlannedSource,
    ) -> Result<Option<Image>, Error> {
        let open = |path: &Path| {
            let hash = ContentHash::of_file(path).map_err(|error| Error::io("read", path, error))?;
            Image::open(target, path, hash, Origin::ReadyMade, &self.cargo.target).map(Some)
        };
        if let Some(Way::TakeOut) = source.way(&arch)
            && supplied::sole(&source.path)?.is_some_and(|name| name.is_for(&arch))
        {
            // It is used where it lies: a copy of a large one takes as long as all that is done with it.
            let path = self.cargo.manifest_dir.join(&source.path);
            return open(&path);
        }
        let is_ptx = matches!(arch, OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx);
        let mut bytes = match source.way(&arch) {
            Some(Way::TakeOut) => supplied::image(&source.path, target)?,
            Some(Way::Ptx) if is_ptx => {
                fs::read(&source.path).map_err(|error| Error::io("read the source", &source.path, error))?
            }
            _ => return Ok(None),
        };
        let extension = match arch {
            OffloadArch::Amdgpu(_) => "hsaco",
            OffloadArch::Nvidia(_) if is_ptx => "ptx",
            _ => "cubin",
        };
        let path = self.output.images.join(image_file_name(&module.file_stem(target), extension));
        Image::seal_bytes(&path, &mut bytes);
        write_if_changed(&path, &bytes)?;
        open(&path)
    }
}
