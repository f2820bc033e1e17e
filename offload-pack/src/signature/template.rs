//! The template of a kernel, and its arguments.

use super::text::rust_name;
use super::types::{Scalar, Type};
use crate::escape::{escape, unescape};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The template that a kernel is an instance of, if all arguments can be written in Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The template's name in the source, with namespaces: `ns::scale`.
    pub source_name: String,
    /// The arguments, in order. Well-formed text contains at least one.
    pub arguments: Vec<TemplateArgument>,
}

/// An argument of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateArgument {
    /// The name of the template's parameter in Rust.
    pub name: String,
    /// The argument.
    pub value: TemplateValue,
}

/// The value of a template's argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateValue {
    /// A type: `float` in `scale<float>`.
    Type(Type),
    /// A number: 256 in `reduce<256>`. For a `bool`, the number is 0 or 1.
    Number {
        /// The type of the number: an integer or `bool`.
        ty: Scalar,
        /// The number.
        value: i128,
    },
}

const TYPE: &str = "typename";
const NUMBER: &str = "const";

impl Template {
    /// The first words of lines about a template.
    pub(super) const WORDS: [&'static str; 3] = ["template", TYPE, NUMBER];

    /// Reads a line about a kernel's template. Returns `None` if the line is invalid here.
    #[inline]
    pub(super) fn read_line(template: &mut Option<Self>, key: &str, rest: &str) -> Option<()> {
        if key == Self::WORDS[0] {
            let source_name = unescape(rest)?;
            return template
                .replace(Self { source_name, arguments: Vec::new() })
                .is_none()
                .then_some(());
        }
        let (name, rest) = rest.split_once(' ')?;
        let value = if key == TYPE {
            TemplateValue::Type(Type::parse(rest)?)
        } else {
            let (ty, value) = rest.split_once(' ')?;
            let (_, ty) = *Scalar::ALL.iter().find(|(name, _)| *name == ty)?;
            let value = value.parse().ok()?;
            let is_possible = ty.has_value(value) || ty == Scalar::Bool && matches!(value, 0 | 1);
            is_possible.then_some(TemplateValue::Number { ty, value })?
        };
        template.as_mut()?.arguments.push(TemplateArgument { name: rust_name(name)?, value });
        Some(())
    }

    /// Returns the types among the arguments.
    #[cfg(feature = "expansion")]
    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        self.arguments.iter().filter_map(|argument| match &argument.value {
            TemplateValue::Type(ty) => Some(ty),
            TemplateValue::Number { .. } => None,
        })
    }
}

/// Writes the line of the template, and the lines of its arguments.
impl fmt::Display for Template {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", Self::WORDS[0], escape(&self.source_name))?;
        self.arguments.iter().try_for_each(|TemplateArgument { name, value }| match value {
            TemplateValue::Type(ty) => writeln!(f, "{TYPE} {name} {ty}"),
            TemplateValue::Number { ty, value } => {
                writeln!(f, "{NUMBER} {name} {} {value}", ty.name())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_is_written_is_read() {
        let lines = "template ns::many\ntypename T *mut f32\nconst N i32 -4\nconst B bool 1\ntypename U P\n\
                     const M u64 18446744073709551615\n";
        let mut template = None;
        for line in lines.lines() {
            let (key, rest) = line.split_once(' ').unwrap();
            Template::read_line(&mut template, key, rest).unwrap();
        }
        assert_eq!(template.unwrap().to_string(), lines);
        for line in [
            "typename T",
            "typename match f32",
            "const N 4",
            "const N f32 4",
            "const B bool 2",
            "const N u8 256",
            "template x",
        ] {
            let mut template = Some(Template { source_name: "x".into(), arguments: Vec::new() });
            let (key, rest) = line.split_once(' ').unwrap();
            assert_eq!(Template::read_line(&mut template, key, rest), None, "{line}");
        }
        assert_eq!(Template::read_line(&mut None, TYPE, "T f32"), None);
    }
}
