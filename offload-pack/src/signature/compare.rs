//! Compares two descriptions of the same kernels. The descriptions come from compilers for two
//! targets, or from two builds.

use super::{
    Content, Enumeration, Parameter, Record, Scalar, Signature, Signatures, Type, is_same_symbol,
};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The largest alignment of a number or an address in bytes. Only vectors, and types whose
/// alignment the source sets, have a greater alignment.
const LARGEST_OF_NUMBERS: u64 = 8;

/// A comparison of two descriptions.
///
/// Types are the same if a program may write the same value for both. Names matter only if they are
/// swapped: two fields with swapped names differ, but a renamed field is still the same.
///
/// | not compared | reason |
/// |---|---|
/// | unions, and other records that are opaque in one description (only their sizes are compared) | the content is unknown |
/// | records that only one description defines | the other description does not access them |
/// | what a `void *` points to | the source does not declare it |
/// | `unsigned short` of the CPU's compiler for a `_Float16` or `__bf16` | g++ 12 has no such types |
/// | a `const` that the CPU's compiler omits for an array | g++ 12 drops it if a typedef names the array |
///
/// Two pointers to records with the same name are the same, even if the records differ;
/// [`unlike`](Comparison::unlike) lists the records that differ.
///
/// Source: the page of offload-pack's module `signature`.
#[derive(Debug)]
pub struct Comparison<'a> {
    records: [&'a [Record]; 2],
    is_with_cpu: bool,
    /// The compared pairs of records; true if the two are the same.
    compared: Vec<([&'a str; 2], bool)>,
    /// Pairs of records behind pointers that still have to be compared.
    pointees: Vec<[&'a str; 2]>,
}

impl<'a> Comparison<'a> {
    /// Starts a comparison.
    #[inline]
    pub fn new(one: &'a Signatures, other: &'a Signatures) -> Self {
        let records = [&*one.records, &*other.records];
        let (compared, pointees) = (Vec::new(), Vec::new());
        Self { records, is_with_cpu: false, compared, pointees }
    }

    /// Accepts what the CPU's compiler may omit in the second description: 16-bit floating-point
    /// types, instead of which it has `u16`, and the `const` of arrays.
    #[inline]
    pub fn with_cpu(self) -> Self {
        Self { is_with_cpu: true, ..self }
    }

    /// Returns whether programs pass the same arguments to two kernels.
    #[inline]
    pub fn are_same(&mut self, one: &'a [Parameter], other: &'a [Parameter]) -> bool {
        let mut are_same = one.len() == other.len();
        for (at, (parameter, with)) in one.iter().zip(other).enumerate() {
            are_same &= self.is_same(&parameter.ty, &with.ty)
                && !other
                    .iter()
                    .enumerate()
                    .any(|(place, it)| place != at && it.name == parameter.name);
        }
        are_same
    }

    /// Returns whether programs write the same values for two types.
    #[inline]
    pub fn is_same(&mut self, one: &'a Type, other: &'a Type) -> bool {
        let is_same = self.is_same_value(one, other);
        while let Some(pair) = self.pointees.pop() {
            self.is_same_record(pair);
        }
        is_same
    }

    /// Returns the records that differ although they have the same name in the source. Considers
    /// all records that the compared types contain or point to. Each pair contains the record's
    /// names in the two descriptions.
    #[inline]
    pub fn unlike(&self) -> Vec<[&'a str; 2]> {
        let mut unlike = Vec::new();
        for (pair, is_same) in &self.compared {
            if !is_same && self.are_of_one_name(*pair) {
                unlike.push(*pair);
            }
        }
        unlike
    }

    #[inline]
    fn is_same_value(&mut self, one: &'a Type, other: &'a Type) -> bool {
        match (one, other) {
            (Type::Scalar(one), Type::Scalar(other)) => {
                let is_half = matches!(one, Scalar::F16 | Scalar::Bf16);
                number(*one) == number(*other)
                    || self.is_with_cpu && is_half && *other == Scalar::U16
            }
            (
                Type::Pointer { is_mutable, to },
                Type::Pointer { is_mutable: other_is, to: other },
            ) => {
                let is_array = matches!(**other, Type::Array { .. });
                (is_mutable == other_is || self.is_with_cpu && *other_is && is_array)
                    && self.is_same_pointee(to, other)
            }
            (Type::Array { of, count }, Type::Array { of: other, count: of_other }) => {
                count == of_other && self.is_same_value(of, other)
            }
            (Type::Record(one), Type::Record(other)) => self.is_same_record([one, other]),
            (one, other) => one == other,
        }
    }

    /// Compares the pointees of two pointers. Records are compared later, because they may point to
    /// each other in cycles.
    #[inline]
    fn is_same_pointee(&mut self, one: &'a Type, other: &'a Type) -> bool {
        match (one, other) {
            (Type::Record(one), Type::Record(other)) => {
                let pair = [&**one, &**other];
                if !self.are_of_one_name(pair) {
                    return self.is_same_record(pair);
                }
                self.pointees.push(pair);
                true
            }
            (Type::Array { of, count }, Type::Array { of: other, count: of_other }) => {
                count == of_other && self.is_same_pointee(of, other)
            }
            (one, other) => self.is_same_value(one, other),
        }
    }

    #[inline]
    fn find(&self, pair: [&str; 2], at: usize) -> Option<&'a Record> {
        self.records[at].iter().find(|record| record.name == pair[at])
    }

    #[inline]
    fn are_of_one_name(&self, pair: [&str; 2]) -> bool {
        let [one, other] = [0, 1].map(|at| self.find(pair, at).map(|record| &record.source_name));
        one == other
    }

    #[inline]
    fn is_same_record(&mut self, pair: [&'a str; 2]) -> bool {
        if let Some((_, is_same)) = self.compared.iter().find(|(known, _)| *known == pair) {
            return *is_same;
        }
        let (one, other) = (self.find(pair, 0), self.find(pair, 1));
        // Add the pair before its fields are compared: in a damaged description, a record may
        // contain itself.
        let at = self.compared.len();
        self.compared.push((pair, true));
        if let (Some(one), Some(other)) = (one, other) {
            self.compared[at].1 = self.has_same_content(one, other);
        }
        self.compared[at].1
    }

    #[inline]
    fn has_same_content(&mut self, one: &'a Record, other: &'a Record) -> bool {
        let is_unknown = |it: &Record| it.content == Content::Differs;
        if is_unknown(one) != is_unknown(other) {
            return false;
        }
        let (Some(size), Some(of_other)) = (one.size, other.size) else { return true };
        if size.bytes != of_other.bytes {
            return false;
        }
        #[cfg(feature = "expansion")]
        if let (Some(one), Some(other)) =
            (super::shared(one, self.records[0]), super::shared(other, self.records[1]))
            && one.name == other.name
        {
            return true;
        }
        // g++ describes a packed record as unpacked, with a greater alignment.
        let is_aligned = |it: &Record| matches!(it.content, Content::Fields(_));
        if size.align != of_other.align
            && size.align.max(of_other.align) > LARGEST_OF_NUMBERS
            && is_aligned(one)
            && is_aligned(other)
        {
            return false;
        }
        let (Some(fields), Some(others)) = (one.content.fields(), other.content.fields()) else {
            return true;
        };
        let mut are_same = fields.len() == others.len();
        for (at, (field, with)) in fields.iter().zip(others).enumerate() {
            are_same &= field.offset == with.offset
                && self.is_same_value(&field.ty, &with.ty)
                && !others
                    .iter()
                    .enumerate()
                    .any(|(place, it)| place != at && it.name == field.name);
        }
        are_same
    }
}

/// Returns the 64-bit number type for `isize` and `usize`, and any other type unchanged.
#[inline]
fn number(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Isize => Scalar::I64,
        Scalar::Usize => Scalar::U64,
        other => other,
    }
}

impl Signatures {
    /// Returns the kernel with this symbol. `at` is the kernel's index in the other description,
    /// which is usually also its index here.
    #[inline]
    pub fn kernel(&self, symbol: &str, at: usize) -> Option<&Signature> {
        let is_it = |kernel: &&Signature| is_same_symbol(&kernel.symbol, symbol);
        self.kernels.get(at).filter(is_it).or_else(|| self.kernels.iter().find(is_it))
    }

    /// Returns the enumerations whose name also occurs in `others`, but only with different values
    /// or types.
    #[inline]
    pub fn unlike_enumerations(&self, others: &Signatures) -> Vec<&Enumeration> {
        let mut unlike = Vec::new();
        for enumeration in &self.enumerations {
            let mut of_name = others
                .enumerations
                .iter()
                .filter(|it| it.source_name == enumeration.source_name)
                .peekable();
            if of_name.peek().is_some()
                && !of_name.any(|it| (it.ty, &it.values) == (enumeration.ty, &enumeration.values))
            {
                unlike.push(enumeration);
            }
        }
        unlike
    }
}

/// Returns the parameters as text, with the records that they contain or point to: `(n: i32, p:
/// *mut P), P { x: f32, id: i64 } of 16 bytes`.
#[inline]
pub fn describe(parameters: &[Parameter], records: &[Record]) -> String {
    let (mut all, mut types): (Vec<String>, Vec<&Type>) = (Vec::new(), Vec::new());
    for Parameter { name, ty } in parameters {
        all.push(format!("{name}: {ty}"));
        types.push(ty);
    }
    let mut text = format!("({})", all.join(", "));
    add_records(&mut text, types, records);
    text
}

/// Returns a type as text, with the records that it contains or points to.
#[inline]
pub(crate) fn describe_type(ty: &Type, records: &[Record]) -> String {
    let mut text = ty.to_string();
    add_records(&mut text, [ty].into(), records);
    text
}

#[inline]
fn add_records<'a>(text: &mut String, mut types: Vec<&'a Type>, records: &'a [Record]) {
    let mut found: Vec<&str> = Vec::new();
    types.reverse();
    while let Some(ty) = types.pop() {
        match ty {
            Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } => types.push(inner),
            Type::Record(name) if !found.contains(&&**name) => {
                found.push(name);
                let Some(record) = records.iter().find(|it| it.name == *name) else { continue };
                let Some(size) = record.size else { continue };
                let fields = record.content.fields().unwrap_or_default();
                let mut all: Vec<String> = Vec::new();
                for field in fields {
                    all.push(format!("{}: {}", field.name, field.ty));
                    types.push(&field.ty);
                }
                let content = if all.is_empty() {
                    String::new()
                } else {
                    format!(" {{ {} }}", all.join(", "))
                };
                text.push_str(&format!(", {name}{content} of {} bytes", size.bytes));
                if size.align > LARGEST_OF_NUMBERS {
                    text.push_str(&format!(" with an alignment of {}", size.align));
                }
            }
            Type::Record(_) | Type::Scalar(_) | Type::Void => {}
        }
    }
}

#[cfg(all(test, feature = "expansion"))]
mod tests {
    use super::*;

    const RECORDS: &str = "record P 8 4 fields P\nfield x 0 i32\nfield y 4 f32\n\
                           record Outer 16 8 fields Outer\nfield p 0 P\nfield next 8 *mut Outer\n\
                           record U 8 8 opaque U\nrecord Later - - opaque Later\n\
                           record Half 2 2 fields __half\nfield bits 0 u16\n\
                           record float2 8 8 fields float2\nfield x 0 f32\nfield y 4 f32\n";

    /// Returns whether two parameters are the same, and the records that differ.
    fn compare(one: &str, other: (&str, &str)) -> (bool, Vec<String>) {
        let of = |ty: &str, records: &str| -> Signatures {
            format!("{records}signature k k\nparameter a {ty}\n").parse().unwrap()
        };
        let (one, other) = (of(one, RECORDS), of(other.0, other.1));
        let mut comparison = Comparison::new(&one, &other);
        let is_same = comparison.are_same(&one.kernels[0].parameters, &other.kernels[0].parameters);
        (is_same, comparison.unlike().iter().map(|[name, _]| name.to_string()).collect())
    }

    #[test]
    fn types_of_one_description_are_the_same() {
        let types = [
            "i32",
            "u32",
            "f32",
            "f64",
            "bool",
            "f16",
            "*mut f32",
            "*const f32",
            "*mut f64",
            "*mut void",
            "[i32; 2]",
            "P",
            "Outer",
            "*mut P",
            "*const Outer",
            "float2",
            "*mut [f32; 2]",
            "*mut [f32; 3]",
            "i64",
            "*mut *mut f32",
        ];
        for (at, one) in types.iter().enumerate() {
            for (place, other) in types.iter().enumerate() {
                let is_same = at == place;
                assert_eq!(compare(one, (other, RECORDS)).0, is_same, "{one} {other}");
            }
        }
        for (one, other) in
            [("isize", "i64"), ("*mut usize", "*mut u64"), ("U", "P"), ("Later", "Outer")]
        {
            assert_eq!(compare(one, (other, RECORDS)), (true, Vec::new()), "{one} {other}");
        }
    }

    #[test]
    fn alignments_are_compared_and_told() {
        let aligned = "record P 8 32 fields P\nfield x 0 i32\nfield y 4 f32\n";
        assert_eq!(compare("P", ("P", aligned)), (false, ["P".to_string()].into()));
        let records: Signatures =
            format!("{aligned}signature k k\nparameter a P\n").parse().unwrap();
        let text = describe(&records.kernels[0].parameters, &records.records);
        assert_eq!(text, "(a: P), P { x: i32, y: f32 } of 8 bytes with an alignment of 32");
    }

    #[test]
    fn records_are_compared_by_their_fields() {
        for (ty, from, to, is_same, unlike) in [
            ("P", "y 4 f32", "z 4 f32", true, &[][..]),
            ("P", "record P", "record Q", false, &["P"]),
            ("P", "x 0 i32", "x 0 u32", false, &["P"]),
            ("P", "x 0 i32\nfield y 4 f32", "y 0 i32\nfield x 4 f32", false, &["P"]),
            ("P", "field x 0 i32\n", "", false, &["P"]),
            ("P", "8 4 fields P\n", "12 4 fields P\n", false, &["P"]),
            ("*mut P", "x 0 i32", "x 0 u32", true, &["P"]),
            ("Outer", "x 0 i32", "x 0 u32", false, &["Outer", "P"]),
            ("*mut Outer", "next 8 *mut Outer", "next 8 *mut f32", true, &["Outer"]),
            ("*mut Outer", "next 8 *mut Outer", "next 8 *mut P", true, &["Outer"]),
            ("U", "U 8 8", "U 16 8", false, &["U"]),
            ("Half", "bits 0 u16", "bits 0 f16", true, &[]),
            ("float2", "y 4 f32", "y 4 i32", false, &["float2"]),
            ("*mut Later", "Later - - opaque", "Later 4 4 opaque", true, &[]),
        ] {
            assert!(RECORDS.contains(from), "{from}");
            let records = RECORDS
                .replace(from, to)
                .replace("record Q", "record P 8 4 fields P\nfield x 0 f32\nrecord Q");
            assert_eq!(
                compare(ty, (ty, &records)),
                (is_same, unlike.iter().map(|it| it.to_string()).collect()),
                "{ty} {to}"
            );
        }
    }

    #[test]
    fn the_compiler_of_the_cpu_omits_const_of_arrays() {
        for (one, other, is_same) in [
            ("*const [f32; 3]", "*mut [f32; 3]", true),
            ("*const [f32; 3]", "*mut [f32; 4]", false),
            ("*mut [f32; 3]", "*const [f32; 3]", false),
            ("*const f32", "*mut f32", false),
        ] {
            let of = |ty: &str| format!("signature k k\nparameter a {ty}\n").parse().unwrap();
            let [one, other]: [Signatures; 2] = [of(one), of(other)];
            let [ty, with] = [&one, &other].map(|it| &it.kernels[0].parameters[0].ty);
            assert_eq!(Comparison::new(&one, &other).with_cpu().is_same(ty, with), is_same);
            assert!(!Comparison::new(&one, &other).is_same(ty, with));
        }
    }

    /// In this text, a record contains itself. No compiler writes such text.
    #[test]
    fn a_circle_of_records_ends() {
        let records = "record P 8 4 fields P\nfield x 0 P\n";
        assert_eq!(compare("P", ("P", records)), (false, ["P".to_string()].into()));
        let of: Signatures = format!("{records}signature k k\nparameter a P\n").parse().unwrap();
        let mut comparison = Comparison::new(&of, &of);
        assert!(comparison.are_same(&of.kernels[0].parameters, &of.kernels[0].parameters));
        assert_eq!(
            describe(&of.kernels[0].parameters, &of.records),
            "(a: P), P { x: P } of 8 bytes"
        );
    }

    #[test]
    fn swapped_names_differ() {
        let of = |names: &str| -> Signatures {
            let mut text = String::from("signature k k\n");
            names.split(' ').for_each(|name| text += &format!("parameter {name} i32\n"));
            text.parse().unwrap()
        };
        for (other, is_same) in
            [("a b c", true), ("a b d", true), ("b a c", false), ("b c d", false), ("a b", false)]
        {
            let (one, other) = (of("a b c"), of(other));
            let mut comparison = Comparison::new(&one, &other);
            assert_eq!(
                comparison.are_same(&one.kernels[0].parameters, &other.kernels[0].parameters),
                is_same,
                "{other}"
            );
        }
    }
}
