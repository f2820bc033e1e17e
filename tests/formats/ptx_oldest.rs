//! Compares our table of PTX's history, which determines the oldest version of a text, with old
//! assemblers. Each row of the table is tried with all combinations of its modifiers.

use offload_format::image::{PTX_GROUPS, PTX_INSTRUCTIONS, PtxInstruction, oldest_ptx_version};
use offload_format::target::PtxVersion;
use offload_tests::prelude::*;
use offload_tests::published::{self, OLD_PTXAS};
use std::fmt::Write;

/// Returns each combination of a row's modifiers.
fn combinations(row: &PtxInstruction) -> Vec<Vec<&'static str>> {
    let mut all = vec![Vec::new()];
    for group in row.2.split_ascii_whitespace() {
        let (name, may_be_missing) = match group.strip_prefix('?') {
            Some(name) => (name, true),
            None => (group, false),
        };
        let choices = PTX_GROUPS.iter().find(|(known, _)| *known == name);
        let choices = choices.map_or(name, |(_, choices)| choices);
        let mut longer = if may_be_missing { all.clone() } else { Vec::new() };
        for choice in choices.split('|') {
            longer.extend(all.iter().map(|words| [words.as_slice(), &[choice]].concat()));
        }
        all = longer;
    }
    all
}

/// Returns the letter in the register names of a type.
fn letter(of_type: &str) -> char {
    match of_type {
        "pred" => 'p',
        "f32" => 'f',
        "f64" => 'e',
        "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 'h',
        "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => 'r',
        "f32x2" => 'd',
        _ => match &of_type[1..] {
            "8" | "16" => 'h',
            "32" => 'r',
            "64" => 'd',
            other => panic!("a type of {other} bits"),
        },
    }
}

/// Writes an operand as the table describes it.
fn operand(word: &str, modifiers: &[&str], is_store: bool) -> String {
    let of = |back: usize| letter(modifiers[modifiers.len() - back]);
    let vector = |count: usize, letter: char| {
        let registers: Vec<String> = (1..=count).map(|it| format!("%{letter}{it}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    let space = modifiers.iter().find_map(|space| match *space {
        "global" => Some("%G"),
        "shared" | "shared::cta" => Some("%S"),
        "local" => Some("%L"),
        "const" => Some("constant"),
        "param" if is_store => Some("out"),
        "param" => Some("arguments"),
        _ => None,
    });
    match word {
        "t" => format!("%{}1", of(1)),
        "T" => format!("%{}1", of(2)),
        "w" => format!("%{}2", if of(1) == 'h' { 'r' } else { 'd' }),
        "v" if modifiers.contains(&"v2") => vector(2, of(1)),
        "v" if modifiers.contains(&"v4") => vector(4, of(1)),
        "v" => format!("%{}1", of(1)),
        "q" => "%p1|%p2".to_owned(),
        "a" => format!("[{}]", space.unwrap_or("%G")),
        "S" | "G" => format!("[%{word}]"),
        "l" => "start".to_owned(),
        "b" => "labels".to_owned(),
        "*" => "function".to_owned(),
        _ => match word.strip_prefix('=') {
            Some(number) => number.to_owned(),
            None if word.len() == 1 => format!("%{word}1"),
            None => vector(word[..1].parse().expect("a count"), word.as_bytes()[1].into()),
        },
    }
}

/// Returns the row's instruction with each combination of its modifiers.
fn statements(row: &PtxInstruction) -> Vec<String> {
    let statement = |modifiers: Vec<&str>| {
        let words = [&[row.0], modifiers.as_slice()].concat().join(".");
        let operands = row.3.split(' ').filter(|word| !word.is_empty());
        let operands = operands.map(|word| operand(word, &modifiers, row.0 == "st"));
        format!("{words} {};", operands.collect::<Vec<_>>().join(", "))
    };
    combinations(row).into_iter().map(statement).collect()
}

/// The declarations that all statements need.
const START: &str = "{ .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; \
     .reg .f64 %e<9>; .reg .b64 %G, %S, %L; .shared .align 16 .b8 tile[256]; .local .align 16 .b8 own[64]; \
     .param .align 16 .b8 out[64]; labels: .branchtargets start; mov.u64 %G, constant; mov.u64 %S, tile; \
     mov.u64 %L, own; start:";

/// Returns a text with a kernel for each row, one statement per line.
fn text(version: PtxVersion, target: &str, rows: &[&PtxInstruction]) -> (String, Vec<String>) {
    let mut text = format!(
        ".version {version} .target {target} .address_size 64 .const .align 16 .b8 constant[64]; \
         .func function {{ ret; }}\n"
    );
    let mut lines = vec![String::new()];
    for (number, row) in rows.iter().enumerate() {
        let _ = writeln!(text, ".entry k{number}(.param .align 16 .b8 arguments[64]) {START}");
        lines.push(String::new());
        for statement in statements(row) {
            let _ = writeln!(text, "{statement}");
            lines.push(statement);
        }
        text.push_str("ret; }\n");
        lines.push(String::new());
    }
    (text, lines)
}

#[test]
fn each_form_has_the_version_of_its_row() {
    for row in PTX_INSTRUCTIONS {
        let (text, lines) = text(PtxVersion::new(9, 5), "sm_80", &[row]);
        let found = oldest_ptx_version(text.as_bytes()).map_err(|it| it.to_string());
        assert_eq!(found, Ok(row.1), "{row:?} {lines:?}");
    }
}

/// Tests that the newest instruction determines the version, in any order of the instructions.
#[test]
fn the_newest_of_random_instructions_decides() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let count = 1 + random.below(20);
        let newest = random.pick(PTX_INSTRUCTIONS).1;
        let rows: Vec<_> = PTX_INSTRUCTIONS.iter().filter(|row| row.1 <= newest).collect();
        let rows: Vec<_> = (0..count).map(|_| random.pick(&rows)).collect();
        let (text, _) = text(PtxVersion::new(9, 5), "sm_80", &rows);
        let newest = rows.iter().map(|row| row.1).max().expect("at least one");
        assert_eq!(oldest_ptx_version(text.as_bytes()), Ok(newest), "{seed}: {rows:?}");
        // An unknown word is an error wherever it is.
        let at = random.pick(&text.match_indices("ret; }").map(|(at, _)| at).collect::<Vec<_>>());
        let unknown = format!("{} new.f32; {}", &text[..at], &text[at..]);
        assert!(oldest_ptx_version(unknown.as_bytes()).is_err(), "{seed}");
    }
}

/// Returns the statements that this ptxas refuses.
fn refused(
    ptxas: &Path,
    version: PtxVersion,
    target: &str,
    rows: &[&PtxInstruction],
) -> BTreeSet<String> {
    let folder = scratch::folder("offload-ptx-oldest");
    let (text, lines) = text(version, target, rows);
    scratch::write(folder.join("all.ptx"), text);
    let options = format!("-arch={target} -O0 all.ptx -o all.cubin");
    let ran = own::run(&mut in_folder(Command::new(ptxas), &folder, &options));
    let mut refused = BTreeSet::new();
    // ptxas all.ptx, line 7; error   : Illegal modifier '.sat' for instruction 'add'
    for message in ran.stderr.lines().filter(|line| line.contains("error   :")) {
        let line = message.split("line ").nth(1).and_then(|rest| rest.split(';').next());
        let number: usize =
            line.and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{message}"));
        refused.insert(lines[number - 1].clone());
    }
    assert_eq!(ran.code == 0, refused.is_empty(), "{}: {}", ptxas.display(), ran.stderr);
    refused
}

/// On a target that supports everything, the assembler of the row's version must accept each form.
/// On older targets, it must accept all forms that the newest assembler accepts, because a newer
/// version might have added a form for an older GPU.
#[test(needs(&[Tool::OldPtxas, Tool::Cuda]).slow())]
fn old_assemblers_know_what_the_table_has() {
    let newest = PathBuf::from(cuda("ptxas").get_program());
    let versions: BTreeSet<PtxVersion> = PTX_INSTRUCTIONS.iter().map(|row| row.1).collect();
    for version in versions {
        let rows: Vec<_> = PTX_INSTRUCTIONS.iter().filter(|row| row.1 == version).collect();
        let knows =
            |(major, minor, _): &&(u32, u32, &str)| PtxVersion::new(*major, *minor) >= version;
        let (_, _, file) = OLD_PTXAS.iter().find(knows).expect("an assembler knows the version");
        let old = published::path(file);
        let complete = if version < PtxVersion::new(8, 6) { "sm_90" } else { "sm_100" };
        assert_eq!(refused(&old, version, complete, &rows), BTreeSet::new(), "{version}");
        for target in ["sm_75", "sm_80", "sm_89"] {
            let by_old = refused(&old, version, target, &rows);
            let by_new = refused(&newest, PtxVersion::new(9, 5), target, &rows);
            let only_old: Vec<_> = by_old.difference(&by_new).collect();
            assert!(only_old.is_empty(), "{version} {target}: {only_old:#?}");
        }
        // Every form in the table must also be valid on a newer GPU.
        let (_, _, file) = OLD_PTXAS[OLD_PTXAS.len() - 1];
        let blackwell = refused(&published::path(file), PtxVersion::new(8, 6), "sm_100", &rows);
        assert_eq!(blackwell, BTreeSet::new(), "{version} on sm_100");
    }
}
