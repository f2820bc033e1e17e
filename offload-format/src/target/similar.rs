//! Suggests a target for a misspelt name.

use super::{amdgpu, nvidia};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// Returns the closest known target's name, followed by the features in `name`. At most two
/// consecutive characters may differ. Returns `None` if no name is close enough.
#[inline]
pub fn similar(name: &str) -> Option<String> {
    let (name, features) = name.split_at(name.find(':').unwrap_or(name.len()));
    // If more changes were allowed, any short name would match any other short name.
    let mut least = (2.min(name.len() / 2) + 1, 0, 0);
    let mut nearest = String::new();
    let mut compare = |known: &str| {
        let distance = distance(name.as_bytes(), known.as_bytes());
        if distance < least {
            least = distance;
            nearest = known.to_owned();
        }
    };
    for row in amdgpu::PROCESSORS {
        compare(row.name);
    }
    for number in nvidia::numbers() {
        compare(&format!("sm_{number}"));
        compare(&format!("compute_{number}"));
    }
    compare("spirv64");
    compare("cpu");
    nearest.push_str(features);
    (nearest.len() > features.len()).then_some(nearest)
}

/// Returns the distance between two names as a sort key: the number of changed characters, the
/// reversed position of the first change, and how far apart the letters are in the alphabet (`b` is
/// close to `a`).
#[inline]
fn distance(a: &[u8], b: &[u8]) -> (usize, usize, u32) {
    let (mut start, mut a_end, mut b_end) = (0, a.len(), b.len());
    while start < a_end.min(b_end) && a[start].eq_ignore_ascii_case(&b[start]) {
        start += 1;
    }
    while start < a_end.min(b_end) && a[a_end - 1] == b[b_end - 1] {
        a_end -= 1;
        b_end -= 1;
    }
    let mut letters = 0;
    for at in start..a_end.min(b_end) {
        let are_letters = a[at].is_ascii_alphabetic() && b[at].is_ascii_alphabetic();
        letters += if are_letters { u32::from(a[at].abs_diff(b[at])) } else { 26 };
    }
    // Names are less similar if the differing parts are not empty and differ in length.
    let is_other = a_end != b_end && a_end.min(b_end) > start;
    (a_end.max(b_end) - start + usize::from(is_other), usize::MAX - start, letters)
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn the_closest_target_is_found() {
        for (name, meant) in [
            ("gfx110", "gfx1100"),
            ("gxf1100", "gfx1100"),
            ("gfx99a", "gfx90a"),
            ("gfx90b", "gfx90a"),
            ("gfx940a:xnack-", "gfx940:xnack-"),
            ("sm80", "sm_80"),
            ("sm_8O", "sm_80"),
            ("SM_90", "sm_90"),
            ("compute80", "compute_80"),
            ("spirv", "spirv64"),
            ("gpu", "cpu"),
        ] {
            assert_eq!(similar(name).as_deref(), Some(meant), "{name}");
        }
        for name in ["", "gfx9999", "host", "x86_64", "nonsense"] {
            assert_eq!(similar(name), None, "{name}");
        }
    }
}
