//! The targets of a build, for build scripts that ask before they build.

use crate::request::Selector;
use crate::targets::{Target, TargetOrigin};

/// The targets of a build, and whether it compiles anything; from [`Build::resolve`](crate::Build::resolve).
#[derive(Debug, Clone)]
pub struct ResolvedTargets {
    pub(super) targets: Vec<ResolvedTarget>,
    pub(super) skipped: Option<&'static str>,
}

/// One target of a build.
#[derive(Debug, Clone)]
pub struct ResolvedTarget {
    pub(super) target: Target,
    pub(super) origin: TargetOrigin,
}

impl ResolvedTargets {
    /// Returns the targets in the order of the list, each once.
    ///
    /// If the build is skipped, these are the targets that are known without asking a tool or the machine: `native`,
    /// `all-major` and `all` stand for none.
    pub fn targets(&self) -> &[ResolvedTarget] {
        &self.targets
    }

    /// Returns whether a [selector](crate#selectors) selects any of the targets.
    ///
    /// # Panics
    ///
    /// If the selector is malformed.
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

    /// Returns who lists the target.
    pub fn origin(&self) -> &TargetOrigin {
        &self.origin
    }
}
