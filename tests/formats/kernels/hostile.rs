//! Images that are truncated, changed, or made to cause long searches. Nothing may panic or read
//! outside of the file.

use super::{corpus, kernels};
use offload_format::ErrorKind;
use offload_format::image::{Image, Kernels};
use offload_tests::data::{Random, read};
use offload_tests::registry::NOTHING;

offload_tests::tests! {
    NOTHING => [truncations, bytes_changed_at_random, header_fields_at_extremes, tables_made_to_be_searched_for_long],
}

const CORPUS: [&str; 6] = [
    "v2.hsaco",
    "v3.hsaco",
    "cuda12.sm_80.cubin",
    "cuda12.sm_90.cubin",
    "cuda12.sm_120.cubin",
    "kinds.ptx",
];

/// Reads everything in an image, and checks that iteration returns no kernel that was not read
/// during parsing.
fn visit(data: &[u8]) {
    if let Ok(Image::CodeObject(header)) = Image::parse(data) {
        let _ = header.target_id();
    }
    let Ok(kernels) = Kernels::parse(data) else { return };
    let range = data.as_ptr_range();
    let mut count = 0;
    for kernel in kernels {
        let name = kernel.name.as_bytes().as_ptr_range();
        if !kernel.name.is_empty() {
            assert!(range.start <= name.start, "a name begins before the file");
            assert!(name.end <= range.end, "a name ends after the file");
        }
        assert!(kernel.arguments.clone().count() <= data.len());
        count += 1;
    }
    assert!(count <= data.len());
}

fn truncations() {
    for file in CORPUS {
        let data = read(corpus(file));
        for end in (0..data.len()).filter(|end| *end < 400 || end % 7 == 0) {
            visit(&data[..end]);
        }
    }
}

fn bytes_changed_at_random() {
    let mut random = Random::new(2);
    for file in CORPUS {
        let data = read(corpus(file));
        for _ in 0..1000 {
            let mut changed = data.clone();
            for _ in 0..1 + random.below(6) {
                let at = random.below(data.len());
                changed[at] = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6)];
            }
            visit(&changed);
        }
    }
}

fn header_fields_at_extremes() {
    for file in CORPUS {
        let data = read(corpus(file));
        // Change the header byte by byte, then a word at each place of the file.
        for (step, until) in [(1, 64), (8, data.len())] {
            for at in (0..until.min(data.len() - 8)).step_by(step) {
                for new in [0, 1, data.len() as u64, u64::MAX, u64::MAX / 64] {
                    for size in [2, 8] {
                        let mut changed = data.clone();
                        changed[at..at + size].copy_from_slice(&new.to_le_bytes()[..size]);
                        visit(&changed);
                    }
                }
            }
        }
    }
}

/// Tests a cubin whose sections have an order that no tool writes, so that the search for a
/// kernel's sections covers all sections. Also tests a table without any match.
fn tables_made_to_be_searched_for_long() {
    // `of` maps the number of a shared-memory section to the number of its kernel.
    let cubin = |kernels: u32, info: &[u8], of: fn(u32, u32) -> u32| {
        // The sections are an empty one, the names, the symbols, the code of each kernel, the
        // shared memory of each kernel, and the table `info`. `of` sets the order of the shared
        // memory's sections.
        let names = b"\0.text.k\0.nv.shared.k\0\0";
        let mut sections: Vec<[u64; 6]> = vec![[0; 6]; 3];
        // The fields are name, type, flags, size, link, info.
        sections[1] = [0, 3, 0, names.len() as u64, 0, 0];
        sections[2] = [0, 2, 0, 48, 1, 1];
        sections.extend((0..kernels).map(|_| [1, 1, 4, 0, 2, 1]));
        sections.extend((0..kernels).map(|n| [9, 8, 3, 16, 2, u64::from(3 + of(n, kernels))]));
        let last = sections.len();
        sections.push([0, 0x7000_0000, 0, info.len() as u64, 0, 0]);
        let table = 64 + 24 + 48 + info.len() as u64;
        let mut data = vec![0; 64];
        data[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 65, 8]);
        data[18..20].copy_from_slice(&190u16.to_le_bytes());
        data[40..48].copy_from_slice(&u64::to_le_bytes(table));
        data[58..60].copy_from_slice(&64u16.to_le_bytes());
        // The header's field is too small for the number of sections, so the first section's size
        // contains the number.
        sections[0][3] = sections.len() as u64;
        data[62..64].copy_from_slice(&1u16.to_le_bytes());
        data.extend_from_slice(names);
        data.resize(64 + 24, 0);
        let mut symbol = [0; 48];
        symbol[24 + 4] = 0x12;
        symbol[24 + 5] = 0x10;
        data.extend_from_slice(&symbol);
        data.extend_from_slice(info);
        for (index, [name, kind, flags, size, link, info]) in sections.into_iter().enumerate() {
            let offset = match index {
                1 => 64,
                2 => 64 + 24,
                _ if index == last => 64 + 24 + 48,
                _ => 0,
            };
            for word in [name | kind << 32, flags, 0, offset, size, link | info << 32, 0, 0] {
                data.extend_from_slice(&u64::to_le_bytes(word));
            }
        }
        data
    };
    let from_both_ends = |n, kernels| if n % 2 == 0 { n / 2 } else { kernels - 1 - n / 2 };
    let few = cubin(100, b"", from_both_ends);
    let found = kernels(&few);
    assert_eq!(found.len(), 100);
    for kernel in found {
        assert_eq!((kernel.name, kernel.shared_memory), ("k", Some(16)));
    }
    let many = cubin(5_000, b"", from_both_ends);
    let error = Kernels::parse(&many).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");

    // The table has registers of the functions and no stack, as in a cubin that is not linked yet.
    let registers = b"\x04\x2f\x08\0\x01\0\0\0\x07\0\0\0".repeat(20_000);
    let found = cubin(20_000, &registers, |n, _| n);
    let found = kernels(&found);
    assert_eq!(found.len(), 20_000);
    assert!(
        found.iter().all(|kernel| (kernel.registers, kernel.private_memory) == (Some(7), None))
    );
}
