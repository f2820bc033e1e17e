//! The numbers of AMD's processors in ELF headers.

use super::processors_of_llvm_22;
use offload_format::image::ImageHeader;
use offload_format::target::amdgpu::PROCESSORS;
use offload_tests::prelude::*;

/// Returns an ELF header with these flags.
fn code_object(flags: u32) -> [u8; 64] {
    let mut data = [0; 64];
    data[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 64, 4]);
    data[16..24].copy_from_slice(&[3, 0, 224, 0, 1, 0, 0, 0]);
    data[48..52].copy_from_slice(&flags.to_le_bytes());
    data[52] = 64;
    data
}

/// For the processors that LLVM 22 supports, LLVM and our table must contain the same numbers with
/// the same names.
#[test(LLVM)]
fn llvm_has_the_same_numbers() {
    let folder = scratch::folder("processor-numbers");
    let mut readobj = llvm("llvm-readobj");
    readobj.arg("--file-headers");
    for number in 0..=255_u8 {
        let file = folder.join(format!("{number:03}"));
        scratch::write(&file, code_object(number.into()));
        readobj.arg(file);
    }
    let text = stdout(&succeed(&mut readobj));
    let mut named = Vec::new();
    for (number, header) in text.split("File: ").skip(1).enumerate() {
        let name =
            header.lines().find_map(|line| line.trim().strip_prefix("EF_AMDGPU_MACH_AMDGCN_"));
        if let Some((name, _)) = name.and_then(|line| line.split_once(' ')) {
            named.push((number as u8, name.to_lowercase().replace('_', "-")));
        }
    }
    let mut known: Vec<_> =
        processors_of_llvm_22().map(|row| (row.mach, row.name.to_owned())).collect();
    known.sort();
    assert_eq!(named, known);
}

/// Tests that the reader ignores bits of features that a processor does not have.
#[test]
fn no_command_prints_a_target_id_that_has_no_such_feature() {
    for row in PROCESSORS {
        for bits in 0..16 {
            let header = code_object(u32::from(row.mach) | bits << 8 | 1 << 24);
            let ImageHeader::CodeObject(header) = ImageHeader::parse(&header).expect("a header")
            else {
                panic!("{} is no code object", row.name)
            };
            let id = header.target_id().expect("a processor of the table");
            assert_eq!(id.processor(), row.name);
            assert_eq!(id.unsupported_feature(), None, "{id}");
        }
    }
}
