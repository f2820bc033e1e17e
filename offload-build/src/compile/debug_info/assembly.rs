//! Reads debug information from g++'s assembly. The `-dA` option adds a comment to each value:
//!
//! ```text
//!     .uleb128 0x1d           # (DIE (0x328d) DW_TAG_structure_type)
//!     .long   .LASF716        # DW_AT_name: "P<long int>"
//!     .byte   0x10            # DW_AT_byte_size
//!     .uleb128 0x14           # (DIE (0x329a) DW_TAG_member)
//!     .ascii "x\0"            # DW_AT_name
//!     .long   0x14c1          # DW_AT_type
//!     .byte   0               # DW_AT_data_member_location
//!                             # DW_AT_artificial
//!     .byte   0               # end of children of DIE 0x328d
//! ```
//!
//! Types are converted to LLVM IR metadata, so that one reader handles both formats.
//!
//! Source: the DWARF Debugging Information Format, version 4. Checked with g++ 11 and 12.

use super::metadata::Id;
use std::collections::HashMap;
use std::fmt::Write;

/// The types, kernels and variables of a source.
#[derive(Debug, Default)]
pub struct Assembly {
    /// The types and kernels, as LLVM IR metadata.
    pub metadata: String,
    pub kernels: Vec<Function>,
    /// The symbols of variables with external linkage, and the nodes of their types.
    pub variables: Vec<(String, Id)>,
}

/// A kernel that the source defines.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub symbol: String,
    /// The symbol that clang gives the kernel, if it may differ: g++ omits the `L` in the names of
    /// static templates.
    pub clang_symbol: Option<String>,
    /// The node with its name.
    pub subprogram: Id,
    pub parameters: Vec<Parameter>,
}

/// A parameter of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: Option<String>,
    /// The node of its type, if known.
    pub ty: Option<Id>,
    /// Whether the value is passed by address.
    pub is_address: bool,
}

/// The alignment by which `offload/cpu.h` marks kernels. A section cannot mark them, because g++
/// does not allow a function and a template instance in one section.
const ALIGNMENT_OF_KERNELS: u64 = 8192;

#[derive(Debug, Default)]
struct Entry<'a> {
    id: Id,
    /// The tag, without `DW_TAG_`.
    tag: &'a str,
    /// The attributes' names, without `DW_AT_`, and their values. A flag's value is empty.
    attributes: Vec<(&'a str, &'a str)>,
    /// The positions of the child entries.
    children: Vec<usize>,
    /// Whether the entry's location holds the value's address instead of the value.
    is_address: bool,
}

impl<'a> Entry<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find_map(|(known, value)| (*known == name).then_some(*value))
    }

    fn number(&self, name: &str) -> Option<u64> {
        number(self.get(name)?)
    }

    fn reference(&self, name: &str) -> Option<Id> {
        self.number(name)?.try_into().ok()
    }

    fn name(&self, name: &str) -> Option<&'a str> {
        let text = self.get(name)?.strip_prefix('"')?.strip_suffix('"')?;
        Some(text.strip_suffix("\\0").unwrap_or(text))
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Assembly {
    pub fn parse(text: &str) -> Self {
        let entries = entries(text);
        let mut places = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            places.insert(entry.id, at);
        }
        let mut parents = vec![None; entries.len()];
        for entry in &entries {
            let is_scope = matches!(entry.tag, "namespace" | "structure_type" | "class_type");
            for child in entry.children.iter().filter(|_| is_scope) {
                parents[*child] = Some(entry.id);
            }
        }
        let all = Entries { entries, places, symbols: symbols(text) };
        let (mut kernels, mut variables) = (Vec::new(), Vec::new());
        for entry in &all.entries {
            kernels.extend(all.kernel(entry));
            variables.extend(all.variable(entry));
        }
        let mut metadata = String::new();
        for (at, entry) in all.entries.iter().enumerate() {
            all.write(entry, parents[at], &mut metadata);
        }
        Self { metadata, kernels, variables }
    }
}

/// Returns the symbols of functions, keyed by the label where the function's code begins. The debug
/// information lacks the symbols of functions with internal linkage.
fn symbols(text: &str) -> HashMap<&str, &str> {
    let (mut symbols, mut last) = (HashMap::new(), "");
    for line in text.lines() {
        if let Some(label) = line.strip_suffix(':') {
            if label.starts_with(".LFB") {
                symbols.insert(label, last);
            }
            last = label;
        }
    }
    symbols
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    // Positions of entries whose parent has not ended.
    let mut open: Vec<usize> = Vec::new();
    for line in text.lines() {
        // The comment character depends on the processor. For Windows, a space precedes it.
        let Some((code, comment)) = line.rsplit_once('\t') else { continue };
        let Some((_, mut comment)) = comment.trim_start().split_once(' ') else { continue };
        let mut value = code.trim_start().split_once([' ', '\t']).unwrap_or_default().1.trim();
        // For RISC-V, g++ itself encodes LEB128 numbers, as in `.byte 0x88,0x1`, and writes the
        // number into the comment, as in `uleb128 0x88; DW_AT_byte_size`.
        if let Some(("uleb128" | "sleb128", rest)) = comment.split_once(' ')
            && let Some((number, rest)) = rest.split_once("; ")
        {
            (value, comment) = (number, rest);
        }
        if let Some(entry) = comment.strip_prefix("(DIE (0x") {
            let Some((id, tag)) = entry.split_once(") DW_TAG_") else { continue };
            let Ok(id) = Id::from_str_radix(id, 16) else { continue };
            open.push(entries.len());
            entries.push(Entry { id, tag: tag.trim_end_matches(')'), ..Entry::default() });
        } else if let Some(parent) = comment.strip_prefix("end of children of DIE 0x") {
            let Ok(id) = Id::from_str_radix(parent, 16) else { continue };
            if let Some(at) = open.iter().rposition(|&place| entries[place].id == id) {
                entries[open[at]].children = open.split_off(at + 1);
            }
        } else if let (Some(attribute), Some(entry)) =
            (comment.strip_prefix("DW_AT_"), entries.last_mut())
        {
            // If the string is stored elsewhere, the comment repeats it.
            let (name, value) = match attribute.split_once(": ") {
                Some((name, value)) => (name, value),
                None if attribute.starts_with("decl_file (") => {
                    ("decl_file", attribute[11..].trim_end_matches(')'))
                }
                None => (attribute, value),
            };
            entry.attributes.push((name.split(' ').next().unwrap_or(name), value));
        } else if comment == "DW_OP_deref"
            && let Some(entry) = entries.last_mut()
        {
            entry.is_address |=
                entry.attributes.last().is_some_and(|(name, _)| *name == "location");
        }
    }
    entries
}

struct Entries<'a> {
    entries: Vec<Entry<'a>>,
    /// The position of each entry.
    places: HashMap<Id, usize>,
    /// The symbols of functions, keyed by the label where the function's code begins.
    symbols: HashMap<&'a str, &'a str>,
}

impl<'a> Entries<'a> {
    fn entry(&self, id: Id) -> Option<&Entry<'a>> {
        self.places.get(&id).map(|at| &self.entries[*at])
    }

    fn children(&self, entry: &Entry<'a>) -> Vec<&Entry<'a>> {
        let mut children = Vec::new();
        for at in &entry.children {
            children.push(&self.entries[*at]);
        }
        children
    }

    fn kernel(&self, entry: &Entry<'a>) -> Option<Function> {
        if entry.tag != "subprogram" {
            return None;
        }
        // A declaration has no code.
        let symbol = *self.symbols.get(entry.get("low_pc")?)?;
        let declaration = entry.reference("specification").and_then(|id| self.entry(id));
        let with_name = declaration.unwrap_or(entry);
        let align = entry.number("alignment").or_else(|| with_name.number("alignment"));
        if align != Some(ALIGNMENT_OF_KERNELS) {
            return None;
        }
        // The parameters of a parameter pack are children of a separate entry.
        let mut passed: Vec<&Entry<'a>> = Vec::new();
        for child in self.children(entry) {
            passed.push(child);
            if child.tag == "GNU_formal_parameter_pack" {
                passed.extend(self.children(child));
            }
        }
        let mut parameters = Vec::new();
        for parameter in passed {
            if parameter.tag == "formal_parameter" {
                parameters.push(Parameter {
                    name: parameter.name("name").map(str::to_owned),
                    ty: parameter.reference("type"),
                    is_address: parameter.is_address,
                });
            }
        }
        let unscoped = symbol.strip_prefix("_Z").filter(|rest| rest.starts_with(char::is_numeric));
        let external = entry.get("external").or_else(|| with_name.get("external"));
        Some(Function {
            symbol: symbol.to_owned(),
            clang_symbol: unscoped.filter(|_| external.is_none()).map(|rest| format!("_ZL{rest}")),
            subprogram: with_name.id,
            parameters,
        })
    }

    /// Returns the variable with external linkage that an entry defines, and the node of its type.
    fn variable(&self, entry: &Entry<'a>) -> Option<(String, Id)> {
        if entry.tag != "variable" {
            return None;
        }
        // A declaration has no location.
        entry.get("location")?;
        let declaration = entry.reference("specification").and_then(|id| self.entry(id));
        entry.get("external").or_else(|| declaration?.get("external"))?;
        let named = |name| entry.name(name).or_else(|| declaration?.name(name));
        let symbol = named("linkage_name").or_else(|| named("name"))?;
        let ty = entry.reference("type").or_else(|| declaration?.reference("type"))?;
        Some((symbol.to_owned(), ty))
    }

    /// Writes the node of a function, a type, or a part of a type. Omits other entries, such as
    /// types whose size would be unknown.
    fn write(&self, entry: &Entry<'a>, scope: Option<Id>, text: &mut String) {
        let kind = match entry.tag {
            "base_type" => "DIBasicType",
            "subprogram" => "DISubprogram",
            "structure_type" | "class_type" | "union_type" | "enumeration_type" | "array_type"
            | "subrange_type" | "member" | "inheritance" | "typedef" | "const_type"
            | "volatile_type" | "restrict_type" | "atomic_type" => "DIType",
            "pointer_type" | "reference_type" | "rvalue_reference_type" => "DIDerivedType",
            "enumerator" => "DIEnumerator",
            "namespace" => "DINamespace",
            _ => return,
        };
        let _ = write!(text, "!{} = !{kind}(tag: DW_TAG_{}", entry.id, entry.tag);
        let mut field = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = write!(text, ", {name}: {value}");
            }
        };
        let bits = |name| {
            entry.number(name).and_then(|bytes| bytes.checked_mul(8)).map(|bits| bits.to_string())
        };
        field("name", entry.name("name").map(|name| format!("\"{}\"", name.replace('"', "'"))));
        field("scope", scope.map(|id| format!("!{id}")));
        field("file", entry.get("decl_file").map(|name| format!("\"{name}\"")));
        field("line", entry.get("decl_line").and_then(number).map(|line| line.to_string()));
        field("baseType", entry.reference("type").map(|id| format!("!{id}")));
        let bit_size = entry.number("bit_size");
        let of_bits = bit_size.and_then(|size| {
            // Before DWARF 5, the offset is the distance from the end of the number to the last bit
            // of the bit-field.
            let in_number = || {
                let end = entry.number("byte_size")?.checked_mul(8)?;
                let start = end.checked_sub(entry.number("bit_offset")?)?.checked_sub(size)?;
                entry.number("data_member_location")?.checked_mul(8)?.checked_add(start)
            };
            entry.number("data_bit_offset").or_else(in_number)
        });
        field("size", bit_size.map(|size| size.to_string()).or_else(|| bits("byte_size")));
        field("align", bits("alignment"));
        let offset = of_bits.map(|offset| offset.to_string());
        field("offset", offset.or_else(|| bits("data_member_location")));
        field("encoding", entry.number("encoding").map(|it| format!("DW_ATE_{}", encoding(it))));
        let value = entry.get("const_value");
        field("value", value.map(|text| number(text).map_or(text.to_owned(), |it| it.to_string())));
        // The upper bound of a zero-length array is -1.
        let count = entry.number("upper_bound").map(|bound| bound.wrapping_add(1));
        field("count", count.map(|count| count.to_string()));
        let flags = [
            (entry.get("GNU_vector").is_some(), "DIFlagVector"),
            (entry.get("artificial").is_some(), "DIFlagArtificial"),
            (of_bits.is_some(), "DIFlagBitField"),
            // If the offset of a bit-field is unknown, treat the record as opaque, like one with
            // virtual bases.
            (
                entry.get("virtuality").is_some() || bit_size.is_some() && of_bits.is_none(),
                "DIFlagVirtual",
            ),
            // Static members are declared inside the class, and defined outside.
            (entry.get("external").or(entry.get("declaration")).is_some(), "DIFlagStaticMember"),
        ];
        let mut set = Vec::new();
        for (is_set, flag) in flags {
            if is_set {
                set.push(flag);
            }
        }
        field("flags", (!set.is_empty()).then(|| set.join(" | ")));
        let elements = entry.id | LIST;
        let has_elements =
            !entry.children.is_empty() && !matches!(entry.tag, "namespace" | "subprogram");
        field("elements", has_elements.then(|| format!("!{elements}")));
        text.push_str(")\n");
        if has_elements {
            let mut parts = Vec::new();
            for child in self.children(entry) {
                parts.push(format!("!{}", child.id));
            }
            let _ = writeln!(text, "!{elements} = !{{{}}}", parts.join(", "));
        }
    }
}

/// The bit that distinguishes a list's number from its owner's. No other number sets the bit,
/// because debug information is smaller than 2 GiB.
const LIST: Id = 1 << 31;

/// Returns the name of a number encoding, without `DW_ATE_`.
fn encoding(number: u64) -> &'static str {
    match number {
        2 => "boolean",
        4 => "float",
        5 => "signed",
        6 => "signed_char",
        7 => "unsigned",
        8 => "unsigned_char",
        0x10 => "UTF",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_have_the_signs_of_each_processor_and_system() {
        for (sign, of_number) in
            [("#", ""), (" #", ""), ("//", ""), ("@", ""), ("#", " uleb128 0x1;")]
        {
            let text = format!(
                "k:\n.LFB1:\n\t.uleb128 0x1\t{sign}{of_number} (DIE (0x1) DW_TAG_subprogram)\n\
                 \t.ascii \"k\\0\"\t{sign} DW_AT_name\n\t.word\t0x2000\t{sign} DW_AT_alignment\n\
                 \t.quad\t.LFB1\t{sign} DW_AT_low_pc\n"
            );
            let kernels = Assembly::parse(&text).kernels;
            assert_eq!(kernels.iter().map(|it| &*it.symbol).collect::<Vec<_>>(), ["k"], "{text}");
        }
    }
}
