//! File names that differ only in the name of a GPU.

use crate::target::{NvidiaArch, amdgpu};
use alloc::string::String;

/// The replacement for a GPU in a name.
const ANY: char = '*';

/// The suffix of AMD's generic targets.
const GENERIC: &str = "-generic";

/// Returns a path with `*` in place of each GPU: `hsa/*/k.co` for `hsa/gfx942/k.co`, and
/// `Kernels-*.hsaco` for `Kernels-gfx90a-xnack+.hsaco`. Returns `None` if the path names no GPU.
///
/// rocBLAS, hipBLASLt, MIOpen and AITER load one of several files whose paths differ only in the
/// GPU. A GPU is spelled as compilers spell it, possibly without the first underscore or in
/// capitals (`SM90a`), and does not touch other letters or digits.
#[inline]
pub fn without_gpu(path: &str) -> Option<String> {
    let (mut out, mut rest, mut is_any, mut is_start) = (String::new(), path, false, true);
    while let Some(first) = rest.chars().next() {
        let length = if is_start { gpu(rest) } else { 0 };
        if length > 0 {
            out.push(ANY);
            is_any = true;
        } else {
            out.push(first);
        }
        let (done, after) = rest.split_at(length.max(first.len_utf8()));
        is_start = !done.ends_with(char::is_alphanumeric);
        rest = after;
    }
    is_any.then_some(out)
}

/// Returns how many bytes at the start of `text` name a GPU and its modes; 0 if none do.
#[inline]
fn gpu(text: &str) -> usize {
    let word = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if let Some(number) = text.strip_prefix("gfx").filter(|it| digits(it)) {
        // Search only a few bytes, because names of generic targets are short.
        let generic = number.as_bytes().windows(GENERIC.len()).take(8);
        let generic = generic.into_iter().position(|it| it == GENERIC.as_bytes());
        let generic = generic.map(|at| "gfx".len() + at + GENERIC.len());
        let is_known = |end: &usize| amdgpu::find(&text[..*end]).is_some();
        let processor = word(number);
        if !number[..processor].bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return 0;
        }
        let mut end = generic.filter(is_known).unwrap_or("gfx".len() + processor);
        // File names may use `-` or `_` instead of `:` before the modes of a target ID.
        while let Some(sign) = ["xnack", "sramecc"].iter().find_map(|mode| {
            let after = text[end..].strip_prefix(['-', '_', ':'])?.strip_prefix(mode)?;
            after.starts_with(['+', '-']).then_some(1 + mode.len() + 1)
        }) {
            end += sign;
        }
        return end;
    }
    for start in ["sm_", "sm", "SM_", "SM", "compute_"] {
        if let Some(number) = text.strip_prefix(start).filter(|it| digits(it)) {
            let number = &number[..word(number)];
            let mut name = String::from("sm_");
            name.push_str(number);
            return if NvidiaArch::parse(&name).is_ok() { start.len() + number.len() } else { 0 };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::without_gpu;

    #[test]
    fn gpus_in_paths() {
        for (path, expected) in [
            ("hsa/gfx942/fmoe/silu/k.co", "hsa/*/fmoe/silu/k.co"),
            ("hsa/gfx942/k_gfx942.co", "hsa/*/k_*.co"),
            ("library/Kernels.so-000-gfx90a-xnack+.hsaco", "library/Kernels.so-000-*.hsaco"),
            (
                "library/Kernels.so-000-gfx90a:sramecc+:xnack-.hsaco",
                "library/Kernels.so-000-*.hsaco",
            ),
            ("k-gfx9-4-generic.co", "k-*.co"),
            ("k-gfx942-generic.co", "k-*-generic.co"),
            ("gfx1100", "*"),
            ("cubins/sm_90a/k.cubin", "cubins/*/k.cubin"),
            ("k_sm80.cubin", "k_*.cubin"),
            ("k.SM100a.cubin", "k.*.cubin"),
            ("k.compute_80.ptx", "k.*.ptx"),
        ] {
            assert_eq!(without_gpu(path).as_deref(), Some(expected), "{path}");
        }
        for path in [
            "",
            "k.co",
            "gfx.co",
            "mygfx942.co",
            "sm.cubin",
            "sm_x.cubin",
            "gfx942x.co",
            "small.co",
            "ésm",
            "sm_.é",
        ] {
            assert_eq!(without_gpu(path), None, "{path}");
        }
    }
}
