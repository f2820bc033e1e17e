//! Tests reading g++'s assembly.

use super::{entries, read_assembly};

#[test]
fn kernels_and_their_types() {
    let lines = [
        "_ZN2ns4takeE1PPd:",
        ".LFB0:",
        "_Z5innerv:",
        ".LFB1:",
        ".uleb128 0x1 # (DIE (0xb) DW_TAG_compile_unit)",
        ".uleb128 0x2 # (DIE (0x2d) DW_TAG_base_type)",
        ".byte 0x8 # DW_AT_byte_size",
        ".byte 0x4 # DW_AT_encoding",
        ".long .LASF0 # DW_AT_name: \"double\"",
        ".uleb128 0x3 # (DIE (0x34) DW_TAG_structure_type)",
        ".ascii \"P\\0\" # DW_AT_name",
        ".byte 0x8 # DW_AT_byte_size",
        ".byte 0x1 # DW_AT_decl_file (a.cu)",
        ".uleb128 0x4 # (DIE (0x41) DW_TAG_member)",
        ".ascii \"x\\0\" # DW_AT_name",
        ".long 0x2d # DW_AT_type",
        ".byte 0 # DW_AT_data_member_location",
        ".byte 0 # end of children of DIE 0x34",
        ".uleb128 0x5 # (DIE (0x50) DW_TAG_namespace)",
        ".ascii \"ns\\0\" # DW_AT_name",
        ".uleb128 0x6 # (DIE (0x56) DW_TAG_subprogram)",
        " # DW_AT_external",
        ".long .LASF2 # DW_AT_name: \"take\"",
        ".byte 0x1 # DW_AT_decl_file (a.cu)",
        ".byte 0x3 # DW_AT_decl_line",
        " # DW_AT_declaration",
        ".uleb128 0x7 # (DIE (0x60) DW_TAG_formal_parameter)",
        ".long 0x34 # DW_AT_type",
        ".byte 0 # end of children of DIE 0x56",
        ".byte 0 # end of children of DIE 0x50",
        ".uleb128 0x8 # (DIE (0x70) DW_TAG_const_type)",
        ".long 0x34 # DW_AT_type",
        ".uleb128 0x9 # (DIE (0x75) DW_TAG_pointer_type)",
        ".byte 0x8 # DW_AT_byte_size",
        ".long 0x2d # DW_AT_type",
        ".uleb128 0xa # (DIE (0x80) DW_TAG_subprogram)",
        ".long 0x56 # DW_AT_specification",
        ".value 0x2000 # DW_AT_alignment",
        ".quad .LFB0 # DW_AT_low_pc",
        ".uleb128 0xb # (DIE (0x90) DW_TAG_formal_parameter)",
        ".long 0x70 # DW_AT_type",
        ".uleb128 0x3 # DW_AT_location",
        ".byte 0x91 # DW_OP_fbreg",
        ".sleb128 -24",
        ".byte 0x6 # DW_OP_deref",
        ".uleb128 0xb # (DIE (0x99) DW_TAG_formal_parameter)",
        ".long 0x75 # DW_AT_type",
        ".uleb128 0xb # (DIE (0xa0) DW_TAG_formal_parameter)",
        ".long 0x500 # DW_AT_type",
        ".uleb128 0xd # (DIE (0xa5) DW_TAG_GNU_formal_parameter_pack)",
        ".uleb128 0xb # (DIE (0xa6) DW_TAG_formal_parameter)",
        ".long 0x2d # DW_AT_type",
        ".byte 0 # end of children of DIE 0xa5",
        ".byte 0 # end of children of DIE 0x80",
        ".uleb128 0xe # (DIE (0xa8) DW_TAG_variable)",
        ".ascii \"table\\0\" # DW_AT_name",
        ".long 0x34 # DW_AT_type",
        " # DW_AT_external",
        " # DW_AT_declaration",
        ".uleb128 0xe # (DIE (0xaa) DW_TAG_variable)",
        ".long 0xa8 # DW_AT_specification",
        ".long .LASF1 # DW_AT_linkage_name: \"_ZN2ns5tableE\"",
        ".uleb128 0x9 # DW_AT_location",
        ".uleb128 0xe # (DIE (0xac) DW_TAG_variable)",
        ".ascii \"hidden\\0\" # DW_AT_name",
        ".long 0x34 # DW_AT_type",
        ".uleb128 0x9 # DW_AT_location",
        ".uleb128 0xc # (DIE (0xb0) DW_TAG_subprogram)",
        ".ascii \"inner\\0\" # DW_AT_name",
        ".quad .LFB1 # DW_AT_low_pc",
        ".byte 0 # end of children of DIE 0xb",
        ".uleb128 0x3 # (DW_AT_type)",
    ];
    let line = |line: &str| match line.strip_suffix(':') {
        Some(_) => format!("{line}\n"),
        None => format!("\t{}\n", line.replacen(" #", "\t//", 1)),
    };
    let text: String = lines.map(line).concat();
    let expected = "record P 8 8 fields P\nfield x 0 f64\n\
                    variable _ZN2ns5tableE _ZN2ns5tableE\nsource _ZN2ns5tableE\nplace \ntype P\n\
                    signature _ZN2ns4takeE1PPd _ZN2ns4takeE1PPd\nsource _ZN2ns4takeE1PPd\nplace \n\
                    parameter arg1 P\nparameter arg2 *mut f64\nparameter arg3 void\n\
                    parameter arg4 f64\n";
    assert_eq!(read_assembly(&text).to_string(), expected);
    let expected = "#line 3 \"a.cu\"\n\
                    template <typename R_, typename T0_, typename T2_> constexpr auto offload_cpu_named_0(R_ (*kernel_)(T0_, double *, T2_, double)) \
                    { return kernel_; } OFFLOAD_CPU_KERNEL(_ZN2ns4takeE1PPd) { offload_cpu::entry<1, 0, 0, 0>::run(addresses, offload_cpu_named_0(::ns::take)); }\n";
    assert_eq!(entries(&text, true), expected);
}

/// Tests clang's descriptions of overloads, anonymous namespaces, and types without names.
#[test]
fn entries_name_kernels_as_sources_do() {
    let ir = "define void @a(ptr %0) section \"__TEXT,offload\" !dbg !10 {\n\
              define void @b(ptr %0) section \"__TEXT,offload\" !dbg !11 {\n\
              define void @c() section \"__TEXT,offload\" !dbg !12 {\n\
              define void @d(ptr %0) section \"__TEXT,offload\" !dbg !13 {\n\
              !1 = !DIFile(filename: \"k.cu\", directory: \"/p\")\n\
              !2 = !DINamespace(scope: null)\n\
              !3 = !DICompositeType(tag: DW_TAG_structure_type, name: \"V\", scope: !2, size: 32)\n\
              !4 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !3)\n\
              !5 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !4, size: 64)\n\
              !6 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)\n\
              !7 = !DIBasicType(name: \"_Float16\", size: 16, encoding: DW_ATE_float)\n\
              !8 = !DIBasicType(name: \"__bf16\", size: 16, encoding: DW_ATE_float)\n\
              !9 = !DIBasicType(name: \"char8_t\", size: 8, encoding: DW_ATE_UTF)\n\
              !10 = distinct !DISubprogram(name: \"over\", scope: !2, file: !1, line: 1, type: !20)\n\
              !11 = distinct !DISubprogram(name: \"over\", scope: !2, file: !1, line: 2, type: !21)\n\
              !12 = distinct !DISubprogram(name: \"of<(lambda at k.cu:1:2)>\", file: !1, line: 3, type: !22)\n\
              !13 = distinct !DISubprogram(name: \"of<(anonymous namespace)::V>\", file: !1, line: 4, type: !21)\n\
              !20 = !DISubroutineType(types: !30)\n!21 = !DISubroutineType(types: !31)\n\
              !22 = !DISubroutineType(types: !32)\n\
              !30 = !{null, !5}\n!31 = !{null, !6, !7, !8, !9}\n!32 = !{null}\n";
    let text = entries(ir, false);
    for part in [
        "#line 1 \"k.cu\"\nOFFLOAD_CPU_KERNEL(a) { offload_cpu::entry<0>::run(addresses, static_cast<void (*)(::V const *)>(::over)); }\n",
        "#line 2 \"k.cu\"\nOFFLOAD_CPU_KERNEL(b) { offload_cpu::entry<0, 0, 0, 0>::run(addresses, static_cast<void (*)(void *, _Float16, __bf16, char8_t)>(::over)); }\n",
        "#line 3 \"k.cu\"\nstatic_assert(false, \"the image for the CPU cannot call the kernel of<(lambda at k.cu:1:2)> ",
        "#line 4 \"k.cu\"\nOFFLOAD_CPU_KERNEL(d) { offload_cpu::entry<0, 0, 0, 0>::run(addresses, static_cast<void (*)(void *, _Float16, __bf16, char8_t)>(::of<V>)); }\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
