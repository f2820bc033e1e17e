//! The interface of a pack: the parameters of its kernels, as an index records them. A program that
//! reads a pack from disk compares the interface at its compilation with the files' interface.
//!
//! All functions are `#[inline]`, so only programs that read packs from disk compile them.

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

/// The parameters of a kernel in one place.
#[derive(Debug)]
struct Kernel<'a> {
    module: &'a str,
    /// The target of the image that records the arguments; `None` for a signature.
    target: Option<&'a str>,
    symbol: &'a str,
    /// The name and the type of each parameter of a signature; otherwise the image's record.
    parameters: Vec<(&'a str, &'a str)>,
}

/// A record, with the lines about it.
#[derive(Debug)]
struct Record<'a> {
    module: &'a str,
    name: &'a str,
    /// Size, alignment and content.
    form: &'a str,
    /// The offset and type of each field.
    fields: Vec<&'a str>,
}

/// The interface of a pack.
#[derive(Debug, Default)]
struct Interface<'a> {
    kernels: Vec<Kernel<'a>>,
    records: Vec<Record<'a>>,
}

/// Returns the first kernel of the index `before` whose parameters differ in the index `after`.
/// Names of parameters and fields do not count, nor kernels that only one index has.
///
/// The function compares the signatures of sources, and the arguments that images for one target
/// record.
#[inline]
pub fn changed_kernel<'a>(before: &'a str, after: &'a str) -> Option<ChangedKernel> {
    let (before, after) = (Interface::read(before), Interface::read(after));
    // Signatures come first, since their message has types.
    let numbered = || before.kernels.iter().enumerate();
    let signatures = numbered().filter(|(_, kernel)| kernel.target.is_none());
    let of_images = numbered().filter(|(_, kernel)| kernel.target.is_some());
    signatures.chain(of_images).find_map(|(at, kernel)| {
        // Most kernels are at the same place in both indexes.
        let same_place = after.kernels.get(at).filter(|other| other.is_same(kernel));
        let other =
            same_place.or_else(|| after.kernels.iter().find(|other| other.is_same(kernel)))?;
        let (old, new) = (before.records_of(kernel), after.records_of(other));
        if old == new && kernel.types().eq(other.types()) {
            return None;
        }
        // If the types are known, only the places in images count: compilers may begin to record
        // types.
        let place = |ty: &'a str| ty.split(':').next();
        let has_types = kernel.target.is_some()
            && [&before, &after].iter().all(|interface| interface.has_signature(kernel));
        if has_types && kernel.types().map(place).eq(other.types().map(place)) {
            return None;
        }
        Some(ChangedKernel {
            kernel: format!("{} of the module \"{}\"", kernel.symbol, kernel.module),
            before: kernel.describe(&old),
            after: other.describe(&new),
        })
    })
}

impl<'a> Kernel<'a> {
    /// Returns the types of the parameters.
    #[inline]
    fn types(&self) -> impl Iterator<Item = &'a str> {
        self.parameters.iter().map(|(_, ty)| *ty)
    }

    /// Whether both are about the same kernel in the same place.
    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        (self.module, self.target, self.symbol) == (other.module, other.target, other.symbol)
    }

    #[inline]
    fn describe(&self, records: &[String]) -> String {
        let mut all = Vec::new();
        for (name, ty) in &self.parameters {
            all.push(if name.is_empty() { ty.to_string() } else { format!("{name}: {ty}") });
        }
        let records: String = records.iter().map(|record| format!("; {record}")).collect();
        format!("({}){records}", all.join(", "))
    }
}

impl<'a> Interface<'a> {
    #[inline]
    fn read(index: &'a str) -> Self {
        let mut all = Self::default();
        let (mut module, mut target, mut symbol) = ("", "", "");
        for line in index.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let first = |text: &'a str| text.split_once(' ').unwrap_or((text, ""));
            match word {
                "module" => module = rest,
                "image" => target = first(rest).0,
                "kernel" => symbol = rest,
                "arguments" => all.kernels.push(Kernel {
                    module,
                    target: Some(target),
                    symbol,
                    parameters: rest.split_whitespace().map(|place| ("", place)).collect(),
                }),
                "record" => {
                    let (name, rest) = first(rest);
                    // The last word is the name in the source.
                    let form = rest.match_indices(' ').nth(2).map_or(rest, |(at, _)| &rest[..at]);
                    all.records.push(Record { module, name, form, fields: Vec::new() });
                }
                // The way in which C++ passes the record counts as its fields do.
                "passed" => {
                    let record = all.records.last_mut();
                    record.into_iter().for_each(|record| record.fields.push(line));
                }
                "field" => {
                    let record = all.records.last_mut();
                    record.into_iter().for_each(|record| record.fields.push(first(rest).1));
                }
                "signature" => all.kernels.push(Kernel {
                    module,
                    target: None,
                    symbol: first(rest).1,
                    parameters: Vec::new(),
                }),
                "parameter" => {
                    let kernel = all.kernels.last_mut();
                    kernel.into_iter().for_each(|kernel| kernel.parameters.push(first(rest)));
                }
                _ => {}
            }
        }
        all
    }

    #[inline]
    fn has_signature(&self, kernel: &Kernel<'_>) -> bool {
        let is_of = |other: &Kernel<'_>| {
            other.target.is_none() && (other.module, other.symbol) == (kernel.module, kernel.symbol)
        };
        self.kernels.iter().any(is_of)
    }

    /// Returns the descriptions of the records that a kernel's parameters contain or point to, and
    /// of those that these records contain or point to.
    #[inline]
    fn records_of(&self, kernel: &Kernel<'_>) -> Vec<String> {
        let mut types: Vec<&str> = kernel.parameters.iter().map(|(_, ty)| *ty).collect();
        let mut found: Vec<&Record<'_>> = Vec::new();
        while let Some(ty) = types.pop() {
            let is_named = |record: &&Record<'_>| {
                let mut words = ty.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                record.module == kernel.module && words.any(|word| word == record.name)
            };
            for record in self.records.iter().filter(is_named) {
                if !found.iter().any(|known| core::ptr::eq(*known, record)) {
                    found.push(record);
                    types.extend(&record.fields);
                }
            }
        }
        // Nothing is known of the other records except their names, which the parameters have.
        let known = found.iter().filter(|record| !record.form.starts_with('-'));
        let describe = |record: &&Record<'_>| {
            format!("{} {}: {}", record.name, record.form, record.fields.join(", "))
        };
        known.map(describe).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "module m\nimage gfx90a 0 8 compiled code-object 6\nkernel k\narguments 0+4 8+8:pointer\nkernel other\narguments 0+4\n\
                         signatures 7\nrecord P 16 8 fields ns::P\nfield x 0 f64\nfield next 8 *mut Q\nrecord Q 4 4 fields Q<a, b>\n\
                         field y 0 i32\nsignature k k\nplace k.cu:1\nparameter n i32\nparameter p *mut P\n";

    fn change(from: &str, to: &str) -> Option<ChangedKernel> {
        assert!(INDEX.contains(from), "{from}");
        changed_kernel(INDEX, &INDEX.replace(from, to))
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
        assert_eq!(changed_kernel(INDEX, &other).unwrap().after, "(0+8, 8+8:pointer)");
    }
}
