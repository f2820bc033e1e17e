//! Converts names to valid Rust identifiers.

use super::types::{Scalar, VOID};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Words that cannot name a function, field or type in at least one edition of Rust. The names of
/// types are in `Scalar::ALL` and `TYPES`.
const KEYWORDS: [&str; 53] = [
    "Self", "_", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords that cannot be identifiers, not even raw ones.
const NEVER_RAW: [&str; 5] = ["Self", "_", "crate", "self", "super"];

/// Primitive types of Rust that are not in [`Scalar::ALL`]; no record may have such a name.
const TYPES: [&str; 3] = ["char", "f128", "str"];

/// Characters in template arguments, each with the word that replaces it.
const SIGNS: [(char, &str); 3] = [('*', "ptr"), ('&', "ref"), ('-', "minus")];

/// The name of the pack's static. No kernel may have this name.
const PACK: &str = "PACK";

/// The prefix of all other names in the code for a pack.
const OURS: &str = "__offload";

/// Returns the Rust name for a name in a source. `ns::scale<float *, 3>` becomes
/// `ns_scale_float_ptr_3`.
///
/// `*`, `&` and `-` become the words `ptr`, `ref` and `minus`. Each run of characters other than
/// ASCII letters, digits and `_` becomes one `_` between words. A name that starts with a digit
/// gets a `_` at its start, and a reserved word of Rust gets a `_` at its end. Names that the code
/// for a pack defines are changed, too: `PACK` becomes `PACK_`, and `__offload` becomes
/// `___offload`.
#[inline]
pub fn identifier(name: &str) -> String {
    let mut out = in_letters(name);
    let is_scalar = Scalar::ALL.iter().any(|(scalar, _)| *scalar == out);
    let is_reserved = |word: &[&str]| word.contains(&out.as_str());
    if is_scalar || is_reserved(&[VOID, PACK]) || is_reserved(&KEYWORDS) || is_reserved(&TYPES) {
        out.push('_');
    }
    out
}

/// Returns the Rust name for a field. Unlike [`identifier`], keeps reserved words, so that a struct
/// of the program can have the same field names. For example, `in` becomes the raw identifier
/// `r#in`, and `f32` is unchanged. `self`, `Self`, `super`, `crate` and `_`, which cannot be raw
/// identifiers, get a `_` at their end.
#[inline]
pub fn field_identifier(name: &str) -> String {
    let mut out = in_letters(name);
    if NEVER_RAW.contains(&out.as_str()) {
        out.push('_');
    } else if KEYWORDS.contains(&out.as_str()) {
        return format!("{RAW}{out}");
    }
    out
}

/// The prefix of raw identifiers.
pub(super) const RAW: &str = "r#";

/// Converts the name to ASCII letters, digits and `_`.
#[inline]
fn in_letters(name: &str) -> String {
    let mut out = String::new();
    let mut is_gap = false;
    let push = |out: &mut String, is_gap: bool, word: &str| {
        if is_gap && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.push_str(word);
    };
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            push(&mut out, is_gap, c.encode_utf8(&mut [0; 4]));
            is_gap = false;
        } else {
            if let Some((_, word)) = SIGNS.iter().find(|(sign, _)| *sign == c) {
                push(&mut out, true, word);
            }
            is_gap = true;
        }
    }
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) || out.starts_with(OURS) {
        out.insert(0, '_');
    }
    out
}

/// The names in use; [`give`](Self::give) never returns the same name twice.
#[derive(Debug, Clone, Default)]
pub struct Identifiers(Vec<String>);

impl Identifiers {
    /// Returns `name` if it is not in use, otherwise the first unused name of `name_2`, `name_3` ….
    #[inline]
    pub fn give(&mut self, name: &str) -> String {
        let mut given = name.to_string();
        for number in 2.. {
            if !self.0.contains(&given) {
                break;
            }
            given = format!("{}_{number}", name.strip_prefix(RAW).unwrap_or(name));
        }
        self.0.push(given.clone());
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sources_become_names_of_rust() {
        for (source, rust) in [
            ("saxpy", "saxpy"),
            ("ns::scale<float, 3>", "ns_scale_float_3"),
            ("(anonymous namespace)::k", "anonymous_namespace_k"),
            ("f<int *, -1>", "f_int_ptr_minus_1"),
            ("f<int &, const float **>", "f_int_ref_const_float_ptr_ptr"),
            ("match", "match_"),
            ("f32", "f32_"),
            ("3d", "_3d"),
            ("_", "__"),
            ("größe", "gr_e"),
            ("__half2", "__half2"),
            ("PACK", "PACK_"),
            ("__offload_items", "___offload_items"),
            ("", "__"),
        ] {
            assert_eq!(identifier(source), rust);
        }
    }

    #[test]
    fn fields_keep_their_names() {
        for (source, rust) in [
            ("x", "x"),
            ("in", "r#in"),
            ("type", "r#type"),
            ("gen", "r#gen"),
            ("f32", "f32"),
            ("str", "str"),
            ("PACK", "PACK"),
            ("self", "self_"),
            ("Self", "Self_"),
            ("super", "super_"),
            ("crate", "crate_"),
            ("_", "__"),
            ("3d", "_3d"),
            ("größe", "gr_e"),
        ] {
            assert_eq!(field_identifier(source), rust);
        }
    }

    #[test]
    fn a_name_is_given_once() {
        let mut names = Identifiers::default();
        let given: Vec<String> =
            ["k", "k", "k_2", "k", "r#in", "r#in"].map(|name| names.give(name)).into();
        assert_eq!(given, ["k", "k_2", "k_2_2", "k_3", "r#in", "in_2"]);
    }
}
