//! Names of members.

use std::collections::HashSet;

/// The names of the archive's members read so far.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<Vec<u8>>);

impl Names {
    /// Returns the problem with a member's name: it leads to a different folder, or is a duplicate.
    /// The member is read anyway, because its name is never used as a path.
    pub(super) fn problem(&mut self, name: &[u8]) -> Option<&'static str> {
        if leads_out(name) {
            return Some("its name leads out of the folder that the archive is unpacked into");
        }
        let is_new = self.0.insert(name.strip_prefix(b"./").unwrap_or(name).to_vec());
        (!is_new).then_some("another file in the archive has the same name, and programs differ in which one they unpack")
    }
}

fn leads_out(name: &[u8]) -> bool {
    let mut parts = name.split(|byte| matches!(byte, b'/' | b'\\'));
    let is_absolute =
        name.starts_with(b"/") || name.starts_with(b"\\") || name.get(1) == Some(&b':');
    name.is_empty() || is_absolute || name.contains(&0) || parts.any(|part| part == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere() {
        for name in ["a", "a/b", "./a", "a..b/..c", "...", "a b"] {
            assert!(!leads_out(name.as_bytes()), "{name}");
        }
        for name in ["", "/a", "../a", "a/../../b", "..", "a\\..\\b", "\\a", "C:\\a", "c:a", "a\0b"]
        {
            assert!(leads_out(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_come_once() {
        let mut names = Names::default();
        assert_eq!(names.problem(b"./a"), None);
        assert_eq!(names.problem(b"b"), None);
        assert!(names.problem(b"a").is_some());
    }
}
