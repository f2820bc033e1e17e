//! Tests of the oldest version, with kernels of a few lines.

use super::*;
use alloc::format;
use alloc::string::{String, ToString};

/// Returns a kernel with this body for a target.
fn text(target: &str, body: &str) -> String {
    let registers = ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %SP;";
    format!(
        ".version 9.5\n.target {target}\n.visible .entry k(.param .u64 a)\n{{\n{registers} {body}\nret;\n}}\n"
    )
}

/// Returns the oldest PTX version that supports this text, or the word that `oldest_ptx_version`
/// does not know.
fn oldest(text: &str) -> String {
    match oldest_ptx_version(text.as_bytes()) {
        Ok(version) => version.to_string(),
        Err(unknown) => {
            let word = String::from_utf8(unknown.word.to_vec()).unwrap();
            assert!(text[unknown.offset()..].starts_with(&word), "{unknown}");
            word
        }
    }
}

#[test]
fn the_newest_word_decides() {
    for (target, body, expected) in [
        ("sm_80", "add.u32 %r1, %r2, 3;", "7.8"),
        ("sm_80, debug", "@!%p1 bra L; L: bar.sync 0;", "7.8"),
        ("sm_90", "add.u16x2 %r1, %r2, %r3;", "8.0"),
        ("sm_90", "mov.u64 %SP, %current_graph_exec;", "8.0"),
        ("sm_90", "mov.u32 %r1, %aggr_smem_size;", "8.1"),
        ("sm_90a", "", "8.0"),
        ("sm_100", "add.u16x2 %r1, %r2, %r3;", "8.6"),
        ("sm_121a", "", "8.8"),
        ("sm_80", "{ .reg .b32 %low; mov.b64 {%low, %r1}, %SP; }", "7.8"),
        ("sm_80", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%SP+16];", "7.8"),
        ("sm_80", "ld.shared::cta.u32 %r1, [%r2];", "ld.shared::cta.u32"),
        ("sm_80", ".pragma \"nounroll\"; call.uni (%r1), f, (%r2, 3);", "7.8"),
    ] {
        assert_eq!(oldest(&text(target, body)), expected, "{target} {body}");
    }
}

#[test]
fn what_is_not_known_is_named() {
    for (target, body, expected) in [
        ("sm_100a", "tcgen05.fence::before_thread_sync;", "tcgen05.fence::before_thread_sync"),
        // Known words in an unknown order, or with more operands.
        ("sm_100", "ld.global.v4.u64 {%SP, %SP, %SP, %SP}, [%SP];", "ld.global.v4.u64"),
        ("sm_100", "max.f32 %r1, %r2, %r3, %r4;", "max.f32"),
        ("sm_80", "add.sat.u32 %r1, %r2, %r3;", "add.sat.u32"),
        ("sm_80", "mov.u32 %r1, %locality_domain_id;", "%locality_domain_id"),
        ("sm_80", "mov.u32 %r10, %rx;", "%rx"),
        ("sm_80", "ld.global.v2.u32 {%r1, _}, [%SP];", "_"),
        ("sm_80", ".pragma \"used_bytes_mask 1\";", ".pragma"),
        ("sm_80", ".blocksareclusters", ".blocksareclusters"),
        ("sm_80", "mov.b32 %r1, %r2.b0;", ".b0"),
    ] {
        assert_eq!(oldest(&text(target, body)), expected, "{target} {body}");
    }
    for target in ["sm_35", "sm_107", "sm_90f", "sm_100, texmode_independent"] {
        let text = text(target, "");
        assert!(oldest_ptx_version(text.as_bytes()).is_err(), "{target}");
    }
}

#[test]
fn large_arguments_are_newer() {
    let kernel = |size| {
        format!(".version 9.5 .target sm_80 .entry k(.param .align 4 .b8 a[{size}]) {{ ret; }}")
    };
    assert_eq!(oldest(&kernel(4096)), "7.8");
    assert_eq!(oldest(&kernel(4100)), "8.1");
}

#[test]
fn the_table_is_sorted_and_its_groups_are_clear() {
    assert!(INSTRUCTIONS.is_sorted_by_key(|row| row.0));
    for row in INSTRUCTIONS {
        let mut missing: alloc::vec::Vec<&str> = alloc::vec::Vec::new();
        for group in row.2.split(' ').filter(|group| !group.is_empty()) {
            let bare = group.trim_start_matches('?');
            let named = GROUPS.iter().find(|(name, _)| *name == bare);
            let is_name = bare.bytes().all(|byte| byte.is_ascii_uppercase());
            assert!(named.is_some() || !is_name, "{row:?}: {group}");
            let choices = named.map_or(bare, |(_, choices)| choices);
            assert!(!choices.split('|').any(|it| missing.contains(&it)), "{row:?}: {group}");
            if group.starts_with('?') {
                missing.extend(choices.split('|'));
            } else {
                missing.clear();
            }
        }
    }
}
