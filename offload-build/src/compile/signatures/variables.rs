//! Finds the variables that an LLVM IR module defines for host code.
//!
//! | target | form of a variable |
//! |---|---|
//! | AMD, NVIDIA | `@name = … addrspace(1) externally_initialized global …`; the address space of `__constant__` is 4 |
//! | the CPU | `@name = … global …` in the list `@llvm.global.annotations`, from `offload/cpu.h` |
//!
//! Variables with internal linkage are `internal`, and not externally initialized. The address
//! space of `__shared__` is 3. `const` variables are omitted, because compilers replace them with
//! their values.

use super::types::Types;
use crate::compile::debug_info::ir;
use crate::compile::debug_info::metadata::{Id, Metadata, Node, reference, string};
use offload_pack::signature::{Obstacle, Variable, identifier};
use std::collections::HashSet;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Defined {
    symbol: String,
    /// The variable's `DIGlobalVariable` node.
    node: Id,
    is_internal: bool,
}

/// The prefix of the line that lists annotated functions and variables.
const ANNOTATIONS: &str = "@llvm.global.annotations = ";

/// Returns the variables with debug information, in definition order.
pub(super) fn defined(ir: &str, metadata: &Metadata<'_>) -> Vec<Defined> {
    let mut annotated = HashSet::new();
    for line in ir.lines() {
        let Some(list) = line.strip_prefix(ANNOTATIONS) else { continue };
        for name in list.split('@').skip(1) {
            annotated.extend(ir::identifier(name));
        }
    }
    let variable = |line: &str| {
        let written = ir::identifier(&line[1..])?;
        let rest = line[1 + written.len()..].strip_prefix(" = ")?;
        let mut words = Vec::new();
        for word in rest.split(' ') {
            if matches!(word, "global" | "constant") {
                break;
            }
            words.push(word);
        }
        let has = |word: &str| words.contains(&word);
        if has("external") || has("extern_weak") || has("available_externally") {
            return None;
        }
        let is_internal = has("internal") || has("private");
        let is_of_gpu = has("addrspace(1)") || has("addrspace(4)");
        let is_for_host = if is_of_gpu {
            is_internal || has("externally_initialized")
        } else {
            annotated.contains(written)
        };
        if !is_for_host {
            return None;
        }
        let expression = rest.rsplit_once(" !dbg ")?.1.split([',', ' ']).next()?;
        let node = metadata.node(reference(expression)?)?.reference("var")?;
        let symbol = string(written).unwrap_or_else(|| written.to_owned());
        Some(Defined { symbol, node, is_internal })
    };
    let mut variables = Vec::new();
    for line in ir.lines() {
        if line.starts_with('@') {
            variables.extend(variable(line));
        }
    }
    variables
}

impl Defined {
    /// Returns the variable, or `None` if it is `const`, is local to a function, or has no type in
    /// Rust.
    ///
    /// `comment` returns the location and the comment for a definition's node.
    pub(super) fn variable<'ir>(
        &self,
        metadata: &Metadata<'ir>,
        types: &mut Types<'ir>,
        comment: impl FnOnce(Node<'ir>) -> (String, Vec<String>),
    ) -> Option<Variable> {
        let node = metadata.node(self.node)?;
        let scope = metadata.follow(node, "scope");
        let is_of_function =
            scope.is_some_and(|it| matches!(it.kind, "DISubprogram" | "DILexicalBlock"));
        let ty = node.reference("type")?;
        // Programs see a managed variable as a pointer. Omit the variable that it points to, which
        // has a different name.
        if is_of_function || types.is_const(ty) || self.symbol.ends_with(".managed") {
            return None;
        }
        let own = node.string("name").unwrap_or_else(|| self.symbol.clone());
        // A class only declares its static members. Their definitions are separate nodes.
        let declared = metadata.follow(node, "declaration").unwrap_or(node);
        let arguments = types.template_arguments(node);
        let source_name = types.qualified(declared, &(own + &arguments));
        let ty = types.parameter(ty, &source_name)?;
        let (place, comment) = comment(node);
        let name = identifier(&identifier(&source_name).to_ascii_uppercase());
        let obstacle = self.is_internal.then_some(Obstacle::Static);
        let symbol = self.symbol.clone();
        Some(Variable { symbol, name, source_name, place, comment, ty, obstacle })
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn variables_of_each_kind_of_compiler() {
        let ir = "@table = protected addrspace(4) externally_initialized constant [2 x float] zeroinitializer, align 16, !dbg !10\n\
                  @_ZN2ns1SE = dso_local addrspace(1) externally_initialized global i32 0, align 4, !dbg !12\n\
                  @_ZL6hidden = internal addrspace(4) constant [2 x float] zeroinitializer, align 16, !dbg !14\n\
                  @\"a global b\" = weak_odr protected addrspace(1) externally_initialized global i32 3, comdat, align 4, !dbg !16\n\
                  @shared = internal addrspace(3) global i32 undef, align 4, !dbg !12\n\
                  @_ZZ1kE5local = internal addrspace(1) global i32 0, align 4, !dbg !18\n\
                  @declared = external protected addrspace(4) externally_initialized constant i32, align 4, !dbg !12\n\
                  @fixed = protected addrspace(4) externally_initialized constant i32 3, align 4, !dbg !20\n\
                  @of_opencl = addrspace(4) constant i32 3, align 4, !dbg !12\n\
                  @on_cpu = global i32 0, align 4, !dbg !22\n\
                  @of_host = dso_local global i32 0, align 4, !dbg !12\n\
                  @bare = protected addrspace(1) externally_initialized global i32 0, align 4\n\
                  @llvm.global.annotations = appending global [2 x { ptr, ptr }] [{ ptr, ptr } { ptr @on_cpu, ptr @.str }, { ptr, ptr } { ptr @f, ptr @.str.1 }], section \"llvm.metadata\"\n\
                  !1 = !DIFile(filename: \"./k.cu\")\n\
                  !2 = !DIBasicType(name: \"float\", size: 32, encoding: DW_ATE_float)\n\
                  !3 = !DICompositeType(tag: DW_TAG_array_type, baseType: !2, size: 64, elements: !4)\n\
                  !4 = !{!5}\n!5 = !DISubrange(count: 2)\n\
                  !6 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)\n\
                  !7 = !DINamespace(name: \"ns\", scope: null)\n\
                  !8 = distinct !DISubprogram(name: \"k\")\n\
                  !9 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !6)\n\
                  !10 = !DIGlobalVariableExpression(var: !11, expr: !DIExpression())\n\
                  !11 = distinct !DIGlobalVariable(name: \"table\", file: !1, line: 2, type: !3, isLocal: false)\n\
                  !12 = !DIGlobalVariableExpression(var: !13, expr: !DIExpression())\n\
                  !13 = distinct !DIGlobalVariable(name: \"S\", scope: !7, file: !1, line: 3, type: !6)\n\
                  !14 = !DIGlobalVariableExpression(var: !15, expr: !DIExpression())\n\
                  !15 = distinct !DIGlobalVariable(name: \"hidden\", file: !1, line: 4, type: !3, isLocal: true)\n\
                  !16 = !DIGlobalVariableExpression(var: !17, expr: !DIExpression())\n\
                  !17 = distinct !DIGlobalVariable(name: \"t\", file: !1, line: 5, type: !6, templateParams: !30)\n\
                  !18 = !DIGlobalVariableExpression(var: !19, expr: !DIExpression())\n\
                  !19 = distinct !DIGlobalVariable(name: \"local\", scope: !8, file: !1, line: 6, type: !6)\n\
                  !20 = !DIGlobalVariableExpression(var: !21, expr: !DIExpression())\n\
                  !21 = distinct !DIGlobalVariable(name: \"fixed\", file: !1, line: 7, type: !9)\n\
                  !22 = !DIGlobalVariableExpression(var: !23, expr: !DIExpression())\n\
                  !23 = distinct !DIGlobalVariable(name: \"on_cpu\", file: !1, line: 8, type: !6)\n\
                  !30 = !{!31, !32}\n\
                  !31 = !DITemplateTypeParameter(name: \"T\", type: !6)\n\
                  !32 = !DITemplateValueParameter(name: \"N\", type: !6, value: i32 3)\n";
        let read = read(ir, &|_| Some("// a\n\n// b\nx;\n".to_owned()));
        let expected = "variable TABLE table\nsource table\nplace k.cu:2\ncomment a\ntype [f32; 2]\n\
                        variable NS_S _ZN2ns1SE\nsource ns::S\nplace k.cu:3\ntype i32\n\
                        variable HIDDEN _ZL6hidden\nsource hidden\nplace k.cu:4\ncomment b\ntype [f32; 2]\nobstacle static\n\
                        variable T_INT_3 a global b\nsource t<int, 3>\nplace k.cu:5\ntype i32\n\
                        variable ON_CPU on_cpu\nsource on_cpu\nplace k.cu:8\ntype i32\n";
        assert_eq!(read.to_string(), expected);
    }
}
