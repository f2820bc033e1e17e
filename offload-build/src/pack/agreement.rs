//! Whether images have the parameters that a source declares.

use offload_format::pack_index::{IndexArgument, IndexImage};
use offload_format::signature::{
    Content, Parameter, Passing, Record, Scalar, Signature, Signatures, Type,
};
use offload_toolchain::cargo::Cargo;

/// Returns only the signatures of kernels that some image has, if images record their kernels. If
/// an image has other arguments than the source, a warning reports it, and programs that call the
/// kernel do not compile. A warning also reports
/// kernels that have another name in each kind of image.
///
/// `of_cpu` has the parameters in the image for the CPU. Records are passed as they are there.
pub(super) fn agreed(
    module: &str,
    signatures: &Signatures,
    of_cpu: Option<&Signatures>,
    images: &[IndexImage],
    cargo: &Cargo,
) -> Signatures {
    let mut agreed = Signatures { kernels: Vec::new(), ..signatures.clone() };
    let are_known = images.iter().any(|image| image.kernels.is_some());
    let mut internal: Vec<&str> = Vec::new();
    for kernel in &signatures.kernels {
        let Signature { symbol, source_name, place, .. } = kernel;
        if is_internal(symbol)
            && !internal.contains(&&**place)
            && let Some(without) = images
                .iter()
                .find(|image| image.kernels.is_some() && image.kernel(symbol).is_none())
        {
            internal.push(place);
            cargo.warn(&format!(
                "module \"{module}\": the kernel {source_name} ({place}) is not in the image for {} under the name {symbol}: \
                 a kernel that is `static`, or in a namespace without a name, has another name in each kind of image, or none; \
                 remove `static`, or name the namespace",
                without.target
            ));
        }
        let mut found = Vec::new();
        for image in images {
            if let Some(kernel) = image.kernel(symbol) {
                found.push((image.target.as_str(), kernel));
            }
        }
        if are_known && found.is_empty() {
            continue;
        }
        let mut kernel = kernel.clone();
        let says = of_source(&kernel, &signatures.records);
        // Compare the sizes, not the offsets: images align some types differently. If a program
        // passes the address of each argument, a launch still works with other offsets.
        let differs = |arguments: &[IndexArgument]| {
            let sizes = arguments.iter().map(|argument| argument.size);
            says.as_ref().is_none_or(|says| !says.iter().map(|(_, size)| *size).eq(sizes))
        };
        let mut other = None;
        for (target, found) in found {
            if let Some(arguments) = found.arguments.as_deref()
                && differs(arguments)
            {
                other = Some((target, places(&of_image(arguments))));
                break;
            }
        }
        let other = other.or_else(|| {
            let of_cpu = of_cpu?;
            let in_image = of_cpu.kernels.iter().find(|it| it.symbol == kernel.symbol)?;
            let has = difference((&kernel, &signatures.records), (in_image, &of_cpu.records));
            if has.is_none() {
                pass_as(&kernel.parameters, &mut agreed.records, (in_image, &of_cpu.records));
            }
            Some(("cpu", has?))
        });
        if let Some((target, has)) = other {
            let parameters: Vec<String> =
                kernel.parameters.iter().map(|it| format!("{}: {}", it.name, it.ty)).collect();
            let of_source =
                says.map_or_else(|| "of unknown sizes".to_owned(), |says| places(&says));
            kernel.difference = vec![
                format!("{} has ({}): {of_source}", kernel.place, parameters.join(", ")),
                format!("the image for {target} has {has}"),
            ];
            cargo.warn(&format!(
                "module \"{module}\": the kernel {} has other parameters in the image for {target} than in its source; a program \
                 that calls it by the function of include_kernels! does not compile",
                kernel.source_name
            ));
            kernel.difference.iter().for_each(|line| cargo.warn(&format!("  {line}")));
        }
        agreed.kernels.push(kernel);
    }
    agreed
}

/// Whether the kernel is local to its source. clang then appends a hash to the name, after a word
/// that differs between versions and kinds of targets.
fn is_internal(symbol: &str) -> bool {
    [".intern.", "__intern__", ".static.", "__static__"].iter().any(|word| symbol.contains(word))
}

fn of_image(arguments: &[IndexArgument]) -> Vec<(u64, u64)> {
    arguments.iter().map(|argument| (argument.offset, argument.size)).collect()
}

/// Returns the offset and size of each parameter.
fn of_source(kernel: &Signature, records: &[Record]) -> Option<Vec<(u64, u64)>> {
    let layout = kernel.layout(records)?;
    Some(layout.into_iter().map(|(offset, size)| (offset, size.bytes)).collect())
}

fn places(arguments: &[(u64, u64)]) -> String {
    let each = arguments.iter().map(|(offset, size)| format!("{size} at {offset}"));
    match arguments.len() {
        0 => "no parameters".to_owned(),
        count => {
            format!("{count} parameters; bytes of each: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A kernel with the records of its types.
type Described<'a> = (&'a Signature, &'a [Record]);

/// Returns the parameters in the image for the CPU in words, if the kernel has others in its
/// source.
fn difference((kernel, records): Described<'_>, (in_image, own): Described<'_>) -> Option<String> {
    let (these, others) = (&kernel.parameters, &in_image.parameters);
    let is_same = |(this, other): (&Parameter, &Parameter)| {
        if is_never_passed(&this.ty, records) {
            return true;
        }
        let sizes = this.ty.size(records).zip(other.ty.size(own));
        let values = values(&this.ty, records).zip(values(&other.ty, own));
        sizes.is_none_or(|(this, other)| this.bytes == other.bytes)
            && values.is_none_or(|(these, others)| these == others)
    };
    if these.len() == others.len() && these.iter().zip(others).all(is_same) {
        return None;
    }
    let spelled = |it: &Parameter| match it.ty.size(own) {
        Some(size) => format!("{} of {} bytes", spelled(&it.ty, own), size.bytes),
        None => "one of unknown size".to_owned(),
    };
    let each: Vec<String> = others.iter().map(spelled).collect();
    Some(if each.is_empty() { "no parameters".to_owned() } else { each.join(", ") })
}

/// Whether a launch on the CPU refuses this type: registers may hold it, and its content is not
/// known. A `long double` has another size on GPUs, and launches on GPUs are right.
fn is_never_passed(ty: &Type, records: &[Record]) -> bool {
    let Type::Record(name) = ty else { return false };
    records.iter().any(|record| {
        record.name == *name
            && (&record.content, record.passing) == (&Content::Opaque, Passing::Fields)
            && record.size.is_some_and(|size| size.bytes <= Passing::IN_REGISTERS)
    })
}

/// Values of one kind, one after another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Values {
    start: u64,
    end: u64,
    /// The size in bytes of floating-point numbers that C++ passes in other registers than
    /// integers; 0 for all other values.
    float: u64,
}

/// The maximum number of values that are compared.
const MOST_VALUES: usize = 1 << 12;

/// Returns the values of a type, as far as they determine how C++ passes it. Returns `None` if the
/// type has a content that is not known, or too many values.
pub(super) fn values(ty: &Type, records: &[Record]) -> Option<Vec<Values>> {
    let mut all = Vec::new();
    add_values(ty, records, 0, &mut all)?;
    Some(all)
}

fn add_values(ty: &Type, records: &[Record], start: u64, all: &mut Vec<Values>) -> Option<()> {
    let end = start.checked_add(ty.size(records)?.bytes)?;
    match ty {
        Type::Scalar(_) | Type::Pointer { .. } => {
            let is_float = matches!(ty, Type::Scalar(Scalar::F32 | Scalar::F64));
            let float = if is_float { end - start } else { 0 };
            push(Values { start, end, float }, all)?;
        }
        Type::Array { of, count } => {
            let size = of.size(records)?.bytes;
            // A struct behind a pointer may have arrays of millions of elements.
            match &values(of, records)?[..] {
                _ if *count == 0 => {}
                [one] if (one.start, one.end) == (0, size) => {
                    push(Values { start, end, float: one.float }, all)?;
                }
                [] => {}
                of_element => {
                    for number in 0..*count {
                        let place = start + size * number;
                        for Values { start, end, float } in of_element {
                            let (start, end) = (place + start, place + end);
                            push(Values { start, end, float: *float }, all)?;
                        }
                    }
                }
            }
        }
        Type::Record(name) => {
            let record = records.iter().find(|record| record.name == *name)?;
            for field in record.content.fields()? {
                add_values(&field.ty, records, start.checked_add(field.offset)?, all)?;
            }
        }
        Type::Void => return None,
    }
    Some(())
}

/// Adds values behind the others. Returns `None` if there are too many.
fn push(values: Values, all: &mut Vec<Values>) -> Option<()> {
    match all.last_mut() {
        Some(last) if last.float == values.float && last.end == values.start => {
            last.end = values.end;
        }
        _ => all.push(values),
    }
    (all.len() <= MOST_VALUES).then_some(())
}

/// Returns a type with the fields of its record.
fn spelled(ty: &Type, records: &[Record]) -> String {
    let named = |name: &str| records.iter().find(|record| record.name == name);
    let fields = match ty {
        Type::Record(name) => named(name).and_then(|record| record.content.fields()),
        _ => None,
    };
    match fields {
        Some(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.name, field.ty)).collect();
            format!("{ty} {{ {} }}", fields.join(", "))
        }
        None => ty.to_string(),
    }
}

/// Records how the image for the CPU passes records: by their addresses, or not. Attributes of one
/// compiler may differ from this.
fn pass_as(parameters: &[Parameter], records: &mut [Record], (in_image, own): Described<'_>) {
    for (parameter, other) in parameters.iter().zip(&in_image.parameters) {
        let (Type::Record(name), Type::Record(other)) = (&parameter.ty, &other.ty) else {
            continue;
        };
        let other = own.iter().find(|record| record.name == *other);
        let record = records.iter_mut().find(|record| record.name == *name);
        if let (Some(record), Some(other)) = (record, other)
            && (record.passing == Passing::Address) != (other.passing == Passing::Address)
        {
            record.passing = other.passing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each element alone would take minutes.
    #[test]
    fn values_of_large_arrays_are_few() {
        let text = "record Pair 8 4 fields Pair\nfield a 0 i32\nfield b 4 f32\n\
                    record Grid 68719476740 4 fields Grid\nfield cells 0 [[[f32; 4096]; 4096]; 1024]\nfield last 68719476736 i32\n";
        let Signatures { records, .. } = text.parse().unwrap();
        let values = |ty: &str| values(&ty.parse().unwrap(), &records);
        let run = |start, end, float| Values { start, end, float };
        assert_eq!(
            values("[Grid; 1]"),
            Some(vec![run(0, 68719476736, 4), run(68719476736, 68719476740, 0)])
        );
        assert_eq!(values("[Pair; 2]").map(|all| all.len()), Some(4),);
        assert_eq!(values("[[Pair; 4096]; 4096]"), None);
        assert_eq!(values("[[[Pair; 0]; 4096]; 1099511627776]"), Some(Vec::new()));
    }

    #[test]
    fn what_is_passed_differently_is_noticed() {
        let own = "record P 16 8 fields P\nfield a 0 i32\nfield b 4 f32\nfield c 8 f64\n\
                   record Halves 4 2 fields Halves\nfield a 0 u16\nfield b 2 u16\n\
                   record Union 8 8 opaque Union\n\
                   signature k k\nparameter a f64\nparameter b P\nparameter c void\nparameter d *mut void\n\
                   parameter e Union\nparameter f Halves\n";
        let own: Signatures = own.parse().unwrap();
        let records = "record P 16 8 fields P\nfield a 0 [u8; 4]\nfield b 4 f32\nfield c 8 f64\n\
                       record Q 16 8 fields Q\nfield a 0 f32\nfield b 4 f32\nfield c 8 f64\n\
                       record R 4 2 fields R\nfield a 0 bf16\nfield b 2 f16\n";
        let same = ["f64", "P", "i8", "u64", "Q8", "R"];
        let with = |number: usize, ty: &str| {
            let mut types = same;
            types[number] = ty;
            let types = types.map(|ty| format!("parameter p {ty}\n")).concat();
            let records = format!("{records}record Q8 8 8 fields Q8\nfield a 0 f64\n");
            let of_source: Signatures = format!("{records}signature k k\n{types}").parse().unwrap();
            difference((&of_source.kernels[0], &of_source.records), (&own.kernels[0], &own.records))
        };
        assert_eq!(with(0, "f64"), None);
        let expected = "f64 of 8 bytes, P { a: i32, b: f32, c: f64 } of 16 bytes, one of unknown size, \
                        *mut void of 8 bytes, Union of 8 bytes, Halves { a: u16, b: u16 } of 4 bytes";
        for (number, ty) in [(0, "f32"), (0, "i64"), (1, "Q"), (3, "f64"), (4, "i32"), (5, "i64")] {
            assert_eq!(with(number, ty).as_deref(), Some(expected), "{number} {ty}");
        }
    }
}
