//! The start of Windows programs and libraries.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | `MZ`, from the leading DOS program |
//! | 0x3c | 4 | offset of the next fields |
//! | +0 | 4 | `PE`, NUL, NUL |
//! | +4 | 2 | `Machine` of the COFF header |

use crate::reader::Reader;

const DOS_MAGIC: &[u8; 2] = b"MZ";
const PE_OFFSET: u64 = 0x3c;
const PE_MAGIC: &[u8; 4] = b"PE\0\0";

pub(super) fn machine(data: &[u8]) -> Option<u16> {
    if !data.starts_with(DOS_MAGIC) {
        return None;
    }
    let reader = Reader::new(data);
    let start = u64::from(reader.u32(PE_OFFSET, "offset of the PE header").ok()?);
    let magic = reader.bytes(start, 4, "PE magic").ok()?;
    if magic == PE_MAGIC { reader.u16(start + 4, "PE machine").ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::machine;
    use alloc::vec;

    #[test]
    fn headers_whole_and_cut() {
        let mut file = vec![0; 0x86];
        file[..2].copy_from_slice(b"MZ");
        file[0x3c] = 0x80;
        assert_eq!(machine(&file), None, "a program for DOS");
        file[0x80..].copy_from_slice(b"PE\0\0\x64\x86");
        assert_eq!(machine(&file), Some(0x8664));
        for end in 0..file.len() {
            assert_eq!(machine(&file[..end]), None, "{end}");
        }
        file[0x3c..0x40].copy_from_slice(&[0xff; 4]);
        assert_eq!(machine(&file), None, "an offset beyond the end");
    }
}
