//! The functions of kernels, and the code that these functions share.

use super::code::{argument_type, attributes, documentation, function_attributes, value_type};
use super::named;
use super::overrides::Overrides;
use super::templates::{Generic, Parts, Stored};
use super::{Declared, unraw};
use crate::pack_index::{IndexArgument, IndexImage, IndexModule};
use crate::signature::{Parameter, Record, Shared, Signature, Signatures, Size, Type, shared};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use offload_format::target::NVIDIA_PARAMETERS_ALIGN;

/// If all kernels together have at most this many parameters, each kernel from a source has
/// separate traits, so that the compiler's messages can name the kernel.
const MOST_OWN_TRAITS: usize = 256;

/// A note for packs in which types of the program replace structs.
const OF_OVERRIDE: &str = ", note = \"a type that replaces a kernel's struct must derive \
                           `Parameter` to be passed by value: #[derive(Clone, Copy, \
                           offload_gpu::Parameter)]\"";

/// The functions of kernels as Rust code, and the data for their shared code.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    images: &'a [IndexImage],
    signatures: &'a Signatures,
    overrides: &'a Overrides<'a>,
    has_own_traits: bool,
    functions: String,
    /// The traits of parameters, by the name of the module that contains them.
    traits: Vec<(&'a str, Vec<Trait<'a>>)>,
    /// The layouts of arguments, each with the number of the function that stores arguments in this
    /// layout.
    shapes: Vec<(Shape, usize)>,
    /// The kernels' lines for the `named` function, by the number of their layout.
    groups: Vec<String>,
    /// The functions that store the arguments of template instances, in the order of kernels.
    stored: Vec<Stored<'a>>,
    /// The types that generic functions return.
    wide: Vec<String>,
    /// The traits of templates together with the generic functions, and the implementations of the
    /// traits.
    templates: (String, String),
}

/// A layout of kernel arguments. For each layout, one generated function stores all arguments. The
/// texts are Rust code: numbers, or constants that the compiler computes.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// The name of the type that functions return.
    call: String,
    /// The offset of each argument, and the type of its parameter.
    arguments: Vec<(String, String)>,
    /// The offset in bytes of the end of the last argument.
    bytes: String,
    has_buffer: String,
}

/// A trait for the arguments of parameters with this number, name and size in bytes, regardless of
/// their type. The size is `None` if it differs between instances of a template. The last text is a
/// note for error messages, or empty.
type Trait<'a> = (usize, &'a str, Option<u64>, String);

fn ident((number, name, bytes, _): &Trait<'_>) -> String {
    let bytes = bytes.map_or_else(|| "T".to_owned(), |bytes| bytes.to_string());
    format!("{name}_{number}_{bytes}")
}

/// If the parameter points to a vector such as `float4`, returns a note about the cast from a
/// buffer of numbers. rustc reads the note as a format string.
fn cast(Parameter { name, ty }: &Parameter, records: &[Record]) -> Option<String> {
    let Type::Pointer { is_mutable, to } = ty else { return None };
    let Shared { name: vector, fields } = shared(to.record(records)?, records)?;
    let count = fields.len();
    let (reference, function) =
        if *is_mutable { ("&mut ", "transmute_mut") } else { ("&", "transmute") };
    (count > 0).then(|| {
        format!(
            "to pass a buffer of numbers from cudarc as vectors, write `{reference}unsafe {{{{ \
             {name}.{function}::<offload_gpu::types::{vector}>({name}.len() / {count}) \
             }}}}.unwrap()`"
        )
    })
}

/// Returns the name and the declaration of the type that functions return.
fn call_type(count: usize, bytes: u64, has_buffer: bool) -> (String, String) {
    let buffer = if has_buffer { "" } else { "_without_buffer" };
    let name = format!("Call_{count}_{bytes}{buffer}");
    let declaration = declaration(&name, count, &bytes.to_string(), &has_buffer.to_string());
    (name, declaration)
}

fn declaration(name: &str, count: usize, bytes: &str, has_buffer: &str) -> String {
    format!(
        "pub type {name} = __offload::Call<{count}, {bytes}, super::__offload_form, {has_buffer}>;\n"
    )
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        module: &'a IndexModule,
        signatures: &'a Signatures,
        overrides: &'a Overrides<'a>,
    ) -> Self {
        let (images, kernels) = (&*module.images, &signatures.kernels);
        let count = kernels.iter().map(|kernel| kernel.parameters.len()).sum::<usize>();
        let (functions, traits, shapes) = (String::new(), Vec::new(), Vec::new());
        let has_own_traits = count <= MOST_OWN_TRAITS;
        Self {
            images,
            signatures,
            overrides,
            has_own_traits,
            functions,
            traits,
            shapes,
            groups: Vec::new(),
            stored: Vec::new(),
            wide: Vec::new(),
            templates: (String::new(), String::new()),
        }
    }

    /// Adds the function of a kernel from a source. If the size of a parameter is unknown, adds
    /// nothing and returns false.
    pub(super) fn add(&mut self, kernel: &'a Signature) -> bool {
        let Signature { symbol, name, source_name, place, comment, parameters, .. } = kernel;
        let records = &self.signatures.records;
        let Some(layout) = kernel.layout(records) else { return false };
        let mut all = Vec::new();
        for (at, (parameter, (_, size))) in parameters.iter().zip(&layout).enumerate() {
            // Parameters of different types may share a trait, so shared traits have no such note.
            let note = if self.has_own_traits { cast(parameter, records) } else { None };
            let note = note.unwrap_or_default();
            let of_parameter = (at + 1, &*parameter.name, Some(size.bytes), note);
            all.push((of_parameter, argument_type(&parameter.ty)));
        }
        let bounds = self.bounds(name, all);
        let bytes = layout.last().map_or(0, |(offset, size)| offset + size.bytes);
        let has_buffer = self.images.iter().all(|image| has_layout(image, symbol, &layout));
        let mut arguments = Vec::new();
        for (Parameter { ty, .. }, (offset, _)) in parameters.iter().zip(&layout) {
            arguments.push((offset.to_string(), argument_type(ty)));
        }
        let shape = Shape {
            call: call_type(parameters.len(), bytes, has_buffer).0,
            arguments,
            bytes: bytes.to_string(),
            has_buffer: has_buffer.to_string(),
        };
        let doc = format!("{} `{source_name}`, {place}", documentation(comment));
        let number = self.function(kernel, &attributes(&doc, comment), &bounds, shape, place);
        if kernel.template.is_some() {
            self.stored.push(Stored { symbol, number, bytes, has_buffer });
        }
        true
    }

    /// Returns the bounds of parameters, and adds the traits that the bounds name.
    fn bounds(&mut self, kernel: &'a str, parameters: Vec<(Trait<'a>, String)>) -> Vec<String> {
        let module = if self.has_own_traits { kernel } else { "any" };
        if self.has_own_traits || self.traits.is_empty() {
            self.traits.push((module, Vec::new()));
        }
        let traits = &mut self.traits.last_mut().expect("an element was just added").1;
        let mut bounds = Vec::new();
        for (of_parameter, ty) in parameters {
            let name = ident(&of_parameter);
            bounds.push(format!("__offload_arguments::{module}::{name}<{ty}>"));
            if let Err(at) = traits.binary_search(&of_parameter) {
                traits.insert(at, of_parameter);
            }
        }
        bounds
    }

    /// Adds the generic function of a template. Its instances already have functions.
    pub(super) fn add_generic(&mut self, generic: &'a Generic<'a>) {
        let parameters = generic.parameters(&self.signatures.records);
        let (mut all, mut names) = (Vec::new(), Vec::new());
        for (at, parameter) in parameters.iter().enumerate() {
            all.push((
                (at + 1, parameter.name, parameter.bytes, String::new()),
                parameter.ty.clone(),
            ));
            names.push(parameter.name);
        }
        let bounds = self.bounds(&generic.name, all);
        // The instances of a template are in the order of all kernels.
        let mut known = self.stored.iter();
        let mut instances: Vec<&Stored<'_>> = Vec::new();
        for kernel in generic.kernels() {
            instances.extend(known.find(|it| it.symbol == kernel.symbol));
        }
        let (mut bytes, mut has_buffer) = (0, true);
        for stored in &instances {
            bytes = stored.bytes.max(bytes);
            has_buffer &= stored.has_buffer;
        }
        let mut stored = Vec::new();
        for it in instances {
            stored.push((it.number, (it.bytes, it.has_buffer) != (bytes, has_buffer)));
        }
        let (call, declaration) = call_type(bounds.len(), bytes, has_buffer);
        self.wide.push(declaration);
        let mut has_override = false;
        for ty in generic.types() {
            has_override |=
                ty.record_name().is_some_and(|name| self.overrides.has_another_form(name));
        }
        let attributes = &*function_attributes(&generic.name, names);
        let parts = Parts {
            parameters: &parameters,
            bounds,
            call: &call,
            stored,
            attributes,
            has_override,
        };
        let (text, instances) = &mut self.templates;
        generic.write(text, instances, &parts);
    }

    /// Adds the function of a kernel that the program declares, whose types only the compiler
    /// knows.
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
            stored.push((format!("{layout}.offsets[{at}]"), argument));
        }
        let images = kernel.images();
        let (mut records, mut has_ptx) = (String::new(), false);
        for image in self.images.iter().filter(|it| arguments(it, symbol).is_some()) {
            records += &recorded(image, symbol);
            has_ptx |= image.kind.is_ptx();
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
        };
        let attributes =
            format!("{attributes}#[doc = \"\"] #[doc = {:?}]", format!("`{symbol}`, {place}"));
        self.function(signature, &attributes, &bounds, shape, "declared by the program");
    }

    /// Writes the function of a kernel, and returns the number of the function that stores its
    /// arguments. `bounds` are the traits of the arguments. The generated function `named` quotes
    /// `place` in its errors.
    fn function(
        &mut self,
        kernel: &Signature,
        attributes: &str,
        bounds: &[String],
        shape: Shape,
        place: &str,
    ) -> usize {
        let Signature { symbol, name, parameters, .. } = kernel;
        let (mut arguments, mut values) = (String::new(), String::new());
        for (parameter, bound) in parameters.iter().zip(bounds) {
            let _ = write!(arguments, "{}: impl {bound},", parameter.name);
            let _ = write!(values, ",{}", parameter.name);
        }
        let call = shape.call.clone();
        let number = self.number(shape);
        if number == self.groups.len() {
            self.groups.push(String::new());
        }
        let names = parameters.iter().map(|parameter| unraw(&parameter.name));
        named::line(&mut self.groups[number], kernel, place, names);
        let text = &mut self.functions;
        text.push_str(attributes);
        let names = parameters.iter().map(|it| &*it.name).collect();
        text.push_str(&function_attributes(name, names));
        let _ = writeln!(
            text,
            "pub fn {name}({arguments}) -> __offload_calls::{call} {{ __offload_call_{number}({symbol:?}{values}) }}"
        );
        number
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

    /// Returns the functions, and the code that the functions share. `others` are the lines of
    /// kernels without functions, for the errors of the generated function `named`.
    pub(super) fn text(&self, others: &str) -> String {
        let mut text = String::new();
        // The modules named after kernels are separate from the types, because a kernel may have
        // any name.
        text.push_str("#[doc(hidden)] pub mod __offload_arguments { use super::__offload;\n");
        self.write_traits(&mut text);
        text.push_str("}\n#[doc(hidden)] pub mod __offload_calls { use super::*;\n");
        self.write_types(&mut text);
        text.push_str("}\n");
        self.write_shared(&mut text);
        self.write_named(&mut text, others);
        let (templates, instances) = &self.templates;
        if !templates.is_empty() {
            let _ = writeln!(
                text,
                "#[doc(hidden)] pub mod __offload_templates {{ use super::__offload;\n{templates}}}"
            );
            text.push_str(instances);
        }
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
                let (number, name, bytes, note) = of_parameter;
                let size = match bytes {
                    Some(1) => " (1 byte)".to_owned(),
                    Some(bytes) => format!(" ({bytes} bytes)"),
                    None => String::new(),
                };
                let message = format!(
                    "parameter {number}, `{name}`{of_kernel} is `{{T}}`{size}: `{{Self}}` cannot be passed"
                );
                let of_override = if self.overrides.is_empty() { "" } else { OF_OVERRIDE };
                let cast =
                    if note.is_empty() { String::new() } else { format!(", note = {note:?}") };
                let _ = write!(
                    text,
                    "#[diagnostic::on_unimplemented(message = {message:?}, label = \"`{{T}}` is needed here\", \
                     note = \"the kernel's source determines the types of its parameters\"\
                     {cast}{of_override})] \
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
            types.push(declaration(call, arguments.len(), bytes, has_buffer));
        }
        types.extend(self.wide.iter().cloned());
        // Layouts with the same size and number of arguments share a type.
        types.sort_unstable();
        types.dedup();
        text.push_str(&types.concat());
    }

    /// Writes the functions that store the arguments of kernels with the same argument layout.
    fn write_shared(&self, text: &mut String) {
        for (Shape { call, arguments, .. }, number) in &self.shapes {
            let (mut generics, mut parameters, mut stores) =
                (String::new(), String::new(), String::new());
            let mut offsets = String::new();
            for (at, (offset, _)) in arguments.iter().enumerate() {
                // The generic parameters need names that no record can have, because they would
                // hide a record with the same name.
                let _ = write!(generics, "__offload_{at}: __offload::Passed,");
                let _ = write!(parameters, ", a{at}: __offload_{at}");
                let _ = write!(stores, "call.set({at}, a{at});");
                let _ = write!(offsets, "{offset},");
            }
            let _ = writeln!(
                text,
                "#[doc(hidden)] #[allow(clippy::too_many_arguments, unused_mut)] \
                 fn __offload_call_{number}<{generics}>(symbol: &'static __offload::core::primitive::str{parameters}) \
                 -> __offload_calls::{call} {{ \
                 let mut call = __offload::Call::new(__offload_kernel(symbol), [{offsets}]); {stores} call }}"
            );
        }
    }

    /// Writes the `named` function, with the kernels of each layout.
    fn write_named(&self, text: &mut String, others: &str) {
        let mut groups = String::new();
        for (Shape { arguments, bytes, has_buffer, .. }, number) in &self.shapes {
            let kernels = &self.groups[*number];
            let mut wanted = String::new();
            for (offset, ty) in arguments {
                let _ = write!(wanted, "({offset}, __offload::wanted::<{ty}>),");
            }
            let _ = writeln!(
                groups,
                "__offload::NamedGroup {{ kernels: {kernels:?}, arguments: &[{wanted}], bytes: {bytes}, \
                 has_buffer: {has_buffer} }},"
            );
        }
        named::write(text, &groups, others);
    }
}

fn arguments<'a>(image: &'a IndexImage, symbol: &str) -> Option<&'a [IndexArgument]> {
    image.kernel(symbol)?.arguments.as_deref()
}

/// Returns the arguments that an image lists, as Rust code.
fn recorded(image: &IndexImage, symbol: &str) -> String {
    let target = &image.target;
    let may_be_moved = image.kind.vendor().moves_parameters();
    let (mut each, mut after) = (String::new(), 0);
    for IndexArgument { offset, size, kind } in arguments(image, symbol).unwrap_or_default() {
        let start = core::mem::replace(&mut after, offset.saturating_add(*size));
        let _ = write!(
            each,
            "__offload::Recorded {{ target: {target:?}, after: {start}, offset: {offset}, size: {size}, \
             kind: __offload::ArgumentKind::{kind:?}, may_be_moved: {may_be_moved} }},"
        );
    }
    format!("[{each}],")
}

/// Whether an image has a kernel's arguments at the offsets in `layout`, or does not state the
/// offsets. For PTX, the offsets must be right in all machine code that drivers compile from the
/// PTX.
fn has_layout(image: &IndexImage, symbol: &str, layout: &[(u64, Size)]) -> bool {
    let Some(recorded) = arguments(image, symbol) else { return true };
    if layout.len() != recorded.len() {
        return false;
    }
    let is_ptx = image.kind.is_ptx();
    for ((offset, size), argument) in layout.iter().zip(recorded) {
        let is_wide = is_ptx && size.align > NVIDIA_PARAMETERS_ALIGN;
        if *offset != argument.offset || is_wide {
            return false;
        }
    }
    true
}
