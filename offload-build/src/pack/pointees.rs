//! Layouts of structs behind pointers and of variables, which several compilers describe.
//!
//! No image records what a pointer points to, or the type of a variable. A struct that has another
//! layout for some target, by an `#ifdef`, would be right for one image and wrong for another. Such
//! a struct has no fields in programs, which can still pass pointers to it. Programs cannot access
//! such a variable.

use super::agreement::values;
use offload_format::signature::{Field, Obstacle, Record, Signatures, Type, Variable};

/// Removes the contents of structs that only pointers refer to, and that have another layout in
/// another of these descriptions of the same kernels. Hides variables that have other types there.
pub(crate) fn hide_unlike(all: &mut [Signatures]) {
    let (mut hidden, mut variables) = (Vec::new(), Vec::new());
    for (number, these) in all.iter().enumerate() {
        for (other, others) in all.iter().enumerate().skip(number + 1) {
            for symbol in unlike_variables(these, others) {
                variables.extend([(number, symbol.clone()), (other, symbol)]);
            }
            for (name, of_other) in unlike(these, others) {
                hidden.extend([(number, name), (other, of_other)]);
            }
        }
    }
    variables.iter().for_each(|(number, symbol)| hide_variable(&mut all[*number], symbol));
    hidden.iter().for_each(|(number, name)| hide(&mut all[*number], name));
}

fn hide_variable(signatures: &mut Signatures, symbol: &str) {
    let all = signatures.variables.iter_mut().filter(|variable| variable.symbol == symbol);
    all.for_each(|variable| variable.obstacle = Some(Obstacle::Differs));
}

/// Returns the symbols of the variables that have other types, or another linkage, in the others.
fn unlike_variables(these: &Signatures, others: &Signatures) -> Vec<String> {
    let is_unlike = |variable: &&Variable| {
        let Some(other) = others.variables.iter().find(|it| it.symbol == variable.symbol) else {
            return false;
        };
        let sizes = variable.ty.size(&these.records).zip(other.ty.size(&others.records));
        let layouts = values(&variable.ty, &these.records).zip(values(&other.ty, &others.records));
        sizes.is_some_and(|(this, other)| this.bytes != other.bytes)
            || layouts.is_some_and(|(this, other)| this != other)
            || other.obstacle.is_some()
    };
    let accessible = these.variables.iter().filter(|it| it.obstacle.is_none());
    accessible.filter(is_unlike).map(|variable| variable.symbol.clone()).collect()
}

/// Removes the contents of structs that only pointers refer to, and that have another layout in the
/// image for the CPU, of which `of_cpu` is a description. Hides variables that have other types
/// there.
pub(super) fn hide_unlike_cpu(signatures: &mut Signatures, of_cpu: &Signatures) {
    let variables = unlike_variables(signatures, of_cpu);
    variables.iter().for_each(|symbol| hide_variable(signatures, symbol));
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

    #[test]
    fn variables_of_another_type_are_hidden() {
        let of = |ty: &str, more: &str| -> Signatures {
            let text = format!(
                "record P 8 4 fields P\nfield a 0 {ty}\nfield b 4 f32\n\
                 variable A a\ntype [P; 2]\nvariable B b\ntype i32\nvariable C c\ntype i32\n{more}"
            );
            text.parse().unwrap()
        };
        let hidden = |all: [Signatures; 2]| -> Vec<String> {
            let mut all = all;
            hide_unlike(&mut all);
            let hidden = |of: &Signatures| -> Vec<String> {
                let differs =
                    of.variables.iter().filter(|it| it.obstacle == Some(Obstacle::Differs));
                differs.map(|it| it.name.clone()).collect()
            };
            assert_eq!(hidden(&all[0]), hidden(&all[1]));
            hidden(&all[0])
        };
        assert_eq!(hidden([of("i32", ""), of("u32", "")]), [""; 0]);
        assert_eq!(hidden([of("i32", ""), of("f32", "")]), ["A"]);
        assert_eq!(hidden([of("i32", ""), of("i32", "type u64\n")]), ["C"]);
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
