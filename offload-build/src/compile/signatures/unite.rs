//! Compares and merges the descriptions of a module's kernels: one for each kind of target, one
//! from a prebuilt set, and one from the CPU image's compiler.
//!
//! A program has one function for each kernel, which must be correct for every image. With an
//! `#ifdef`, however, a source may use different types for different targets.
//!
//! | difference | consequence |
//! |---|---|
//! | parameters of a kernel | a call to the function does not compile |
//! | a struct behind a pointer | in programs, the struct has no fields, but programs can pass pointers to it |
//! | a variable | a use of its constant does not compile |
//! | an enumeration | programs have no constants for its values |

use super::merge;
use crate::toolchain::Cargo;
use offload_pack::signature::{
    Comparison, Content, Obstacle, Parameter, Record, Signatures, describe,
};

/// A description of kernels, and where its types are used, such as "for gfx90a".
pub(crate) struct Description {
    pub(crate) place: String,
    pub(crate) signatures: Signatures,
}

/// The items that differ between descriptions.
#[derive(Default)]
struct Different {
    /// The names of records, each with the number of its description.
    records: Vec<(usize, String)>,
    /// Symbols of variables.
    variables: Vec<String>,
    /// Source names of enumerations.
    enumerations: Vec<String>,
    kernels: Vec<Kernel>,
}

/// A kernel with different parameters in two descriptions.
struct Kernel {
    symbol: String,
    warning: String,
    /// One line for each of the two descriptions.
    lines: Vec<String>,
}

/// Merges the signatures of all descriptions, and warns about kernels and enumerations that differ.
/// `of_cpu` describes the CPU image, without parameter names.
pub(crate) fn unite(
    module: &str,
    mut all: Vec<Description>,
    of_cpu: Option<&Signatures>,
    cargo: &Cargo,
) -> Signatures {
    let mut different = Different::default();
    for (number, one) in all.iter().enumerate() {
        for (other_number, other) in all.iter().enumerate().skip(number + 1) {
            let comparison = Comparison::new(&one.signatures, &other.signatures);
            let other = (other_number, &*other.place, &other.signatures);
            different.add((number, &one.place, &one.signatures), other, comparison);
        }
        if let Some(of_cpu) = of_cpu {
            let comparison = Comparison::new(&one.signatures, of_cpu).with_cpu();
            let of_cpu = (all.len(), "in the image for cpu", of_cpu);
            different.add((number, &one.place, &one.signatures), of_cpu, comparison);
        }
    }
    let Different { records, variables, enumerations, kernels } = different;
    for (number, name) in &records {
        if let Some(description) = all.get_mut(*number) {
            hide(&mut description.signatures.records, name);
        }
    }
    let mut signatures = merge(all.into_iter().map(|it| it.signatures));
    for variable in &mut signatures.variables {
        if variables.contains(&variable.symbol) {
            variable.obstacle = variable.obstacle.or(Some(Obstacle::Differs));
        }
    }
    signatures.enumerations.retain(|it| !enumerations.contains(&it.source_name));
    for name in enumerations {
        cargo.warn(&format!(
            "module \"{module}\": the enumeration {name} has different values for different \
             targets, so programs have no constants for it"
        ));
    }
    for Kernel { symbol, warning, lines } in kernels {
        if let Some(kernel) = signatures.kernels.iter_mut().find(|it| it.symbol == symbol) {
            cargo.warn(&format!("module \"{module}\": {warning}"));
            lines.iter().for_each(|line| cargo.warn(&format!("  {line}")));
            kernel.difference = lines;
        }
    }
    signatures
}

impl Different {
    /// Adds the differences between two descriptions. Each description comes with its number and
    /// place.
    fn add<'a>(
        &mut self,
        (number, place, one): (usize, &str, &'a Signatures),
        (other_number, other_place, other): (usize, &str, &'a Signatures),
        mut comparison: Comparison<'a>,
    ) {
        for (at, kernel) in one.kernels.iter().enumerate() {
            let Some(with) = other.kernel(&kernel.symbol, at) else { continue };
            if comparison.are_same(&kernel.parameters, &with.parameters)
                || self.kernels.iter().any(|known| known.symbol == kernel.symbol)
            {
                continue;
            }
            let line = |parameters: &[Parameter], records: &[Record], place: &str| {
                format!("{} has {} {place}", kernel.place, describe(parameters, records))
            };
            self.kernels.push(Kernel {
                symbol: kernel.symbol.clone(),
                warning: format!(
                    "the kernel {} has different parameters {place} and {other_place}. A program \
                     that calls its function from include_kernels! does not compile",
                    kernel.source_name
                ),
                lines: vec![
                    line(&kernel.parameters, &one.records, place),
                    line(&with.parameters, &other.records, other_place),
                ],
            });
        }
        for variable in &one.variables {
            if let Some(with) = other.variables.iter().find(|it| it.symbol == variable.symbol)
                && (!comparison.is_same(&variable.ty, &with.ty)
                    || variable.obstacle != with.obstacle)
            {
                self.variables.push(variable.symbol.clone());
            }
        }
        for enumeration in one.unlike_enumerations(other) {
            if !self.enumerations.contains(&enumeration.source_name) {
                self.enumerations.push(enumeration.source_name.clone());
            }
        }
        for [name, of_other] in comparison.unlike() {
            self.records.extend([(number, name.to_owned()), (other_number, of_other.to_owned())]);
        }
    }
}

/// Removes the fields of a record, and those of the records that contain it, whose sizes then
/// become unknown too.
fn hide(records: &mut [Record], name: &str) {
    let mut names = vec![name.to_owned()];
    while let Some(name) = names.pop() {
        for record in records.iter_mut() {
            let mut fields = record.content.fields().unwrap_or_default().iter();
            if record.name == name {
                (record.size, record.content) = (None, Content::Differs);
            } else if fields.any(|field| field.ty.record_name() == Some(&name)) {
                names.push(record.name.clone());
            }
        }
    }
}
