//! Tests of the generated code.

use super::*;
use crate::pack_index::Index;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

const INDEX: &str = "offload-pack 10\nname saxpy\nlibrary offload_saxpy_90f2\nlibrary-size 36264\nlibrary-offset 232\n\
                     symbol offload_pack_90f2\nsection .hip_fatbin\nsize 9472\n\
                     module saxpy\nbundle 0\nimage gfx90a 4096 5376 prebuilt code-object 6\nkernel saxpy\n\
                     limits threads=1024 wavefront=64\narguments 0+4 4+4\n";

fn of(index: &str) -> String {
    pack(&Index::parse(index).unwrap(), "Plain", "", false)
}

#[test]
fn a_pack_is_a_symbol_of_its_library_and_a_table() {
    let kind = "__offload::PackImageKind::CodeObject { version: 6 }";
    let image = "__offload::ImageRecord { target: \"gfx90a\", kind: KIND, offset: 4096, size: 5376, \
                 origin: __offload::Origin::Prebuilt, kernels: __offload::core::option::Option::Some(KERNELS_0), \
                 limits: LIMITS_0, code: __offload::ImageRecord::code(\"gfx90a\", KIND) },"
        .replace("KIND", kind);
    let expected = [
        "{ __offload::track_from_disk! {}\n",
        "__offload::pack_symbol! { PACK: 9472, \"offload_pack_90f2\", \"offload_saxpy_90f2\" }\n",
        "const KERNELS_0: &[&__offload::core::primitive::str] = &[\"saxpy\",];\n",
        "const LIMITS_0: &[__offload::Limits] = \
         &[__offload::Limits::UNKNOWN.with_max_threads(1024).with_wavefront_size(64),];\n",
        "const MODULES: &[__offload::ModuleRecord] = &[__offload::ModuleRecord { name: \"saxpy\", ",
        &format!("images: &[{image}], stream: __offload::core::option::Option::None, "),
        "registered: __offload::core::option::Option::None },];\n",
        "__offload::linked::<__offload::Plain>(\"saxpy\", \".hip_fatbin\", PACK, MODULES) }",
    ];
    assert_eq!(of(INDEX), expected.concat());
}

#[test]
fn a_pack_that_was_not_built_says_why() {
    let text = of("offload-pack 10\nname saxpy\nabsent OFFLOAD_SKIP was set\nmodule saxpy\n");
    let expected = "const MODULES: &[__offload::ModuleRecord] = &[__offload::ModuleRecord { name: \"saxpy\", images: &[], \
                    stream: __offload::core::option::Option::None, registered: __offload::core::option::Option::None },];\n\
                    __offload::not_built::<__offload::Plain>(\"saxpy\", \"OFFLOAD_SKIP was set\", MODULES) }";
    assert_eq!(text, format!("{{ __offload::track_from_disk! {{}}\n{expected}"));
}

#[test]
fn a_large_pack_is_not_copied_into_the_crate() {
    let of_size = |size: u64| of(&INDEX.replace("size 9472", &format!("size {size}")));
    let modifiers = "modifiers = \"-bundle\"";
    assert!(of_size(64 << 20).contains(modifiers));
    assert!(!of_size((64 << 20) - 1).contains(modifiers));
}

#[test]
fn equal_lists_of_kernels_are_written_once() {
    let text = of(
        "offload-pack 10\nname p\nlibrary l\nlibrary-size 20960\nlibrary-offset 232\nsymbol s\n\
                   section .llvm.offloading\nsize 20480\n\
                   module a\nimage sm_80 4096 16 compiled cubin\nkernel one\nimage sm_90 8192 16 compiled cubin\nkernel one\n\
                   module b\nimage sm_80 12288 16 compiled cubin\nkernel two\n",
    );
    let numbers = |start: &str| -> String {
        text.split(start).skip(1).filter_map(|rest| rest.chars().next()).collect()
    };
    assert_eq!(numbers("const KERNELS_"), "01", "{text}");
    assert_eq!(numbers("Some(KERNELS_"), "001", "{text}");
}

#[test]
fn kernels_of_the_packs_own_module_are_in_no_module() {
    for (modules, expected) in
        [(&["p"][..], &[][..]), (&["a"], &[]), (&["p", "a"], &["a"]), (&["a", "b"], &["a", "b"])]
    {
        let index =
            format!("offload-pack 10\nname p\nabsent why\nmodule {}\n", modules.join("\nmodule "));
        let text = super::of(&Index::parse(&index).unwrap());
        let found = text.split("pub mod ").skip(1).filter_map(|rest| rest.split(' ').next());
        let found: Vec<&str> = found.filter(|name| !name.starts_with("__offload")).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn blocks_of_code_in_comments_are_no_rust_examples() {
    let lines = |comment: &[&str]| {
        let comment: Vec<String> = comment.iter().map(|line| (*line).to_string()).collect();
        code::documentation(&comment)
    };
    assert_eq!(lines(&["Adds.", "```", "a + b", "```"]), " Adds.\n ```text\n a + b\n ```\n\n");
    assert_eq!(lines(&["```cpp", "a + b"]), " ```text\n a + b\n ```\n\n");
    assert_eq!(lines(&["~~~", "a + b", "~~~"]), lines(&["```", "a + b", "```"]));
    assert_eq!(lines(&[]), "");
}

/// Returns the items for the pack of [`INDEX`] with these signatures.
fn items(signatures: &str, program: Program<'_>, is_nested: bool) -> String {
    let index = Index::parse(INDEX).unwrap();
    let signatures = signatures.parse().unwrap();
    super::items(&index.modules()[0], &signatures, program, 0, is_nested, "Plain")
}

#[test]
fn a_declared_kernel_replaces_that_of_the_source() {
    let signatures =
        "signature saxpy saxpy\nsource saxpy\nplace saxpy.cu:1\nparameter n i32\nparameter a f32\n";
    let of_source = of_signatures(signatures);
    assert!(of_source.contains("pub fn saxpy(n: impl __offload_arguments::saxpy::n_1_4<"));

    let parameter = |name: &str| crate::signature::Parameter {
        name: name.to_string(),
        ty: crate::signature::Type::parse(&format!("type_of_{name}")).unwrap(),
    };
    let signature = Signature {
        symbol: "saxpy".to_string(),
        name: "r#match".to_string(),
        source_name: "saxpy".to_string(),
        place: "declared here".to_string(),
        parameters: vec![parameter("n"), parameter("a")],
        ..Signature::default()
    };
    let declared = [Declared { signature, attributes: "#[must_use]".to_string() }];
    let declared = items(signatures, Program { declared: &declared, overrides: &[] }, false);
    for part in [
        "use super::{__offload,__offload_layout_of_match,type_of_n,type_of_a};",
        "pub type Call_of_match = __offload::Call<2, { __offload_layout_of_match.bytes }, ",
        "__offload_layout_of_match.is_of_all(__offload_images_of_match, false)",
        "pub const __offload_images_of_match: &[[__offload::Recorded; 2]] = &[[__offload::Recorded { target: \"gfx90a\", \
         after: 0, offset: 0, size: 4, kind: __offload::ArgumentKind::Any, may_be_moved: false },",
        "#[must_use]#[doc = \"\"]",
        "pub fn r#match(n: impl __offload::DeclaredArgument<type_of_n, super::__offload_kernels::r#match, ",
        "NamedGroup { kernels: \"match\\tsaxpy\\tsaxpy\\tdeclared by the program\\tn\\ta\\n\", \
         arguments: &[(__offload_layout_of_match.offsets[0], __offload::wanted::<type_of_n>),",
        "pub use self::__offload_items::{named,r#match};",
    ] {
        assert!(declared.contains(part), "{part}: {declared}");
    }
    assert!(!declared.contains("fn saxpy"));
}

#[test]
fn named_knows_each_kernel() {
    let signatures = "record Half - - opaque Half\n\
        signature k_f32 _Z1kIfEvPT_\nsource k<float>\nplace k.cu:1\nparameter x *mut f32\n\
        signature named named\nsource named\nplace a\\tb.cu:2\nparameter y *mut f32\nparameter z *const void\n\
        signature named_ named_\nsource named_\nplace k.cu:5\n\
        signature ch_n _Z2chILc10EEvv\nsource ch<'\\\\n'>\nplace k.cu:6\n\
        signature by_value by_value\nsource by_value\nplace k.cu:3\nparameter h Half\n\
        signature differs differs\nsource differs\nplace k.cu:4\nparameter x *mut f32\ndiffers in sm_80\n";
    let text = of_signatures(signatures);
    for part in [
        "NamedGroup { kernels: \"k_f32\\t_Z1kIfEvPT_\\tk<float>\\tk.cu:1\\tx\\n\", \
         arguments: &[(0, __offload::wanted::<*mut __offload::core::primitive::f32>),]",
        // The kernel's function is renamed, because the macro's function is called `named`.
        "pub fn named__(y: ",
        "kernels: \"named__\\tnamed\\tnamed\\ta b.cu:2\\ty\\tz\\n\", ",
        // A kernel `named_` keeps its name.
        "kernels: \"named_\\t\\t\\tk.cu:5\\nch_n\\t_Z2chILc10EEvv\\tch<'\\\\n'>\\tk.cu:6\\n\", ",
        ",(8, __offload::wanted::<__offload::AnyConst>),]",
        "others: \"by_value\\t\\t\\tk.cu:3\\tthe size of one of its parameters is not \
         known\\ndiffers\\t\\t\\tk.cu:4\\tit has different parameters in some images: in \
         sm_80\\n\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn enumerations_of_a_nested_module_hide_those_around_it() {
    let signatures = "enum Mode u8 Mode\nvalue Fast 0\nenum Kind u8 Kind\nvalue Min 0\n";
    for (is_nested, names) in [(false, "*"), (true, "{Mode,Kind}")] {
        let text = items(signatures, Program::default(), is_nested);
        assert!(text.contains(&format!("pub use self::__offload_constants::{names};")), "{text}");
    }
}

#[test]
fn a_struct_with_a_type_of_the_program_says_why_it_differs() {
    let signatures = "record P 8 4 fields P\nfield x 0 i64\nrecord Q 12 4 fields Q\nfield p 0 P\nfield c 8 i8\n\
                      signature k k\nsource k\nplace k.cu:1\nparameter q *const Q\n";
    let overrides =
        [Override { record: "P".to_string(), ty: Some("__offload_override_0".to_string()) }];
    let program = Program { declared: &[], overrides: &overrides };
    let text = items(signatures, program, false);
    let check = "size_of::<Q>() == 12, \"`Q` contains a type of your program that \
                 replaces a struct of the kernels but has a greater alignment: give both the same \
                 alignment\");";
    assert!(text.contains(check), "{text}");
}

/// Returns the items for kernels with these signatures.
fn of_signatures(signatures: &str) -> String {
    items(signatures, Program::default(), false)
}

/// Returns the signature of an instance of a template, with lines for the arguments.
fn instance(name: &str, template: &str, lines: &str) -> String {
    format!("signature {name} _Z{name}\nsource {name}\ntemplate {template}\n{lines}\n")
}

#[test]
fn instances_of_a_template_share_a_function() {
    let pair = "record Pair_float 8 4 fields Pair<float>\nfield a 0 [f32; 2]\n\
                record Pair_double 16 8 fields Pair<double>\nfield a 0 [f64; 2]\n\
                record Range 4 4 fields Range\nfield n 0 i32\n";
    let of = |ty: &str, record: &str| {
        format!(
            "typename T {ty}\nconst N i32 4\nplace k.cu:1\nparameter n i32\nparameter a {ty}\nparameter x *mut [*const {ty}; 3]\n\
             parameter p *mut {record}\nparameter r *const Range\nparameter v *mut void"
        )
    };
    let text = of_signatures(
        &[
            pair,
            &instance("scale_float", "ns::scale", &of("f32", "Pair_float")),
            &instance("scale_double", "ns::scale", &of("f64", "Pair_double")),
        ]
        .concat(),
    );
    let bound = "super::__offload_arguments::ns_scale::";
    for part in [
        "pub trait ns_scale<const N: __offload::core::primitive::i32>: __offload::core::marker::Sized + \
         __offload::Argument<Self> { #[doc(hidden)] type p_type; ",
        "pub fn ns_scale<T: self::ns_scale<N>, const N: __offload::core::primitive::i32>(",
        &format!("n: impl {bound}n_1_4<__offload::core::primitive::i32>,a: impl {bound}a_2_T<T>,"),
        &format!(
            "x: impl {bound}x_3_8<*mut [*const T; 3]>,p: impl {bound}p_4_8<<T as self::ns_scale<N>>::p_type>,"
        ),
        &format!(
            "r: impl {bound}r_5_8<*const super::Range>,v: impl {bound}v_6_8<__offload::AnyMut>,"
        ),
        "-> super::__offload_calls::Call_6_48 { <T as self::ns_scale<N>>::__offload_call(n,a,x,p,r,v,) }",
        "impl self::__offload_templates::ns_scale<4> for __offload::core::primitive::f64 { type p_type = *mut Pair_double; ",
        "__offload_call_0(\"_Zscale_float\", a0, a1, a2, a3, a4, a5).widened() } }",
        "- `ns_scale::<f64, 4>`: `scale_double`",
        "`ns_scale::<{Self}, {N}>`: it has `ns_scale::<f32, 4>`, `ns_scale::<f64, 4>`\"",
        "pub use self::__offload_items::__offload_templates::*;",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn instances_that_rust_cannot_tell_apart_are_in_no_generic_function() {
    let number = |ty: &str| format!("typename T {ty}\nplace k.cu:1\nparameter x *mut {ty}");
    let half = "record half_t 2 2 opaque __half\n";
    let both = [
        half.to_string(),
        instance("f_long", "f", &number("i64")),
        instance("f_long_long", "f", &number("i64")),
        instance("f_half", "f", &number("half_t")),
        instance("f_Float16", "f", &number("f16")),
    ];
    assert!(!of_signatures(&both.concat()).contains("__offload_templates"));
    let text = of_signatures(&(both.concat() + &instance("f_float", "f", &number("f32"))));
    for part in [
        "Call their own functions: `f_long`, `f_long_long`, `f_half`, `f_Float16`\"",
        "it has `f::<f32>`\"",
        // With a single instance, the parameter has the type of the instance.
        "x: impl super::__offload_arguments::f::x_1_8<*mut __offload::core::primitive::f32>",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Overloads: their parameters or template arguments differ.
    for other in [
        "typename T f64\nplace k.cu:2\nparameter x *mut f64\nparameter n i32",
        "typename T f64\ntypename U f64\nplace k.cu:2\nparameter x *mut f64",
        "const N i32 4\nplace k.cu:2\nparameter x *mut f64",
    ] {
        let text = instance("f_float", "f", &number("f32")) + &instance("f_other", "f", other);
        assert!(!of_signatures(&text).contains("__offload_templates"), "{other}");
    }
}

#[test]
fn a_generic_function_gives_way_to_other_items() {
    let of = |template: &str| {
        instance("f_float", template, "typename T f32\nplace k.cu:1\nparameter T *mut f32")
    };
    for (template, others, name) in [
        ("f", String::new(), "f"),
        ("match", String::new(), "match_"),
        ("named", String::new(), "named_"),
        ("saxpy", String::new(), "saxpy_"),
        ("f", "signature f f\nsource f\nplace k.cu:1\n".to_string(), "f_"),
        ("ns::f", instance("ns_f_int", "ns_f", "typename T i32\nplace k.cu:1"), "ns_f"),
    ] {
        let text = of_signatures(&(of(template) + &others));
        assert!(
            text.contains(&format!("pub fn {name}<T_2: self::{name}>(T: impl ")),
            "{template}: {text}"
        );
    }
    let text = of_signatures(&format!("record f 1 1 opaque f\n{}", of("f")));
    assert!(text.contains("pub trait f_:"), "{text}");
    let text =
        of_signatures(&(of("ns::f") + &instance("f_int", "ns_f", "typename T i32\nplace k.cu:1")));
    assert!(text.contains("pub fn ns_f_<T: self::ns_f_>()"), "{text}");
}

#[test]
fn types_of_other_forms_in_memory_are_types_of_the_trait() {
    let of = |name: &str, ty: &str| {
        instance(
            name,
            "f",
            &format!(
                "typename T {ty}\nconst B bool 1\ntypename U {ty}\nplace k.cu:1\nparameter x *mut {ty}\nparameter a {ty}"
            ),
        )
    };
    let text =
        of_signatures(&[of("f_bool", "bool"), of("f_half", "f16"), of("f_float", "f32")].concat());
    for part in [
        "pub trait f<const B: __offload::core::primitive::bool, U>: __offload::core::marker::Sized + \
         __offload::Argument<<Self as self::f<B, U>>::T> { ",
        " type T: __offload::Alike<Self>; ",
        " type U: __offload::Alike<U>; ",
        "x: impl super::__offload_arguments::f::x_1_8<*mut <T as self::f<B, U>>::T>,",
        "impl self::__offload_templates::f<true, __offload::core::primitive::bool> for __offload::core::primitive::bool { \
         type T = __offload::types::Bool; type U = __offload::types::Bool; ",
        "__offload::with_half! { impl self::__offload_templates::f<true, __offload::half::f16> for __offload::half::f16 { \
         type T = __offload::types::F16; ",
        "a0, a1).widened() } }",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let numbers =
        |n: u8| instance(&format!("g_{n}"), "g", &format!("const N u8 {n}\nplace k.cu:1"));
    let text = of_signatures(&(0..20).map(numbers).collect::<String>());
    for part in [
        "pub fn g<const N: __offload::core::primitive::u8>() -> super::__offload_calls::Call_0_0 where (): self::g<N> \
         { <() as self::g<N>>::__offload_call() }",
        "impl self::__offload_templates::g<7> for () { ",
        "`g::<11>`, and 8 more\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
