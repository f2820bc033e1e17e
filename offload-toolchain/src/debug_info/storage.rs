//! The types of LLVM IR, in which a record also has storage for bit-fields without a name. Debug
//! information omits them.
//!
//! ```text
//! %struct.Pair = type { double, float }
//! %struct.Bits = type { double, float, i8 }
//! %"struct.ns::Outer" = type <{ [2 x %struct.Pair], [3 x i8] }>
//! ```

use super::metadata::split;
use std::collections::HashMap;

/// The definitions of a module's types, by their names.
#[derive(Debug)]
pub struct Storage<'ir>(HashMap<&'ir str, &'ir str>);

/// The deepest nesting of types: deeper than in any source.
const DEEPEST: u32 = 64;

impl<'ir> Storage<'ir> {
    pub fn parse(ir: &'ir str) -> Self {
        let mut types = HashMap::new();
        for line in ir.lines().filter(|line| line.starts_with('%')) {
            if let Some((name, definition)) = line.split_once(" = type ") {
                types.insert(name, definition);
            }
        }
        Self(types)
    }

    /// Returns the number of integers in a type that also has floating-point numbers. Arrays of
    /// bytes are not counted, because they may be padding. Returns 0 for other types.
    pub fn integers_beside_floats(&self, ty: &str) -> u64 {
        let (integers, floats) = self.count(ty, DEEPEST);
        if floats > 0 { integers } else { 0 }
    }

    /// Returns the numbers of integers and of floating-point numbers.
    fn count(&self, ty: &str, deepest: u32) -> (u64, u64) {
        let Some(deepest) = deepest.checked_sub(1) else { return (0, 0) };
        if let Some(definition) = self.0.get(ty) {
            return self.count(definition, deepest);
        }
        let packed = ty.strip_prefix('<').and_then(|ty| ty.strip_suffix('>')).unwrap_or(ty);
        if let Some(fields) = packed.strip_prefix('{').and_then(|ty| ty.strip_suffix('}')) {
            let (mut integers, mut floats) = (0, 0);
            for field in split(fields) {
                let of_field = self.count(field.trim_end(), deepest);
                (integers, floats) = (integers + of_field.0, floats + of_field.1);
            }
            return (integers, floats);
        }
        if let Some(array) = ty.strip_prefix('[').and_then(|ty| ty.strip_suffix(']')) {
            let Some((count, of)) = array.split_once(" x ").filter(|(_, of)| *of != "i8") else {
                return (0, 0);
            };
            let (count, of) = (count.parse().unwrap_or(0), self.count(of, deepest));
            return (of.0.saturating_mul(count), of.1.saturating_mul(count));
        }
        let is_integer = ty.strip_prefix('i').is_some_and(|bits| bits.parse::<u32>().is_ok());
        (u64::from(is_integer), u64::from(matches!(ty, "float" | "double")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_types() {
        let ir = "%struct.Bits = type { double, float, i8 }\n%empty = type {}\n%ints = type { i8, i64 }\n\
                  %\"a, b\" = type <{ [2 x [3 x %struct.Bits]], [3 x i8], i16, ptr }>\n%endless = type { %endless }\n";
        let storage = Storage::parse(ir);
        let counts = [
            ("%struct.Bits", 1),
            ("%empty", 0),
            ("%ints", 0),
            ("%\"a, b\"", 7),
            ("float", 0),
            ("%unknown", 0),
            ("%endless", 0),
        ];
        for (ty, count) in counts {
            assert_eq!(storage.integers_beside_floats(ty), count, "{ty}");
        }
    }
}
