//! The expansion for a file.

use super::{File, section_of};
use crate::expand::{listed, parsed, register};
use crate::input::Options;
use offload_format::section::SectionNames;
use offload_pack::expansion;
use proc_macro2::{Delimiter, Group, TokenStream};
use quote::quote;

/// Returns the expansion for a file.
pub(super) fn value(file: &File, options: &Options) -> TokenStream {
    let File { name, size, modules, .. } = file;
    let path = file.path.to_string_lossy();
    let align = match &options.align {
        Some(align) => align.to_string(),
        None => file.align().to_string(),
    };
    // Drivers read PTX up to a NUL, so the expansion adds one.
    let is_text = file.is_ptx;
    let whole = size + u64::from(is_text);
    // The section's name for ELF and COFF, and its name for Mach-O.
    let (placed, section) = match (&options.section, section_of(file.kind)) {
        (Some(name), _) => (format!("{0:?}, {0:?}", name.value()), name.value()),
        (None, Some(SectionNames { name, macho: (segment, section) })) => {
            (format!("{name:?}, \"{segment},{section}\""), name.to_owned())
        }
        (None, None) => (String::new(), ".rodata".to_owned()),
    };
    let used = if options.retain.is_some() { "used" } else { "" };
    let content = if is_text {
        format!(
            "{{ let mut text = [0; {whole}]; text.split_at_mut({size}).0.copy_from_slice(BYTES); text }}"
        )
    } else {
        "*BYTES".to_owned()
    };
    let listed = options.retain.map(|_| listed(name, "FILE.0")).unwrap_or_default();
    let registered =
        options.register.map(|_| register::text(modules, "FILE.0")).unwrap_or_default();
    let table = expansion::table(modules, options.register.is_some());
    // `include_bytes!` makes Cargo rebuild the crate when the file changes.
    let items = parsed(&format!(
        "const BYTES: &[__offload::core::primitive::u8; {size}] = __offload::core::include_bytes!({path:?});\n\
         __offload::placed_file! {{ [{placed}] [{used}] FILE: {whole}, {align}, {content} }}\n\
         {listed}{registered}{table}"
    ));
    let value = parsed(&match file.closed {
        None => format!("__offload::file({name:?}, {section:?}, &FILE.0, MODULES)"),
        Some(why) => format!(
            "__offload::opaque::<__offload::Plain>({name:?}, {section:?}, &FILE.0, {why:?}, MODULES)"
        ),
    });
    let value = match &options.trusts_cpu {
        None => value,
        // The block has the user's span, so that the compiler rejects the block under
        // `forbid(unsafe_code)`.
        Some(word) => {
            let mut block = Group::new(Delimiter::Brace, quote! { __offload::trusted(#value) });
            block.set_span(word.span());
            quote! { #word #block }
        }
    };
    quote! {{ #items #value }}
}
