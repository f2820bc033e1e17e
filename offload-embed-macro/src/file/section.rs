//! Checks section names that users choose.
//!
//! The expansion puts a file into the user's section even in a crate with `forbid(unsafe_code)`, so
//! no linker, loader or runtime may interpret the section. For example, functions in `.init_array`
//! are called before `main`, and the unwinder trusts `.eh_frame`. If a section's name is a C
//! identifier, linkers define symbols for its start and end. Any crate may use these symbols to
//! read the section as its own list.

use super::section_of;
use offload_format::inventory::ContainerKind;

/// The first words of section names that have a meaning to ELF and COFF linkers, loaders,
/// unwinders, debuggers, and the runtimes of languages and vendors. For example, `init` stands for
/// `.init_array`. [`device`] recognizes the vendors' sections that programs may choose.
const TAKEN: [&str; 72] = [
    "00cfg",
    "ARM",
    "CRT",
    "MIPS",
    "PPC",
    "PPC64",
    "bss",
    "cormeta",
    "ctors",
    "debug",
    "deplibs",
    "drectve",
    "dtors",
    "dynamic",
    "dynbss",
    "dynstr",
    "dynsym",
    "edata",
    "eh",
    "exception",
    "fini",
    "gcc",
    "gdb",
    "gehcont",
    "gfids",
    "giats",
    "gljmp",
    "gnu",
    "got",
    "group",
    "hash",
    "hip",
    "hipFatBinSegment",
    "idata",
    "init",
    "interp",
    "iplt",
    "jcr",
    "lbss",
    "line",
    "linker",
    "llvm",
    "llvmbc",
    "llvmcmd",
    "nv",
    "nvFatBinSegment",
    "omp",
    "opd",
    "pdata",
    "plt",
    "preinit",
    "rel",
    "rela",
    "relr",
    "reloc",
    "riscv",
    "rsrc",
    "rustc",
    "sbss",
    "shstrtab",
    "stab",
    "stabstr",
    "strtab",
    "stub",
    "sxdata",
    "symtab",
    "tbss",
    "tdata",
    "text",
    "tls",
    "tm",
    "xdata",
];

/// Mach-O segments that have a meaning to Apple's linker and loader, and the vendors' segments.
const TAKEN_SEGMENTS: [&str; 11] = [
    "__AUTH",
    "__DATA",
    "__DWARF",
    "__HIP",
    "__IMPORT",
    "__LINKEDIT",
    "__LLVM",
    "__NV_CUDA",
    "__OBJC",
    "__PAGEZERO",
    "__TEXT",
];

/// Returns the kind of file that tools expect in this section; `None` if tools do not know the
/// section.
pub(super) fn device(name: &str) -> Option<ContainerKind> {
    let kinds = [ContainerKind::Bundle, ContainerKind::OffloadBinary, ContainerKind::Fatbin];
    kinds.into_iter().find(|kind| {
        section_of(*kind).is_some_and(|names| {
            let (segment, section) = names.macho;
            name == names.name || name.split_once(',') == Some((segment, section))
        })
    })
}

/// Checks that no linker, loader or runtime interprets this section. The error contains advice.
pub(super) fn check(name: &str) -> Result<(), String> {
    let is_word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    let is_taken = if is_word(name) {
        true
    } else if let Some((segment, section)) =
        name.split_once(',').filter(|(a, b)| is_word(a) && is_word(b))
    {
        // Reject a second comma: a section type would follow it, such as the type for a list of
        // functions to call.
        if segment.len() > 16 || section.len() > 16 {
            return Err(format!(
                "\"{name}\" is too long: in Mach-O files, the names of segments and sections are \
                 at most 16 bytes"
            ));
        }
        TAKEN_SEGMENTS.iter().any(|taken| segment.starts_with(taken))
    } else {
        let rest = name
            .strip_prefix('.')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        // Reject a `$`: Windows linkers interpret the text after it as a position within the
        // section.
        let rest = rest
            .filter(|rest| rest.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.-".contains(&c)));
        let Some(rest) = rest else {
            return Err(
                "expected the name of a section: a period, then letters, digits, '_', '.' and '-', \
                 as in section = \".my_kernels\", or, on macOS, section = \
                 \"__KERNELS,__my_kernels\""
                    .to_owned(),
            );
        };
        let word = rest.split(['_', '.', '-']).next().unwrap_or(rest);
        // LLVM treats every section whose name starts with `note` as a note.
        word.starts_with("note") || TAKEN.contains(&word)
    };
    if is_taken {
        Err(format!(
            "{name} has a special meaning for linkers or runtimes: choose a different name, such \
             as \".my_kernels\" or, on macOS, \"__KERNELS,__my_kernels\""
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_only_bytes() {
        for name in [
            ".my_kernels",
            ".rodata",
            ".rodata.kernels",
            ".gpu-code",
            "__KERNELS,__my_kernels",
            "K,code",
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in [
            ".init_array",
            ".init_array.00001",
            ".preinit_array",
            ".fini",
            ".ctors.65535",
            ".text.hot",
            ".eh_frame",
            ".gcc_except_table",
            ".got.plt",
            ".dynamic",
            ".tdata",
            ".bss",
            ".note.gnu.property",
            ".notes",
            ".debug_gdb_scripts",
            ".CRT",
            ".drectve",
            ".hipFatBinSegment",
            ".nvFatBinSegment",
            ".llvm.linker-options",
            "offload_packs_1",
            "linkme_KERNELS",
            "_",
            "__DATA,__mod_init_func",
            "__DATA_CONST,__x",
            "__TEXT,__text",
        ] {
            assert!(
                check(name).is_err_and(|error| error.contains("has a special meaning")),
                "{name}"
            );
        }
        for name in [
            "",
            ".",
            "..init_array",
            "._init",
            "\0",
            ".a\0",
            ".CRT$XCU",
            ".a b",
            "K,code,mod_init_funcs",
            "1a",
            ".init_array,x",
            "é",
        ] {
            assert!(
                check(name).is_err_and(|error| error.starts_with("expected the name of a section")),
                "{name}"
            );
        }
        assert!(check("__KERNELS_OF_MINE,__x").is_err());
    }

    #[test]
    fn sections_that_tools_know() {
        assert_eq!(device(".hip_fatbin"), Some(ContainerKind::Bundle));
        assert_eq!(device(".llvm.offloading"), Some(ContainerKind::OffloadBinary));
        assert_eq!(device("__NV_CUDA,__nv_fatbin"), Some(ContainerKind::Fatbin));
        assert_eq!(device(".my_kernels"), None);
    }
}
