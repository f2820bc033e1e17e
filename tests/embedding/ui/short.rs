//! The cases that are one line long, by the names of their expected messages. Longer cases are
//! files beside those with the messages.

/// Returns the sources of the cases of a folder: the name and the text of each.
pub fn of(folder: &str) -> Vec<(&'static str, String)> {
    let pack = |&(name, arguments): &(&'static str, &str)| (name, pack(arguments));
    match folder {
        "cases" => CASES
            .iter()
            .map(pack)
            .chain(KERNELS.iter().map(|case| (case.0, kernel(case))))
            .chain(FUNCTIONS.iter().map(|case| (case.0, functions(case.1))))
            .collect(),
        "no_files" => FILES.iter().map(pack).collect(),
        "calls" => {
            let structs = CALLED.iter().map(|case| (case.0, struct_in_call(case)));
            let bodies = BODIES.iter().map(|case| (case.0, call_with_body(case)));
            let own = OWN.iter().map(|case| (case.0, own_type(case)));
            let calls = CALLS.iter().map(|case| (case.0, call(case)));
            calls.chain(structs).chain(bodies).chain(own).collect()
        }
        "declared" => {
            let structs = STRUCTS.iter().map(|case| (case.0, struct_in_declaration(case)));
            let short = DECLARED.iter().map(|case| (case.0, declaration(case.1)));
            short.chain(structs).collect()
        }
        _ => Vec::new(),
    }
}

fn pack(arguments: &str) -> String {
    format!(
        "//! One way to go wrong.\n#![forbid(unsafe_code)]\nstatic PACK: offload_gpu::KernelPack =\n    \
         offload_gpu::include_offload!({arguments});\nfn main() {{\n    println!(\"{{PACK:?}}\");\n}}\n"
    )
}

fn kernel((_, kind, pack, wrong): &(&str, &str, &str, &str)) -> String {
    format!(
        "//! One way to go wrong.\n#![forbid(unsafe_code)]\nuse offload_gpu::KernelPack;\nuse offload_gpu::{kind};\n\
         static PACK: KernelPack = offload_gpu::include_offload!({pack:?});\nconst WRONG: {kind} = PACK{wrong};\n\
         fn main() {{\n    println!(\"{{WRONG:?}}\");\n}}\n"
    )
}

fn functions(pack: &str) -> String {
    format!(
        "//! A wrong pack.\n#![forbid(unsafe_code)]\nmod kernels {{\n    \
         offload_gpu::include_kernels!({pack:?});\n}}\nfn main() {{}}\n"
    )
}

fn call((_, parameters, call): &(&str, &str, &str)) -> String {
    format!(
        "//! A wrong call.\n\nmod kernels {{\n    offload_gpu::include_kernels!(\"calls\");\n}}\n{}\n\
         pub fn call({parameters}) {{\n    let _ = kernels::{call};\n}}\n\nfn main() {{}}\n",
        uses(parameters)
    )
}

/// Returns the imports for the types of these parameters.
fn uses(parameters: &str) -> String {
    let paths = [
        ("Buffer", "run::Buffer"),
        ("Device", "run::Device"),
        ("Bf16", "types::Bf16"),
        ("F16", "types::F16"),
    ];
    let words = || parameters.split(|c: char| !c.is_ascii_alphanumeric());
    let used = paths.iter().filter(|(name, _)| words().any(|word| word == *name));
    used.map(|(_, path)| format!("use offload_gpu::{path};\n")).collect()
}

fn call_with_body((_, parameters, call): &(&str, &str, &str)) -> String {
    format!(
        "//! A wrong call.\n#![forbid(unsafe_code)]\n\nmod kernels {{\n    offload_gpu::include_kernels!(\"calls\");\n}}\n\n\
         pub fn call(bodies: &mut offload_gpu::run::Buffer<kernels::Body>, by: kernels::Body, {parameters}) {{\n    \
         let none = std::ptr::null();\n    let _ = kernels::{call};\n    let _: (_, _, *const kernels::Other) = (bodies, by, none);\n}}\n\n\
         fn main() {{}}\n"
    )
}

fn own_type((_, own, attributes, fields): &(&str, &str, &str, &str)) -> String {
    format!(
        "//! A wrong type in the place of a struct.\n#![forbid(unsafe_code)]\n\n{attributes}#[repr(C)]\npub struct Own {{\n    {fields}\n}}\n\n\
         mod kernels {{\n    offload_gpu::include_kernels!(\"calls\", {own});\n}}\n\n\
         pub fn call(by: Own, bodies: *mut Own) {{\n    \
         let _ = kernels::push(kernels::Abs, bodies, by, kernels::Mode::Fast, std::ptr::null::<kernels::Other>());\n}}\n\n\
         fn main() {{}}\n"
    )
}

fn declaration(declaration: &str) -> String {
    format!(
        "//! A wrong declaration.\n\nmod kernels {{\n    offload_gpu::include_kernels!(\"calls\", extern {{\n        \
         {declaration}\n    }});\n}}\n\nfn main() {{}}\n"
    )
}

fn struct_in_call((_, attributes, fields): &(&str, &str, &str)) -> String {
    format!(
        "//! A wrong struct.\n\nmod kernels {{\n    offload_gpu::include_kernels!(\"calls\");\n}}\n\n\
         {attributes}pub struct Range {{\n{fields}}}\n\npub fn call(y: *mut f32) {{\n    \
         let _ = kernels::fill(1, 1.0, 0, Range {{ first: 0, count: 1 }}, y);\n}}\n\nfn main() {{}}\n"
    )
}

fn struct_in_declaration((_, attributes, fields): &(&str, &str, &str)) -> String {
    format!(
        "//! A wrong struct.\n\n{attributes}pub struct Range {{\n{fields}}}\n\nmod kernels {{\n    use super::Range;\n\n    \
         offload_gpu::include_kernels!(\"calls\", extern {{\n        \
         fn fill(value: i64, scale: f32, offset: i32, range: Range, out: *mut f32);\n    }});\n}}\n\nfn main() {{}}\n"
    )
}

/// The arguments of `include_offload!` without the `files` feature.
const FILES: &[(&str, &str)] = &[("path", r#"path = "files/saxpy.hsaco""#)];

/// The arguments of `include_offload!`.
const CASES: &[(&str, &str)] = &[
    ("align_gaps", r#"path = "files/saxpy.ob", align = 4096"#),
    (
        "align_gaps_in_section",
        r#"path = "files/saxpy.ob", section = ".llvm.offloading", align = 4096"#,
    ),
    ("align_no_power", r#"path = "files/saxpy.hsaco", align = 100"#),
    ("align_of_pack", r#""saxpy", align = 64"#),
    ("align_small", r#"path = "files/saxpy.hsaco", align = 4"#),
    ("align_string", r#"path = "files/saxpy.ob", align = "8""#),
    ("crate_no_value", r#""saxpy", crate"#),
    ("crate_string", r#""saxpy", crate = "offload""#),
    ("file_archive", r#"path = "files/library.a""#),
    ("file_bitcode", r#"path = "files/device.bc""#),
    ("file_cut", r#"path = "files/cut.hipfb""#),
    ("file_empty", r#"path = "files/empty.hsaco""#),
    ("file_host_object", r#"path = "files/host.o""#),
    ("file_no_nul", r#"path = "files/no_nul.ob""#),
    ("file_spirv_big_endian", r#"path = "files/big_endian.spv""#),
    ("file_spirv_opencl", r#"path = "files/opencl.spv""#),
    ("file_spirv_shader", r#"path = "files/shader.spv""#),
    ("file_text", r#"path = "files/words.txt""#),
    ("file_unaligned", r#"path = "files/unaligned.hipfb""#),
    ("file_unaligned_binary", r#"path = "files/unaligned.ob""#),
    ("file_unlinked", r#"path = "files/unlinked.o""#),
    ("no_comma", r#""saxpy" retain"#),
    ("nothing", ""),
    ("only_options", "retain"),
    ("option_twice", r#""saxpy", retain, retain"#),
    ("option_typo", r#""saxpy", retian"#),
    ("option_typo_value", r#"path = "files/saxpy.hsaco", sectoin = ".x""#),
    ("option_unknown", r#""saxpy", mmap"#),
    ("pack_bad_target", r#""bad_target""#),
    ("pack_behind_option", r#"retain, "saxpy""#),
    ("pack_concat", r#"concat!("sax", "py")"#),
    ("pack_constant", "NAME"),
    ("pack_cut", r#""cut""#),
    ("pack_cut_index", r#""cut_index""#),
    ("pack_file", r#""saxpy.hipfb""#),
    ("pack_image_line", r#""image_line""#),
    ("pack_magic", r#""magic""#),
    ("pack_no_name", r#""""#),
    ("pack_number", "5"),
    ("pack_other_version", r#""other_version""#),
    ("pack_path", "names::NAME"),
    ("pack_removed", r#""removed""#),
    ("pack_source", r#""kernels/saxpy.cu""#),
    ("pack_typo", r#""saxpi""#),
    ("pack_unknown", r#""hole""#),
    ("path_and_name", r#""saxpy", path = "files/saxpy.hsaco""#),
    ("path_empty", r#"path = """#),
    ("path_no_folder", r#"path = "nowhere/saxpy.hsaco""#),
    ("path_no_value", "path"),
    ("path_number", "path = 5"),
    ("path_out_dir", r#"path = "$OUT_DIR/offload/saxpy.hipfb""#),
    ("path_source", r#"path = "files/saxpy.cu""#),
    ("path_typo", r#"path = "files/saxpi.hsaco""#),
    ("path_variable", r#"path = "$HOME/saxpy.hsaco""#),
    ("register_compressed", r#"path = "files/compressed.hipfb", register"#),
    ("register_image", r#"path = "files/saxpy.hsaco", register"#),
    ("register_nvidia", r#""nvidia", register"#),
    ("retain_value", r#""saxpy", retain = true"#),
    ("section_empty", r#"path = "files/saxpy.hsaco", section = """#),
    ("section_of_binaries", r#"path = "files/saxpy.hsaco", section = ".llvm.offloading""#),
    ("section_of_bundles", r#"path = "files/saxpy.ob", section = ".hip_fatbin""#),
    ("section_of_lists", r#"path = "files/saxpy.hsaco", section = "offload_packs_1""#),
    ("section_of_loaders", r#"path = "files/saxpy.hsaco", section = ".init_array""#),
    ("section_of_pack", r#""saxpy", section = ".my_kernels""#),
    ("two_packs", r#""saxpy", "cut""#),
    ("unsafe_forbidden", r#"path = "files/saxpy.ob", unsafe(cpu)"#),
    ("unsafe_no_word", r#"path = "files/saxpy.ob", unsafe"#),
    ("unsafe_of_pack", r#""saxpy", unsafe(cpu)"#),
];

/// A constant's type, its pack, and the wrong expression on the pack.
const KERNELS: &[(&str, &str, &str, &str)] = &[
    ("kernel_of_a_module", "Kernel", "modules", r#".module("scale").kernel("add")"#),
    ("kernel_of_no_module", "Kernel", "modules", r#".kernel("add")"#),
    ("kernel_of_two_modules", "Kernel", "modules", r#".kernel("saxpy")"#),
    ("kernel_typo", "Kernel", "saxpy", r#".kernel("saxpi")"#),
    ("module_typo", "Module", "modules", r#".module("scael")"#),
];

/// The packs of `include_kernels!`.
const FUNCTIONS: &[(&str, &str)] = &[
    ("functions_cut", "cut"),
    ("functions_magic", "magic"),
    ("functions_no_name", ""),
    ("functions_other_version", "other_version"),
    ("functions_removed", "removed"),
    ("functions_source", "kernels/saxpy.cu"),
    ("functions_typo", "saxpi"),
];

/// The parameters of a function, and the function's call of a kernel.
const CALLS: &[(&str, &str, &str)] = &[
    ("argument_missing", "x: *const f32", "saxpy(1000, 2.0, x)"),
    ("argument_too_many", "x: *const f32, y: *mut f32", "saxpy(1000, 2.0, x, y, 0)"),
    (
        "byte_for_long",
        "value: u8, y: *mut f32",
        "fill(value, 1.0, 0, kernels::Range { first: 0, count: 1 }, y)",
    ),
    ("const_for_mut", "x: *const f32", "saxpy(1000, 2.0, x, x)"),
    ("double_for_float", "a: f64, x: *const f32, y: *mut f32", "saxpy(1000, a, x, y)"),
    ("misspelt", "x: *const f32, y: *mut f32", "sapxy(1000, 2.0, x, y)"),
    ("named_no_tuple", "n: i32", "named(\"saxpy\").unwrap().call(n)"),
    ("named_text", "x: &'static str", "named(\"saxpy\").unwrap().call((1000, x))"),
    ("pointer_to_other", "x: *const f64, y: *mut f32", "saxpy(1000, 2.0, x, y)"),
    (
        "swapped",
        "scale: f32, offset: i32, y: *mut f32",
        "fill(1, offset, scale, kernels::Range { first: 0, count: 1 }, y)",
    ),
    ("usize_for_int", "n: usize, x: *const f32, y: *mut f32", "saxpy(n, 2.0, x, y)"),
    ("value_for_pointer", "y: *mut f32", "saxpy(1000, 2.0, 1.0f32, y)"),
    // Variables.
    ("variable_differs", "device: &Device", "DIFFERS.write(device, &1)"),
    ("variable_element", "device: &Device", "TABLE.write_at(device, 1, &[1_u8, 2])"),
    ("variable_length", "device: &Device", "TABLE.write(device, &[1.0, 2.0])"),
    ("variable_misspelt", "device: &Device", "TABEL.read(device)"),
    (
        "variable_static",
        "device: &Device",
        "HIDDEN.read(device).map_err(offload_gpu::run::RunError::from)",
    ),
    ("variable_type", "device: &Device", "TABLE.write(device, &[1.0_f64; 4])"),
    // Values of types that Rust lacks.
    ("u64_for_size", "n: u64, v: kernels::float4", "values(n, 0, 0, v, None)"),
    ("float_for_half", "a: f32, v: kernels::float4", "values(1, a, 0, v, None)"),
    ("signed_for_half", "a: i16, v: kernels::float4", "values(1, a, 0, v, None)"),
    ("half_for_brain", "h: kernels::__half, v: kernels::float4", "values(1, h, h, v, None)"),
    ("array_for_vector", "v: [f32; 4]", "values(1, 0, 0, v, None)"),
    ("other_vector", "v: offload_gpu::types::int4", "values(1, 0, 0, v, None)"),
    ("none_for_value", "v: kernels::float4", "values(None, 0, 0, v, None)"),
    ("size_for_pointer", "v: kernels::float4, out: u64", "values(1, 0, 0, v, out)"),
    // Pointers to such types, and buffers of them.
    ("floats_for_halves", "x: &Buffer<f32>", "pointers(x, None, None, None, None, None)"),
    ("brains_for_halves", "x: &Buffer<Bf16>", "pointers(x, None, None, None, None, None)"),
    ("halves_for_brains", "y: *mut F16", "pointers(None, y, None, None, None, None)"),
    ("const_for_brains", "y: *const u16", "pointers(None, y, None, None, None, None)"),
    ("shared_for_brains", "y: &Buffer<u16>", "pointers(None, y, None, None, None, None)"),
    ("ints_for_bools", "y: &mut Buffer<i32>", "pointers(None, None, y, None, None, None)"),
    ("u64s_for_sizes", "x: &Buffer<u64>", "pointers(None, None, None, x, None, None)"),
    ("arrays_for_vectors", "y: &mut Buffer<[f32; 4]>", "pointers(None, None, None, None, y, None)"),
    ("none_of_other", "x: Option<*const f32>", "pointers(x, None, None, None, None, None)"),
    ("none_of_const", "y: Option<*const Bf16>", "pointers(None, y, None, None, None, None)"),
    ("no_instance", "y: &mut Buffer<u8>", "offset::<u8>(1, 2, y)"),
    ("no_instance_of_two", "x: &Buffer<f64>, y: &mut Buffer<i32>", "convert::<f64, i32>(1, x, y)"),
    ("no_instance_of_number", "y: &mut Buffer<i32>", "repeat::<5>(y)"),
    ("no_one_instance", "y: &mut Buffer<i64>", "offset::<i64>(1, 2, y)"),
    ("instance_with_other", "y: &mut Buffer<f64>", "offset::<f32>(1, 2.0, y)"),
    ("instance_by_value", "y: &mut Buffer<f32>", "offset::<f32>(1, 2.0_f64, y)"),
    ("instance_of_literal", "y: &mut Buffer<f32>", "offset(1, 2.0, y)"),
    ("instance_unknown", "x: &Buffer<f32>, y: &mut Buffer<i32>", "convert(1, x, y)"),
    ("number_unknown", "y: &mut Buffer<i32>", "repeat(y)"),
    ("shared_for_void", "y: &Buffer<f32>", "pointers(None, None, None, None, None, y)"),
];

/// Calls with structs behind pointers, empty structs and enumerations.
const BODIES: &[(&str, &str, &str)] = &[
    (
        "buffer_of_floats",
        "x: &mut offload_gpu::run::Buffer<f32>",
        "push(kernels::Abs, x, by, kernels::Mode::Fast, none)",
    ),
    (
        "buffer_of_other",
        "x: &offload_gpu::run::Buffer<kernels::Body>",
        "push(kernels::Abs, bodies, by, 0, x)",
    ),
    ("buffer_shared", "x: &offload_gpu::run::Buffer<kernels::Body>", "turn(kernels::Neg, x)"),
    ("empty_missing", "", "turn(bodies)"),
    ("empty_other", "", "turn(kernels::Abs, bodies)"),
    ("enum_for_struct", "", "turn(kernels::Mode::Fast, bodies)"),
    ("enum_misspelt", "", "push(kernels::Abs, bodies, by, kernels::Mode::Exakt, none)"),
    ("enum_of_int", "x: i32", "push(kernels::Abs, bodies, by, x, none)"),
    ("struct_for_pointer", "", "push(kernels::Abs, by, by, 0, none)"),
    ("struct_of_pointer", "", "push(kernels::Abs, bodies, &raw const by, 0, none)"),
];

const DERIVES: &str = "#[derive(Clone, Copy, offload_gpu::Parameter)]\n";
const OF_BODY: &str = "pub mass: f32, pub speed: f64, pub mode: u8,";

/// Types of the program that replace structs: the macro's arguments, and the type's attributes and
/// fields.
const OWN: &[(&str, &str, &str, &str)] = &[
    (
        "own_field_name",
        "use crate::Own as Body",
        DERIVES,
        "pub mass: f32, pub velocity: f64, pub mode: u8,",
    ),
    (
        "own_field_offset",
        "use crate::Own as Body",
        DERIVES,
        "pub speed: f64, pub mass: f32, pub mode: u8,",
    ),
    (
        "own_field_size",
        "use crate::Own as Body",
        DERIVES,
        "pub mass: f32, pub speed: f64, pub mode: u32,",
    ),
    (
        "own_field_type",
        "use crate::Own as Body",
        DERIVES,
        "pub mass: i32, pub speed: i64, pub mode: i8,",
    ),
    ("own_form", "use Body = crate::Own", DERIVES, OF_BODY),
    ("own_no_name", "use crate::Own as", DERIVES, OF_BODY),
    ("own_not_derived", "use crate::Own as Body", "#[derive(Clone, Copy)]\n", OF_BODY),
    ("own_of_module", "use crate::Own as other::Body", DERIVES, OF_BODY),
    ("own_private", "use crate::own::Own as Body", DERIVES, OF_BODY),
    (
        "own_size",
        "use crate::Own as Body",
        DERIVES,
        "pub mass: f32, pub speed: f64, pub mode: u8, pub rest: f64,",
    ),
    ("own_twice", "use crate::Own as Body, use Own as Body", DERIVES, OF_BODY),
    ("own_typo", "use crate::Own as Bodi", DERIVES, OF_BODY),
    (
        "own_unaligned",
        "use crate::Own as Body",
        DERIVES,
        "pub mass: f32, pub gap: u32, pub speed: [u8; 8], pub mode: [u8; 1], pub rest: [u8; 7],",
    ),
];

/// The declarations of kernels.
const DECLARED: &[(&str, &str)] = &[
    ("argument_missing", "fn saxpy(n: i32, a: f32, x: *const f32);"),
    ("argument_too_many", "fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32, stream: *mut u8);"),
    (
        "byte_for_long",
        "fn fill(value: u8, scale: f32, offset: i32, range: [i64; 2], out: *mut f32);",
    ),
    ("double_for_float", "fn saxpy(n: i32, a: f64, x: *const f32, y: *mut f32);"),
    ("double_for_pointer", "fn saxpy(n: i32, a: f32, x: f64, y: *mut f32);"),
    ("misspelt", "fn sapxy(n: i32, a: f32, x: *const f32, y: *mut f32);"),
    (
        "module_in_module",
        "mod calls { mod inner { fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32); } }",
    ),
    ("named", "fn named(n: i32, a: f32, x: *const f32, y: *mut f32);"),
    ("no_type", "fn saxpy(n: i32, a, x: *const f32, y: *mut f32);"),
    ("other_module", "mod call { fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32); }"),
    ("returns", "fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32) -> i32;"),
    ("swapped", "fn saxpy(a: f32, n: i32, x: *const f32, y: *mut f32);"),
    ("template", "fn saxpy<f32>(n: i32);"),
    ("usize_for_int", "fn saxpy(n: usize, a: f32, x: *const f32, y: *mut f32);"),
    ("value_for_pointer", "fn saxpy(n: i32, a: f32, x: *const f32, y: f32);"),
];

const FIELDS: &str = "    pub first: i32,\n    pub count: i64,\n";

/// The attributes and fields of a struct that a call passes.
const CALLED: &[(&str, &str, &str)] =
    &[("own_struct", "", FIELDS), ("packed_struct", "#[repr(C, packed)]\n", FIELDS)];

/// The attributes and fields of a struct that a declaration names.
const STRUCTS: &[(&str, &str, &str)] = &[
    ("own_struct", "", FIELDS),
    (
        "packed_struct",
        "#[derive(Clone, Copy, offload_gpu::Parameter)]\n#[repr(C, packed)]\n",
        FIELDS,
    ),
    (
        "struct_of_strings",
        "#[derive(Clone, Copy, offload_gpu::Parameter)]\n#[repr(C)]\n",
        "    pub name: &'static str,\n",
    ),
    ("struct_without_repr", "#[derive(Clone, Copy, offload_gpu::Parameter)]\n", FIELDS),
];
