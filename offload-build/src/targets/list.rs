//! The list of targets: where it comes from, and its items.

use super::foreign_variables;
use super::item::{Item, Listed, Vendor, split};
use crate::cargo::Cargo;
use crate::error::Error;

/// What build.rs lists.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// One item, as in `OFFLOAD_ARCH`.
    Name(String),
    /// The GPUs of the building machine, or else these targets.
    NativeOr(Vec<String>),
}

/// Where targets are named, for messages that say that there is none.
const EXAMPLE: &str = "List them in build.rs, as in .archs([\"gfx90a\", \"sm_80\", \"cpu\"]), or set \
                       OFFLOAD_ARCH=\"gfx90a;sm_80\". Nothing is detected from the machine that builds, unless 'native' is \
                       asked for.";

/// `OFFLOAD_ARCH`, else what build.rs lists, else the variables that the field uses.
///
/// Returns an error if the list is empty, or if one of the field's variables is not understood.
pub(super) fn items(cargo: &Cargo, wanted: &[Wanted]) -> Result<Vec<Listed>, Error> {
    let (items, none) = if let Some((variable, value)) = cargo.package_var("OFFLOAD_ARCH") {
        let items: Vec<_> = split(&value).map(|name| Listed { item: ours(name), origin: variable.clone() }).collect();
        (items, format!("{variable} is an empty list"))
    } else if !wanted.is_empty() {
        let item = |wanted: &Wanted| match wanted {
            Wanted::Name(name) => ours(name),
            Wanted::NativeOr(names) => Item::NativeOr(names.clone()),
        };
        let items = wanted.iter().map(|wanted| Listed { item: item(wanted), origin: "build.rs".to_owned() });
        (items.collect(), String::new())
    } else {
        foreign_variables::items(cargo)?
    };
    match items.is_empty() {
        true => Err(self::none(&none)),
        false => Ok(items),
    }
}

/// There is no target, for this reason.
pub(super) fn none(why: &str) -> Error {
    Error::config(format!("no targets: {why}. {EXAMPLE}"))
}

/// An item of our own lists.
pub(super) fn ours(name: &str) -> Item {
    match name {
        "native" => Item::Native(Vendor::Any),
        "all-major" => Item::AllMajor,
        "all" => Item::All,
        name => Item::Arch(name.to_owned()),
    }
}
