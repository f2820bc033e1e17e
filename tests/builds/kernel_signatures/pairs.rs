//! Random pairs of types. A source uses the first type for one target, and the second type for
//! another target. Each item whose types differ must be refused by name. Items with equal types
//! must not be refused.

use offload_pack::pack_index::IndexModule;
use offload_pack::signature::{Content, Obstacle};
use offload_tests::prelude::*;
use offload_tests::random_kernels::Numbers;
use std::fmt::Write;

/// The targets, each with the macro by which a source detects the target.
const TARGETS: [(&str, &str); 4] = [
    ("gfx90a", "OFFLOAD_AMDGPU"),
    ("compute_80", "OFFLOAD_NVPTX"),
    ("spirv64", "OFFLOAD_SPIRV"),
    ("cpu", "OFFLOAD_CPU"),
];

/// For every two targets, the number of pairs with different types, and also of pairs with equal
/// types.
const COUNT: usize = 84;

/// C++ types, each in several spellings.
const TYPES: [&[&str]; 15] = [
    &["signed char", "int8_t"],
    &["unsigned char", "uint8_t"],
    &["short", "int16_t", "const short"],
    &["unsigned short", "uint16_t"],
    &["int", "int32_t", "signed", "const int"],
    &["unsigned", "uint32_t"],
    &["long", "int64_t", "long long", "decltype((char *)0 - (char *)0)"],
    &["unsigned long", "uint64_t", "size_t", "unsigned long long", "decltype(sizeof 0)"],
    &["float", "const float"],
    &["double"],
    &["bool"],
    &["__half"],
    &["float4"],
    &["int2"],
    &["uchar4"],
];

/// Two different source texts, or two spellings of the same text.
struct Pair {
    kind: Kind,
    is_equal: bool,
    /// For each of the two targets, the text before the kernel, and its parameters.
    texts: [(String, String); 2],
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A parameter, the type behind a pointer parameter, a field of a struct passed by value, or
    /// the order of parameters or fields.
    Parameter,
    /// A struct behind a pointer.
    Pointee,
    Variable,
    Enumeration,
}

/// Returns two spellings of one type, or two different types.
fn types(numbers: &mut Numbers, is_equal: bool) -> [&'static str; 2] {
    let first = numbers.below(TYPES.len() as u64);
    let step = if is_equal { 0 } else { numbers.between(1, TYPES.len() as u64 - 1) };
    [first, (first + step) % TYPES.len() as u64].map(|at| *numbers.pick(TYPES[at as usize]))
}

fn pair(numbers: &mut Numbers, name: &str, is_equal: bool) -> Pair {
    let types = types(numbers, is_equal);
    // With `const`, the type behind a pointer would be different.
    let mutable = types.map(|ty| ty.trim_start_matches("const "));
    let none = String::new;
    let only = |parameters: [String; 2]| parameters.map(|text| (none(), text));
    let record = |name: &str, [one, other]: [String; 2], parameter: &str| {
        [one, other]
            .map(|fields| (format!("struct {name} {{ {fields} }};\n"), parameter.to_owned()))
    };
    let record_name = format!("S{name}");
    let pointer = format!("{record_name} *a");
    let (kind, texts) = match numbers.below(14) {
        0 => (Kind::Parameter, only(types.map(|ty| format!("float *x, {ty} a, int b")))),
        1 => (Kind::Parameter, only(mutable.map(|ty| format!("{ty} *x, int b")))),
        2 => (Kind::Parameter, only(mutable.map(|ty| format!("{ty} *const *x")))),
        3 => {
            let texts = mutable.map(|ty| {
                let row = format!("typedef {ty} Row{name}[3];\n");
                (row, format!("{ty} (*x)[3], const {ty} (*y)[3], const Row{name} *z"))
            });
            (Kind::Parameter, texts)
        }
        4 => {
            let fields = types.map(|ty| format!("int first; {ty} second;"));
            (Kind::Parameter, record(&record_name, fields, &format!("{record_name} a")))
        }
        5 => {
            // Two parameters with the same type. Renaming one is no difference, but swapping them
            // is.
            let [one, other] = if is_equal { ["n", "count"] } else { ["n", "m"] };
            let swapped = if is_equal { "m" } else { "n" };
            let [first, second] = [types[0], types[0]];
            (
                Kind::Parameter,
                only([
                    format!("{first} {one}, {first} m"),
                    format!("{second} {other}, {second} {swapped}"),
                ]),
            )
        }
        6 => {
            let order = if is_equal { "float x; int y;" } else { "int y; float x;" };
            let fields = ["float x; int y;".to_owned(), order.to_owned()];
            (Kind::Parameter, record(&record_name, fields, &format!("{record_name} a")))
        }
        7 => {
            let read = if is_equal { "const" } else { "" };
            (
                Kind::Parameter,
                only([format!("const {} *x", mutable[0]), format!("{} {read} *x", mutable[0])]),
            )
        }
        8 => {
            let fields = types.map(|ty| format!("{ty} first[2]; {record_name} *next;"));
            (Kind::Pointee, record(&record_name, fields, &pointer))
        }
        9 => {
            let swapped = if is_equal { "int x; int y;" } else { "int y; int x;" };
            let fields = ["int x; int y;".to_owned(), swapped.to_owned()];
            (Kind::Pointee, record(&record_name, fields, &pointer))
        }
        11 => {
            let of_other = if is_equal { "__attribute__((aligned(32)))" } else { "" };
            let texts = ["alignas(32)", of_other].map(|align| {
                (
                    format!("struct {align} {record_name} {{ float x[8]; }};\n"),
                    format!("{record_name} a"),
                )
            });
            (Kind::Parameter, texts)
        }
        12 => {
            let fields = types.map(|ty| format!("unsigned low : 4, high : 28; {ty} last;"));
            (Kind::Parameter, record(&record_name, fields, &format!("{record_name} a")))
        }
        10 => {
            let texts = mutable.map(|ty| {
                (
                    format!(
                        "__device__ {ty} v{name}[2];
"
                    ),
                    "int n".to_owned(),
                )
            });
            (Kind::Variable, texts)
        }
        _ => {
            let quick = if is_equal { 2 } else { numbers.between(3, 100) };
            let texts = [2, quick].map(|quick| {
                (
                    format!("enum E{name} {{ Slow{name}, Quick{name} = {quick} }};\n"),
                    format!("E{name} mode"),
                )
            });
            (Kind::Enumeration, texts)
        }
    };
    Pair { kind, is_equal, texts }
}

fn source(pairs: &[(String, Pair)], of_other: &str) -> String {
    let mut text = "#include <cuda_fp16.h>\n".to_owned();
    for (name, Pair { texts: [(before, parameters), (before_other, parameters_other)], .. }) in
        pairs
    {
        let _ = write!(
            text,
            "#if defined({of_other})\n{before_other}#define PARAMETERS {parameters_other}\n#else\n{before}#define PARAMETERS {parameters}\n\
             #endif\nextern \"C\" __global__ void k{name}(PARAMETERS) {{}}\n#undef PARAMETERS\n"
        );
    }
    text
}

/// Whether programs cannot use the kernel, struct, variable or enumeration that differs.
fn is_refused(module: &IndexModule, name: &str, kind: Kind) -> bool {
    let signatures = &module.signatures;
    let kernel = signatures.kernels.iter().find(|kernel| kernel.symbol == format!("k{name}"));
    let kernel = kernel.unwrap_or_else(|| panic!("k{name} has no signature"));
    match kind {
        Kind::Parameter => !kernel.difference.is_empty(),
        Kind::Pointee => {
            let record =
                signatures.records.iter().find(|record| record.source_name == format!("S{name}"));
            record.unwrap().content == Content::Differs
        }
        Kind::Variable => {
            let variable = signatures.variables.iter().find(|it| it.symbol == format!("v{name}"));
            variable.unwrap().obstacle == Some(Obstacle::Differs)
        }
        Kind::Enumeration => {
            !signatures.enumerations.iter().any(|it| it.source_name == format!("E{name}"))
        }
    }
}

#[test(COMPILERS.slow())]
fn each_difference_between_two_vendors_is_refused() {
    let scenario = Scenario::without_sources("signatures_pairs");
    let (mut numbers, mut script, mut modules) = (Numbers::new(50), String::new(), Vec::new());
    for (at, (target, _)) in TARGETS.iter().enumerate() {
        for (other, of_other) in &TARGETS[at + 1..] {
            let mut pairs = Vec::new();
            for number in 0..2 * COUNT {
                let name = format!("{number}");
                let pair = pair(&mut numbers, &name, number >= COUNT);
                pairs.push((name, pair));
            }
            let module = format!("{target}_{other}");
            scenario.write(&format!("kernels/{module}.cu"), source(&pairs, of_other));
            let _ = write!(
                script,
                "    let mut module = offload_build::Module::new(\"{module}\");\n    \
                 module.file(\"kernels/{module}.cu\").supports([\"{target}\", \"{other}\"]);\n    build.module(module);\n"
            );
            modules.push((module, pairs));
        }
    }
    scenario.write(
        "src/main.rs",
        "mod kernels { offload_gpu::include_kernels!(\"pairs\"); }\nfn main() {}\n",
    );
    let targets = TARGETS.map(|(target, _)| target);
    scenario.build_script(&format!(
        "let mut build = Build::new();\n{script}    build.archs({targets:?}).compile(\"pairs\");"
    ));
    let printed = scenario.build().passes();
    let index = scenario.index("debug", "pairs");
    let (mut refused, mut passed) = (0, 0);
    for (module, pairs) in &modules {
        let of_index = index.modules.iter().find(|it| it.name == *module).unwrap();
        for (name, Pair { kind, is_equal, texts }) in pairs {
            let is_refused = is_refused(of_index, name, *kind);
            assert_eq!(is_refused, !is_equal, "{module} k{name} {kind:?}: {texts:?}");
            let list = if is_refused { &mut refused } else { &mut passed };
            *list += 1;
            let what = match kind {
                Kind::Parameter => format!("kernel k{name} has different parameters"),
                Kind::Enumeration => format!("enumeration E{name} has different values"),
                Kind::Pointee | Kind::Variable => continue,
            };
            let line = format!("module \"{module}\": the {what}");
            assert_eq!(printed.stderr.contains(&line), is_refused, "{line}: {texts:?}");
        }
    }
    assert_eq!((refused, passed), (6 * COUNT, 6 * COUNT));
}
