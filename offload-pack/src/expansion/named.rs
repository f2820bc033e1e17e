//! Generates the `named` function, which finds a kernel by a name chosen at run time.
//!
//! The kernels are stored as text, which the program reads on the first call. For 2,000 kernels,
//! the text costs rustc a few milliseconds; a table of constants would cost a quarter of a second.
//! Each line describes a kernel and has these parts, separated by tabs:
//!
//! | part | content |
//! |---|---|
//! | name | the name of the kernel's function |
//! | symbol | empty if the same as the name |
//! | name in the source | empty if the same as the name |
//! | location | the file and the line of the definition |
//! | parameters | their names, one part each; if there is no function, the reason why |
//!
//! Kernels whose arguments have the same layout and types share one text. The `named` function is
//! `#[inline]`, so a program that never calls it contains neither the texts nor the functions that
//! `named` uses.

use super::unraw;
use crate::signature::Signature;
use alloc::string::String;
use core::fmt::Write as _;

const DOC: &str = "Finds a kernel by a name that the program chooses when it runs, such as \
                   `format!(\"scale_{ty}\")`: the name of its function, its name in the source, or its symbol. The \
                   result takes the arguments of a launch as a tuple or one by one, and compares each with the \
                   kernel's parameter. A wrong name is an error with the nearest names, and a wrong argument is an \
                   error with the parameter and both types.";

/// Adds the line of a kernel.
pub(super) fn line<'a>(
    lines: &mut String,
    kernel: &Signature,
    place: &str,
    rest: impl IntoIterator<Item = &'a str>,
) {
    let name = unraw(&kernel.name);
    let other = |text: &str| if text == name { String::new() } else { in_part(text) };
    let (symbol, source_name) = (other(&kernel.symbol), other(&kernel.source_name));
    let _ = write!(lines, "{name}\t{symbol}\t{source_name}\t{}", in_part(place));
    rest.into_iter().for_each(|part| lines.extend(["\t", &in_part(part)]));
    lines.push('\n');
}

/// Returns the text of a part. A name contains no tabs or line ends, but may contain backslashes:
/// `f<'\\'>`. The program compares the text without unescaping it.
fn in_part(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

/// Writes the function. `groups` are values of the type `NamedGroup`, as Rust code. `others` are
/// the lines of the kernels without functions.
pub(super) fn write(text: &mut String, groups: &str, others: &str) {
    let _ = writeln!(
        text,
        "#[doc = {DOC:?}] #[inline] pub fn named(name: &__offload::core::primitive::str) \
         -> __offload::core::result::Result<__offload::NamedKernel<__offload_form>, __offload::CallError> {{\n\
         static TABLE: __offload::NamedTable = __offload::NamedTable::new();\n\
         const KERNELS: &__offload::NamedKernels = &__offload::NamedKernels {{ groups: &[{groups}], others: {others:?} }};\n\
         __offload::named(&TABLE, KERNELS, __offload_module, name) }}"
    );
}
