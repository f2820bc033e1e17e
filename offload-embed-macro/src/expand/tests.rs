//! Tests of the code that the macro passes to the compiler.

use super::*;

#[test]
fn a_pack_is_a_symbol_of_its_library_and_a_table() {
    let index = "offload-pack 9\nname saxpy\nlibrary offload_saxpy_90f2\nlibrary-size 36264\nlibrary-offset 232\n\
                 symbol offload_pack_90f2\nsection .hip_fatbin\nsize 9472\n\
                 module saxpy\nbundle 0\nimage gfx90a 4096 5376 prebuilt code-object 6\nkernel saxpy\nlimits threads=1024 wavefront=64\n";
    let expected = quote! {{
        const _: ::offload_gpu::__expansion::core::option::Option<&::offload_gpu::__expansion::core::primitive::str> = ::offload_gpu::__expansion::core::option_env!("OFFLOAD_FROM_DISK");
        {::offload_gpu::__expansion::pack_symbol! { PACK: 9472, "offload_pack_90f2", "offload_saxpy_90f2" }
        const KERNELS_0: &[&::offload_gpu::__expansion::core::primitive::str] = &["saxpy"];
        const LIMITS_0: &[::offload_gpu::__expansion::Limits] =
            &[::offload_gpu::__expansion::Limits::UNKNOWN.with_max_threads(1024).with_wavefront_size(64)];
        const IMAGES: &[::offload_gpu::__expansion::ImageRecord] = &[::offload_gpu::__expansion::ImageRecord {
            target: "gfx90a",
            kind: ::offload_gpu::__expansion::PackImageKind::CodeObject { version: 6u32 },
            offset: 4096,
            size: 5376,
            origin: ::offload_gpu::__expansion::Origin::Prebuilt,
            kernels: ::offload_gpu::__expansion::core::option::Option::Some(KERNELS_0),
            limits: LIMITS_0,
            code: ::offload_gpu::__expansion::ImageRecord::code(
                "gfx90a",
                ::offload_gpu::__expansion::PackImageKind::CodeObject { version: 6u32 }
            ),
        }];
        const MODULES: &[::offload_gpu::__expansion::ModuleRecord] = &[::offload_gpu::__expansion::ModuleRecord {
            name: "saxpy", first: 0, count: 1, registered: ::offload_gpu::__expansion::core::option::Option::None
        }];
        ::offload_gpu::__expansion::linked::<::offload_gpu::__expansion::Plain>("saxpy", ".hip_fatbin", PACK, IMAGES, MODULES)
    }}};
    assert_eq!(
        pack(&Index::parse(index).unwrap(), &Options::default(), None).to_string(),
        expected.to_string()
    );
}

#[test]
fn a_pack_that_was_not_built_says_why() {
    let index =
        Index::parse("offload-pack 9\nname saxpy\nabsent OFFLOAD_SKIP was set\nmodule saxpy\n")
            .unwrap();
    let expected = quote! {{
        const _: ::offload_gpu::__expansion::core::option::Option<&::offload_gpu::__expansion::core::primitive::str> = ::offload_gpu::__expansion::core::option_env!("OFFLOAD_FROM_DISK");
        {const MODULES: &[::offload_gpu::__expansion::ModuleRecord] = &[::offload_gpu::__expansion::ModuleRecord {
            name: "saxpy", first: 0, count: 0, registered: ::offload_gpu::__expansion::core::option::Option::None
        }];
        ::offload_gpu::__expansion::not_built::<::offload_gpu::__expansion::Plain>("saxpy", "OFFLOAD_SKIP was set", MODULES)
    }}};
    assert_eq!(pack(&index, &Options::default(), None).to_string(), expected.to_string());
}

#[test]
fn a_large_pack_is_not_copied_into_the_crate() {
    let index = |size: u64| {
        let index = format!(
            "offload-pack 9\nname saxpy\nlibrary offload_saxpy_90f2\nlibrary-size 99999999\nlibrary-offset 232\n\
             symbol offload_pack_90f2\nsection .hip_fatbin\nsize {size}\nmodule saxpy\n"
        );
        pack(&Index::parse(&index).unwrap(), &Options::default(), None).to_string()
    };
    let modifiers = "modifiers = \"-bundle\"";
    assert!(index(LARGE).contains(modifiers));
    assert!(!index(LARGE - 1).contains(modifiers));
}

#[test]
fn blocks_of_code_in_comments_are_no_rust_examples() {
    let lines = |comment: &[&str]| {
        let comment: Vec<String> = comment.iter().map(|line| (*line).to_owned()).collect();
        functions::documentation(&comment)
    };
    assert_eq!(lines(&["Adds.", "```", "a + b", "```"]), " Adds.\n ```text\n a + b\n ```\n\n");
    assert_eq!(lines(&["```cpp", "a + b"]), " ```text\n a + b\n ```\n\n");
    assert_eq!(lines(&[]), "");
}

#[test]
fn equal_lists_of_kernels_are_written_once() {
    let index = "offload-pack 9\nname p\nlibrary l\nlibrary-size 20960\nlibrary-offset 232\nsymbol s\n\
                 section .llvm.offloading\nsize 20480\n\
                 module a\nimage sm_80 4096 16 compiled cubin\nkernel one\nimage sm_90 8192 16 compiled cubin\nkernel one\n\
                 module b\nimage sm_80 12288 16 compiled cubin\nkernel two\n";
    let text = pack(&Index::parse(index).unwrap(), &Options::default(), None).to_string();
    let numbers = |start: &str| -> String {
        text.split(start).skip(1).filter_map(|rest| rest.chars().next()).collect()
    };
    assert_eq!(numbers("const KERNELS_"), "01", "{text}");
    assert_eq!(numbers("Some (KERNELS_"), "001", "{text}");
}

#[test]
fn kernels_of_the_packs_own_module_are_in_no_module() {
    for (name, modules, expected) in [
        ("p", &["p"][..], &[][..]),
        ("p", &["a"], &[]),
        ("p", &["p", "a"], &["a"]),
        ("p", &["a", "b"], &["a", "b"]),
    ] {
        let index = format!(
            "offload-pack 9\nname {name}\nabsent why\nmodule {}\n",
            modules.join("\nmodule ")
        );
        let Index::Absent { modules, .. } = Index::parse(&index).unwrap() else {
            panic!("{index}")
        };
        let pack = Pack { name, modules: &modules, is_compressed: false, value: quote! { pack } };
        let items = kernels(&pack, &Options::default(), &Default::default()).unwrap().to_string();
        let found = items.split("pub mod ").skip(1).filter_map(|rest| rest.split(' ').next());
        assert_eq!(found.collect::<Vec<_>>(), expected, "{items}");
    }
}
