//! Reserves the names of packs and static libraries: build.rs may use each name once.

use crate::output;
use crate::targets::Product;
use crate::toolchain::Error;
use std::sync::{Mutex, PoisonError};

/// The reserved names, each with the kind of its product, such as `pack`.
static NAMES: Mutex<Vec<(String, &str)>> = Mutex::new(Vec::new());

/// Makes a pack or a static library, and reserves its name, which is also a file name. If making
/// the product fails, other products can use the name again.
pub(crate) fn reserve<T>(
    product: Product<'_>,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let name = add(product)?;
    let made = make();
    if made.is_err() {
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| other != name);
    }
    made
}

/// Reserves the product's name, and returns it.
///
/// Returns an error if the name is malformed, or already reserved.
fn add(product: Product<'_>) -> Result<&str, Error> {
    let (name, kind) = match product {
        Product::StaticLibrary(name) => (name, "static library"),
        Product::Pack(name) => (name, "pack"),
        Product::Unnamed => ("", "build"),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(Error::config(format!(
            "invalid {kind} name '{name}': use only letters, digits, '_' and '-'"
        )));
    }
    if is_one_name(name, output::INCLUDE) {
        return Err(Error::config(format!(
            "invalid {kind} name '{name}': the kernel header's folder has this name; choose a \
             different one"
        )));
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((taken, other)) = names.iter().find(|(taken, _)| is_one_name(taken, name)) {
        let what = if taken != name {
            format!(
                "the {other} '{taken}' and the {kind} '{name}', which Cargo or file systems treat \
                 as the same name"
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
    Ok(name)
}

/// Whether a file system or Cargo may treat two names as equal. Cargo uppercases names in metadata,
/// and replaces `-` with `_`.
fn is_one_name(one: &str, other: &str) -> bool {
    one.replace('-', "_").eq_ignore_ascii_case(&other.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_until_making_it_fails() {
        let refusal = |product| reserve(product, || Ok(())).unwrap_err().to_string();
        let failed: Result<(), Error> = reserve(Product::Pack("Scale-fast"), || {
            assert_eq!(
                refusal(Product::Pack("scale_fast")),
                "build.rs makes the pack 'Scale-fast' and the pack 'scale_fast', which Cargo or \
                 file systems treat as the same name: the second would replace the first"
            );
            // After a refusal, the first name is still reserved.
            assert!(
                refusal(Product::Pack("Scale-fast"))
                    .starts_with("build.rs makes the pack 'Scale-fast' twice: ")
            );
            Err(Error::config("it cannot be made"))
        });
        assert!(failed.is_err());
        reserve(Product::Pack("scale_fast"), || Ok(())).unwrap();
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
            "invalid static library name 'Include': the kernel header's folder has this name; "
        ));
    }
}
