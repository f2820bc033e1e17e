//! Merges signatures from several sources, or from one source for several kinds of targets, into
//! those of one module.

use offload_pack::signature::{
    Content, Enumeration, Identifiers, Obstacle, Record, Signature, Signatures, TemplateValue,
    Type, Variable, identifier, local_symbol,
};
use std::collections::HashMap;

/// Merges signatures. For each kernel and each variable, the first description wins.
pub(crate) fn merge(all: impl IntoIterator<Item = Signatures>) -> Signatures {
    let mut merged = Signatures::default();
    let mut names = Identifiers::default();
    // A module may have thousands of instances of templates, so look symbols up in a map.
    let mut known = HashMap::new();
    for Signatures { mut kernels, records, enumerations, mut variables } in all {
        kernels.retain(|kernel| {
            let symbol = match local_symbol(&kernel.symbol) {
                Some((name, hash)) => format!("{name} {hash}"),
                None => kernel.symbol.clone(),
            };
            known.insert(symbol, String::new()).is_none()
        });
        let renamed = renamed(&records, &merged.records, &mut names);
        for kernel in &mut kernels {
            for parameter in &mut kernel.parameters {
                rename(&mut parameter.ty, &renamed);
            }
            for argument in kernel.template.iter_mut().flat_map(|it| &mut it.arguments) {
                if let TemplateValue::Type(ty) = &mut argument.value {
                    rename(ty, &renamed);
                }
            }
        }
        variables.retain(|it| !merged.variables.iter().any(|known| is_same_variable(it, known)));
        variables.iter_mut().for_each(|variable| rename(&mut variable.ty, &renamed));
        for record in records {
            let name = renamed.get(&record.name).unwrap_or(&record.name).clone();
            let record = Record { name, ..with_new_names(&record, &renamed) };
            match merged.records.iter_mut().find(|known| known.name == record.name) {
                // If one source only uses pointers to a record, its description lacks the record's
                // size, so use the other source's record.
                Some(known) if known.size.is_none() => *known = record,
                Some(_) => {}
                None => merged.records.push(record),
            }
        }
        for enumeration in enumerations {
            let is_same = |known: &Enumeration| {
                let name = known.name.clone();
                *known == Enumeration { name, ..enumeration.clone() }
            };
            if !merged.enumerations.iter().any(is_same) {
                let name = names.give(&enumeration.name);
                merged.enumerations.push(Enumeration { name, ..enumeration });
            }
        }
        merged.kernels.extend(kernels);
        merged.variables.extend(variables);
    }
    name_overloads(&mut merged.kernels);
    let mut names = Identifiers::default();
    for variable in &mut merged.variables {
        variable.name = names.give(&variable.name);
    }
    merged
}

/// Whether two descriptions are of one variable, seen for two kinds of targets, rather than of
/// `static` variables with the same name in two sources.
fn is_same_variable(one: &Variable, other: &Variable) -> bool {
    let is_static = |it: &Variable| it.obstacle == Some(Obstacle::Static);
    let is_shared = !is_static(one) && !is_static(other);
    one.symbol == other.symbol && (is_shared || one.place == other.place)
}

/// Returns new names for records that share a name with a different record or contain a renamed
/// record.
fn renamed(
    records: &[Record],
    known: &[Record],
    names: &mut Identifiers,
) -> HashMap<String, String> {
    let mut renamed = HashMap::new();
    loop {
        let before = renamed.len();
        for record in records {
            if renamed.contains_key(&record.name) {
                continue;
            }
            let own = with_new_names(record, &renamed);
            let is_same = |other: &&Record| {
                let is_pointed_to = other.size.is_none() || own.size.is_none();
                other.source_name == own.source_name
                    && (is_pointed_to && other.name == own.name
                        || Record { name: other.name.clone(), ..own.clone() } == **other)
            };
            let same: Vec<&Record> = known.iter().filter(is_same).collect();
            if same.iter().any(|other| other.name == own.name) {
                continue;
            }
            let name = same.first().map_or_else(|| names.give(&own.name), |it| it.name.clone());
            renamed.insert(own.name, name);
        }
        if renamed.len() == before {
            break;
        }
    }
    renamed.retain(|old, new| old != new);
    renamed
}

/// Returns a copy of the record with its field types renamed.
fn with_new_names(record: &Record, renamed: &HashMap<String, String>) -> Record {
    let mut record = record.clone();
    if let Content::Fields(fields) | Content::Packed(fields) = &mut record.content {
        fields.iter_mut().for_each(|field| rename(&mut field.ty, renamed));
    }
    record
}

fn rename(ty: &mut Type, renamed: &HashMap<String, String>) {
    match ty {
        Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } => rename(inner, renamed),
        Type::Record(name) => *name = renamed.get(name).unwrap_or(name).clone(),
        Type::Scalar(_) | Type::Void => {}
    }
}

/// Gives overloaded kernels distinct names that contain their parameter types.
fn name_overloads(kernels: &mut [Signature]) {
    let mut all: Vec<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
    all.sort_unstable();
    let mut names = Identifiers::default();
    for kernel in kernels {
        let first = all.partition_point(|name| *name < kernel.name);
        if all.get(first + 1) == Some(&kernel.name) {
            let mut name = kernel.name.clone();
            for parameter in &kernel.parameters {
                name += &format!(" {}", parameter.ty);
            }
            kernel.name = identifier(&name);
        }
        kernel.name = names.give(&kernel.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_name_that_differ_are_separate() {
        let records = |number: &str, ty: &str| {
            format!(
                "record P{number} 4 4 fields P\nfield x 0 {ty}\n\
                 record Q{number} 4 4 fields Q\nfield p 0 P{number}\n"
            )
        };
        let kernel = |number: &str, name: &str| {
            format!(
                "signature {name} {name}\nsource {name}\nplace k.cu:1\nparameter q *const Q{number}\n"
            )
        };
        // The two records `Q` differ only in the record that they contain.
        let sources = [("i32", "one"), ("f32", "two"), ("i32", "three"), ("f32", "four")]
            .map(|(ty, name)| (records("", ty) + &kernel("", name)).parse().unwrap());
        let expected = [
            records("", "i32"),
            records("_2", "f32"),
            kernel("", "one"),
            kernel("_2", "two"),
            kernel("", "three"),
            kernel("_2", "four"),
        ];
        assert_eq!(merge(sources).to_string(), expected.concat());
    }

    #[test]
    fn the_first_description_of_each_kernel_wins() {
        let of = |symbol: &str, name: &str| {
            format!("signature {name} {symbol}\nsource {name}\nplace \n").parse().unwrap()
        };
        let merged = merge([
            of("_ZL1kv.intern.0a", "amd"),
            of("_ZL1kv__static__0a", "nvidia"),
            of("_ZL1kv.intern.0b", "other"),
            of("_Z1fv", "first"),
            of("_Z1fv", "second"),
        ]);
        let names: Vec<&str> = merged.kernels.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["amd", "other", "first"]);
    }

    #[test]
    fn variables_of_several_sources_have_separate_names() {
        let of = |symbol: &str, place: &str, more: &str| {
            format!("variable X {symbol}\nsource x\nplace {place}\ntype P\n{more}").parse().unwrap()
        };
        let renamed = |number: &str, symbol: &str, place: &str, more: &str| {
            format!("variable X{number} {symbol}\nsource x\nplace {place}\ntype P\n{more}")
        };
        let merged = merge([
            of("x", "a.cu:1", ""),
            of("x", "b.h:1", ""),
            of("_ZL1x", "a.cu:2", "obstacle static\n"),
            of("_ZL1x", "a.cu:2", "obstacle static\n"),
            of("_ZL1x", "b.cu:2", "obstacle static\n"),
        ]);
        let expected = [
            renamed("", "x", "a.cu:1", ""),
            renamed("_2", "_ZL1x", "a.cu:2", "obstacle static\n"),
            renamed("_3", "_ZL1x", "b.cu:2", "obstacle static\n"),
        ];
        assert_eq!(merged.to_string(), expected.concat());
    }

    #[test]
    fn enumerations_of_one_name_that_differ_are_separate() {
        let of = |value: &str| format!("enum Mode u8 Mode\nvalue Fast {value}\n").parse().unwrap();
        let merged = merge(["0", "1", "0"].map(of)).to_string();
        let expected = "enum Mode u8 Mode\nvalue Fast 0\nenum Mode_2 u8 Mode\nvalue Fast 1\n";
        assert_eq!(merged, expected);
    }
}
