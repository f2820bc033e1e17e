//! Renames the images of a fatbin.

use super::NvFatbin;
use alloc::vec::Vec;

/// Replaces the existing names of a fatbin's images with `name`. Images with names shorter than
/// `name`, and images that are compressed together, keep their names.
///
/// `nvcc -dlink` builds an image's name from the paths of all linked objects.
#[inline]
pub fn rename(fatbin: &mut [u8], name: &str) {
    let Ok(parsed) = NvFatbin::parse(fatbin) else { return };
    let names: Vec<_> = parsed.entries().filter_map(|entry| entry.name_range()).collect();
    for (length_at, range) in names {
        let Some(old) = fatbin.get_mut(range).filter(|old| old.len() >= name.len()) else {
            continue;
        };
        old.fill(0);
        old[..name.len()].copy_from_slice(name.as_bytes());
        if let Some(length) = fatbin.get_mut(length_at..length_at + 4) {
            length.copy_from_slice(&(name.len() as u32).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fatbin(name: &[u8]) -> Vec<u8> {
        let text = (name.len() + 1).next_multiple_of(8);
        let mut bytes = b"\x50\xed\x55\xba\x01\0\x10\0".to_vec();
        bytes.extend((64 + text as u64).to_le_bytes());
        let mut entry = alloc::vec![0; 64 + text];
        entry[0] = 2;
        entry[4] = 64 + text as u8;
        (entry[32], entry[36]) = (64, name.len() as u8);
        entry[64..64 + name.len()].copy_from_slice(name);
        bytes.extend(entry);
        bytes
    }

    #[test]
    fn names_that_fit_replace_others() {
        let name = |bytes: &[u8]| {
            let image = NvFatbin::parse(bytes).unwrap().entries().next().unwrap().images().next();
            image.unwrap().name.to_vec()
        };
        let mut bytes = fatbin(b"/out/a.o /out/b.o ");
        rename(&mut bytes, "a.cu b.cu");
        assert_eq!(name(&bytes), b"a.cu b.cu");
        assert!(!bytes.windows(4).any(|it| it == b"/out"));
        rename(&mut bytes, "a name that is longer than the other");
        assert_eq!(name(&bytes), b"a.cu b.cu");
        rename(&mut [], "none");
    }
}
