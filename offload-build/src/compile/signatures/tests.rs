//! Tests of what is read of g++'s assembly.

use super::read_assembly;

#[test]
fn functions_and_their_types() {
    let lines = [
        ".hidden _Z5innerv",
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
        ".long .LASF1 # DW_AT_linkage_name: \"_ZN2ns4takeE1PPd\"",
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
        ".ascii \"_Z5innerv\\0\" # DW_AT_linkage_name",
        ".quad .LFB1 # DW_AT_low_pc",
        ".byte 0 # end of children of DIE 0xb",
        ".uleb128 0x3 # (DW_AT_type)",
    ];
    let text: String = lines.map(|line| format!("\t{}\n", line.replacen(" #", "\t//", 1))).concat();
    let expected = "record P 8 8 fields P\nfield x 0 f64\npassed address\n\
                    variable _ZN2ns5tableE _ZN2ns5tableE\nsource _ZN2ns5tableE\nplace \ntype P\n\
                    signature _ZN2ns4takeE1PPd _ZN2ns4takeE1PPd\nsource _ZN2ns4takeE1PPd\nplace \n\
                    parameter arg1 P\nparameter arg2 *mut f64\nparameter arg3 void\n\
                    parameter arg4 f64\n";
    assert_eq!(read_assembly(&text).to_string(), expected);
}
