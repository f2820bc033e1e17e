//! Generates generic functions for templates: `scale::<f32>(…)` in addition to `scale_float`.
//!
//! Instances of a template become implementations of a trait with the template's name:
//!
//! ```text
//! pub mod __offload_templates {
//!     pub trait scale: Sized {
//!         fn __offload_call<A0: Passed, A1: Passed>(a0: A0, a1: A1) -> Call_2_16;
//!     }
//!     pub fn scale<T: self::scale>(n: impl n_1_4<i32>, x: impl x_2_8<*mut T>) -> Call_2_16 {
//!         <T as self::scale>::__offload_call(n, x)
//!     }
//! }
//! impl self::__offload_templates::scale for f32 { … __offload_call_0("_Z5scaleIfEviPT_", a0, a1) }
//! ```
//!
//! The first type among the template's arguments implements the trait; the other arguments are
//! parameters of the trait. If there is no type, `()` implements the trait. A parameter has the
//! type from the source if all instances agree (`*mut T`), otherwise an associated type of the
//! trait. For `bool` and 16-bit floating-point numbers, `T` in parameters means the type in device
//! memory, so `*mut bool` may be passed for `*mut Bool`.
//!
//! The functions are imported with a glob, so programs may have items with the names of templates.

use super::code::{argument_type, attributes, documentation, memory_type, value_name};
use crate::signature::{
    Identifiers, Record, Scalar, Signature, Template, TemplateValue, Type, shared,
};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

/// A template, and the instances that its generic Rust function covers.
#[derive(Debug)]
pub(super) struct Generic<'a> {
    /// The name of the function and of the trait.
    pub(super) name: String,
    pub(super) instances: Vec<Instance<'a>>,
    /// The functions of instances that the generic function cannot distinguish.
    alike: Vec<&'a str>,
    arguments: Vec<Argument>,
    /// The argument that implements the trait.
    of_self: Option<usize>,
}

/// An instance of a template.
#[derive(Debug)]
pub(super) struct Instance<'a> {
    pub(super) kernel: &'a Signature,
    template: &'a Template,
    /// The arguments as Rust code.
    key: Vec<String>,
}

/// A generic argument.
#[derive(Debug)]
struct Argument {
    name: String,
    /// The type of a number; `None` for a type.
    number: Option<Scalar>,
    /// Whether the type has a different form in device memory in any of the instances.
    has_other_form: bool,
}

/// A parameter of the generic function.
#[derive(Debug)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    /// The parameter's size in bytes, if it is the same in all instances.
    pub(super) bytes: Option<u64>,
    /// The parameter's type as Rust code.
    pub(super) ty: String,
    /// The name of the trait's associated type for the parameter, if instances have different
    /// types.
    of_trait: Option<String>,
}

/// The maximum number of instances in a message.
const MOST_IN_MESSAGES: usize = 12;

/// The types that may have a different form in device memory.
const OTHER_FORMS: [&str; 3] = [BOOL, F16, BF16];
const BOOL: &str = "__offload::core::primitive::bool";
const F16: &str = "__offload::types::F16";
const BF16: &str = "__offload::types::Bf16";

/// Returns the kernels' templates by their names in the source, each with its instances.
pub(super) fn find<'a>(
    kernels: &[&'a Signature],
    records: &[Record],
) -> Vec<(&'a str, Vec<Instance<'a>>)> {
    let mut all: Vec<(&'a str, Vec<Instance<'a>>)> = Vec::new();
    for kernel in kernels {
        let Some(template) = &kernel.template else { continue };
        if kernel.layout(records).is_none() {
            continue;
        }
        let mut key = Vec::new();
        for argument in &template.arguments {
            key.push(argument_text(&argument.value, records));
        }
        let instance = Instance { kernel, template, key };
        match all.iter().rposition(|(name, _)| *name == template.source_name) {
            Some(at) => all[at].1.push(instance),
            None => all.push((&template.source_name, Vec::from([instance]))),
        }
    }
    all
}

fn argument_text(value: &TemplateValue, records: &[Record]) -> String {
    match value {
        TemplateValue::Type(Type::Scalar(Scalar::Bool)) => BOOL.to_owned(),
        TemplateValue::Type(ty) => {
            // Several records may become the same type in Rust.
            if matches!(ty, Type::Record(_))
                && let Some(record) = ty.record(records)
                && let Some(known) = shared(record, records)
            {
                return format!("__offload::types::{}", known.name);
            }
            memory_type(ty)
        }
        TemplateValue::Number { ty: Scalar::Bool, value } => (*value != 0).to_string(),
        TemplateValue::Number { value, .. } => value.to_string(),
    }
}

impl Instance<'_> {
    /// Whether both instances have the same number of parameters and the same kinds of template
    /// arguments.
    fn is_of_same_form(&self, other: &Self) -> bool {
        let (these, others) = (&self.template.arguments, &other.template.arguments);
        if these.len() != others.len()
            || self.kernel.parameters.len() != other.kernel.parameters.len()
        {
            return false;
        }
        for (this, other) in these.iter().zip(others) {
            if number(&this.value) != number(&other.value) {
                return false;
            }
        }
        true
    }

    /// Returns the instance's name in Rust: `scale::<f32>`.
    fn turbofish(&self, name: &str) -> String {
        let mut text = format!("{name}::<{}>", self.key.join(", "));
        // Write types as programs do.
        for path in ["__offload::core::primitive::", "__offload::core::ffi::", "__offload::types::"]
        {
            text = text.replace(path, "");
        }
        text
    }
}

fn number(value: &TemplateValue) -> Option<Scalar> {
    match value {
        TemplateValue::Type(_) => None,
        TemplateValue::Number { ty, .. } => Some(*ty),
    }
}

impl<'a> Generic<'a> {
    /// Creates the generic function of these instances. Returns `None` if the instances are
    /// overloads, or if Rust can distinguish none of them by their types. `name` is called last.
    pub(super) fn new(all: Vec<Instance<'a>>, name: impl FnOnce() -> String) -> Option<Self> {
        // The sorted template arguments of the instances, and whether several instances have the
        // same arguments.
        let mut known: Vec<(&[String], bool)> = Vec::new();
        for instance in &all {
            if !instance.is_of_same_form(&all[0]) {
                return None;
            }
            match known.binary_search_by(|(key, _)| (*key).cmp(&instance.key)) {
                Ok(at) => known[at].1 = true,
                Err(at) => known.insert(at, (&instance.key, false)),
            }
        }
        let mut are_alike = Vec::new();
        for instance in &all {
            let at = known.binary_search_by(|(key, _)| (*key).cmp(&instance.key));
            are_alike.push(at.is_ok_and(|at| known[at].1));
        }
        let (mut instances, mut alike) = (Vec::new(), Vec::new());
        for (instance, is_alike) in all.into_iter().zip(are_alike) {
            if is_alike {
                alike.push(&*instance.kernel.name);
            } else {
                instances.push(instance);
            }
        }
        let first = instances.first()?;
        // A constant argument cannot have the name of a parameter.
        let mut names = Identifiers::default();
        for parameter in &first.kernel.parameters {
            names.give(&parameter.name);
        }
        let (mut arguments, mut of_self) = (Vec::new(), None);
        for (at, argument) in first.template.arguments.iter().enumerate() {
            let number = number(&argument.value);
            if number.is_none() && of_self.is_none() {
                of_self = Some(at);
            }
            let mut has_other_form = false;
            for instance in &instances {
                has_other_form |= OTHER_FORMS.contains(&&*instance.key[at]);
            }
            arguments.push(Argument { name: names.give(&argument.name), number, has_other_form });
        }
        Some(Self { name: name(), instances, alike, arguments, of_self })
    }

    pub(super) fn kernels(&self) -> impl Iterator<Item = &'a Signature> {
        self.instances.iter().map(|it| it.kernel)
    }

    /// Returns items in angle brackets, one for each argument except the one that implements the
    /// trait.
    fn without_self(&self, items: &[String]) -> String {
        let mut others = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if self.of_self != Some(at) {
                others.push(&**item);
            }
        }
        if others.is_empty() { String::new() } else { format!("<{}>", others.join(", ")) }
    }

    fn names(&self) -> Vec<String> {
        self.arguments.iter().map(|it| it.name.clone()).collect()
    }

    /// Returns the trait with the names of the arguments.
    fn bound(&self) -> String {
        format!("self::{}{}", self.name, self.without_self(&self.names()))
    }

    /// Returns the name of the type that implements the trait, in the generic function.
    fn self_name(&self) -> &str {
        self.of_self.map_or("()", |at| &self.arguments[at].name)
    }

    /// Returns an argument's type in device memory.
    fn in_memory(&self, self_name: &str, at: usize) -> String {
        let Argument { name, has_other_form, .. } = &self.arguments[at];
        if *has_other_form {
            format!("<{self_name} as {}>::{name}", self.bound())
        } else if self.of_self == Some(at) {
            self_name.to_owned()
        } else {
            name.clone()
        }
    }

    /// Returns the type of a parameter if it is the same in all instances, apart from the
    /// template's arguments. Record names in the type are names of generic arguments, or paths.
    fn pattern(&self, types: &[&Type]) -> Option<Type> {
        let first = types[0];
        if types.iter().any(|ty| *ty != first)
            && let Some(at) = self.argument_of(types)
        {
            return Some(Type::Record(self.in_memory(self.self_name(), at)));
        }
        let mut inner: Vec<&Type> = Vec::new();
        for ty in types {
            match (first, *ty) {
                (Type::Pointer { is_mutable, .. }, Type::Pointer { is_mutable: other, to })
                    if is_mutable == other =>
                {
                    inner.push(to);
                }
                (Type::Array { count, .. }, Type::Array { count: other, of }) if count == other => {
                    inner.push(of);
                }
                (Type::Scalar(_) | Type::Record(_) | Type::Void, other) if first == other => {}
                _ => return None,
            }
        }
        Some(match first {
            Type::Pointer { is_mutable, .. } => {
                Type::Pointer { is_mutable: *is_mutable, to: self.pattern(&inner)?.into() }
            }
            Type::Array { count, .. } => {
                Type::Array { of: self.pattern(&inner)?.into(), count: *count }
            }
            Type::Record(name) => Type::Record(format!("super::{name}")),
            Type::Scalar(_) | Type::Void => first.clone(),
        })
    }

    /// Returns the template argument that is equal to the parameter's type in all instances.
    fn argument_of(&self, types: &[&Type]) -> Option<usize> {
        (0..self.arguments.len()).find(|at| {
            self.instances.iter().zip(types).all(|(instance, ty)| {
                matches!(&instance.template.arguments[*at].value, TemplateValue::Type(of) if of == *ty)
            })
        })
    }

    pub(super) fn parameters(&self, records: &[Record]) -> Vec<Parameter<'a>> {
        let mut all = Vec::new();
        for (at, parameter) in self.instances[0].kernel.parameters.iter().enumerate() {
            let types: Vec<&Type> = self.kernels().map(|it| &it.parameters[at].ty).collect();
            let mut bytes = None;
            for (number, ty) in types.iter().enumerate() {
                let of_instance = ty.size(records).map(|size| size.bytes);
                bytes = if number == 0 {
                    of_instance
                } else {
                    bytes.filter(|it| of_instance == Some(*it))
                };
            }
            let name = &*parameter.name;
            let (ty, of_trait) = match self.pattern(&types) {
                Some(pattern) => (argument_type(&pattern), None),
                None => {
                    let mut of_trait = format!("{name}_type");
                    while self.arguments.iter().any(|it| it.name == of_trait) {
                        of_trait.push('_');
                    }
                    (
                        format!("<{} as {}>::{of_trait}", self.self_name(), self.bound()),
                        Some(of_trait),
                    )
                }
            };
            all.push(Parameter { name, bytes, ty, of_trait });
        }
        all
    }
}

/// A function that stores arguments for the generic function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored<'a> {
    pub(super) symbol: &'a str,
    /// The number of the function.
    pub(super) number: usize,
    /// The offset in bytes of the end of the last argument.
    pub(super) bytes: u64,
    pub(super) has_buffer: bool,
}

/// The parts of a generic function that depend on the code of other functions.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    pub(super) parameters: &'a [Parameter<'a>],
    /// The bound of each argument.
    pub(super) bounds: Vec<String>,
    /// The type that the function returns.
    pub(super) call: &'a str,
    /// For each instance, the number of the function that stores its arguments, and whether that
    /// function returns a different type.
    pub(super) stored: Vec<(usize, bool)>,
    /// The attributes of the generic function.
    pub(super) attributes: &'a str,
    /// Whether a program's type may be among the arguments of the template.
    pub(super) has_override: bool,
}

impl<'a> Generic<'a> {
    /// Returns the types among the arguments of all instances.
    pub(super) fn types(&self) -> impl Iterator<Item = &'a Type> {
        self.instances.iter().flat_map(|it| it.template.types())
    }

    /// Writes the trait and the function to `text`, and the implementations to `instances`.
    pub(super) fn write(&self, text: &mut String, instances: &mut String, parts: &Parts<'_>) {
        let Self { name, of_self, .. } = self;
        let Parts { parameters, bounds, call, attributes, .. } = parts;
        let (mut generics, mut passed) = (String::new(), String::new());
        let (mut declared, mut values, mut numbered) =
            (String::new(), String::new(), String::new());
        for (at, (parameter, bound)) in parameters.iter().zip(bounds).enumerate() {
            let _ = write!(generics, "__offload_{at}: __offload::Passed,");
            let _ = write!(passed, "a{at}: __offload_{at},");
            let _ = write!(declared, "{}: impl super::{bound},", parameter.name);
            let _ = write!(values, "{},", parameter.name);
            let _ = write!(numbered, ", a{at}");
        }
        let method = format!("{attributes} fn __offload_call<{generics}>({passed}) -> ");
        let mut types = String::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            if argument.has_other_form {
                let ty = if *of_self == Some(at) { "Self" } else { &argument.name };
                let _ = write!(
                    types,
                    "#[doc = \"The type in the memory of kernels.\"] type {}: __offload::Alike<{ty}>; ",
                    argument.name
                );
            }
        }
        for of_trait in parameters.iter().filter_map(|it| it.of_trait.as_ref()) {
            let _ = write!(types, "#[doc(hidden)] type {of_trait}; ");
        }
        let mut items = Vec::new();
        for argument in &self.arguments {
            items.push(match argument.number {
                Some(ty) => format!("const {}: {}", argument.name, value_name(ty)),
                None => argument.name.clone(),
            });
        }
        let doc = format!(
            "The types for which the kernel template `{}` has instances.",
            self.instances[0].template.source_name
        );
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] {} pub trait {name}{}: __offload::core::marker::Sized{} {{ \
             {types}#[doc(hidden)] {method}super::__offload_calls::{call}; }}",
            self.message(),
            self.without_self(&items),
            self.super_trait(parts),
        );
        let bound = self.bound();
        let condition = match of_self {
            Some(of_self) => {
                let _ = write!(items[*of_self], ": {bound}");
                String::new()
            }
            None => format!(" where (): {bound}"),
        };
        let _ = writeln!(
            text,
            "{}{attributes} pub fn {name}<{}>({declared}) -> super::__offload_calls::{call}{condition} \
             {{ <{} as {bound}>::__offload_call({values}) }}",
            self.documentation(),
            items.join(", "),
            self.self_name(),
        );
        for (instance, (number, is_wider)) in self.instances.iter().zip(&parts.stored) {
            let mut body = String::new();
            for (argument, of_instance) in self.arguments.iter().zip(&instance.template.arguments) {
                if let TemplateValue::Type(ty) = &of_instance.value
                    && argument.has_other_form
                {
                    let _ = write!(body, "type {} = {}; ", argument.name, memory_type(ty));
                }
            }
            for (parameter, of_instance) in parameters.iter().zip(&instance.kernel.parameters) {
                if let Some(of_trait) = &parameter.of_trait {
                    let _ = write!(body, "type {of_trait} = {}; ", argument_type(&of_instance.ty));
                }
            }
            let _ = write!(
                body,
                "{method}__offload_calls::{call} {{ __offload_call_{number}({:?}{numbered}){} }}",
                instance.kernel.symbol,
                if *is_wider { ".widened()" } else { "" }
            );
            self.write_instance(instances, &instance.key, &body);
            let mut of_half = Vec::new();
            for key in &instance.key {
                of_half.push(match &**key {
                    F16 => "__offload::half::f16".to_owned(),
                    BF16 => "__offload::half::bf16".to_owned(),
                    other => other.to_owned(),
                });
            }
            if of_half != instance.key {
                instances.push_str("__offload::with_half! { ");
                self.write_instance(instances, &of_half, &body);
                instances.push_str("}\n");
            }
        }
    }

    /// Writes the implementation of the trait for these arguments.
    fn write_instance(&self, text: &mut String, key: &[String], body: &str) {
        let _ = writeln!(
            text,
            "impl self::__offload_templates::{}{} for {} {{ {body} }}",
            self.name,
            self.without_self(key),
            self.of_self.map_or("()", |at| &key[at]),
        );
    }

    /// If a parameter has the type that implements the trait, returns the trait's bound that allows
    /// values of this type as arguments. The bound is omitted if a type of the program may
    /// implement the trait: that type need not be valid as an argument unless the program calls
    /// such a kernel.
    fn super_trait(&self, parts: &Parts<'_>) -> String {
        if let Some(at) = self.of_self
            && !parts.has_override
        {
            let ty = self.in_memory(self.self_name(), at);
            if parts.parameters.iter().any(|it| it.ty == ty) {
                return format!(" + __offload::Argument<{}>", self.in_memory("Self", at));
            }
        }
        String::new()
    }

    fn documentation(&self) -> String {
        let Instance { kernel, template, .. } = &self.instances[0];
        let mut doc = documentation(&kernel.comment);
        let _ = writeln!(
            doc,
            " The instances of the template `{}`, {}:\n",
            template.source_name, kernel.place
        );
        for instance in &self.instances {
            let _ = writeln!(
                doc,
                " - `{}`: `{}`",
                instance.turbofish(&self.name),
                instance.kernel.name
            );
        }
        if !self.alike.is_empty() {
            let _ = writeln!(doc, "\n {}", self.without());
        }
        attributes(&doc, &kernel.comment)
    }

    /// Returns a sentence about the instances that the function does not cover.
    fn without(&self) -> String {
        let names = listed(&self.alike);
        format!(
            "Each of these instances has the same Rust types as another instance, so the generic \
             function covers none of them. Call their own functions: {names}"
        )
    }

    /// Returns the attribute with the error message for arguments without an instance.
    fn message(&self) -> String {
        let name = &self.name;
        let mut wanted = Vec::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            let name = if self.of_self == Some(at) { "Self" } else { &argument.name };
            wanted.push(format!("{{{name}}}"));
        }
        let there: Vec<String> = self.instances.iter().map(|it| it.turbofish(name)).collect();
        let there: Vec<&str> = there.iter().map(String::as_str).collect();
        let message = format!(
            "the kernel template `{name}` has no instance `{name}::<{}>`: it has {}",
            wanted.join(", "),
            listed(&there)
        );
        let alike = if self.alike.is_empty() {
            String::new()
        } else {
            format!(", note = {:?}", self.without())
        };
        format!(
            "#[diagnostic::on_unimplemented(message = {message:?}, label = \"no such instance\"{alike})]"
        )
    }
}

/// Returns the first names in backticks, and the number of the remaining names.
fn listed(names: &[&str]) -> String {
    let (first, others) = names.split_at(names.len().min(MOST_IN_MESSAGES));
    let text = format!("`{}`", first.join("`, `"));
    if others.is_empty() { text } else { format!("{text}, and {} more", others.len()) }
}
