//! Writes signatures in the format of the module `text`.

use super::text::{DIFFERS, EMPTY, FIELDS, OPAQUE, PACKED};
use super::{
    Content, Enumeration, Enumerator, Field, Obstacle, Parameter, Record, Signature, Signatures,
    Size, Variable,
};
use crate::escape::escape;
use alloc::format;
use alloc::string::String;
use core::fmt;

impl fmt::Display for Signatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.records.iter().try_for_each(|record| write!(f, "{record}"))?;
        self.enumerations.iter().try_for_each(|enumeration| write!(f, "{enumeration}"))?;
        self.variables.iter().try_for_each(|variable| write!(f, "{variable}"))?;
        self.kernels.iter().try_for_each(|kernel| write!(f, "{kernel}"))
    }
}

/// Writes the enumeration's line, and the lines of its values.
impl fmt::Display for Enumeration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, source_name, ty, values } = self;
        writeln!(f, "enum {name} {} {}", ty.name(), escape(source_name))?;
        values.iter().try_for_each(|Enumerator { name, value }| writeln!(f, "value {name} {value}"))
    }
}

/// Writes the record's line and the lines of its fields.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} ", self.name)?;
        match self.size {
            Some(Size { bytes, align }) => write!(f, "{bytes} {align} ")?,
            None => f.write_str("- - ")?,
        }
        writeln!(f, "{} {}", self.content.word(), escape(&self.source_name))?;
        let fields = self.content.fields().unwrap_or_default();
        fields
            .iter()
            .try_for_each(|Field { name, offset, ty }| writeln!(f, "field {name} {offset} {ty}"))
    }
}

impl Content {
    fn word(&self) -> &'static str {
        match self {
            Content::Opaque => OPAQUE,
            Content::Empty => EMPTY,
            Content::Differs => DIFFERS,
            Content::Fields(_) => FIELDS,
            Content::Packed(_) => PACKED,
        }
    }
}

impl Obstacle {
    /// Returns the word for the obstacle.
    fn word(self) -> &'static str {
        let known = Obstacle::ALL.iter().find(|(_, obstacle)| *obstacle == self);
        known.map_or("", |(word, _)| word)
    }
}

/// Writes the lines of the variable.
impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "variable {} {}", self.name, escape(&self.symbol))?;
        write_source(f, &self.source_name, &self.place, &self.comment)?;
        writeln!(f, "type {}", self.ty)?;
        self.obstacle.map_or(Ok(()), |obstacle| writeln!(f, "obstacle {}", obstacle.word()))
    }
}

/// Writes the lines about the source.
fn write_source(
    f: &mut fmt::Formatter<'_>,
    source_name: &str,
    place: &str,
    comment: &[String],
) -> fmt::Result {
    writeln!(f, "source {}\nplace {}", escape(source_name), escape(place))?;
    // An empty comment line must not end with a space.
    comment
        .iter()
        .try_for_each(|line| writeln!(f, "{}", format!("comment {}", escape(line)).trim_end()))
}

/// Writes the lines of the signature.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "signature {} {}", self.name, escape(&self.symbol))?;
        write_source(f, &self.source_name, &self.place, &self.comment)?;
        self.template.iter().try_for_each(|template| write!(f, "{template}"))?;
        self.parameters
            .iter()
            .try_for_each(|Parameter { name, ty }| writeln!(f, "parameter {name} {ty}"))?;
        self.difference.iter().try_for_each(|line| writeln!(f, "differs {}", escape(line)))
    }
}
