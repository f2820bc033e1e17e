//! Compressed offload binaries: LLVM 22's `llvm-objcopy` decompresses our streams, and we
//! decompress LLVM's.

use super::*;
use offload_format::ErrorKind;
use offload_format::offload_binary::{OffloadBinary, Version};
use offload_tests::bytes::number;
use offload_tests::data::read;

/// `Elf64_Chdr`, which precedes a compressed section: the method's number, a reserved word, the
/// size, and the alignment.
const SECTION_HEADER: usize = 24;

/// Compresses or decompresses an object's section `.debug_x` with `llvm-objcopy`. Returns the
/// section's bytes.
fn objcopy(folder: &Path, option: &str, object: &str) -> Vec<u8> {
    run(llvm("llvm-objcopy"), folder, &format!("{option} {object} out.o"));
    run(llvm("llvm-objcopy"), folder, "--dump-section=.debug_x=dump out.o unused.o");
    read(folder.join("dump"))
}

#[test(LLVM)]
fn streams_of_llvm_are_decompressed() {
    let folder = scratch::folder("offload-binary-llvm-streams");
    let samples = large_samples();
    let whole = by_hand_behind(&vec![0; 40 * samples.len()], 3, &samples);
    scratch::write(folder.join("empty.s"), "");
    scratch::write(folder.join("content"), &whole[40..]);
    run(llvm("clang"), &folder, "--target=x86_64-linux-gnu -c empty.s -o empty.o");
    run(llvm("llvm-objcopy"), &folder, "--add-section=.debug_x=content empty.o plain.o");
    for (method, name, number) in METHODS {
        let section = objcopy(&folder, &format!("--compress-debug-sections={name}"), "plain.o");
        let header = numbers(&[number, whole.len() as u64 - 40, 1]);
        assert_eq!(section[..SECTION_HEADER], header, "{name}");

        let mut file = compressed_by_hand(&whole, &section[SECTION_HEADER..]);
        let size = file.len() as u64;
        // Bytes after the offload binary do not belong to it.
        file.extend_from_slice(b"something");
        let binary = OffloadBinary::parse(&file).unwrap();
        let found = (binary.size(), binary.version, binary.images().count());
        assert_eq!(found, (size, Version::V3, 0));
        let compressed = binary.compressed.unwrap();
        assert_eq!((compressed.method(), compressed.inflated_size), (method, whole.len() as u64));
        let inflated = compressed.decompress(whole.len() as u64).unwrap();
        assert!(inflated == whole);
        assert_eq!(read_all(&inflated), samples);
    }
}

#[test(LLVM)]
fn llvm_decompresses_our_streams() {
    let folder = scratch::folder("offload-binary-our-streams");
    let samples = large_samples();
    let (builder, datas) = builder(&samples);
    let whole = builder.layout(Version::V3).to_vec(&datas);
    for (method, name, number_of_method) in METHODS {
        for level in [None, Some(1), Some(9)] {
            let file = builder.compressed(method, level, &datas).unwrap();
            assert_eq!(file.len() % 8, 0);
            assert!(file.len() < whole.len(), "{} bytes of {}", file.len(), whole.len());
            let size = number(&file, 8) as usize;
            assert!((size..size + 8).contains(&file.len()), "{size} of {} bytes", file.len());
            assert!(file[size..].iter().all(|&byte| byte == 0));
            assert_eq!(file[..8], whole[..8]);
            let compressed = OffloadBinary::parse(&file).unwrap().compressed.unwrap();
            let (need, limit) = (whole.len() as u64, whole.len() as u64 - 1);
            let kind = compressed.decompress(limit).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::LimitExceeded { need, limit });
            assert_eq!(file[16..40], [&whole[16..32], &numbers(&[whole.len() as u64])].concat());

            let mut section = numbers(&[number_of_method, whole.len() as u64 - 40, 1]);
            section.extend_from_slice(&file[40..size]);
            let hex: String = section.iter().map(|byte| format!("{byte:02x}")).collect();
            let yaml = format!(
                "--- !ELF\nFileHeader:\n  Class: ELFCLASS64\n  Data: ELFDATA2LSB\n  Type: ET_REL\n  Machine: EM_X86_64\n\
                 Sections:\n  - Name: .debug_x\n    Type: SHT_PROGBITS\n    Flags: [ SHF_COMPRESSED ]\n    \
                 AddressAlign: 8\n    Content: \"{hex}\"\n"
            );
            scratch::write(folder.join("object.yaml"), yaml);
            run(llvm("yaml2obj"), &folder, "object.yaml -o compressed.o");
            let inflated = objcopy(&folder, "--decompress-debug-sections", "compressed.o");
            assert!(inflated == whole[40..], "{name} {level:?}");
        }
    }
}
