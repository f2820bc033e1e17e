//! Compares two indexes of a pack by the types that programs use. A program that reads a pack from
//! disk compares the index from its compilation with the index on disk.
//!
//! All functions are `#[inline]`, so only programs that read packs from disk compile them.

use super::{Index, IndexArgument, IndexModule};
use crate::signature::{
    Comparison, Enumeration, Obstacle, Record, Signature, Variable, describe, describe_type,
};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A kernel, a variable or an enumeration whose types or values differ between two indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The item and its module. A kernel appears under its name in images, and a variable or an
    /// enumeration under its name in the source.
    pub item: String,
    /// The item's types or values in the first index.
    pub before: String,
    /// The item's types or values in the second index.
    pub after: String,
}

/// Returns the first kernel, variable or enumeration in the index `before` whose types or values
/// differ in `after`. Ignores renamed parameters and fields, and items that only one index
/// contains.
///
/// Compares signatures from sources, and the arguments in images for the same target.
#[inline]
pub fn first_change(before: &Index, after: &Index) -> Option<Change> {
    let modules = || {
        let other = |module: &IndexModule| after.modules().iter().find(|it| it.name == module.name);
        before.modules().iter().filter_map(move |module| Some((module, other(module)?)))
    };
    // Compare signatures first, because the message about signatures contains types.
    modules()
        .find_map(|(before, after)| changed_signature(before, after))
        .or_else(|| modules().find_map(|(before, after)| changed_arguments(before, after)))
}

#[inline]
fn changed_signature(before: &IndexModule, after: &IndexModule) -> Option<Change> {
    let (old, new) = (&before.signatures, &after.signatures);
    let mut comparison = Comparison::new(old, new);
    for (at, kernel) in old.kernels.iter().enumerate() {
        let Some(other) = new.kernel(&kernel.symbol, at) else { continue };
        let known = comparison.unlike().len();
        if !comparison.are_same(&kernel.parameters, &other.parameters)
            || comparison.unlike().len() > known
            || kernel.difference.is_empty() && !other.difference.is_empty()
        {
            let text = |it: &Signature, records: &[Record]| {
                let parameters = describe(&it.parameters, records);
                let difference = &it.difference;
                if difference.is_empty() {
                    format!("the parameters {parameters}")
                } else {
                    format!("different parameters for its targets: {}", difference.join("; "))
                }
            };
            let (old, new) = (text(kernel, &old.records), text(other, &new.records));
            return Some(changed("kernel", &kernel.symbol, before, old, new));
        }
    }
    for variable in &old.variables {
        let Some(other) = new.variables.iter().find(|it| it.symbol == variable.symbol) else {
            continue;
        };
        let (known, differs) = (comparison.unlike().len(), Some(Obstacle::Differs));
        if !comparison.is_same(&variable.ty, &other.ty)
            || comparison.unlike().len() > known
            || variable.obstacle != differs && other.obstacle == differs
        {
            let text = |it: &Variable, records: &[Record]| {
                if it.obstacle == differs {
                    return "different types for its targets".to_owned();
                }
                format!("the type {}", describe_type(&it.ty, records))
            };
            let (old, new) = (text(variable, &old.records), text(other, &new.records));
            return Some(changed("variable", &variable.source_name, before, old, new));
        }
    }
    // New values do not matter: the program has constants only for the old values.
    let has_all = |enumeration: &Enumeration, of: &Enumeration| {
        enumeration.source_name == of.source_name
            && enumeration.ty == of.ty
            && of.values.iter().all(|value| enumeration.values.contains(value))
    };
    let enumeration = *old
        .unlike_enumerations(new)
        .iter()
        .find(|of| !new.enumerations.iter().any(|it| has_all(it, of)))?;
    let other = new.enumerations.iter().find(|it| it.source_name == enumeration.source_name)?;
    let text = |it: &Enumeration| {
        let mut all: Vec<String> = Vec::new();
        for value in &it.values {
            all.push(format!("{} = {}", value.name, value.value));
        }
        format!("the values {} ({})", all.join(", "), it.ty.name())
    };
    Some(changed("enumeration", &enumeration.source_name, before, text(enumeration), text(other)))
}

#[inline]
fn changed_arguments(before: &IndexModule, after: &IndexModule) -> Option<Change> {
    before.images.iter().find_map(|image| {
        let other = after.images.iter().find(|it| it.target == image.target)?;
        image.kernels.iter().flatten().find_map(|kernel| {
            let (old, new) =
                (kernel.arguments.as_ref()?, other.kernel(&kernel.name)?.arguments.as_ref()?);
            // If the types are known from signatures, compare only offsets and sizes in images,
            // because a newer compiler may add types.
            let has_types =
                [before, after].iter().all(|it| it.signatures.kernel(&kernel.name, 0).is_some());
            let is_same = |one: &IndexArgument, other: &IndexArgument| {
                let place = |it: &IndexArgument| (it.offset, it.size);
                place(one) == place(other) && (has_types || one.kind == other.kind)
            };
            if old.len() == new.len() && old.iter().zip(new).all(|(one, it)| is_same(one, it)) {
                return None;
            }
            let text = |all: &[IndexArgument]| {
                let all: Vec<String> = all.iter().map(IndexArgument::description).collect();
                format!("the parameters ({})", all.join(", "))
            };
            Some(changed("kernel", &kernel.name, before, text(old), text(new)))
        })
    })
}

#[inline]
fn changed(kind: &str, name: &str, module: &IndexModule, before: String, after: String) -> Change {
    Change { item: format!("the {kind} {name} of the module \"{}\"", module.name), before, after }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "offload-pack 10\nname m\nlibrary l\nlibrary-size 9\nlibrary-offset 0\nsymbol s\nsection .hip_fatbin\nsize 9\n\
                         module m\nimage gfx90a 0 8 compiled code-object 6\nkernel k\narguments 0+4 8+8:pointer\nkernel other\narguments 0+4\n\
                         record P 16 8 fields ns::P\nfield x 0 f64\nfield next 8 *mut Q\nrecord Q 4 4 fields Q<a, b>\n\
                         field y 0 i32\nenum Mode u8 Mode\nvalue Slow 0\nvalue Fast 1\nvariable TAB tab\nsource tab\nplace k.cu:2\n\
                         type [Q; 2]\nsignature k k\nplace k.cu:1\nparameter n i32\nparameter p *mut P\n";

    fn compared(before: &str, after: &str) -> Option<Change> {
        let [before, after] = [before, after].map(|text| Index::parse(text).unwrap());
        first_change(&before, &after)
    }

    fn change(from: &str, to: &str) -> Option<Change> {
        assert!(INDEX.contains(from), "{from}");
        compared(INDEX, &INDEX.replace(from, to))
    }

    #[test]
    fn only_what_changes_a_launch_counts() {
        let same = [
            ("k.cu:1", "k.cu:9"),
            ("parameter n i32", "parameter count i32"),
            ("field y", "field z"),
            ("8+8:pointer", "8+8"),
            ("kernel other", "kernel another"),
            ("signature k k", "signature k k2"),
            ("variable TAB tab", "variable TAB tab2"),
            ("enum Mode u8 Mode", "enum Other u8 Other"),
            ("image gfx90a", "image gfx942"),
        ];
        for (from, to) in same {
            assert_eq!(change(from, to), None, "{from}");
        }
    }

    #[test]
    fn a_change_names_the_types_before_and_after() {
        let records = ", P { x: f64, next: *mut Q } of 16 bytes, Q { y: i32 } of 4 bytes";
        let changed = change("parameter n i32", "parameter n i64").unwrap();
        assert_eq!(changed.item, "the kernel k of the module \"m\"");
        assert_eq!(changed.before, format!("the parameters (n: i32, p: *mut P){records}"));
        assert_eq!(changed.after, format!("the parameters (n: i64, p: *mut P){records}"));
        // A record that is used only through a pointer in a different record.
        let changed = change("field y 0 i32", "field y 0 u32").unwrap();
        let after = records.replace("i32", "u32");
        assert_eq!(changed.after, format!("the parameters (n: i32, p: *mut P){after}"));
        // Two parameters with swapped names.
        let [two, swapped] = ["n i32\nparameter m i32", "m i32\nparameter n i32"]
            .map(|names| INDEX.replace("n i32", names));
        let changed = compared(&two, &swapped).unwrap();
        assert_eq!(changed.after, format!("the parameters (m: i32, n: i32, p: *mut P){records}"));
        // An image that no longer agrees with the source.
        let changed = change("0+4 8+8", "0+8 8+8").unwrap();
        assert_eq!(
            (&*changed.before, &*changed.after),
            (
                "the parameters (4 bytes at offset 0, 8 bytes at offset 8 (a pointer))",
                "the parameters (8 bytes at offset 0, 8 bytes at offset 8 (a pointer))"
            )
        );
        // A kernel without a signature, and a kernel whose signature only the old index contains.
        let changed = change("kernel other\narguments 0+4", "kernel other\narguments 0+8").unwrap();
        assert_eq!(changed.after, "the parameters (8 bytes at offset 0)");
        let other = INDEX.replace("signature k", "signature l").replace("0+4 8+8", "0+8 8+8");
        let other = other.replace("signature l k", "signature l l");
        assert_eq!(
            compared(INDEX, &other).unwrap().after,
            "the parameters (8 bytes at offset 0, 8 bytes at offset 8 (a pointer))"
        );
    }

    #[test]
    fn variables_and_values_are_compared() {
        let changed = change("type [Q; 2]", "type [Q; 3]").unwrap();
        assert_eq!(changed.item, "the variable tab of the module \"m\"");
        assert_eq!(changed.before, "the type [Q; 2], Q { y: i32 } of 4 bytes");
        let changed = change("value Fast 1", "value Fast 2").unwrap();
        assert_eq!(changed.item, "the enumeration Mode of the module \"m\"");
        assert_eq!(
            (&*changed.before, &*changed.after),
            ("the values Slow = 0, Fast = 1 (u8)", "the values Slow = 0, Fast = 2 (u8)")
        );
        assert!(change("enum Mode u8", "enum Mode i8").is_some());
        assert_eq!(change("value Fast 1", "value Fast 1\nvalue Mid 2"), None);
        let changed = change("type [Q; 2]", "obstacle differs\ntype [Q; 2]").unwrap();
        assert_eq!(changed.after, "different types for its targets");
    }

    /// The images of the program's build agree, but the images of the new build differ: the program
    /// rejects the new index.
    #[test]
    fn differences_between_targets_are_compared() {
        let changed =
            change("parameter n i32", "differs n is f32 for cpu\nparameter n i32").unwrap();
        assert_eq!(changed.after, "different parameters for its targets: n is f32 for cpu");
        assert!(
            change("record Q 4 4 fields Q<a, b>\nfield y 0 i32", "record Q - - differs Q<a, b>")
                .is_some()
        );
    }
}
