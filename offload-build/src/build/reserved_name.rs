//! The names of packs and static libraries, of which build.rs may use each once.

use crate::error::Error;
use crate::output;
use std::sync::{Mutex, PoisonError};

/// The names that are taken.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A pack's name is one of a file, and of one pack: others are refused it, until making this one has failed.
#[derive(Debug)]
pub(crate) struct ReservedName {
    is_kept: bool,
    name: String,
}

impl ReservedName {
    pub(crate) fn of(name: &str) -> Result<Self, Error> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err(Error::config(format!("a pack's name has letters, digits, '_' and '-'; '{name}' does not")));
        }
        if is_one_name(name, output::INCLUDE) {
            return Err(Error::config(format!("'{name}' cannot be a pack's name: the kernel header's folder has it")));
        }
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = names.iter().find(|taken| is_one_name(taken, name)) {
            let what = match taken == name {
                true => format!("build.rs makes two packs of the name '{name}'"),
                false => format!("build.rs makes packs '{taken}' and '{name}', one name to Cargo or to file systems"),
            };
            return Err(Error::config(format!("{what}: the second would replace the first")));
        }
        names.push(name.to_owned());
        Ok(Self { is_kept: false, name: name.to_owned() })
    }

    /// The pack was made.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for ReservedName {
    fn drop(&mut self) {
        if !self.is_kept {
            NAMES.lock().unwrap_or_else(PoisonError::into_inner).retain(|name| *name != self.name);
        }
    }
}

/// Whether Cargo, which tells dependents in capitals and without dashes, or a file system takes two names for one.
fn is_one_name(one: &str, other: &str) -> bool {
    one.replace('-', "_").eq_ignore_ascii_case(&other.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_until_making_it_fails() {
        let failed = ReservedName::of("Scale-fast").unwrap();
        let refusal = |name| ReservedName::of(name).unwrap_err().to_string();
        assert_eq!(
            refusal("scale_fast"),
            "build.rs makes packs 'Scale-fast' and 'scale_fast', one name to Cargo or to file systems: the second would \
             replace the first"
        );
        // What is refused takes nothing away from the first.
        assert!(refusal("Scale-fast").starts_with("build.rs makes two packs of the name 'Scale-fast': "));
        drop(failed);
        ReservedName::of("scale_fast").unwrap().keep();
        assert!(refusal("scale_fast").starts_with("build.rs makes two packs of the name 'scale_fast': "));
        assert!(refusal("Include").contains("the kernel header's folder has it"));
    }
}
