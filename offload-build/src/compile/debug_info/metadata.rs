//! Reads the metadata in textual LLVM IR: numbered nodes that refer to each other.
//!
//! ```text
//! !12 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
//! !13 = distinct !DISubprogram(name: "scale", linkageName: "_Z5scalePf", line: 7, type: !14, unit: !2)
//! !15 = !{null, !12, !16}
//! ```
//!
//! Source: LLVM's LangRef, "Metadata". Checked with clang 14, 19 and 22.

use super::ir;
use std::collections::HashMap;
use std::iter::from_fn;

/// The number of a node: 12 for `!12`.
pub type Id = u32;

/// The metadata of one module.
pub struct Metadata<'ir> {
    nodes: HashMap<Id, Node<'ir>>,
    /// Named lists, such as `!nvvm.annotations`.
    named: Vec<(&'ir str, Node<'ir>)>,
}

/// One node: its kind, and the text of its fields.
#[derive(Debug, Clone, Copy)]
pub struct Node<'ir> {
    /// The kind of the node, such as `DIBasicType`. Empty for a list.
    pub kind: &'ir str,
    /// The text in the parentheses or braces.
    body: &'ir str,
}

impl<'ir> Metadata<'ir> {
    pub fn parse(ir: &'ir str) -> Self {
        let mut all = Self { nodes: HashMap::new(), named: Vec::new() };
        for line in ir.lines() {
            let Some(line) = line.strip_prefix('!') else { continue };
            let Some((name, value)) = line.split_once(" = ") else { continue };
            let Some(node) = Node::parse(value) else { continue };
            match name.parse() {
                Ok(id) => _ = all.nodes.insert(id, node),
                Err(_) => all.named.push((name, node)),
            }
        }
        all
    }

    /// Whether rustc wrote the module.
    pub fn is_rust(&self) -> bool {
        let producer = |unit: &Node<'_>| unit.string("producer").unwrap_or_default();
        self.named("llvm.dbg.cu").iter().any(|unit| producer(unit).contains("rustc version"))
    }

    pub fn node(&self, id: Id) -> Option<Node<'ir>> {
        self.nodes.get(&id).copied()
    }

    /// Returns the nodes in a named list.
    pub fn named(&self, name: &str) -> Vec<Node<'ir>> {
        let list = self.named.iter().find(|(known, _)| *known == name);
        list.map(|(_, list)| self.nodes_of(*list)).unwrap_or_default()
    }

    /// Returns the nodes that a list's items refer to.
    fn nodes_of(&self, list: Node<'ir>) -> Vec<Node<'ir>> {
        let mut nodes = Vec::new();
        for item in list.items() {
            nodes.extend(reference(item).and_then(|id| self.node(id)));
        }
        nodes
    }

    /// Returns all nodes of a kind.
    pub fn all(&self, kind: &str) -> Vec<Node<'ir>> {
        let mut all = Vec::new();
        for node in self.nodes.values() {
            if node.kind == kind {
                all.push(*node);
            }
        }
        all
    }

    /// Returns the node that a field refers to.
    pub fn follow(&self, node: Node<'ir>, field: &str) -> Option<Node<'ir>> {
        self.node(node.reference(field)?)
    }

    /// Returns the nodes in the list that a field refers to.
    pub fn list(&self, node: Node<'ir>, field: &str) -> Vec<Node<'ir>> {
        self.follow(node, field).map(|list| self.nodes_of(list)).unwrap_or_default()
    }
}

impl<'ir> Node<'ir> {
    fn parse(text: &'ir str) -> Option<Self> {
        let text = text.strip_prefix("distinct ").unwrap_or(text).strip_prefix('!')?;
        if let Some(body) = text.strip_prefix('{') {
            return Some(Self { kind: "", body: body.strip_suffix('}')? });
        }
        let (kind, body) = text.split_once('(')?;
        Some(Self { kind, body: body.strip_suffix(')')? })
    }

    /// Returns the node's comma-separated items. Commas in strings and brackets do not separate
    /// items.
    pub fn items(&self) -> impl Iterator<Item = &'ir str> + use<'ir> {
        split(self.body)
    }

    fn field(&self, name: &str) -> Option<&'ir str> {
        for item in self.items() {
            if let Some(value) = item.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) {
                return Some(value);
            }
        }
        None
    }

    pub fn reference(&self, field: &str) -> Option<Id> {
        reference(self.field(field)?)
    }

    /// Returns the text of a string field.
    pub fn string(&self, field: &str) -> Option<String> {
        string(self.field(field)?)
    }

    pub fn number(&self, field: &str) -> Option<u64> {
        self.field(field)?.parse().ok()
    }

    /// Returns the number in a field, which may be negative.
    pub fn integer(&self, field: &str) -> Option<i128> {
        self.field(field)?.parse().ok()
    }

    /// Returns the last word of a field: `3` for `value: i32 3`. Returns an empty string if there
    /// is no such field.
    pub fn last_word(&self, field: &str) -> String {
        let words = self.field(field).and_then(|text| text.split(' ').next_back());
        words.unwrap_or_default().to_owned()
    }

    /// Returns the node's DWARF tag without `DW_TAG_`, such as `member`.
    pub fn tag(&self) -> &'ir str {
        self.field("tag").and_then(|tag| tag.strip_prefix("DW_TAG_")).unwrap_or("")
    }

    pub fn encoding(&self) -> &'ir str {
        self.field("encoding").and_then(|it| it.strip_prefix("DW_ATE_")).unwrap_or("")
    }

    pub fn has_flag(&self, flag: &str) -> bool {
        self.field("flags").is_some_and(|flags| flags.split(" | ").any(|it| it == flag))
    }
}

/// Returns the number in a reference to a node: 12 for `!12`.
pub fn reference(text: &str) -> Option<Id> {
    text.strip_prefix('!')?.parse().ok()
}

/// Returns the text between quotation marks, unescaped: a backslash and two hexadecimal digits
/// represent one byte, and two backslashes represent one backslash.
pub fn string(text: &str) -> Option<String> {
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        if let [b'\\', b'\\', behind @ ..] = rest {
            bytes.push(b'\\');
            rest = behind;
            continue;
        }
        let escaped = (*first == b'\\').then(|| behind.get(..2)).flatten();
        let byte = escaped
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Splits a text at its commas, except those in strings, parentheses and other brackets.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    from_fn(move || {
        let end = ir::length(rest, b',');
        let item = (!rest.is_empty()).then(|| &rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default().trim_start();
        item
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_their_fields() {
        let ir = "!llvm.dbg.cu = !{!0}\n!0 = distinct !DICompileUnit(file: !1, flags: DIFlagA | DIFlagB, enums: !2)\n\
                  !1 = !DIFile(filename: \"a \\22(b), c\", directory: \"/d\")\n!2 = !{null, !1}\nnonsense\n!x = y";
        let all = Metadata::parse(ir);
        let unit = all.named("llvm.dbg.cu")[0];
        assert_eq!(unit.kind, "DICompileUnit");
        assert!(unit.has_flag("DIFlagB") && !unit.has_flag("DIFlag"));
        let file = all.follow(unit, "file").unwrap();
        assert_eq!(file.string("filename").unwrap(), "a \"(b), c");
        assert_eq!(all.list(unit, "enums").len(), 1);
        assert!(all.node(3).is_none());
    }

    #[test]
    fn escaped_characters_of_strings() {
        for (text, expected) in [
            (r#""ch<'\\n'>""#, r"ch<'\n'>"),
            (r#""\\0a""#, r"\0a"),
            (r#""\5Cn \22""#, "\\n \""),
            (r#""\x""#, r"\x"),
        ] {
            assert_eq!(string(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn commas_in_what_is_nested_do_not_split() {
        let parts: Vec<&str> =
            split("ptr byref(%struct.P) align 8 %0, <4 x float> %f, i32 %\"a,b\"").collect();
        assert_eq!(parts, ["ptr byref(%struct.P) align 8 %0", "<4 x float> %f", "i32 %\"a,b\""]);
        assert_eq!(split("").count(), 0);
    }
}
