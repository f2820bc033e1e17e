//! The target that a misspelt name may mean.

use super::{amdgpu, nvidia};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// Returns the known target's name that is closest to `name`, with the features in `name`: at most
/// two letters in a row differ. Returns `None` if no name is as close.
#[inline]
pub fn similar(name: &str) -> Option<String> {
    let (name, features) = name.split_at(name.find(':').unwrap_or(name.len()));
    // With more changes, any short name would match any other.
    let mut least = (2.min(name.len() / 2) + 1, 0, 0_u32);
    let mut nearest = None;
    let mut compare = |known: &str| {
        let (a, b) = (name.as_bytes(), known.as_bytes());
        let start = a.iter().zip(b).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        let (a, b) = (&a[start..], &b[start..]);
        let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
        // Other letters in other numbers are another name.
        let is_other = a.len() != b.len() && !a.is_empty() && !b.is_empty();
        let changed = a.len().max(b.len()) + usize::from(is_other);
        // Of letters, the one beside it in the alphabet is closer: `b` may mean `a`.
        let letters = a.iter().zip(b).map(|(a, b)| {
            if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() {
                u32::from(a.abs_diff(*b))
            } else {
                26
            }
        });
        let distance = (changed, usize::MAX - start, letters.sum());
        if distance < least {
            least = distance;
            nearest = Some(known.to_owned() + features);
        }
    };
    amdgpu::PROCESSORS.iter().for_each(|row| compare(row.name));
    for number in nvidia::numbers() {
        compare(&format!("sm_{number}"));
        compare(&format!("compute_{number}"));
    }
    ["spirv64", "cpu"].into_iter().for_each(&mut compare);
    nearest
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
