//! Makes images from a Rust kernel crate. For GPUs, Cargo compiles the crate with the kernels'
//! toolchain, and then lld or ptxas runs. For the CPU, Cargo uses the program's toolchain.

use super::super::jobs::Source;
use super::super::missing_tool::{MissingTool, NotMade};
use super::super::run::Run;
use super::Needed;
use crate::compile::STACK_SIZE;
use crate::compile::rust::{self, Crate, Lld, Package, triple};
use crate::compile::sdk::Sdk;
use crate::toolchain::compilers::{Identity, Rust};
use crate::toolchain::{Error, exec};
use offload_format::target::NvidiaCode;
use std::path::Path;

impl Run<'_> {
    /// Decides how to make an image from a kernel crate.
    pub(super) fn by_cargo(&self, needed: &Needed<'_>) -> Result<Source, NotMade> {
        let manifest = &needed.sources[0].path;
        // In a packaged crate, a path that begins with `..` leads into some other package.
        let is_elsewhere = manifest.starts_with("..") && self.cargo.is_packaged();
        if is_elsewhere || !manifest.is_file() {
            return Err(MissingTool::left_out(manifest, needed.target).into());
        }
        for options in [&needed.module.options, &needed.sources[0].options] {
            let mut defines = options.define_args().into_iter();
            let define = defines.find(|define| !define.starts_with(STACK_SIZE));
            let (what, advice) = match (define, options.includes.first()) {
                (Some(define), _) => (
                    format!("the macro {} of .define(...)", define.trim_start_matches("-D")),
                    " Set a cfg with .flag(\"--cfg=name\") instead. The crate accepts only the \
                     macro OFFLOAD_CPU_STACK, with a value.",
                ),
                (None, Some(folder)) => {
                    (format!("the folder {} of .include(...)", folder.display()), "")
                }
                (None, None) => continue,
            };
            return Err(Error::config(format!(
                "{} is a Rust crate, which cannot use {what}.{advice} If other sources need \
                 {what}, move the crate to a separate module",
                manifest.display()
            ))
            .into());
        }
        let mut package = self.crate_of(manifest)?;
        for folder in &package.folders {
            self.cargo.watch_folder(folder);
        }
        let rust = &if needed.target.is_gpu() {
            self.tools.rust(&package.channel)?.map_err(MissingTool::rust)?
        } else {
            Rust::of_program(self.cargo, self.tools.probes())?
        };
        if package.lock.is_none() {
            // Create `Cargo.lock` first, because it is an input of the images for all targets.
            let lock = rust::lock(Crate { package: &package, rust }, self.cargo);
            exec::run(&[lock], &[0], &self.how()?)?;
            package = self.crate_of(manifest)?;
        }
        let of = Crate { package: &package, rust };
        if !needed.target.is_gpu() {
            return self.for_cpu(needed, Some(of));
        }
        let sdk = Sdk::default();
        let compilations = self.compilations(needed, &sdk);
        let arch = needed.target.arch();
        let (source, processor) = if let Some(id) = arch.target_id() {
            let lld = self.lld_of(rust)?;
            let compilation = compilations.rust_code_object(of, id, &lld);
            (self.fresh_or_stale(needed, compilation)?, id.processor().to_owned())
        } else {
            let arch = arch.nvidia().expect("the table of languages has no other recipe");
            let mut ptxas = None;
            if !needed.target.is_ptx() {
                let found = self.tools.ptxas_for(&arch.to_string(), arch.number())?;
                ptxas = Some(found.map_err(|log| MissingTool::ptxas(log, Some(arch)))?);
            }
            let source = self.fresh_or_stale(needed, compilations.rust_nvidia(of, arch, ptxas))?;
            if let Some(ptxas) = ptxas {
                self.check_with_ptxas(ptxas, arch, &source)?;
            }
            (source, arch.with_code(NvidiaCode::Cubin).to_string())
        };
        if source.is_stale() {
            let triple = triple(needed.target.vendor());
            let ask = || rust.refusal(triple, &processor);
            // The sysroot identifies the toolchain, because rustup's rustc is the same file for all
            // toolchains.
            let question = format!("rust {} {triple} {processor}", rust.sysroot.display());
            if let Some(text) = self.ask(question, ask) {
                return Err(MissingTool::refusal(&rust.rustc, &text).into());
            }
        }
        Ok(source)
    }

    pub(in crate::build) fn crate_of(&self, manifest: &Path) -> Result<Package, Error> {
        Package::read(manifest, &self.cargo.manifest_dir)
    }

    /// Returns the linker for AMD's code objects: the toolchain's, otherwise clang's.
    fn lld_of(&self, rust: &Rust) -> Result<Lld, NotMade> {
        let (program, first): (_, &[&str]) = match rust.lld() {
            Some(program) => (program, &["-flavor", "gnu"]),
            None => {
                let clang = self.clang()?;
                (clang.lld.clone().ok_or_else(|| MissingTool::lld(clang))?, &[])
            }
        };
        let identity = Identity::of_file(&program, self.tools.probes());
        Ok(Lld { program, first, identity })
    }
}
