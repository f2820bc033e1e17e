//! The names of packs and static libraries: build.rs may use each once.

use crate::output;
use crate::targets::Product;
use crate::toolchain::Error;
use std::sync::{Mutex, PoisonError};

/// The reserved names, each with the kind of its product, such as `pack`.
static NAMES: Mutex<Vec<(String, &str)>> = Mutex::new(Vec::new());

/// The reserved name of a pack or a static library, which is also the name of a file. No other
/// product can have the name, unless this product cannot be made.
#[derive(Debug)]
pub(crate) struct ReservedName {
    is_kept: bool,
    name: String,
}

impl ReservedName {
    pub(crate) fn of(product: Product<'_>) -> Result<Self, Error> {
        let (name, kind) = match product {
            Product::StaticLibrary(name) => (name, "static library"),
            Product::Pack(name) => (name, "pack"),
            Product::Unnamed => ("", "build"),
        };
        if name.is_empty()
            || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        {
            return Err(Error::config(format!(
                "a {kind}'s name has letters, digits, '_' and '-'; '{name}' does not"
            )));
        }
        if is_one_name(name, output::INCLUDE) {
            return Err(Error::config(format!(
                "'{name}' cannot be a {kind}'s name: the kernel header's folder has it"
            )));
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((taken, other)) = names.iter().find(|(taken, _)| is_one_name(taken, name)) {
            let what = if taken != name {
                format!(
                    "the {other} '{taken}' and the {kind} '{name}', one name to Cargo or to file systems"
                )
            } else if *other == kind {
                format!("the {kind} '{name}' twice")
            } else {
                format!("the {other} '{name}' and the {kind} '{name}'")
            };
            return Err(Error::config(format!(
                "build.rs makes {what}: the second would replace the first"
            )));
        }
        names.push((name.to_owned(), kind));
        Ok(Self { is_kept: false, name: name.to_owned() })
    }

    /// Keeps the name reserved, since the product was made.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for ReservedName {
    fn drop(&mut self) {
        if !self.is_kept {
            NAMES
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .retain(|(name, _)| *name != self.name);
        }
    }
}

/// Whether two names are the same for a file system, or for Cargo, which passes them on in capitals
/// and with `_` for `-`.
fn is_one_name(one: &str, other: &str) -> bool {
    one.replace('-', "_").eq_ignore_ascii_case(&other.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_until_making_it_fails() {
        let failed = ReservedName::of(Product::Pack("Scale-fast")).unwrap();
        let refusal = |product| ReservedName::of(product).unwrap_err().to_string();
        assert_eq!(
            refusal(Product::Pack("scale_fast")),
            "build.rs makes the pack 'Scale-fast' and the pack 'scale_fast', one name to Cargo or to file systems: the second \
             would replace the first"
        );
        // After a refusal, the first name is still reserved.
        assert!(
            refusal(Product::Pack("Scale-fast"))
                .starts_with("build.rs makes the pack 'Scale-fast' twice: ")
        );
        drop(failed);
        ReservedName::of(Product::Pack("scale_fast")).unwrap().keep();
        assert!(
            refusal(Product::Pack("scale_fast"))
                .starts_with("build.rs makes the pack 'scale_fast' twice: ")
        );
        assert_eq!(
            refusal(Product::StaticLibrary("scale_fast")),
            "build.rs makes the pack 'scale_fast' and the static library 'scale_fast': the second would replace the first"
        );
        let message = refusal(Product::StaticLibrary("Include"));
        assert!(message.contains(
            "'Include' cannot be a static library's name: the kernel header's folder has it"
        ));
    }
}
