//! The list of targets: where it comes from, and its items.

use super::foreign_variables;
use super::item::{Item, Listed, TargetOrigin, Vendor, split};
use crate::cargo::Cargo;
use crate::error::Error;

/// The targets that build.rs asks for, with names and words as in `OFFLOAD_ARCH`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) archs: Vec<String>,
    /// Those of these that nvcc knows come after `archs`.
    pub(crate) if_known: Vec<String>,
    /// These count if neither `archs` nor a variable lists any.
    pub(crate) default: Vec<String>,
}

/// Where targets are named, for messages that say that there is none.
const EXAMPLE: &str = "List them in build.rs, as in .archs([\"gfx90a\", \"sm_80\", \"cpu\"]), or set \
                       OFFLOAD_ARCH=\"gfx90a;sm_80\". Nothing is detected from the machine that builds, unless 'native' is \
                       asked for.";

/// Returns the items of the first of these that lists any: `OFFLOAD_ARCH`, build.rs, foreign variables, the default of build.rs.
///
/// Returns an error if the list is empty, or if a foreign variable is not understood.
pub(super) fn items(cargo: &Cargo, wanted: &Wanted) -> Result<Vec<Listed>, Error> {
    let (items, none) = if let Some((variable, value)) = cargo.package_var("OFFLOAD_ARCH") {
        (listed(split(&value), &TargetOrigin::OffloadArch(variable.clone())), format!("{variable} is an empty list"))
    } else if !wanted.archs.is_empty() || !wanted.if_known.is_empty() {
        let mut items = listed(wanted.archs.iter().map(String::as_str), &TargetOrigin::BuildScript);
        let if_known = wanted.if_known.iter().cloned().map(Item::IfKnown);
        items.extend(if_known.map(|item| Listed { item, by: TargetOrigin::BuildScript }));
        (items, String::new())
    } else {
        let (items, none) = foreign_variables::items(cargo, !wanted.default.is_empty())?;
        match items.is_empty() {
            true => (listed(wanted.default.iter().map(String::as_str), &TargetOrigin::Default), none),
            false => (items, none),
        }
    };
    match items.is_empty() {
        true => Err(self::none(&none)),
        false => Ok(items),
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>, by: &TargetOrigin) -> Vec<Listed> {
    names.map(|name| Listed { item: ours(name), by: by.clone() }).collect()
}

/// Returns the error for an empty list, with this reason.
pub(super) fn none(why: &str) -> Error {
    Error::config(format!("no targets: {why}. {EXAMPLE}"))
}

/// An item of our own lists.
fn ours(name: &str) -> Item {
    match name {
        "native" => Item::Native(Vendor::Any),
        "all-major" => Item::AllMajor,
        "all" => Item::All,
        name => Item::Arch(name.to_owned()),
    }
}
