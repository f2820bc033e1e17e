//! Files that no tool writes, assembled field by field.

fn bytes_of(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Returns a universal file: a table of slices (offset and size), followed by `rest`.
pub(crate) fn universal(slices: &[(u32, u32)], rest: &[u8]) -> Vec<u8> {
    let table = slices.iter().flat_map(|&(offset, size)| [0x0100_0007, 3, offset, size, 0]);
    let header = [0xcafe_babe, slices.len() as u32].into_iter().chain(table);
    header.flat_map(u32::to_be_bytes).chain(rest.iter().copied()).collect()
}

/// Returns a GNU archive of members called `m`.
pub(crate) fn archive<'a>(members: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for member in members {
        file.extend(
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "m/", 0, 0, 0, 644, member.len())
                .bytes(),
        );
        file.extend(member);
        file.resize(file.len().next_multiple_of(2), b'\n');
    }
    file
}

/// Returns a PE image for x86-64 with two sections: these bytes, and zeros that are not in the
/// file.
pub(crate) fn pe_image(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"MZ".to_vec();
    file.resize(60, 0);
    file.extend(bytes_of([64]));
    file.extend(b"PE\0\0");
    file.extend(bytes_of([0x0002_8664, 0, 0, 0, 0x2022_00f0]));
    let optional = file.len();
    file.extend(bytes_of([0x20b]));
    file.resize(optional + 24, 0);
    file.extend(0x1_8000_0000u64.to_le_bytes());
    file.resize(optional + 108, 0);
    file.extend(bytes_of([16]));
    file.resize(optional + 240, 0);
    let sections = [
        (b".hip_fat", bytes.len() as u32, 1024, 0x4000_0040),
        (b".bss\0\0\0\0", 1 << 20, 0, 0xc000_0080),
    ];
    for (name, size, offset, characteristics) in sections {
        file.extend(name);
        file.extend(bytes_of([size, 0x1000, size, offset, 0, 0, 0, characteristics]));
    }
    file.resize(1024, 0);
    file.extend(bytes);
    file
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Header {
    pub(crate) name: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
}

impl Header {
    pub(crate) fn new(name: u32, offset: u64, size: u64) -> Self {
        Self { name, kind: PROGBITS, offset, size, ..Self::default() }
    }
}

pub(crate) const PROGBITS: u32 = 1;
pub(crate) const RELA: u32 = 4;
pub(crate) const DYNSYM: u32 = 11;
pub(crate) const RELOCATABLE: u16 = 1;
pub(crate) const EXECUTABLE: u16 = 2;

/// The offset of `body` in an [`elf_file`].
pub(crate) const BODY: u64 = 64;

/// Returns an ELF file for x86-64: `body`, then `names`, then the section table, whose last entry
/// is the section with the names.
pub(crate) fn elf_file(kind: u16, body: &[u8], names: &[u8], sections: &[Header]) -> Vec<u8> {
    let names_at = BODY + body.len() as u64;
    let table_at = (names_at + names.len() as u64).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([kind, 62].map(u16::to_le_bytes).concat());
    file.extend(bytes_of([1]));
    file.extend([0, 0, table_at].map(u64::to_le_bytes).concat());
    let count = sections.len() as u16 + 2;
    file.extend([0, 0, 64, 56, 0, 64, count, count - 1].map(u16::to_le_bytes).concat());
    file.extend(body);
    file.extend(names);
    file.resize(table_at as usize, 0);
    let of_names = Header { kind: 3, ..Header::new(0, names_at, names.len() as u64) };
    for it in [&[Header::default()], sections, &[of_names]].concat() {
        file.extend(bytes_of([it.name, it.kind]));
        file.extend([it.flags, it.address, it.offset, it.size].map(u64::to_le_bytes).concat());
        file.extend(bytes_of([it.link, it.info]));
        file.extend([8, 24].map(u64::to_le_bytes).concat());
    }
    file
}

/// Returns `count` wrappers for HIP, each with `address` as its bundle's address.
pub(crate) fn hip_wrappers(count: usize, address: u64) -> Vec<u8> {
    let wrapper = [&bytes_of([0x4849_5046, 1])[..], &address.to_le_bytes(), &[0; 8]].concat();
    wrapper.repeat(count)
}
