//! Parameters of kernels in generated PTX, compared with the cubins that `ptxas` compiles from it.

use super::cubins::{compare_cubin, compare_ptx, ptxas};
use super::{BOTH, kernels};
use offload_tests::prelude::*;
use std::fmt::Write;

#[test(BOTH.slow())]
fn parameters_of_all_kinds() {
    let folder = scratch::folder("kernels-parameters");
    let types = [
        ".u8", ".s8", ".b8", ".u16", ".s16", ".b16", ".f16", ".u32", ".s32", ".b32", ".f32",
        ".u64", ".s64", ".b64", ".f64",
    ];
    let mut random = Random::new(1);
    let mut text = String::new();
    for number in 0..300 {
        let mut list = Vec::new();
        for index in 0..random.below(12) {
            let kind = types[random.below(types.len())];
            let align = 1 << random.below(8);
            list.push(match random.below(7) {
                0 | 1 => format!(".param {kind} p{index}"),
                2 => format!(".param .align {align} {kind} p{index}"),
                3 => format!(".param {kind} p{index}[{:#x}]", 1 + random.below(40)),
                4 => format!(".param .align {align} .b8 p{index}[{}]", 1 + random.below(70)),
                5 => format!(".param .u64 .ptr .global .align {align} p{index} /* ) */"),
                _ => format!(".param .u64 .ptr p{index} // , .param .u8 no\n"),
            });
        }
        let list = list.join(", ");
        let directive = [
            "",
            ".maxntid 33",
            ".maxntid 4, 5",
            ".maxntid 2, 3, 4",
            ".reqntid 8, 0x8",
            ".pragma \"nounroll\";",
        ][random.below(6)];
        let list = if list.is_empty() && number % 2 == 0 { list } else { format!("({list})") };
        let entry = format!(".visible .entry k{number}{list} {directive}");
        // A directive needs no space before it if it follows another directive, or most other
        // tokens.
        let tokens = ["visible", "param", "u64", "ptr", ")"].into_iter();
        let entry = tokens
            .filter(|_| number % 5 == 0)
            .fold(entry, |entry, token| entry.replace(&format!("{token} ."), &format!("{token}.")));
        writeln!(text, "{entry}\n{{ .reg .b32 %r<2>; ret; }}").unwrap();
    }
    // The parameters of `large` are too large for the cubin's first kind of attribute. `later` is
    // declared before its definition, and `hidden` is not visible.
    text += ".visible .entry large(.param .u8 x, .param .align 8 .b8 s[20000], .param .u16 y) { ret; }\n";
    text += ".entry hidden() { ret; }\n.weak .entry weak() { ret; }\n";
    text += ".visible .entry later(.param .u32 x);\n.visible .entry later(.param .u32 x) { { ret; } }\n";
    // Texture, sampler and surface references are bound, not passed, but they affect the alignment
    // of later parameters. This kernel is in a separate text, because beside it, ptxas would store
    // size 0 for `large`.
    let refers = ".visible .entry refers(.param .b8 a, .param .texref t, .param .samplerref s, .param .f16 h, .param .surfref u,\n\
                  .param .b8 c, .param .b8 octal[011], .param .b16 last) { ret; }\n";
    for arch in ["sm_80", "sm_90", "sm_120"] {
        for (body, count) in [(text.as_str(), 304), (refers, 1)] {
            let head = format!(
                "// .entry no(\n.version 8.7 /* .entry no() {{}} */\n.target {arch}, texmode_independent\n"
            );
            let text = format!("{head}.address_size 64\n{body}");
            let (ptx, cubin) = (folder.join("all.ptx"), folder.join("all.cubin"));
            scratch::write(&ptx, &text);
            ptxas(&folder, arch, "all.ptx -o all.cubin");
            compare_ptx(&ptx, &cubin);
            assert_eq!(compare_cubin(&cubin).len(), count);
            // Like a driver, the reader ignores everything after the NUL that ends the PTX.
            assert_eq!(kernels(format!("{text}\0.entry no() {{ ret; }}").as_bytes()).len(), count);
        }
    }
}
