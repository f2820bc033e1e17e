//! The targets and the toolkit of a build, for build scripts that need them before the build.

use super::Build;
use crate::output::OutDir;
use crate::request::Selector;
use crate::targets::{Product, Target, TargetOrigin};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::compilers::{Found, Tools};
use crate::toolchain::error::Error;

/// The targets of a build, and whether it compiles anything; from
/// [`Build::resolve`](crate::Build::resolve).
#[derive(Debug, Clone)]
pub struct ResolvedTargets {
    targets: Vec<ResolvedTarget>,
    skipped: Option<&'static str>,
}

/// One target of a build.
#[derive(Debug, Clone)]
pub struct ResolvedTarget {
    target: Target,
    origin: TargetOrigin,
}

/// The CUDA toolkit of a build; from [`Build::toolkit_version`](crate::Build::toolkit_version).
///
/// Versions are ordered, and an absent toolkit is less than any version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolkitVersion {
    /// Nothing is compiled, so nvcc was not searched for: see
    /// [`Build::is_skipped`](crate::Build::is_skipped).
    NotAsked,
    /// There is no nvcc.
    Missing,
    /// The major and the minor number of nvcc's version: 13 and 0 of CUDA 13.0.
    Is(u32, u32),
}

impl Build {
    /// Returns whether `OFFLOAD_SKIP` or `DOCS_RS` makes the build compile nothing.
    ///
    /// The answer needs neither targets nor compilers. Ends the build script if the value of
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
        Cargo::demand("the answer whether the build is skipped", |cargo| self.skips(cargo))
            .is_some()
    }

    /// Returns the version of the CUDA toolkit whose nvcc this build would use.
    ///
    /// That nvcc is [`Build::nvcc`], or the one that [`Compiler::Nvcc`](crate::Compiler::Nvcc)
    /// would find. Ends the build script if the nvcc that build.rs or a variable names cannot be
    /// used.
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
        Cargo::demand("the query for nvcc's version", |cargo| self.toolkit_version_for(cargo))
    }

    /// Like [`Build::toolkit_version`], but returns an error instead of ending the build script.
    ///
    /// Returns an error if the named nvcc cannot be used, or if variables name different toolkits.
    ///
    /// ```no_run
    /// use offload_build::ToolkitVersion;
    ///
    /// let mut build = offload_build::Build::new();
    /// match build.try_toolkit_version() {
    ///     Ok(version) if version >= ToolkitVersion::Is(12, 8) => drop(build.arch("sm_120a")),
    ///     Ok(_) => {}
    ///     Err(error) => println!("cargo::warning=sm_120a is left out: {error}"),
    /// }
    /// ```
    #[inline]
    pub fn try_toolkit_version(&self) -> Result<ToolkitVersion, Error> {
        Cargo::attempt(|cargo| self.toolkit_version_for(cargo))
    }

    /// Returns the targets of the build so far, without compiling anything.
    ///
    /// Use the result for `cfg` flags and for the choice of sources. [`Build::compile`] builds for
    /// the same targets, unless later calls change them: [`Build::arch`], [`Build::supports`], also
    /// sources and compilers of one vendor. Ends the build script with the reason if the build has
    /// no valid list of targets.
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
        Cargo::demand("the list of targets", |cargo| self.resolve_for(cargo))
    }

    /// Like [`Build::resolve`], but returns an error instead of ending the build script.
    ///
    /// Returns an error if there is no target, if one is malformed, or if two cannot be built
    /// together.
    ///
    /// ```no_run
    /// let mut build = offload_build::Build::new();
    /// build.file("kernels/gemm.cu").default_archs(["native"]);
    /// match build.try_resolve() {
    ///     Ok(resolved) => println!("cargo::warning=gemm has {} targets", resolved.targets().len()),
    ///     Err(error) => println!("cargo::error=gemm: {error}"),
    /// }
    /// ```
    #[inline]
    pub fn try_resolve(&self) -> Result<ResolvedTargets, Error> {
        Cargo::attempt(|cargo| self.resolve_for(cargo))
    }

    #[inline]
    fn toolkit_version_for(&self, cargo: &Cargo) -> Result<ToolkitVersion, Error> {
        if self.skips(cargo)?.is_some() {
            return Ok(ToolkitVersion::NotAsked);
        }
        let output = OutDir::open(cargo, "")?;
        let tools = Tools::new(cargo, output.probe_cache(), self.named());
        let Found::Tool(nvcc) = tools.nvcc()? else { return Ok(ToolkitVersion::Missing) };
        nvcc.identity.files.iter().for_each(|file| cargo.watch(file));
        let (major, minor) = nvcc.release().unwrap_or_default();
        Ok(ToolkitVersion::Is(major, minor))
    }

    #[inline]
    fn resolve_for(&self, cargo: &Cargo) -> Result<ResolvedTargets, Error> {
        self.request.supports.iter().try_for_each(Selector::check).map_err(Error::config)?;
        let skipped = self.skips(cargo)?;
        let found = if skipped.is_some() {
            // A list that a build would refuse is not an error if nothing is built.
            self.targets(cargo, None, Product::Unnamed).ok()
        } else {
            let output = OutDir::open(cargo, "")?;
            let tools = Tools::new(cargo, output.probe_cache(), self.named());
            Some(self.targets(cargo, Some(&tools), Product::Unnamed)?)
        };
        let mut targets = Vec::new();
        if let Some(found) = found {
            let all = found.targets.into_iter().zip(found.origins);
            targets.extend(all.map(|(target, origin)| ResolvedTarget { target, origin }));
        }
        let supports = &self.request.supports;
        targets.retain(|it| {
            supports.is_empty() || supports.iter().any(|selector| selector.selects(&it.target))
        });
        Ok(ResolvedTargets { targets, skipped })
    }
}

impl ResolvedTargets {
    /// Returns the targets in the order of the list, each once.
    ///
    /// If the build is skipped, these are the targets that are known without running a tool:
    /// `native`, `all-major` and `all` add none.
    pub fn targets(&self) -> &[ResolvedTarget] {
        &self.targets
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
        self.targets.iter().any(|it| selector.selects(&it.target))
    }

    /// Returns whether `OFFLOAD_SKIP` or `DOCS_RS` makes the build compile nothing.
    pub fn is_skipped(&self) -> bool {
        self.skipped.is_some()
    }

    /// Returns why the build is skipped, if it is.
    pub fn skip_reason(&self) -> Option<&str> {
        self.skipped
    }
}

impl ResolvedTarget {
    /// Returns the canonical name.
    pub fn name(&self) -> &str {
        self.target.as_str()
    }

    /// Returns the place that lists the target.
    pub fn origin(&self) -> &TargetOrigin {
        &self.origin
    }
}
