//! Determines a build's list of targets: its origin and its items.

use super::Target;
use super::foreign_variables;
use super::item::{Item, Listed, TargetOrigin, split};
use super::scope::{Product, Scope};
use crate::toolchain::compilers::Tools;
use crate::toolchain::{Cargo, Error};
use offload_format::target::Vendor;

/// The targets that build.rs requests, in the syntax of `OFFLOAD_ARCH`.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestedTargets {
    pub(crate) archs: Vec<String>,
    /// Targets to list after `archs` if nvcc supports them.
    pub(crate) if_known: Vec<String>,
    /// Targets to use if neither `archs` nor a variable lists any.
    pub(crate) default: Vec<String>,
    /// Default targets like `default`, which the machine's own GPUs replace if it has any.
    pub(crate) native_or: Vec<String>,
}

impl RequestedTargets {
    /// Returns the vendors of the named targets. Skips malformed names, and words such as `native`.
    pub(crate) fn vendors(&self) -> Vec<Vendor> {
        let mut vendors = Vec::new();
        for list in [&self.archs, &self.if_known, &self.default, &self.native_or] {
            for name in list {
                if let Ok(target) = Target::parse(name) {
                    vendors.push(target.vendor());
                }
            }
        }
        vendors
    }

    /// Whether build.rs sets default targets, for builds without any other list.
    pub(crate) fn has_default(&self) -> bool {
        !self.default.is_empty() || !self.native_or.is_empty()
    }

    fn default(&self) -> Vec<Listed> {
        let by = TargetOrigin::Default;
        let mut items = Vec::new();
        if !self.native_or.is_empty() {
            items.push(Listed { item: Item::NativeOr(self.native_or.clone()), by: by.clone() });
        }
        items.extend(listed(self.default.iter().map(String::as_str), &by));
        items
    }
}

/// Returns the first non-empty list among `OFFLOAD_ARCH`, build.rs, foreign variables, and the
/// default in build.rs.
///
/// Returns an error if all lists are empty, if `OFFLOAD_ARCH` is set but lists nothing, or if a
/// foreign variable is invalid.
pub(super) fn items(
    cargo: &Cargo,
    tools: Option<&Tools<'_>>,
    requested: &RequestedTargets,
    scope: &Scope<'_>,
) -> Result<Vec<Listed>, Error> {
    let (items, none) = if let Some((variable, value)) = cargo.package_var("OFFLOAD_ARCH") {
        (
            listed(split(&value), &TargetOrigin::OffloadArch(variable.clone())),
            format!("{variable} is an empty list"),
        )
    } else if !requested.archs.is_empty() || !requested.if_known.is_empty() {
        let mut items =
            listed(requested.archs.iter().map(String::as_str), &TargetOrigin::BuildScript);
        let if_known = requested.if_known.iter().cloned().map(Item::IfKnown);
        items.extend(if_known.map(|item| Listed { item, by: TargetOrigin::BuildScript }));
        (items, String::new())
    } else {
        let (items, none) = foreign_variables::items(cargo, requested.has_default(), scope)?;
        (if items.is_empty() { requested.default() } else { items }, none)
    };
    if items.is_empty() { Err(self::none(&none, tools, scope)) } else { Ok(items) }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>, by: &TargetOrigin) -> Vec<Listed> {
    names.map(|name| Listed { item: ours(name), by: by.clone() }).collect()
}

/// Returns the error for a list that is empty for the reason `why`. The message explains where to
/// list targets, and which targets exist.
pub(super) fn none(why: &str, tools: Option<&Tools<'_>>, scope: &Scope<'_>) -> Error {
    let only = scope.vendor();
    let archs = only.map_or(&["gfx90a", "sm_80", "cpu"][..], Vendor::examples);
    let mut variable = format!("OFFLOAD_ARCH=\"{};{}\"", archs[0], archs[1]);
    if let Some(other) = only.and_then(foreign_variables::example) {
        variable.extend([" or ", other]);
    }
    let nvcc = tools
        .filter(|_| scope.by_nvcc)
        .and_then(|tools| tools.nvcc().ok()?.ok().map(|nvcc| (tools, nvcc)));
    let known = nvcc.map_or(String::new(), |(tools, nvcc)| {
        let (path, known) = (nvcc.path.display(), tools.nvcc_architectures(nvcc).join(" "));
        format!(" {path} ({}) compiles for {known}.", nvcc.version)
    });
    let vendor = scope.sentence().map_or(String::new(), |sentence| format!(" ({sentence})"));
    let so_far = match scope.product {
        Product::Unnamed => " before it calls resolve()",
        _ => "",
    };
    Error::config(format!(
        "no targets: {why}. List targets in build.rs{so_far}, as in .archs({archs:?}), or set \
         {variable}{vendor}.{known} The GPUs of this machine are detected only for 'native'."
    ))
}

/// Returns the item for a name in `OFFLOAD_ARCH` or build.rs.
pub(super) fn ours(name: &str) -> Item {
    match name {
        "native" => Item::Native(None),
        "all-major" => Item::AllMajor,
        "all" => Item::All,
        name => Item::Arch(name.to_owned()),
    }
}
