//! Signatures as text, in the index of a pack:
//!
//! ```text
//! record P 24 8 fields ns::P
//! field x 0 f32
//! field y 8 f64
//! record Tree - - opaque Tree
//! record Mask - - differs Mask
//! record Less 1 1 empty Less
//! enum ns_Mode u8 ns::Mode
//! value Fast 0
//! variable NS_TABLE _ZN2ns5tableE
//! source ns::table
//! place kernels/saxpy.cu:3
//! comment The weights.
//! type [f32; 256]
//! obstacle static
//! signature saxpy_float_4 _Z5saxpyIfLi4EEvfPKfPf
//! source saxpy<float, 4>
//! place kernels/saxpy.cu:12
//! comment Adds a times x to y.
//! template saxpy
//! typename T f32
//! const N i32 4
//! parameter a f32
//! parameter x *const f32
//! parameter y *mut f32
//! differs the image for sm_80 has 4 parameters
//! ```
//!
//! A `record` line contains the record's name in Rust, the size and alignment in bytes, the
//! content, and the name in the source. The size and the alignment are `-` if only pointers refer
//! to the record, or if targets lay the record out differently. A `field` line follows for each
//! field, with the name in Rust, the offset in bytes, and the type. An `enum` line contains the
//! name in Rust, the integer type, and the name in the source; a `value` line follows for each
//! named value. A `variable` line contains the name of the variable's constant in Rust, and the
//! symbol. A `signature` line contains the kernel's name in Rust, and the symbol. The other lines
//! of variables and kernels follow in the order of this example. `obstacle` occurs only if host
//! code cannot access the variable, and `differs` only if an image has different parameters than
//! the source. For an instance of a template, the line `template` contains the template's name in
//! the source. A line follows for each argument: a type, or a constant with its type.

use super::identifier::RAW;
use super::{
    Content, Enumeration, Enumerator, Field, Obstacle, Parameter, Record, Scalar, Signature,
    Signatures, Size, Template, Type, Variable, field_identifier, identifier,
};
use crate::escape::unescape;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "expansion")]
use core::str::FromStr;

/// The error for an unexpected line in the text of signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// The line.
    pub text: String,
}

impl fmt::Display for LineError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unexpected line in the signatures of kernels: '{}'", self.text)
    }
}

impl core::error::Error for LineError {}

pub(super) const OPAQUE: &str = "opaque";
pub(super) const EMPTY: &str = "empty";
pub(super) const DIFFERS: &str = "differs";
pub(super) const FIELDS: &str = "fields";
pub(super) const PACKED: &str = "packed";

impl Signatures {
    /// Reads a line. Returns whether it starts with a word of this format, such as `record` or
    /// `parameter`.
    #[inline]
    pub(crate) fn read_line(&mut self, line: &str) -> Result<bool, LineError> {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        let read = match key {
            "record" => read_record(rest).map(|record| self.records.push(record)),
            "field" => read_field(self, rest),
            "enum" => read_enumeration(rest).map(|it| self.enumerations.push(it)),
            "value" => read_value(self, rest),
            "variable" => read_variable(self, rest),
            "signature" => read_signature(rest).map(|signature| self.kernels.push(signature)),
            "source" | "place" | "comment" | "type" | "obstacle" if self.kernels.is_empty() => {
                self.variables.last_mut().and_then(|variable| read_of_variable(variable, key, rest))
            }
            "source" | "place" | "comment" | "parameter" | "differs" => self
                .kernels
                .last_mut()
                .and_then(|signature| read_of_signature(signature, key, rest)),
            _ if Template::WORDS.contains(&key) => self
                .kernels
                .last_mut()
                .and_then(|signature| Template::read_line(&mut signature.template, key, rest)),
            _ => return Ok(false),
        };
        read.map(|()| true).ok_or_else(|| LineError { text: line.to_string() })
    }
}

#[cfg(feature = "expansion")]
impl FromStr for Signatures {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        let mut signatures = Self::default();
        for line in text.lines() {
            if !signatures.read_line(line)? {
                return Err(LineError { text: line.to_string() });
            }
        }
        Ok(signatures)
    }
}

#[inline]
fn read_record(rest: &str) -> Option<Record> {
    let mut words = rest.splitn(5, ' ');
    let name = rust_name(words.next()?)?;
    let size = match (words.next()?, words.next()?) {
        ("-", "-") => None,
        (bytes, align) => Some(Size { bytes: bytes.parse().ok()?, align: align.parse().ok()? }),
    };
    let is_possible = size.is_none_or(|size| size.align.is_power_of_two());
    let content = match words.next()? {
        OPAQUE => Content::Opaque,
        EMPTY if size.is_some() => Content::Empty,
        DIFFERS if size.is_none() => Content::Differs,
        FIELDS => Content::Fields(Vec::new()),
        PACKED => Content::Packed(Vec::new()),
        _ => return None,
    };
    let source_name = unescape(words.next()?)?;
    is_possible.then_some(Record { name, source_name, size, content })
}

#[inline]
fn read_field(signatures: &mut Signatures, rest: &str) -> Option<()> {
    let mut words = rest.splitn(3, ' ');
    let (name, offset, ty) = (words.next()?, words.next()?, words.next()?);
    if field_identifier(name.strip_prefix(RAW).unwrap_or(name)) != name {
        return None;
    }
    let name = name.to_string();
    let field = Field { name, offset: offset.parse().ok()?, ty: Type::parse(ty)? };
    match &mut last_record(signatures)?.content {
        Content::Fields(fields) | Content::Packed(fields) => fields.push(field),
        Content::Opaque | Content::Empty | Content::Differs => return None,
    }
    Some(())
}

/// Returns the record that the next line may belong to.
#[inline]
fn last_record(signatures: &mut Signatures) -> Option<&mut Record> {
    let is_possible = signatures.kernels.is_empty()
        && signatures.enumerations.is_empty()
        && signatures.variables.is_empty();
    signatures.records.last_mut().filter(|_| is_possible)
}

#[inline]
fn read_enumeration(rest: &str) -> Option<Enumeration> {
    let mut words = rest.splitn(3, ' ');
    let (name, ty, source_name) = (words.next()?, words.next()?, words.next()?);
    let (_, ty) = *Scalar::ALL.iter().find(|(name, _)| *name == ty)?;
    let values = Vec::new();
    Some(Enumeration { name: rust_name(name)?, source_name: unescape(source_name)?, ty, values })
}

#[inline]
fn read_value(signatures: &mut Signatures, rest: &str) -> Option<()> {
    let (name, value) = rest.split_once(' ')?;
    let enumeration = signatures.enumerations.last_mut()?;
    let value = value.parse().ok().filter(|value| enumeration.ty.has_value(*value))?;
    enumeration.values.push(Enumerator { name: rust_name(name)?, value });
    (signatures.kernels.is_empty() && signatures.variables.is_empty()).then_some(())
}

#[inline]
fn read_variable(signatures: &mut Signatures, rest: &str) -> Option<()> {
    let (name, symbol) = rest.split_once(' ')?;
    signatures.variables.push(Variable {
        symbol: unescape(symbol)?,
        name: rust_name(name)?,
        source_name: String::new(),
        place: String::new(),
        comment: Vec::new(),
        ty: Type::Void,
        obstacle: None,
    });
    signatures.kernels.is_empty().then_some(())
}

#[inline]
fn read_of_variable(variable: &mut Variable, key: &str, rest: &str) -> Option<()> {
    match key {
        "source" => variable.source_name = unescape(rest)?,
        "place" => variable.place = unescape(rest)?,
        "comment" => variable.comment.push(unescape(rest)?),
        "type" => variable.ty = Type::parse(rest)?,
        _ => {
            let (_, obstacle) = Obstacle::ALL.iter().find(|(word, _)| *word == rest)?;
            variable.obstacle = Some(*obstacle);
        }
    }
    Some(())
}

#[inline]
fn read_signature(rest: &str) -> Option<Signature> {
    let (name, symbol) = rest.split_once(' ')?;
    Some(Signature { symbol: unescape(symbol)?, name: rust_name(name)?, ..Signature::default() })
}

#[inline]
fn read_of_signature(signature: &mut Signature, key: &str, rest: &str) -> Option<()> {
    match key {
        "source" => signature.source_name = unescape(rest)?,
        "place" => signature.place = unescape(rest)?,
        "comment" => signature.comment.push(unescape(rest)?),
        "differs" => signature.difference.push(unescape(rest)?),
        _ => {
            let (name, ty) = rest.split_once(' ')?;
            signature.parameters.push(Parameter { name: rust_name(name)?, ty: Type::parse(ty)? });
        }
    }
    Some(())
}

/// Returns the name if it is valid as an identifier in a program, otherwise `None`.
#[inline]
pub(super) fn rust_name(name: &str) -> Option<String> {
    (identifier(name) == name).then(|| name.to_string())
}

#[cfg(all(test, feature = "expansion"))]
pub(crate) mod tests {
    use super::*;
    use crate::signature::{TemplateArgument, TemplateValue};
    use alloc::vec;

    pub(crate) fn signatures() -> Signatures {
        let field = |name: &str, offset, ty: &str| Field {
            name: name.into(),
            offset,
            ty: Type::parse(ty).unwrap(),
        };
        let parameter =
            |name: &str, ty: &str| Parameter { name: name.into(), ty: Type::parse(ty).unwrap() };
        let record = |name: &str, size, content| Record {
            name: name.into(),
            source_name: "ns::a b".into(),
            size,
            content,
        };
        let size = |bytes, align| Some(Size { bytes, align });
        Signatures {
            records: vec![
                record(
                    "P",
                    size(16, 8),
                    Content::Fields(vec![field("x", 0, "f32"), field("y", 8, "*mut Tree")]),
                ),
                record("Tree", None, Content::Opaque),
                record(
                    "Five",
                    size(5, 1),
                    Content::Packed(vec![field("x", 0, "f32"), field("y", 4, "u8")]),
                ),
                record("Union", size(16, 16), Content::Opaque),
                record("Less", size(1, 1), Content::Empty),
            ],
            enumerations: vec![Enumeration {
                name: "Mode".into(),
                source_name: "ns::a b".into(),
                ty: Scalar::I8,
                values: vec![
                    Enumerator { name: "First".into(), value: -128 },
                    Enumerator { name: "match_".into(), value: 5 },
                ],
            }],
            variables: vec![
                Variable {
                    symbol: "_ZN2ns5tableE".into(),
                    name: "NS_TABLE".into(),
                    source_name: "ns::table".into(),
                    place: "k.cu:3".into(),
                    comment: vec!["The weights.".into(), "".into()],
                    ty: Type::parse("[[f32; 4]; 2]").unwrap(),
                    obstacle: None,
                },
                Variable {
                    symbol: "_ZL6hidden".into(),
                    name: "HIDDEN".into(),
                    source_name: "hidden".into(),
                    place: "k.cu:4".into(),
                    comment: Vec::new(),
                    ty: Type::parse("P").unwrap(),
                    obstacle: Some(Obstacle::Static),
                },
            ],
            kernels: vec![
                Signature {
                    symbol: "_Z5saxpyv".into(),
                    name: "saxpy".into(),
                    source_name: "ns::saxpy<float, 3>".into(),
                    template: Some(Template {
                        source_name: "ns::saxpy".into(),
                        arguments: vec![TemplateArgument {
                            name: "T".into(),
                            value: TemplateValue::Type(Type::parse("f32").unwrap()),
                        }],
                    }),
                    place: "kernels/my saxpy.cu:12".into(),
                    comment: vec!["Adds a\\b.".into(), "".into(), "  Twice.".into()],
                    parameters: vec![parameter("p", "P"), parameter("x", "*const [f32; 4]")],
                    difference: vec!["the source has 2".into(), "the image for sm_80 has 3".into()],
                },
                Signature {
                    symbol: "none".into(),
                    name: "none".into(),
                    source_name: "none".into(),
                    place: "k.cl:1".into(),
                    ..Signature::default()
                },
            ],
        }
    }

    #[test]
    fn a_line_out_of_place_is_refused() {
        for text in [
            "field x 0 f32",
            "record P - - empty P",
            "parameter x f32",
            "record P 16 3 fields P",
            "record P 16 8 P",
            "value One 1",
            "enum Mode u8 Mode\nvalue One 256",
            "enum Mode f32 Mode\nvalue One 1",
            "enum Mode Mode Mode",
            "record P 4 4 fields P\nenum Mode u8 Mode\nfield x 0 f32",
            "signature x",
            "signature match x",
            "comment",
            "type f32",
            "variable X x\nparameter x f32",
            "variable X x\nobstacle other",
            "variable X x\nfield x 0 f32",
            "variable X x\nvalue One 1",
            "signature k k\nvariable X x",
            "signature k k\ntype f32",
        ] {
            assert!(text.parse::<Signatures>().is_err(), "{text}");
        }
        assert_eq!(Signatures::default().read_line("module x"), Ok(false));
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(signatures().to_string().parse(), Ok(signatures()));
    }
}
