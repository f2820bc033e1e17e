//! Reads the template arguments of kernels that are template instances, from debug information.
//!
//! ```text
//! !17 = distinct !DISubprogram(name: "scale<float, 4>", …, templateParams: !24)
//! !24 = !{!25, !26}
//! !25 = !DITemplateTypeParameter(name: "T", type: !21)
//! !26 = !DITemplateValueParameter(name: "N", type: !22, value: i32 4)
//! ```

use super::types::Types;
use crate::compile::debug_info::metadata::{Metadata, Node, reference};
use offload_pack::signature::{
    Identifiers, Scalar, Template, TemplateArgument, TemplateValue, Type, identifier,
};

/// Returns the template of a function. `name` is the function's unqualified name.
///
/// Returns `None` if the function is not a template instance, or if Rust cannot express one of the
/// arguments: a pointer, a template, a parameter pack, or an unnamed type.
pub(super) fn template(
    types: &mut Types<'_>,
    metadata: &Metadata<'_>,
    subprogram: Node<'_>,
    name: &str,
) -> Option<Template> {
    let list = metadata.follow(subprogram, "templateParams")?;
    let mut names = Identifiers::default();
    let mut arguments = Vec::new();
    for (number, item) in (1..).zip(list.items()) {
        let argument = metadata.node(reference(item)?)?;
        let name = argument.string("name").filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("T{number}"), |name| identifier(&name));
        let value = value(types, argument)?;
        arguments.push(TemplateArgument { name: names.give(&name), value });
    }
    let (own, _) = name.split_once('<').unwrap_or((name, ""));
    let is_named = !own.is_empty() && !arguments.is_empty();
    is_named.then(|| Template { source_name: types.qualified(subprogram, own), arguments })
}

fn value(types: &mut Types<'_>, argument: Node<'_>) -> Option<TemplateValue> {
    // Only arguments that are templates or packs have a tag.
    if !argument.tag().is_empty() {
        return None;
    }
    let ty = argument.reference("type");
    match argument.kind {
        "DITemplateTypeParameter" => {
            let ty = ty.map_or(Some(Type::Void), |ty| types.template_argument(ty))?;
            Some(TemplateValue::Type(match ty {
                Type::Scalar(scalar) => Type::Scalar(without_size(scalar)),
                ty => ty,
            }))
        }
        "DITemplateValueParameter" => {
            let Type::Scalar(ty) = types.template_argument(ty?)? else { return None };
            let ty = without_size(ty);
            let value: i128 = match &*argument.last_word("value") {
                "true" => 1,
                "false" => 0,
                number => number.parse().ok()?,
            };
            // LLVM prints each number as the signed number with the same bits.
            let is_unsigned = !ty.has_value(-1) && value < 0;
            let modulus = 1_i128.checked_shl(8 * u32::try_from(ty.bytes()).ok()?);
            let value = if is_unsigned { value.checked_add(modulus?)? } else { value };
            let is_possible = ty.has_value(value) || ty == Scalar::Bool;
            is_possible.then_some(TemplateValue::Number { ty, value })
        }
        _ => None,
    }
}

/// Replaces a pointer-sized type with the 64-bit type. C++ does not distinguish these types in
/// template arguments, and debug information may contain either.
fn without_size(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Usize => Scalar::U64,
        Scalar::Isize => Scalar::I64,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn arguments_of_templates() {
        let kernel = |symbol: &str, name: &str, parameters: &str| {
            let number = symbol.len();
            format!(
                "define ptx_kernel void @{symbol}() !dbg !{number}\n\
                 !{number} = distinct !DISubprogram(name: \"{name}\", scope: !20, file: !1, line: {number}, type: !21, \
                 templateParams: !1{number})\n!1{number} = !{{{parameters}}}\n"
            )
        };
        let of_type = "!DITemplateTypeParameter(name: \"T\", type: ";
        let of_value = "!DITemplateValueParameter(";
        let ir = [
            kernel("a", "scale<float, true>", "!30, !31, !32, !33"),
            kernel("aa", "size<unsigned long>", "!34, !35, !42"),
            // These kernels get no function in Rust.
            kernel("aaa", "lambda<(lambda)>", "!36"),
            kernel("aaaa", "pack<int>", "!37"),
            kernel("aaaaa", "of_template<Box>", "!38"),
            kernel("aaaaaa", "pointer<nullptr>", "!39"),
            kernel("aaaaaaa", "function<int (int)>", "!40"),
            kernel("aaaaaaaa", "none<>", ""),
            // The argument is an undefined type that no parameter has.
            kernel("aaaaaaaaa", "record<Functor>", "!41"),
            "!20 = !DINamespace(name: \"ns\", scope: null)\n!21 = !DISubroutineType(types: !22)\n!22 = !{null}\n\
             !23 = !DIBasicType(name: \"float\", size: 32, encoding: DW_ATE_float)\n\
             !24 = !DIBasicType(name: \"unsigned\", size: 32, encoding: DW_ATE_unsigned)\n\
             !25 = !DIBasicType(name: \"bool\", size: 8, encoding: DW_ATE_boolean)\n\
             !26 = !DIBasicType(name: \"unsigned long\", size: 64, encoding: DW_ATE_unsigned)\n\
             !27 = !DIDerivedType(tag: DW_TAG_typedef, name: \"size_t\", baseType: !26)\n\
             !28 = distinct !DICompositeType(tag: DW_TAG_class_type, size: 8, elements: !22)\n\
             !29 = !DICompositeType(tag: DW_TAG_structure_type, name: \"Functor\", flags: DIFlagFwdDecl)\n".into(),
            format!("!30 = {of_type}!23)\n!31 = {of_value}name: \"N\", type: !24, value: i32 -2)\n"),
            format!("!32 = {of_value}type: !25, value: i1 true)\n!33 = {of_type}null)\n"),
            format!("!34 = {of_type}!27)\n!35 = {of_value}name: \"if\", type: !27, value: i64 -1)\n"),
            format!("!36 = {of_type}!28)\n!37 = {of_value}tag: DW_TAG_GNU_template_parameter_pack, name: \"T\", value: !22)\n"),
            format!("!38 = {of_value}tag: DW_TAG_GNU_template_template_param, name: \"T\", value: !\"Box\")\n"),
            format!("!39 = {of_value}name: \"P\", type: !43, value: i8 0)\n!40 = {of_type}!21)\n!41 = {of_type}!29)\n"),
            format!("!42 = {of_value}name: \"N\", type: !25, value: i8 0)\n"),
            "!43 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !23, size: 64)\n".into(),
        ];
        let signatures = read(&ir.concat(), &|_| None);
        let of = |at: usize| {
            let template = signatures.kernels[at].template.as_ref();
            template.map(ToString::to_string).unwrap_or_default()
        };
        assert_eq!(
            of(0),
            "template ns::scale\ntypename T f32\nconst N u32 4294967294\nconst T3 bool 1\ntypename T_2 void\n"
        );
        assert_eq!(
            of(1),
            "template ns::size\ntypename T u64\nconst if_ u64 18446744073709551615\nconst N bool 0\n"
        );
        assert!((2..8).all(|at| of(at).is_empty()), "{signatures}");
        assert_eq!(of(8), "template ns::record\ntypename T Functor\n");
        assert!(signatures.to_string().starts_with("record Functor - - opaque Functor\n"));
    }
}
