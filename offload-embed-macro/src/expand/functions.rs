//! Functions of kernels whose parameters the build has read from the source.
//!
//! A pack may have thousands of kernels, and rustc compiles all of their functions in each build of
//! the crate. Each function is small. Traits, the returned type and the code that stores arguments
//! are shared, and rustc parses all functions as one text. Passing tokens one by one takes several
//! times as long in a development build, in which macros are not optimized.

use super::passing::{Passed, passed};
use crate::sorted;
use offload_format::pack_index::{IndexImage, PackImageKind};
use offload_format::signature::{Record, Scalar, Signature, Size, Type};
use offload_format::target::NVIDIA_PARAMETERS_ALIGN;
use proc_macro2::TokenStream;
use quote::quote;
use std::fmt::Write as _;

/// The maximum number of parameters, in all kernels together, up to which each kernel has separate
/// traits. With separate traits, the compiler's messages can name the kernel.
const MOST_OWN_TRAITS: usize = 256;

/// The maximum number of arguments for which clippy does not warn.
const FEW_ARGUMENTS: usize = 7;

/// Returns the functions, with their shared code. Kernels with a parameter of unknown size have no
/// function.
pub(super) fn of(
    kernels: &[&Signature],
    records: &[Record],
    images: &[IndexImage],
    form: &TokenStream,
) -> TokenStream {
    let count = kernels.iter().map(|kernel| kernel.parameters.len()).sum::<usize>();
    let mut functions =
        Functions { has_own_traits: count <= MOST_OWN_TRAITS, ..Functions::default() };
    kernels.iter().for_each(|kernel| functions.add(kernel, records, images));
    if functions.text.is_empty() {
        return TokenStream::new();
    }
    let arguments = functions.arguments();
    let shared = functions.shared();
    let text = parsed(&(arguments + &shared + &functions.text));
    quote! {
        type __offload_form = #form;
        #text
    }
}

/// Parses the text with rustc's own parser: the parser of proc-macro2 is not optimized in
/// development builds.
pub(super) fn parsed(text: &str) -> TokenStream {
    const PARSES: &str = "names are identifiers";
    if proc_macro::is_available() {
        text.parse::<proc_macro::TokenStream>().expect(PARSES).into()
    } else {
        text.parse().expect(PARSES)
    }
}

/// The functions of kernels as Rust code, and the data for the code that these functions share.
#[derive(Debug, Default)]
struct Functions<'a> {
    has_own_traits: bool,
    text: String,
    /// The traits of parameters, by the name of the module that contains them.
    traits: Vec<(&'a str, Vec<Trait<'a>>)>,
    /// The layouts of arguments, each with the number of the function that stores its arguments.
    shapes: Vec<(Shape, usize)>,
}

/// A layout of kernel arguments. For each layout, one generated function stores all arguments, and
/// passes them on to functions for the CPU.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// The offset of each argument, and its type.
    arguments: Vec<(u64, String)>,
    /// The offset in bytes of the end of the last argument.
    bytes: u64,
    has_buffer: bool,
    /// How the CPU's C++ passes each argument.
    passed: Vec<Passed>,
}

/// A trait for arguments of parameters with this number, name and size, whatever their type is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Trait<'a> {
    number: usize,
    name: &'a str,
    bytes: u64,
}

impl<'a> Functions<'a> {
    fn add(&mut self, kernel: &'a Signature, records: &[Record], images: &[IndexImage]) {
        let Signature { symbol, name, source_name, place, comment, parameters, .. } = kernel;
        let Some(layout) = kernel.layout(records) else { return };
        let traits_module = if self.has_own_traits { name.as_str() } else { "any" };
        let (mut generics, mut names) = (String::new(), String::new());
        if self.has_own_traits || self.traits.is_empty() {
            self.traits.push((traits_module, Vec::new()));
        }
        let traits = &mut self.traits.last_mut().expect("one was added").1;
        for (at, (parameter, (_, size))) in parameters.iter().zip(&layout).enumerate() {
            let of_parameter = Trait { number: at + 1, name: &parameter.name, bytes: size.bytes };
            let ty = parameter_type(&parameter.ty);
            let _ = write!(
                generics,
                "{}: impl __offload_arguments::{traits_module}::{}<{ty}>,",
                parameter.name,
                of_parameter.ident()
            );
            sorted::insert(traits, of_parameter);
            let _ = write!(names, ",{}", parameter.name);
        }
        let bytes = layout.last().map_or(0, |(offset, size)| offset + size.bytes);
        let has_buffer = images.iter().all(|image| has_layout(image, symbol, &layout));
        let types = parameters.iter().map(|parameter| memory_type(&parameter.ty));
        let shape = Shape {
            arguments: layout.iter().map(|(offset, _)| *offset).zip(types).collect(),
            bytes,
            has_buffer,
            passed: parameters.iter().map(|parameter| passed(&parameter.ty, records)).collect(),
        };
        let return_type = shape.return_type();
        let number = self.number(shape);

        let text = &mut self.text;
        let mut doc = documentation(comment);
        let _ = write!(doc, " `{source_name}`, {place}");
        let _ = write!(text, "#[doc = {doc:?}]");
        // Add this attribute only where it is needed: rustc takes some time for each attribute.
        if comment.iter().any(|line| line.contains(['[', '<'])) {
            text.push_str("#[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]");
        }
        if parameters.len() > FEW_ARGUMENTS {
            text.push_str("#[allow(clippy::too_many_arguments)]");
        }
        if generics.contains(char::is_uppercase) || name.contains(char::is_uppercase) {
            text.push_str("#[allow(non_snake_case)]");
        }
        let _ = writeln!(
            text,
            "pub fn {name}({generics}) -> __offload_calls::{return_type} {{ __offload_call_{number}({symbol:?}{names}) }}"
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

    /// Returns the code of the traits, and of the types that functions return.
    fn arguments(&self) -> String {
        let mut text = String::new();
        for (module, traits) in &self.traits {
            let _ = write!(text, "pub mod {module} {{ use super::__offload;");
            let of_kernel = if self.has_own_traits {
                format!(", of the kernel `{module}`")
            } else {
                String::new()
            };
            for of_parameter in traits {
                let Trait { number, name, bytes } = of_parameter;
                let message = format!(
                    "parameter {number}, `{name}`{of_kernel}{} is `{{T}}` ({bytes} bytes): `{{Self}}` cannot be passed",
                    if self.has_own_traits { "" } else { "," }
                );
                let _ = write!(
                    text,
                    "#[diagnostic::on_unimplemented(message = {message:?}, label = \"`{{T}}` is needed here\", \
                     note = \"parameters have the types of the kernel's source\")] \
                     pub trait {0}<T>: __offload::Passed {{}} \
                     #[diagnostic::do_not_recommend] \
                     impl<T, A: __offload::Argument<T>> {0}<T> for A {{}} ",
                    of_parameter.ident()
                );
            }
            text.push_str("}\n");
        }
        let mut types = Vec::new();
        for (shape, _) in &self.shapes {
            let (name, count) = (shape.return_type(), shape.arguments.len());
            let Shape { bytes, has_buffer, .. } = shape;
            let call =
                format!("__offload::Call<{count}, {bytes}, super::__offload_form, {has_buffer}>");
            sorted::insert(&mut types, format!("pub type {name} = {call};"));
        }
        // Modules of kernels are apart from types, since a kernel may have any name.
        let modules = [("__offload_arguments", text), ("__offload_calls", types.concat())];
        let module =
            |(name, items)| format!("pub mod {name} {{ use super::__offload; {items} }}\n");
        modules.map(module).concat()
    }

    /// Returns the code that stores the arguments of kernels with the same argument layout.
    fn shared(&self) -> String {
        let mut text = String::new();
        for (shape, number) in &self.shapes {
            let (mut generics, mut parameters, mut stores) =
                (String::new(), String::new(), String::new());
            let (mut offsets, mut places) = (String::new(), String::new());
            for (at, (offset, ty)) in shape.arguments.iter().enumerate() {
                // Records may have any other name, and a generic parameter would hide them.
                let _ = write!(generics, "__offload_{at}: __offload::Passed,");
                let _ = write!(parameters, ", a{at}: __offload_{at}");
                let _ = write!(stores, "call.set({at}, __offload::Passed::pass(a{at}));");
                let _ = write!(offsets, "{offset},");
                let _ = write!(places, "{offset}, {} {ty};", shape.passed[at].word());
            }
            let mut invoke = format!("__offload::cpu_call!({places})");
            let conditions = Passed::conditions(&shape.passed);
            if !conditions.is_empty() {
                invoke = format!("__offload::invoke(&[{conditions}], {invoke})");
            }
            let _ = writeln!(
                text,
                "#[allow(clippy::too_many_arguments, unused_mut)] \
                 fn __offload_call_{number}<{generics}>(symbol: &'static __offload::core::primitive::str{parameters}) \
                 -> __offload_calls::{} {{ \
                 let mut call = __offload::Call::new(__offload_kernel(symbol), [{offsets}], {invoke}); {stores} call }}",
                shape.return_type()
            );
        }
        text
    }
}

impl Shape {
    fn return_type(&self) -> String {
        let Self { arguments, bytes, has_buffer, .. } = self;
        let buffer = if *has_buffer { "" } else { "_without_buffer" };
        format!("Call_{}_{bytes}{buffer}", arguments.len())
    }
}

impl Trait<'_> {
    fn ident(&self) -> String {
        format!("{}_{}_{}", self.name, self.number, self.bytes)
    }
}

/// Whether an image has a kernel's arguments at the offsets in `layout`, or does not record the
/// arguments. For PTX, the offsets must also be right in all machine code that drivers make from
/// it.
fn has_layout(image: &IndexImage, symbol: &str, layout: &[(u64, Size)]) -> bool {
    let Some(recorded) = image.kernel(symbol).and_then(|kernel| kernel.arguments.as_ref()) else {
        return true;
    };
    let is_ptx = matches!(image.kind, PackImageKind::Ptx { .. });
    let is_same = layout
        .iter()
        .map(|(offset, _)| *offset)
        .eq(recorded.iter().map(|argument| argument.offset));
    is_same && !(is_ptx && layout.iter().any(|(_, size)| size.align > NVIDIA_PARAMETERS_ALIGN))
}

/// Returns the type of a parameter. A pointer to any type may be passed for a pointer to `void`.
fn parameter_type(ty: &Type) -> String {
    match ty {
        Type::Pointer { is_mutable, to } if **to == Type::Void => {
            format!("__offload::{}", if *is_mutable { "AnyMut" } else { "AnyConst" })
        }
        other => memory_type(other),
    }
}

/// Returns the Rust type for a record's field, the target of a pointer, or a parameter. `__offload`
/// is the hidden module of the crate `offload-gpu`. `f16` and `bf16` become `u16`, with their bits.
pub(super) fn memory_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(Scalar::F16 | Scalar::Bf16) => "__offload::core::primitive::u16".to_owned(),
        Type::Scalar(scalar) => format!("__offload::core::primitive::{}", scalar.name()),
        Type::Pointer { is_mutable: true, to } => format!("*mut {}", memory_type(to)),
        Type::Pointer { is_mutable: false, to } => format!("*const {}", memory_type(to)),
        Type::Array { of, count } => format!("[{}; {count}]", memory_type(of)),
        Type::Record(name) => name.clone(),
        Type::Void => "__offload::core::ffi::c_void".to_owned(),
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
