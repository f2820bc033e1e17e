//! The targets and the toolkit of a build, for build scripts that need them before the build.

use super::Build;
use crate::output::OutDir;
use crate::request::{Selector, allow};
use crate::targets::{Product, Target};
use crate::toolchain::compilers::Tools;
use crate::toolchain::{Cargo, Error};

/// The targets of a build, and whether it compiles anything: the result of
/// [`Build::resolve`](crate::Build::resolve).
#[derive(Debug, Clone)]
pub struct ResolvedTargets {
    targets: Vec<Target>,
    is_skipped: bool,
}

/// The CUDA toolkit of a build, from [`Build::toolkit_version`](crate::Build::toolkit_version).
///
/// Versions are ordered. A missing toolkit compares less than any version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolkitVersion {
    /// There is nothing to compile (see [`Build::is_skipped`](crate::Build::is_skipped)), so the
    /// build did not search for nvcc.
    NotAsked,
    /// No nvcc was found.
    Missing,
    /// nvcc's major and minor version: 13 and 0 for CUDA 13.0.
    Is(u32, u32),
}

impl Build {
    /// Returns whether `OFFLOAD_SKIP` or `DOCS_RS` makes the build compile nothing.
    ///
    /// The check needs neither targets nor compilers. Ends the build script if the value of
    /// `OFFLOAD_SKIP` is not valid.
    ///
    /// ```no_run
    /// let build = offload_build::Build::new();
    /// if !build.is_skipped() {
    ///     println!("cargo::rerun-if-changed=kernels"); // and generate sources, say
    /// }
    /// ```
    #[inline]
    pub fn is_skipped(&self) -> bool {
        Cargo::demand("decide whether to skip the build", |cargo| self.skips(cargo)).is_some()
    }

    /// Returns the version of the CUDA toolkit whose nvcc this build would use.
    ///
    /// This nvcc is the one set with [`Build::nvcc`], or else the one that
    /// [`Compiler::Nvcc`](crate::Compiler::Nvcc) would find. Ends the build script if build.rs or a
    /// variable names an nvcc that cannot be used.
    ///
    /// ```no_run
    /// use offload_build::ToolkitVersion;
    ///
    /// let mut build = offload_build::Build::new();
    /// if build.toolkit_version() >= ToolkitVersion::Is(12, 8) {
    ///     build.arch("sm_120a");
    /// }
    /// ```
    #[inline]
    pub fn toolkit_version(&self) -> ToolkitVersion {
        Cargo::demand("query nvcc's version", |cargo| self.toolkit_version_for(cargo))
    }

    /// Returns the targets of the build so far, without compiling anything.
    ///
    /// Use the result for `cfg` flags and to choose sources. [`Build::compile`] builds for the same
    /// targets, unless later calls change them: [`Build::arch`], [`Build::supports`], and calls
    /// that add sources or select compilers for one vendor. Ends the build script with the reason
    /// if the build has no valid list of targets.
    ///
    /// ```no_run
    /// let mut build = offload_build::Build::new();
    /// build.file("kernels/gemm.cu").default_archs(["native"]);
    /// println!("cargo::rustc-check-cfg=cfg(has_fp8)");
    /// let resolved = build.resolve();
    /// // docs.rs documents all functions.
    /// if resolved.is_skipped() || resolved.any(">=sm_89") {
    ///     build.file("kernels/fp8.cu");
    ///     println!("cargo::rustc-cfg=has_fp8");
    /// }
    /// build.compile("gemm");
    /// ```
    #[inline]
    pub fn resolve(&self) -> ResolvedTargets {
        Cargo::demand("list the targets", |cargo| self.resolve_for(cargo))
    }

    #[inline]
    fn toolkit_version_for(&self, cargo: &Cargo) -> Result<ToolkitVersion, Error> {
        if self.skips(cargo)?.is_some() {
            return Ok(ToolkitVersion::NotAsked);
        }
        let output = OutDir::open(cargo, "")?;
        let tools = Tools::new(cargo, output.probe_cache(), &self.request.tools);
        let Ok(nvcc) = tools.nvcc()? else { return Ok(ToolkitVersion::Missing) };
        nvcc.identity.files.iter().for_each(|file| cargo.watch(file));
        let (major, minor) = nvcc.release().unwrap_or_default();
        Ok(ToolkitVersion::Is(major, minor))
    }

    #[inline]
    fn resolve_for(&self, cargo: &Cargo) -> Result<ResolvedTargets, Error> {
        self.request.supports.iter().try_for_each(Selector::check).map_err(Error::config)?;
        let is_skipped = self.skips(cargo)?.is_some();
        let found = if is_skipped {
            // An invalid list is not an error if nothing is built.
            self.targets(cargo, None, Product::Unnamed).ok()
        } else {
            let output = OutDir::open(cargo, "")?;
            let tools = Tools::new(cargo, output.probe_cache(), &self.request.tools);
            Some(self.targets(cargo, Some(&tools), Product::Unnamed)?)
        };
        let mut targets = found.map(|found| found.targets).unwrap_or_default();
        targets.retain(|target| allow(&self.request.supports, target));
        Ok(ResolvedTargets { targets, is_skipped })
    }
}

impl ResolvedTargets {
    /// Returns the canonical names of the targets, without duplicates, in the order of the list.
    ///
    /// If the build is skipped, the list contains only targets that are known without running a
    /// tool, so `native`, `all-major` and `all` add no targets.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().map(Target::as_str)
    }

    /// Returns whether a [selector](Build::supports) selects any of the targets.
    ///
    /// # Panics
    ///
    /// Panics if the selector is malformed.
    #[inline]
    pub fn any(&self, selector: &str) -> bool {
        let selector = Selector::new(selector);
        if let Err(error) = selector.check() {
            panic!("{error}");
        }
        self.targets.iter().any(|target| selector.selects(target))
    }

    /// Returns whether `OFFLOAD_SKIP` or `DOCS_RS` makes the build compile nothing.
    pub fn is_skipped(&self) -> bool {
        self.is_skipped
    }
}
