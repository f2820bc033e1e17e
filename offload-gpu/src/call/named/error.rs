//! Errors from calling kernels by name.

use crate::text::joined;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The reason why a kernel cannot be found by its name, or cannot be called with these arguments.
/// Type names come from [`core::any::type_name`]; the error's text omits their paths.
///
/// `?` converts this error to a `RunError`, so that one function can find, call and launch kernels.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// No kernel of the module can be called by this name.
    Name {
        /// The name.
        name: String,
        /// The module's name, or the pack's name if the pack has only this module.
        module: &'static str,
        /// The reason, with the nearest names or other advice.
        why: String,
    },
    /// An argument's type differs from the parameter's.
    Argument {
        /// The name of the kernel's function.
        kernel: &'static str,
        /// The file and the line of the kernel's definition.
        place: &'static str,
        /// The parameter's number, counted from 1.
        number: usize,
        /// The parameter's name.
        parameter: &'static str,
        /// The type of the kernel's parameter.
        expected: &'static str,
        /// The type that was passed.
        passed: &'static str,
    },
    /// The number of arguments differs from the number of parameters.
    Count {
        /// The name of the kernel's function.
        kernel: &'static str,
        /// The file and the line of the kernel's definition.
        place: &'static str,
        /// The names of the kernel's parameters, separated by tabs.
        parameters: &'static str,
        /// The number of the kernel's parameters.
        expected: usize,
        /// The number of arguments that were passed, up to and including the first excess argument.
        passed: usize,
    },
    /// The offsets of the arguments differ between images, so no buffer fits all images.
    Offsets {
        /// The name of the kernel's function.
        kernel: &'static str,
        /// The file and the line of the kernel's definition.
        place: &'static str,
    },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, module, why } => {
                write!(f, "could not find the kernel \"{name}\" in the module \"{module}\": {why}")
            }
            Self::Argument { kernel, place, number, parameter, expected, passed } => {
                write!(
                    f,
                    "could not call the kernel `{kernel}` ({place}): parameter {number}, `{parameter}`, is `"
                )?;
                write_type(f, expected)?;
                f.write_str("`, but the argument is `")?;
                write_type(f, passed)?;
                f.write_str("`")?;
                match help(expected, passed) {
                    Some(help) => write!(f, "; {help}"),
                    None => Ok(()),
                }
            }
            Self::Count { kernel, place, parameters, expected, passed } => {
                let names: Vec<&str> = parameters.split('\t').filter(|it| !it.is_empty()).collect();
                write!(
                    f,
                    "could not call the kernel `{kernel}` ({place}): it has {expected} parameter"
                )?;
                f.write_str(if *expected == 1 { "" } else { "s" })?;
                if !names.is_empty() {
                    write!(f, " ({})", joined(&names, ", "))?;
                }
                let (s, were) = if *passed == 1 { ("", "was") } else { ("s", "were") };
                write!(f, ", but {passed} argument{s} {were} passed")
            }
            Self::Offsets { kernel, place } => write!(
                f,
                "could not make one buffer for the arguments of the kernel `{kernel}` ({place}): \
                 their offsets differ between images. Use `pointers()` instead"
            ),
        }
    }
}

/// Prints the same text as `Display`, since a `main` that returns this error prints it with
/// `Debug`.
impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for CallError {}

/// Returns advice on how to write the argument, if the parameter and the argument are both numbers
/// or both pointers.
fn help(expected: &str, passed: &str) -> Option<String> {
    let is_number = |name: &str| {
        !name.is_empty()
            && name.starts_with(['i', 'u', 'f'])
            && (name[1..].bytes().all(|byte| byte.is_ascii_digit()) || name.ends_with("size"))
    };
    if is_number(expected) && is_number(passed) {
        return Some(alloc::format!("convert it with `as {expected}`"));
    }
    if expected.starts_with('*') && ["usize", "u64"].contains(&passed) {
        return Some("pass a buffer, or convert the address to that type with `as`".into());
    }
    let is_shared = passed.starts_with('&') && !passed.starts_with("&mut ");
    (expected.starts_with("*mut ") && (is_shared || passed.starts_with("*const ")))
        .then(|| "the kernel writes to this memory: pass `&mut` or a `*mut`".into())
}

/// Writes the name of a type without paths.
fn write_type(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_part(c) != is_part(first)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        match after.strip_prefix("::") {
            Some(after) if is_part(first) => rest = after,
            _ => {
                f.write_str(part)?;
                rest = after;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    struct Name(&'static str);

    impl fmt::Display for Name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_type(f, self.0)
        }
    }

    #[test]
    fn paths_of_types_are_left_out() {
        for (name, text) in [
            ("f32", "f32"),
            ("*const core::ffi::c_void", "*const c_void"),
            ("&mut offload_gpu::run::buffer::Buffer<f32>", "&mut Buffer<f32>"),
            ("my::Of<a::B, [c::D; 3]>", "Of<B, [D; 3]>"),
            ("*mut *const r::P", "*mut *const P"),
        ] {
            assert_eq!(Name(name).to_string(), text);
        }
    }

    #[test]
    fn help_is_for_numbers_and_pointers() {
        for (expected, passed, words) in [
            ("f32", "f64", Some("`as f32`")),
            ("i32", "usize", Some("`as i32`")),
            ("*mut f32", "&my::Buffer<f32>", Some("`&mut`")),
            ("*mut f32", "*const f32", Some("`&mut`")),
            ("*mut f32", "&mut my::Buffer<f64>", None),
            ("*const f32", "*const f64", None),
            ("*const f32", "u64", Some("`as`")),
            ("my::P", "i32", None),
            ("bool", "i32", None),
            ("i32", "ix::I", None),
        ] {
            let help = help(expected, passed);
            assert_eq!(help.is_some(), words.is_some(), "{expected} {passed}");
            assert!(help.unwrap_or_default().contains(words.unwrap_or_default()));
        }
    }
}
