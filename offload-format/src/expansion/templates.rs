//! Generic functions for templates: `scale::<f32>(…)` beside `scale_float`.
//!
//! The instances of a template are implementations of a trait with the template's name:
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
//! The trait is for the first type among the template's arguments, and has the others as arguments;
//! without any type, it is for `()`. A parameter has the type of the source as far as all instances
//! agree on it (`*mut T`). Otherwise its type is a type of the trait. For `bool` and halves, `T` in
//! parameters is the type in the memory of kernels, so that `*mut bool` may be passed for `*mut
//! Bool`.
//!
//! Programs may have items with the names of templates, since the functions are glob imports.

use super::code::{argument_type, attributes, documentation, memory_type, value_name};
use super::shared::shared;
use crate::signature::{Identifiers, Record, Scalar, Signature, Template, TemplateValue, Type};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

/// A template with the instances that its generic function has.
#[derive(Debug)]
pub(super) struct Generic<'a> {
    /// The name of the function and of the trait.
    pub(super) name: String,
    pub(super) instances: Vec<Instance<'a>>,
    /// The instances that no generic function can tell apart.
    alike: Vec<&'a Signature>,
    /// The names of the template's parameters.
    arguments: Vec<String>,
    /// The argument that the trait is for.
    of_self: Option<usize>,
    /// Whether each argument has another type in memory.
    is_other_in_memory: Vec<bool>,
}

/// An instance of a template.
#[derive(Debug)]
pub(super) struct Instance<'a> {
    pub(super) kernel: &'a Signature,
    template: &'a Template,
    /// The arguments as Rust code.
    key: Vec<String>,
}

/// The maximum number of instances in a message.
const MOST_IN_MESSAGES: usize = 12;

/// The types for which a program may have others in the memory of kernels.
const OTHER_IN_MEMORY: [&str; 3] = [BOOL, F16, BF16];
const BOOL: &str = "__offload::core::primitive::bool";
const F16: &str = "__offload::types::F16";
const BF16: &str = "__offload::types::Bf16";

/// Returns the templates among the kernels. `free` returns a free name for one of this name.
pub(super) fn find<'a>(
    kernels: &[&'a Signature],
    records: &[Record],
    mut free: impl FnMut(&str) -> String,
) -> Vec<Generic<'a>> {
    let mut all: BTreeMap<&str, Vec<Instance<'a>>> = BTreeMap::new();
    for kernel in kernels {
        let Some(template) = &kernel.template else { continue };
        let key = template.arguments.iter().map(|it| key(&it.value, records)).collect();
        let instance = Instance { kernel, template, key };
        all.entry(&template.source_name).or_default().push(instance);
    }
    let mut generics = Vec::new();
    for (name, mut instances) in all {
        if !instances.windows(2).all(|pair| pair[0].is_of_same_form(&pair[1])) {
            continue;
        }
        let mut counts: BTreeMap<Vec<String>, u32> = BTreeMap::new();
        instances.iter().for_each(|it| *counts.entry(it.key.clone()).or_default() += 1);
        let (instances_of_one, alike): (Vec<_>, Vec<_>) =
            instances.drain(..).partition(|it| counts[&it.key] == 1);
        if instances_of_one.is_empty() {
            continue;
        }
        let alike = alike.into_iter().map(|it| it.kernel).collect();
        generics.push(Generic::new(free(name), instances_of_one, alike));
    }
    generics
}

/// Returns an argument as Rust code.
fn key(value: &TemplateValue, records: &[Record]) -> String {
    match value {
        TemplateValue::Type(Type::Scalar(Scalar::Bool)) => BOOL.to_owned(),
        TemplateValue::Type(ty) => {
            // Several records may be one type of Rust.
            let of_record = ty.record(records).filter(|_| matches!(ty, Type::Record(_)));
            let known = of_record.and_then(|record| shared(record, records));
            known.map_or_else(|| memory_type(ty), |it| format!("__offload::types::{}", it.name))
        }
        TemplateValue::Number { ty: Scalar::Bool, value } => (*value != 0).to_string(),
        TemplateValue::Number { value, .. } => value.to_string(),
    }
}

impl Instance<'_> {
    /// Whether both have the same number of parameters, and arguments of the same kinds.
    fn is_of_same_form(&self, other: &Self) -> bool {
        let kinds = |it: &Self| -> Vec<Option<Scalar>> {
            let arguments = it.template.arguments.iter();
            arguments.map(|it| number(&it.value)).collect()
        };
        self.kernel.parameters.len() == other.kernel.parameters.len() && kinds(self) == kinds(other)
    }

    /// Returns the instance's name in Rust: `scale::<f32>`.
    fn turbofish(&self, name: &str) -> String {
        let key: Vec<String> = self.key.iter().map(|it| plain(it)).collect();
        format!("{name}::<{}>", key.join(", "))
    }
}

/// Returns the type of a number; `None` for a type.
fn number(value: &TemplateValue) -> Option<Scalar> {
    match value {
        TemplateValue::Type(_) => None,
        TemplateValue::Number { ty, .. } => Some(*ty),
    }
}

/// Returns a type as programs write it, for messages.
fn plain(ty: &str) -> String {
    let paths = ["__offload::core::primitive::", "__offload::core::ffi::", "__offload::types::"];
    paths.iter().fold(ty.to_owned(), |text, path| text.replace(path, ""))
}

impl<'a> Generic<'a> {
    fn new(name: String, instances: Vec<Instance<'a>>, alike: Vec<&'a Signature>) -> Self {
        let first = &instances[0];
        let of_self = first.template.arguments.iter().position(|it| number(&it.value).is_none());
        // A constant may not have the name of a parameter.
        let mut names = Identifiers::default();
        first.kernel.parameters.iter().for_each(|it| _ = names.give(&it.name));
        let arguments = first.template.arguments.iter();
        let arguments: Vec<String> = arguments.map(|it| names.give(&it.name)).collect();
        let is_other = |at: usize| {
            let mut keys = instances.iter().map(|it| &*it.key[at]);
            keys.any(|key| OTHER_IN_MEMORY.contains(&key))
        };
        let is_other_in_memory = (0..arguments.len()).map(is_other).collect();
        Self { name, instances, alike, arguments, of_self, is_other_in_memory }
    }

    /// Returns the kernels of the instances.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &'a Signature> {
        self.instances.iter().map(|it| it.kernel)
    }

    fn number(&self, at: usize) -> Option<Scalar> {
        number(&self.instances[0].template.arguments[at].value)
    }

    /// Returns the arguments in angle brackets, as `item` writes each, or nothing.
    fn list(&self, with_self: bool, item: impl Fn(usize) -> String) -> String {
        let numbers = (0..self.arguments.len()).filter(|at| with_self || self.of_self != Some(*at));
        let items: Vec<String> = numbers.map(item).collect();
        if items.is_empty() { String::new() } else { format!("<{}>", items.join(", ")) }
    }

    /// Returns the declaration of an argument.
    fn declaration(&self, at: usize) -> String {
        let name = &self.arguments[at];
        match self.number(at) {
            Some(ty) => format!("const {name}: {}", value_name(ty)),
            None => name.clone(),
        }
    }

    /// Returns the trait with the names of the arguments.
    fn bound(&self) -> String {
        format!("self::{}{}", self.name, self.list(false, |at| self.arguments[at].clone()))
    }

    /// Returns the name of the type that the trait is for, in the generic function.
    fn self_name(&self) -> &str {
        self.of_self.map_or("()", |at| &self.arguments[at])
    }

    /// Returns the type of the memory of kernels for an argument.
    fn in_memory(&self, self_name: &str, at: usize) -> String {
        let name = &self.arguments[at];
        if self.is_other_in_memory[at] {
            return format!("<{self_name} as {}>::{name}", self.bound());
        }
        if self.of_self == Some(at) { self_name.to_owned() } else { name.clone() }
    }

    /// Returns the type of a parameter, if all instances have the same apart from the template's
    /// arguments. A record's name in it is that of a generic argument, or a path.
    fn pattern(&self, types: &[&Type]) -> Option<Type> {
        let is_argument = |at: &usize| {
            let arguments = self.instances.iter().map(|it| &it.template.arguments[*at].value);
            let mut pairs = arguments.zip(types);
            pairs.all(|(argument, ty)| matches!(argument, TemplateValue::Type(of) if of == *ty))
        };
        let is_same = types.windows(2).all(|pair| pair[0] == pair[1]);
        if !is_same && let Some(at) = (0..self.arguments.len()).find(is_argument) {
            return Some(Type::Record(self.in_memory(self.self_name(), at)));
        }
        match types[0] {
            Type::Pointer { is_mutable, .. } => {
                let to: Option<Vec<&Type>> = types
                    .iter()
                    .map(|ty| match ty {
                        Type::Pointer { is_mutable: other, to } if other == is_mutable => {
                            Some(&**to)
                        }
                        _ => None,
                    })
                    .collect();
                Some(Type::Pointer { is_mutable: *is_mutable, to: self.pattern(&to?)?.into() })
            }
            Type::Array { count, .. } => {
                let of: Option<Vec<&Type>> = types
                    .iter()
                    .map(|ty| match ty {
                        Type::Array { of, count: other } if other == count => Some(&**of),
                        _ => None,
                    })
                    .collect();
                Some(Type::Array { of: self.pattern(&of?)?.into(), count: *count })
            }
            _ if !is_same => None,
            Type::Record(name) => Some(Type::Record(format!("super::{name}"))),
            other => Some(other.clone()),
        }
    }
}

/// A function that stores arguments, for the generic function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// The number of the function.
    pub(super) number: usize,
    /// The offset in bytes of the end of the last argument.
    pub(super) bytes: u64,
    pub(super) has_buffer: bool,
}

/// The parts of a generic function that depend on the code of other functions.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// The bound of each argument.
    pub(super) bounds: Vec<String>,
    /// The type that the function returns.
    pub(super) call: &'a str,
    /// The functions for the arguments of each instance, and whether the call needs another type.
    pub(super) stored: Vec<(Stored, bool)>,
    /// The attributes of functions with these parameters.
    pub(super) attributes: &'a str,
}

impl<'a> Generic<'a> {
    /// Returns the number of each parameter, counted from 0, and its name.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.instances[0].kernel.parameters.iter().map(|it| &*it.name).enumerate()
    }

    /// Returns the type of each instance's parameter with this number.
    fn types(&self, at: usize) -> Vec<&'a Type> {
        self.kernels().map(|kernel| &kernel.parameters[at].ty).collect()
    }

    /// Returns the type of a parameter in the generic function.
    pub(super) fn parameter_type(&self, at: usize) -> String {
        match self.pattern(&self.types(at)) {
            Some(pattern) => argument_type(&pattern),
            None => format!("<{} as {}>::{}", self.self_name(), self.bound(), self.type_name(at)),
        }
    }

    /// Returns the name of the trait's type for a parameter.
    fn type_name(&self, at: usize) -> String {
        let mut name = format!("{}_type", self.instances[0].kernel.parameters[at].name);
        while self.arguments.contains(&name) {
            name.push('_');
        }
        name
    }

    /// Writes the trait and the function to `text`, and the implementations to `instances`.
    pub(super) fn write(
        &self,
        text: &mut String,
        instances: &mut String,
        parts: &Parts<'_>,
        is_own: impl Fn(&str) -> bool,
    ) {
        let Self { name, of_self, .. } = self;
        let Parts { bounds, call, stored, attributes } = parts;
        let of_trait: Vec<usize> = self
            .parameters()
            .map(|(at, _)| at)
            .filter(|at| self.pattern(&self.types(*at)).is_none())
            .collect();
        let other: Vec<usize> =
            (0..self.arguments.len()).filter(|at| self.is_other_in_memory[*at]).collect();
        let (mut generics, mut values, mut passed) = (String::new(), String::new(), String::new());
        let mut parameters = String::new();
        for ((at, parameter), bound) in self.parameters().zip(bounds) {
            let _ = write!(generics, "__offload_{at}: __offload::Passed,");
            let _ = write!(passed, "a{at}: __offload_{at},");
            let _ = write!(parameters, "{parameter}: impl {bound},");
            values.extend([parameter, ","]);
        }
        let call_of = |start: &str| {
            format!(
                "{attributes} fn __offload_call<{generics}>({passed}) -> {start}__offload_calls::{call}"
            )
        };

        let by_value = self.parameters().any(|(at, _)| {
            of_self.is_some_and(|of_self| {
                let pattern = self.pattern(&self.types(at));
                pattern == Some(Type::Record(self.in_memory(self.self_name(), of_self)))
            })
        });
        // A type of the program need not be an argument, if the program calls no such kernel.
        let may_be_own = self.instances.iter().flat_map(|it| it.template.types());
        let by_value =
            by_value && !may_be_own.into_iter().any(|ty| ty.record_name().is_some_and(&is_own));
        let by_value = of_self.filter(|_| by_value).map(|at| self.in_memory("Self", at));
        let super_trait =
            by_value.map_or_else(String::new, |ty| format!(" + __offload::Argument<{ty}>"));
        let mut types = String::new();
        for at in &other {
            let (argument, of) = (
                &self.arguments[*at],
                if *of_self == Some(*at) { "Self" } else { &self.arguments[*at] },
            );
            let _ = write!(
                types,
                "#[doc = \"The type in the memory of kernels.\"] type {argument}: __offload::Alike<{of}>; "
            );
        }
        for at in &of_trait {
            let _ = write!(types, "#[doc(hidden)] type {}; ", self.type_name(*at));
        }
        let source_name = &self.instances[0].template.source_name;
        let _ = writeln!(
            text,
            "#[doc = {:?}] {} pub trait {name}{}: __offload::core::marker::Sized{super_trait} {{ {types}#[doc(hidden)] {}; }}",
            format!("The types for which the kernel template `{source_name}` has instances."),
            self.message(),
            self.list(false, |at| self.declaration(at)),
            call_of("super::"),
        );
        let bound = self.bound();
        let (declared, condition) = match of_self {
            Some(of_self) => {
                let item = |at: usize| {
                    let of_trait =
                        if at == *of_self { format!(": {bound}") } else { String::new() };
                    self.declaration(at) + &of_trait
                };
                (self.list(true, item), String::new())
            }
            None => (self.list(true, |at| self.declaration(at)), format!(" where (): {bound}")),
        };
        let _ = writeln!(
            text,
            "{}{attributes} pub fn {name}{declared}({parameters}) -> super::__offload_calls::{call}{condition} \
             {{ <{} as {bound}>::__offload_call({values}) }}",
            self.documentation(),
            self.self_name(),
        );

        let values: String = self.parameters().map(|(at, _)| format!(", a{at}")).collect();
        for (instance, (Stored { number, .. }, is_wider)) in self.instances.iter().zip(stored) {
            let mut types = String::new();
            let arguments = &instance.template.arguments;
            for at in &other {
                if let TemplateValue::Type(ty) = &arguments[*at].value {
                    let _ = write!(types, "type {} = {}; ", self.arguments[*at], memory_type(ty));
                }
            }
            for at in &of_trait {
                let ty = argument_type(&instance.kernel.parameters[*at].ty);
                let _ = write!(types, "type {} = {ty}; ", self.type_name(*at));
            }
            let wider = if *is_wider { ".widened()" } else { "" };
            let implementation = |key: &[String]| {
                format!(
                    "impl self::__offload_templates::{name}{} for {} {{ {types}{} {{ __offload_call_{number}({:?}{values}){wider} }} }}\n",
                    self.list(false, |at| key[at].clone()),
                    of_self.map_or("()", |at| &key[at]),
                    call_of(""),
                    instance.kernel.symbol
                )
            };
            instances.push_str(&implementation(&instance.key));
            if instance.key.iter().any(|it| [F16, BF16].contains(&&**it)) {
                let of_half = instance.key.iter().map(|key| match &**key {
                    F16 => "__offload::half::f16".to_owned(),
                    BF16 => "__offload::half::bf16".to_owned(),
                    other => other.to_owned(),
                });
                let of_half: Vec<String> = of_half.collect();
                let _ =
                    writeln!(instances, "__offload::with_half! {{ {} }}", implementation(&of_half));
            }
        }
    }

    /// Returns the documentation of the function.
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

    /// Returns a sentence about the instances that the function does not have.
    fn without(&self) -> String {
        let names = self.alike.iter().map(|kernel| &*kernel.name);
        format!(
            "Rust has the same types for these instances; call their functions: {}",
            listed(names)
        )
    }

    /// Returns the attribute with the message for arguments that no instance has.
    fn message(&self) -> String {
        let name = &self.name;
        let as_wanted = |at: usize| {
            let argument = if self.of_self == Some(at) { "Self" } else { &self.arguments[at] };
            format!("{{{argument}}}")
        };
        let wanted = self.list(true, as_wanted);
        let there: Vec<String> = self.instances.iter().map(|it| it.turbofish(name)).collect();
        let there = listed(there.iter().map(|it| &**it));
        let message = format!(
            "the kernel template `{name}` has no instance `{name}::{wanted}`: it has {there}"
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

/// Returns the first names in backticks, and the number of the remaining ones.
fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let others = names.len().saturating_sub(MOST_IN_MESSAGES);
    let names: Vec<String> = names.take(MOST_IN_MESSAGES).map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    if others == 0 { names } else { format!("{names}, and {others} more") }
}
