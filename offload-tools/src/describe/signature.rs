//! Formats a kernel's parameters, as its image describes them, on one line.

use super::KernelRecord;
use super::record::ParameterRecord;
use crate::text::escaped_str;

impl KernelRecord {
    /// Returns the parameters in parentheses: `(n: u32, 4 bytes, pointer, 8 bytes at 32)`. Shows
    /// names and types if the image contains them, otherwise sizes. Shows an offset if there is a
    /// gap before the parameter.
    pub fn signature(&self) -> String {
        self.list(|number, parameter| self.parameter(number, parameter))
    }

    /// Returns the sizes of the parameters in parentheses, `(4 bytes, 8 bytes at 8)`, in the same
    /// form for all kinds of images.
    pub fn sizes(&self) -> String {
        self.list(|_, parameter| bytes(parameter.size))
    }

    fn list(&self, describe: impl Fn(usize, &ParameterRecord) -> String) -> String {
        let mut end = 0;
        let parameters = self.parameters.iter().enumerate().map(|(number, parameter)| {
            let mut text = describe(number, parameter);
            if parameter.offset != end {
                text += &format!(" at {}", parameter.offset);
            }
            end = parameter.offset.saturating_add(parameter.size);
            text
        });
        format!("({})", parameters.collect::<Vec<_>>().join(", "))
    }

    fn parameter(&self, number: usize, parameter: &ParameterRecord) -> String {
        let ty = match &parameter.type_name {
            Some(name) => escaped_str(name),
            None if parameter.is_pointer => "pointer".to_owned(),
            None => bytes(parameter.size),
        };
        // Hide PTX parameter names that a compiler generated from the parameters' numbers.
        let is_number = |name: &&String| **name == format!("{}_param_{number}", self.name);
        match parameter.name.as_ref().filter(|name| !is_number(name)) {
            Some(name) => format!("{}: {ty}", escaped_str(name)),
            None => ty,
        }
    }
}

fn bytes(size: u64) -> String {
    if size == 1 { "1 byte".to_owned() } else { format!("{size} bytes") }
}
