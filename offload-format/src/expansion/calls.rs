//! The functions of kernels, and the code that they share.

use super::named::{self, Group};
use super::own::{OwnTypes, passed_name};
use super::passing::{Passed, passed};
use super::{Declared, unraw};
use crate::pack_index::{ArgumentKind, IndexArgument, IndexImage, IndexModule};
use crate::signature::{Parameter, Scalar, Signature, Signatures, Size, Type};
use crate::target::NVIDIA_PARAMETERS_ALIGN;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// The maximum number of parameters, in all kernels of sources together, up to which each kernel
/// has separate traits. With separate traits, the compiler's messages can name the kernel.
const MOST_OWN_TRAITS: usize = 256;

/// A note for packs with types of the program in the places of structs.
const OF_OWN: &str = ", note = \"a struct that `use` puts in the place of the kernel's is passed by value if it derives \
                      `Parameter`: #[derive(Clone, Copy, offload_gpu::Parameter)]\"";

/// The maximum number of arguments for which clippy does not warn.
const FEW_ARGUMENTS: usize = 7;

/// The functions of kernels as Rust code, and the data for the code that these functions share.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    images: &'a [IndexImage],
    signatures: &'a Signatures,
    own: &'a OwnTypes<'a>,
    has_own_traits: bool,
    functions: String,
    /// The traits of parameters, by the name of the module that contains them.
    traits: Vec<(&'a str, Vec<Trait<'a>>)>,
    /// The layouts of arguments, each with the number of the function that stores its arguments.
    shapes: Vec<(Shape, usize)>,
    /// Kernels for the function `named`, by the number of their layout.
    groups: Vec<Group>,
}

/// A layout of kernel arguments. For each layout, one generated function stores all arguments, and
/// passes them on to functions for the CPU. The texts are Rust code: numbers, or constants that the
/// compiler computes.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// The name of the type that functions return.
    call: String,
    /// The offset of each argument, and its type.
    arguments: Vec<(String, String)>,
    /// The offset in bytes of the end of the last argument.
    bytes: String,
    has_buffer: String,
    /// How the CPU's C++ passes each argument.
    passed: Vec<Passed>,
}

/// A trait for arguments of parameters with this number, name and size in bytes, whatever their
/// type is.
type Trait<'a> = (usize, &'a str, u64);

/// Returns the name of a trait.
fn ident((number, name, bytes): &Trait<'_>) -> String {
    format!("{name}_{number}_{bytes}")
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        module: &'a IndexModule,
        signatures: &'a Signatures,
        own: &'a OwnTypes<'a>,
    ) -> Self {
        let (images, kernels) = (&*module.images, &signatures.kernels);
        let count = kernels.iter().map(|kernel| kernel.parameters.len()).sum::<usize>();
        let (functions, traits, shapes) = (String::new(), Vec::new(), Vec::new());
        let has_own_traits = count <= MOST_OWN_TRAITS;
        let groups = Vec::new();
        Self { images, signatures, own, has_own_traits, functions, traits, shapes, groups }
    }

    /// Adds the function of a kernel of a source. Returns false if it has none, because the size of
    /// a parameter is unknown.
    pub(super) fn add(&mut self, kernel: &'a Signature) -> bool {
        let Signature { symbol, name, source_name, place, comment, parameters, .. } = kernel;
        let records = &self.signatures.records;
        let Some(layout) = kernel.layout(records) else { return false };
        let traits_module = if self.has_own_traits { name.as_str() } else { "any" };
        if self.has_own_traits || self.traits.is_empty() {
            self.traits.push((traits_module, Vec::new()));
        }
        let traits = &mut self.traits.last_mut().expect("one was added").1;
        let mut bounds = Vec::new();
        for (at, (parameter, (_, size))) in parameters.iter().zip(&layout).enumerate() {
            let of_parameter = (at + 1, &*parameter.name, size.bytes);
            let (name, ty) = (ident(&of_parameter), argument_type(&parameter.ty));
            bounds.push(format!("__offload_arguments::{traits_module}::{name}<{ty}>"));
            if let Err(at) = traits.binary_search(&of_parameter) {
                traits.insert(at, of_parameter);
            }
        }
        let bytes = layout.last().map_or(0, |(offset, size)| offset + size.bytes);
        let has_buffer = self.images.iter().all(|image| has_layout(image, symbol, &layout));
        let buffer = if has_buffer { "" } else { "_without_buffer" };
        let (mut arguments, mut how) = (Vec::new(), Vec::new());
        for (Parameter { ty, .. }, (offset, _)) in parameters.iter().zip(&layout) {
            arguments.push((offset.to_string(), passed_type(ty, self.own)));
            how.push(passed(ty, records));
        }
        let shape = Shape {
            call: format!("Call_{}_{bytes}{buffer}", parameters.len()),
            arguments,
            bytes: bytes.to_string(),
            has_buffer: has_buffer.to_string(),
            passed: how,
        };
        let doc = format!("{} `{source_name}`, {place}", documentation(comment));
        let mut attributes = format!("#[doc = {doc:?}]");
        // Add this attribute only where it is needed: rustc takes some time for each attribute.
        if comment.iter().any(|line| line.contains(['[', '<'])) {
            attributes
                .push_str("#[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]");
        }
        self.function(kernel, &attributes, &bounds, shape, place);
        true
    }

    /// Adds the function of a kernel that the program declares. The compiler knows its types.
    pub(super) fn add_declared(&mut self, kernel: &'a Declared) {
        let Declared { signature, attributes } = kernel;
        let Signature { symbol, name, place, parameters, .. } = signature;
        let layout = kernel.layout();
        let (mut bounds, mut stored) = (Vec::new(), Vec::new());
        for (at, Parameter { name: parameter, ty }) in parameters.iter().enumerate() {
            let (argument, ty) = (argument_type(ty), value_type(ty));
            bounds.push(format!(
                "__offload::DeclaredArgument<{argument}, super::__offload_kernels::{name}, \
                 super::__offload_parameters::{parameter}, {}, {{ __offload::core::mem::size_of::<{ty}>() }}>",
                at + 1
            ));
            stored.push((format!("{layout}.offsets[{at}]"), ty));
        }
        let images = kernel.images();
        let (mut records, mut has_ptx) = (String::new(), false);
        for image in self.images.iter().filter(|it| arguments(it, symbol).is_some()) {
            records += &recorded(image, symbol);
            has_ptx |= is_ptx(image);
        }
        let _ = writeln!(
            self.functions,
            "#[doc(hidden)] pub const {images}: &[[__offload::Recorded; {}]] = &[{records}];",
            parameters.len()
        );
        let shape = Shape {
            call: format!("Call_of_{}", unraw(name)),
            arguments: stored,
            bytes: format!("{{ {layout}.bytes }}"),
            has_buffer: format!("{{ {layout}.is_of_all({images}, {has_ptx}) }}"),
            passed: self.passed(signature),
        };
        let attributes =
            format!("{attributes}#[doc = \"\"] #[doc = {:?}]", format!("`{symbol}`, {place}"));
        self.function(signature, &attributes, &bounds, shape, "declared by the program");
    }

    /// Returns how the parameters of a declared kernel are passed, according to its source. Without
    /// a source, each is passed as a value.
    fn passed(&self, declared: &Signature) -> Vec<Passed> {
        let Signature { symbol, parameters, .. } = declared;
        let known =
            self.signatures.kernels.iter().find(|kernel| {
                kernel.symbol == *symbol && kernel.parameters.len() == parameters.len()
            });
        match known {
            Some(known) => {
                known.parameters.iter().map(|it| passed(&it.ty, &self.signatures.records)).collect()
            }
            None => vec![Passed::Value; parameters.len()],
        }
    }

    /// Writes the function of a kernel. `bounds` are the traits of its arguments. `place` is for
    /// errors of `named`.
    fn function(
        &mut self,
        kernel: &Signature,
        attributes: &str,
        bounds: &[String],
        shape: Shape,
        place: &str,
    ) {
        let Signature { symbol, name, parameters, .. } = kernel;
        let (mut arguments, mut values) = (String::new(), String::new());
        for (parameter, bound) in parameters.iter().zip(bounds) {
            let _ = write!(arguments, "{}: impl {bound},", parameter.name);
            let _ = write!(values, ",{}", parameter.name);
        }
        let call = shape.call.clone();
        let number = self.number(shape);
        if number == self.groups.len() {
            let types = parameters.iter().map(|parameter| argument_type(&parameter.ty)).collect();
            self.groups.push(Group { types, kernels: String::new() });
        }
        let names = parameters.iter().map(|parameter| unraw(&parameter.name));
        named::line(&mut self.groups[number].kernels, kernel, place, names);
        let text = &mut self.functions;
        text.push_str(attributes);
        if parameters.len() > FEW_ARGUMENTS {
            text.push_str("#[allow(clippy::too_many_arguments)]");
        }
        if arguments.contains(char::is_uppercase) || name.contains(char::is_uppercase) {
            text.push_str("#[allow(non_snake_case)]");
        }
        let _ = writeln!(
            text,
            "pub fn {name}({arguments}) -> __offload_calls::{call} {{ __offload_call_{number}({symbol:?}{values}) }}"
        );
    }

    /// Returns the number of the function that stores arguments in this layout.
    fn number(&mut self, shape: Shape) -> usize {
        let next = self.shapes.len();
        let at =
            self.shapes.binary_search_by(|(known, _)| known.cmp(&shape)).unwrap_or_else(|at| {
                self.shapes.insert(at, (shape, next));
                at
            });
        self.shapes[at].1
    }

    /// Returns the functions, and the code that they share. `others` are lines of kernels without
    /// functions, for errors of `named`.
    pub(super) fn text(&self, others: &str) -> String {
        let mut text = String::new();
        // Modules of kernels are apart from types, since a kernel may have any name.
        text.push_str("#[doc(hidden)] pub mod __offload_arguments { use super::__offload;\n");
        self.write_traits(&mut text);
        text.push_str("}\n#[doc(hidden)] pub mod __offload_calls { use super::*;\n");
        self.write_types(&mut text);
        text.push_str("}\n");
        self.write_shared(&mut text);
        self.write_named(&mut text, others);
        text + &self.functions
    }

    /// Writes the traits of arguments.
    fn write_traits(&self, text: &mut String) {
        for (module, traits) in &self.traits {
            let _ = write!(text, "pub mod {module} {{ use super::__offload;");
            let of_kernel = if self.has_own_traits {
                format!(", of the kernel `{module}`")
            } else {
                ",".to_owned()
            };
            for of_parameter in traits {
                let (number, name, bytes) = of_parameter;
                let plural = if *bytes == 1 { "" } else { "s" };
                let message = format!(
                    "parameter {number}, `{name}`{of_kernel} is `{{T}}` ({bytes} byte{plural}): `{{Self}}` cannot be passed"
                );
                let of_own = if self.own.is_empty() { "" } else { OF_OWN };
                let _ = write!(
                    text,
                    "#[diagnostic::on_unimplemented(message = {message:?}, label = \"`{{T}}` is needed here\", \
                     note = \"parameters have the types of the kernel's source\"{of_own})] \
                     pub trait {0}<T>: __offload::Passed {{}} \
                     #[diagnostic::do_not_recommend] \
                     impl<T, A: __offload::Argument<T>> {0}<T> for A {{}} ",
                    ident(of_parameter)
                );
            }
            text.push_str("}\n");
        }
    }

    /// Writes the types that functions return.
    fn write_types(&self, text: &mut String) {
        let mut types: Vec<String> = Vec::new();
        for (Shape { call, arguments, bytes, has_buffer, .. }, _) in &self.shapes {
            let count = arguments.len();
            let ty = format!(
                "pub type {call} = __offload::Call<{count}, {bytes}, super::__offload_form, {has_buffer}>;\n"
            );
            // Layouts with the same size and number of arguments share a type.
            if let Err(at) = types.binary_search(&ty) {
                types.insert(at, ty);
            }
        }
        text.push_str(&types.concat());
    }

    /// Writes the functions that store the arguments of kernels with the same argument layout.
    fn write_shared(&self, text: &mut String) {
        for (Shape { call, arguments, passed, .. }, number) in &self.shapes {
            let (mut generics, mut parameters, mut stores) =
                (String::new(), String::new(), String::new());
            let (mut offsets, mut places) = (String::new(), String::new());
            for (at, (offset, ty)) in arguments.iter().enumerate() {
                // Records may have any other name, and a generic parameter would hide them.
                let _ = write!(generics, "__offload_{at}: __offload::Passed,");
                let _ = write!(parameters, ", a{at}: __offload_{at}");
                let _ = write!(stores, "call.set({at}, a{at});");
                let _ = write!(offsets, "{offset},");
                let _ = write!(places, "{offset}, {} {ty};", passed[at].word());
            }
            let mut invoke = format!("__offload::cpu_call!({places})");
            let conditions = Passed::conditions(passed);
            if !conditions.is_empty() {
                invoke = format!("__offload::invoke(&[{conditions}], {invoke})");
            }
            let _ = writeln!(
                text,
                "#[doc(hidden)] #[inline] fn __offload_invoke_{number}() -> __offload::InvokeResult {{ {invoke} }} \
                 #[doc(hidden)] #[allow(clippy::too_many_arguments, unused_mut)] \
                 fn __offload_call_{number}<{generics}>(symbol: &'static __offload::core::primitive::str{parameters}) \
                 -> __offload_calls::{call} {{ \
                 let mut call = __offload::Call::new(__offload_kernel(symbol), [{offsets}], __offload_invoke_{number}()); {stores} call }}"
            );
        }
    }

    /// Writes the function `named`, with the kernels of each layout.
    fn write_named(&self, text: &mut String, others: &str) {
        let mut groups = String::new();
        for (Shape { arguments, bytes, has_buffer, .. }, number) in &self.shapes {
            let Group { types, kernels } = &self.groups[*number];
            let mut wanted = String::new();
            for ((offset, _), ty) in arguments.iter().zip(types) {
                let _ = write!(wanted, "({offset}, __offload::wanted::<{ty}>),");
            }
            let _ = writeln!(
                groups,
                "__offload::NamedGroup {{ kernels: {kernels:?}, arguments: &[{wanted}], bytes: {bytes}, \
                 has_buffer: {has_buffer}, invoke: __offload_invoke_{number} }},"
            );
        }
        named::write(text, &groups, others);
    }
}

/// Returns the arguments of a kernel, if the image records them.
fn arguments<'a>(image: &'a IndexImage, symbol: &str) -> Option<&'a [IndexArgument]> {
    image.kernel(symbol)?.arguments.as_deref()
}

/// Returns the list of the arguments that an image records, as Rust code.
fn recorded(image: &IndexImage, symbol: &str) -> String {
    let target = &image.target;
    let may_be_moved = image.kind.vendor().moves_parameters();
    let (mut each, mut after) = (String::new(), 0);
    for IndexArgument { offset, size, kind } in arguments(image, symbol).unwrap_or_default() {
        let start = core::mem::replace(&mut after, offset.saturating_add(*size));
        let (is_float, is_pointer) = (*kind == ArgumentKind::Float, *kind == ArgumentKind::Pointer);
        let _ = write!(
            each,
            "__offload::Recorded {{ target: {target:?}, after: {start}, offset: {offset}, size: {size}, \
             is_float: {is_float}, is_pointer: {is_pointer}, may_be_moved: {may_be_moved} }},"
        );
    }
    format!("[{each}],")
}

fn is_ptx(image: &IndexImage) -> bool {
    image.kind.is_ptx()
}

/// Whether an image has a kernel's arguments at the offsets in `layout`, or does not record the
/// arguments. For PTX, the offsets must also be right in all machine code that drivers make from
/// it.
fn has_layout(image: &IndexImage, symbol: &str, layout: &[(u64, Size)]) -> bool {
    let Some(recorded) = arguments(image, symbol) else { return true };
    let is_same = layout
        .iter()
        .map(|(offset, _)| *offset)
        .eq(recorded.iter().map(|argument| argument.offset));
    is_same
        && !(is_ptx(image) && layout.iter().any(|(_, size)| size.align > NVIDIA_PARAMETERS_ALIGN))
}

/// Returns the type that arguments of a parameter have. A pointer to any type may be passed for a
/// pointer to `void`.
fn argument_type(ty: &Type) -> String {
    match ty {
        Type::Pointer { is_mutable, to } if **to == Type::Void => {
            format!("__offload::{}", if *is_mutable { "AnyMut" } else { "AnyConst" })
        }
        other => value_type(other),
    }
}

/// Returns the Rust type of a parameter. `bool` is Rust's own only there: in memory, it may be any
/// byte.
fn value_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(Scalar::Bool) => "__offload::core::primitive::bool".to_owned(),
        other => memory_type(other),
    }
}

/// Returns the Rust type for a record's field or the target of a pointer. `__offload` is the hidden
/// module of the crate `offload-gpu`.
pub(super) fn memory_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(Scalar::Bool) => "__offload::types::Bool".to_owned(),
        Type::Scalar(Scalar::F16) => "__offload::types::F16".to_owned(),
        Type::Scalar(Scalar::Bf16) => "__offload::types::Bf16".to_owned(),
        Type::Scalar(Scalar::Isize) => "__offload::Isize".to_owned(),
        Type::Scalar(Scalar::Usize) => "__offload::Usize".to_owned(),
        Type::Scalar(scalar) => format!("__offload::core::primitive::{}", scalar.name()),
        Type::Pointer { is_mutable: true, to } => format!("*mut {}", memory_type(to)),
        Type::Pointer { is_mutable: false, to } => format!("*const {}", memory_type(to)),
        Type::Array { of, count } => format!("[{}; {count}]", memory_type(of)),
        Type::Record(name) => name.clone(),
        Type::Void => "__offload::core::ffi::c_void".to_owned(),
    }
}

/// Returns the Rust type that calls on the CPU pass for a parameter or a field.
pub(super) fn passed_type(ty: &Type, own: &OwnTypes<'_>) -> String {
    match ty {
        Type::Array { of, count } => format!("[{}; {count}]", passed_type(of, own)),
        Type::Record(name) if own.has_another_form(name) => passed_name(name),
        other => memory_type(other),
    }
}

/// Returns the lines of a comment as documentation, followed by an empty line. Code blocks are
/// marked as text, so that they are no Rust examples.
pub(super) fn documentation(comment: &[String]) -> String {
    let mut doc = String::new();
    let mut is_code = false;
    for line in comment {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        match line.trim() {
            _ if is_fence && is_code => doc.push_str(" ```text\n"),
            line => doc.extend([" ", line, "\n"]),
        }
    }
    if comment.is_empty() { doc } else { doc + if is_code { " ```\n\n" } else { "\n" } }
}
