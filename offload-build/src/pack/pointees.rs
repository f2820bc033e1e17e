//! Layouts of structs behind pointers, which several compilers describe.
//!
//! No image records what a pointer points to. A struct that has another layout for some target, by
//! an `#ifdef`, would be right for one image and wrong for another. Such a struct has no fields in
//! programs, which can still pass pointers to it.

use super::agreement::values;
use offload_format::signature::{Field, Record, Signatures, Type};

/// Removes the contents of structs that only pointers refer to, and that have another layout in
/// another of these descriptions of the same kernels.
pub(crate) fn hide_unlike(all: &mut [Signatures]) {
    let mut hidden = Vec::new();
    for (number, these) in all.iter().enumerate() {
        for (other, others) in all.iter().enumerate().skip(number + 1) {
            for (name, of_other) in unlike(these, others) {
                hidden.extend([(number, name), (other, of_other)]);
            }
        }
    }
    hidden.iter().for_each(|(number, name)| hide(&mut all[*number], name));
}

/// Removes the contents of structs that only pointers refer to, and that have another layout in the
/// image for the CPU, of which `of_cpu` is a description.
pub(super) fn hide_unlike_cpu(signatures: &mut Signatures, of_cpu: &Signatures) {
    unlike(signatures, of_cpu).iter().for_each(|(name, _)| hide(signatures, name));
}

/// Returns the names of the structs behind pointers whose layouts differ, in these descriptions and
/// in the others.
fn unlike(these: &Signatures, others: &Signatures) -> Vec<(String, String)> {
    let mut pairs: Vec<(&Type, &Type, bool)> = Vec::new();
    for kernel in &these.kernels {
        let Some(other) = others.kernels.iter().find(|it| it.symbol == kernel.symbol) else {
            continue;
        };
        let types = kernel.parameters.iter().zip(&other.parameters);
        pairs.extend(types.map(|(this, other)| (&this.ty, &other.ty, false)));
    }
    let (mut seen, mut unlike) = (Vec::new(), Vec::new());
    while let Some((this, other, is_pointee)) = pairs.pop() {
        match (this, other) {
            (Type::Pointer { to: this, .. }, Type::Pointer { to: other, .. }) => {
                pairs.push((this, other, true));
            }
            (Type::Array { of: this, .. }, Type::Array { of: other, .. }) => {
                pairs.push((this, other, is_pointee));
            }
            (Type::Record(name), Type::Record(of_other))
                if !seen.contains(&(name, of_other, is_pointee)) =>
            {
                seen.push((name, of_other, is_pointee));
                let (Some(known), Some(known_other)) =
                    (find(&these.records, name), find(&others.records, of_other))
                else {
                    continue;
                };
                let layouts = values(this, &these.records).zip(values(other, &others.records));
                // One of them may only be declared for some targets.
                let sizes = known.size.zip(known_other.size);
                let is_same = sizes.is_none_or(|(this, other)| this.bytes == other.bytes)
                    && layouts.is_none_or(|(this, other)| this == other);
                if is_pointee && !is_same {
                    unlike.push((name.clone(), of_other.clone()));
                }
                let fields = fields(known).iter().zip(fields(known_other));
                pairs.extend(fields.map(|(this, other)| (&this.ty, &other.ty, is_pointee)));
            }
            _ => {}
        }
    }
    unlike
}

fn find<'a>(records: &'a [Record], name: &str) -> Option<&'a Record> {
    records.iter().find(|record| record.name == name)
}

fn fields(record: &Record) -> &[Field] {
    record.content.fields().unwrap_or_default()
}

/// Removes the content of a struct, unless a kernel takes it by value: then the images record its
/// size.
fn hide(signatures: &mut Signatures, name: &str) {
    let mut by_value: Vec<&Type> = Vec::new();
    for kernel in &signatures.kernels {
        for parameter in &kernel.parameters {
            by_value.push(&parameter.ty);
        }
    }
    let mut seen = Vec::new();
    while let Some(ty) = by_value.pop() {
        match ty {
            Type::Array { of, .. } => by_value.push(of),
            Type::Record(of_value) if of_value == name => return,
            Type::Record(of_value) if !seen.contains(&of_value) => {
                seen.push(of_value);
                if let Some(record) = find(&signatures.records, of_value) {
                    for field in fields(record) {
                        by_value.push(&field.ty);
                    }
                }
            }
            _ => {}
        }
    }
    // A struct that contains this one has no known size either.
    let mut names = vec![name.to_owned()];
    while let Some(name) = names.pop() {
        for record in &mut signatures.records {
            if record.name == name {
                *record = Record::pointed_to(name.clone(), record.source_name.clone());
            } else if fields(record).iter().any(|field| field.ty.record_name() == Some(&name)) {
                names.push(record.name.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_that_targets_lay_out_differently_are_hidden() {
        let of = |ty: &str| -> Signatures {
            let text = format!(
                "record P 8 4 fields P\nfield a 0 {ty}\nfield b 4 f32\nfield next 8 *mut P\n\
                 record Outer 8 4 fields Outer\nfield p 0 P\n\
                 record Value 4 4 fields Value\nfield a 0 {ty}\n\
                 record Same 16 8 fields Same\nfield outer 0 *mut Outer\nfield value 8 *mut Value\n\
                 signature k k\nparameter p *const Same\nparameter v Value\n"
            );
            text.parse().unwrap()
        };
        let hidden = |of: &Signatures| -> Vec<String> {
            let hidden = of.records.iter().filter(|record| record.size.is_none());
            hidden.map(|record| record.name.clone()).collect()
        };
        let mut all = [of("i32"), of("i32"), of("f32")];
        hide_unlike(&mut all[..2]);
        assert_eq!(hidden(&all[0]), [""; 0]);
        hide_unlike_cpu(&mut all[0], &of("u32"));
        assert_eq!(hidden(&all[0]), [""; 0]);
        hide_unlike(&mut all);
        for of_target in &all {
            assert_eq!(hidden(of_target), ["P", "Outer"]);
        }
    }

    /// The unions' contents are not known, so only the inner struct is seen to differ.
    #[test]
    fn structs_that_contain_a_hidden_one_are_hidden() {
        let of = |bytes: u64| -> Signatures {
            let text = format!(
                "record P {bytes} 4 opaque P\n\
                 record Outer 16 8 fields Outer\nfield p 0 [P; 1]\nfield d 8 f64\n\
                 record Most 16 8 fields Most\nfield outer 0 Outer\n\
                 record To 8 8 fields To\nfield p 0 *mut P\n\
                 signature k k\nparameter most *mut Most\nparameter to *mut To\n"
            );
            text.parse().unwrap()
        };
        let mut all = [of(4), of(8)];
        hide_unlike(&mut all);
        for Signatures { records, .. } in &all {
            let sizes: Vec<bool> = records.iter().map(|record| record.size.is_some()).collect();
            assert_eq!(sizes, [false, false, false, true]);
        }
    }
}
