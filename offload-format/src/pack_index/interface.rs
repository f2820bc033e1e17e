//! The comparison of two indexes of a pack by the parameters of its kernels. A program that reads a
//! pack from disk compares the index at its compilation with the files' index.
//!
//! All functions are `#[inline]`, so only programs that read packs from disk compile them.

use super::{Index, IndexArgument, IndexModule};
use crate::signature::{Record, Signature, Type};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A kernel that has other parameters in one index than in another one.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedKernel {
    /// The kernel's name in the images, and the module.
    pub kernel: String,
    /// Its parameters in the first index.
    pub before: String,
    /// Its parameters in the second index.
    pub after: String,
}

/// Returns the first kernel of the index `before` whose parameters differ in the index `after`.
/// Names of parameters and fields do not count, nor kernels that only one index has.
///
/// The function compares the signatures of sources, and the arguments that images for one target
/// record.
#[inline]
pub fn changed_kernel(before: &Index, after: &Index) -> Option<ChangedKernel> {
    let modules = || {
        let other = |module: &IndexModule| after.modules().iter().find(|it| it.name == module.name);
        before.modules().iter().filter_map(move |module| Some((module, other(module)?)))
    };
    // Signatures come first, since their message has types.
    modules()
        .find_map(|(before, after)| changed_signature(before, after))
        .or_else(|| modules().find_map(|(before, after)| changed_arguments(before, after)))
}

#[inline]
fn changed_signature(before: &IndexModule, after: &IndexModule) -> Option<ChangedKernel> {
    before.signatures.kernels.iter().enumerate().find_map(|(at, kernel)| {
        let other = signature(after, &kernel.symbol, at)?;
        let text = |module, kernel, named| describe(module, kernel, named);
        if text(before, kernel, false) == text(after, other, false) {
            return None;
        }
        let (old, new) = (text(before, kernel, true), text(after, other, true));
        Some(changed(&kernel.symbol, before, old, new))
    })
}

/// Returns the signature of a kernel; most kernels are at the same place `at` in both indexes.
#[inline]
fn signature<'a>(module: &'a IndexModule, symbol: &str, at: usize) -> Option<&'a Signature> {
    let kernels = &module.signatures.kernels;
    let is_same = |kernel: &&Signature| kernel.symbol == symbol;
    kernels.get(at).filter(is_same).or_else(|| kernels.iter().find(is_same))
}

#[inline]
fn changed_arguments(before: &IndexModule, after: &IndexModule) -> Option<ChangedKernel> {
    before.images.iter().find_map(|image| {
        let other = after.images.iter().find(|it| it.target == image.target)?;
        image.kernels.iter().flatten().find_map(|kernel| {
            let (old, new) =
                (kernel.arguments.as_ref()?, other.kernel(&kernel.name)?.arguments.as_ref()?);
            // If the types are known, only the places in images count: compilers may begin to
            // record types.
            let has_types =
                [before, after].iter().all(|it| signature(it, &kernel.name, 0).is_some());
            let is_same = |one: &IndexArgument, other: &IndexArgument| {
                let place = |it: &IndexArgument| (it.offset, it.size);
                place(one) == place(other) && (has_types || one.kind == other.kind)
            };
            if old.len() == new.len() && old.iter().zip(new).all(|(one, it)| is_same(one, it)) {
                return None;
            }
            let text = |all: &[IndexArgument]| {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                format!("({})", all.join(", "))
            };
            Some(changed(&kernel.name, before, text(old), text(new)))
        })
    })
}

#[inline]
fn changed(symbol: &str, module: &IndexModule, before: String, after: String) -> ChangedKernel {
    ChangedKernel { kernel: format!("{symbol} of the module \"{}\"", module.name), before, after }
}

/// Returns the parameters of a kernel, and the records that they contain or point to.
#[inline]
fn describe(module: &IndexModule, kernel: &Signature, with_names: bool) -> String {
    let parameters = kernel.parameters.iter();
    let all: Vec<String> = parameters
        .map(|it| if with_names { format!("{}: {}", it.name, it.ty) } else { it.ty.to_string() })
        .collect();
    let mut text = format!("({})", all.join(", "));
    // Nothing is known of the other records except their names, which the parameters have.
    for record in records_of(module, kernel) {
        let Some(size) = record.size else { continue };
        let fields = record.content.fields().unwrap_or_default().iter();
        let mut parts: Vec<String> =
            fields.map(|field| format!("{} {}", field.offset, field.ty)).collect();
        // The way in which C++ passes the record counts as its fields do.
        parts.extend(Some(record.passing.to_string()).filter(|line| !line.is_empty()));
        let (name, word) = (&record.name, record.content.word());
        let form = format!("; {name} {} {} {word}: ", size.bytes, size.align);
        text.extend([form, parts.join(", ")]);
    }
    text
}

/// Returns the records that a kernel's parameters contain or point to, and those that these records
/// contain or point to.
#[inline]
fn records_of<'a>(module: &'a IndexModule, kernel: &'a Signature) -> Vec<&'a Record> {
    let mut types: Vec<&Type> = kernel.parameters.iter().map(|it| &it.ty).collect();
    let mut found: Vec<&Record> = Vec::new();
    while let Some(ty) = types.pop() {
        match ty {
            Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } => types.push(inner),
            Type::Record(name) if found.iter().all(|known| known.name != *name) => {
                if let Some(record) = module.signatures.records.iter().find(|it| it.name == *name) {
                    found.push(record);
                    let fields = record.content.fields().unwrap_or_default().iter();
                    types.extend(fields.map(|field| &field.ty));
                }
            }
            Type::Record(_) | Type::Scalar(_) | Type::Void => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "offload-pack 10\nname m\nlibrary l\nlibrary-size 9\nlibrary-offset 0\nsymbol s\nsection .hip_fatbin\nsize 9\n\
                         module m\nimage gfx90a 0 8 compiled code-object 6\nkernel k\narguments 0+4 8+8:pointer\nkernel other\narguments 0+4\n\
                         record P 16 8 fields ns::P\nfield x 0 f64\nfield next 8 *mut Q\nrecord Q 4 4 fields Q<a, b>\n\
                         field y 0 i32\nsignature k k\nplace k.cu:1\nparameter n i32\nparameter p *mut P\n";

    fn compared(before: &str, after: &str) -> Option<ChangedKernel> {
        let [before, after] = [before, after].map(|text| Index::parse(text).unwrap());
        changed_kernel(&before, &after)
    }

    fn change(from: &str, to: &str) -> Option<ChangedKernel> {
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
            ("image gfx90a", "image gfx942"),
        ];
        for (from, to) in same {
            assert_eq!(change(from, to), None, "{from}");
        }
    }

    #[test]
    fn a_change_names_the_parameters_before_and_after() {
        let records = "; P 16 8 fields: 0 f64, 8 *mut Q; Q 4 4 fields: 0 i32";
        let changed = change("parameter n i32", "parameter n i64").unwrap();
        assert_eq!(changed.kernel, "k of the module \"m\"");
        assert_eq!(changed.before, format!("(n: i32, p: *mut P){records}"));
        assert_eq!(changed.after, format!("(n: i64, p: *mut P){records}"));
        // A record that only a pointer in another record refers to.
        let changed = change("field y 0 i32", "field y 0 u32").unwrap();
        assert_eq!(changed.before, format!("(n: i32, p: *mut P){records}"));
        assert_eq!(changed.after, format!("(n: i32, p: *mut P){}", records.replace("i32", "u32")));
        // C++ passes the record in another way.
        let changed = change("field y 0 i32", "field y 0 i32\npassed address").unwrap();
        assert_eq!(changed.after, format!("(n: i32, p: *mut P){records}, passed address"));
        // An image that no longer agrees with the source.
        let changed = change("0+4 8+8", "0+8 8+8").unwrap();
        assert_eq!(
            (&*changed.before, &*changed.after),
            ("(0+4, 8+8:pointer)", "(0+8, 8+8:pointer)")
        );
        // A kernel without a signature, and a kernel whose signature is no longer known.
        let changed = change("kernel other\narguments 0+4", "kernel other\narguments 0+8").unwrap();
        assert_eq!((&*changed.before, &*changed.after), ("(0+4)", "(0+8)"));
        let other = INDEX.replace("signature k", "signature l").replace("0+4 8+8", "0+8 8+8");
        let other = other.replace("signature l k", "signature l l");
        assert_eq!(compared(INDEX, &other).unwrap().after, "(0+8, 8+8:pointer)");
    }
}
