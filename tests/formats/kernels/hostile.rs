//! Cubins crafted to cause long searches.

use super::kernels;
use crate::fat_file::made_by_hand::{BODY, Header, RELOCATABLE, elf_file};
use offload_format::image::Kernels;

/// Returns a cubin with a code section and a shared-memory section for each kernel, and this table
/// of attributes. `of` maps the number of a shared-memory section to the number of its kernel.
fn cubin(kernels: u32, info: &[u8], of: fn(u32, u32) -> u32) -> Vec<u8> {
    let symbol = [&[0; 28][..], &[0x12, 0x10], &[0; 18]].concat();
    let symbols = Header { kind: 2, link: 2 * kernels + 3, info: 1, ..Header::new(0, BODY, 48) };
    let code = Header { flags: 4, link: 1, info: 1, ..Header::new(1, 0, 0) };
    let shared = Header { kind: 8, flags: 3, link: 1, ..Header::new(9, 0, 16) };
    let table = Header { kind: 0x7000_0000, ..Header::new(0, BODY + 48, info.len() as u64) };
    let mut sections = vec![symbols];
    sections.extend((0..kernels).map(|_| code));
    sections.extend((0..kernels).map(|n| Header { info: 2 + of(n, kernels), ..shared }));
    sections.push(table);
    let names = b"\0.text.k\0.nv.shared.k\0\0";
    let mut file = elf_file(RELOCATABLE, &[&symbol[..], info].concat(), names, &sections);
    file[7..9].copy_from_slice(&[65, 8]);
    file[18] = 190;
    // Store the number of sections as the first section's size, as if the number were too large for
    // the header's field.
    file[60..62].fill(0);
    let count = sections.len() + 2;
    let first = file.len() - 64 * count;
    file[first + 32..first + 40].copy_from_slice(&(count as u64).to_le_bytes());
    file
}

/// Tests a cubin whose sections are in an order that no tool writes. The search for a kernel's
/// sections must then examine all sections. Also tests a table without any match.
#[test]
fn tables_made_to_be_searched_for_long() {
    let from_both_ends = |n, kernels| if n % 2 == 0 { n / 2 } else { kernels - 1 - n / 2 };
    let few = cubin(100, b"", from_both_ends);
    let found = kernels(&few);
    assert_eq!(found.len(), 100);
    assert!(found.iter().all(|kernel| (kernel.name, kernel.shared_memory) == ("k", Some(16))));
    let many = cubin(5_000, b"", from_both_ends);
    let error = Kernels::parse(&many).unwrap_err();
    assert_eq!(error.part(), "image (finding its kernels would take too long)");

    // The table contains the functions' registers but no stack sizes, as in a cubin before linking.
    let registers = b"\x04\x2f\x08\0\x01\0\0\0\x07\0\0\0".repeat(20_000);
    let found = cubin(20_000, &registers, |n, _| n);
    let found = kernels(&found);
    assert_eq!(found.len(), 20_000);
    assert!(
        found.iter().all(|kernel| (kernel.registers, kernel.private_memory) == (Some(7), None))
    );
}
