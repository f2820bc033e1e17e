//! The kernels of a module by their names: read from the expansion's text when the program first
//! asks for one.

use super::{CallError, NamedKernel};
use crate::call::{AnyConst, AnyMut, InvokeResult};
use crate::pack::{Form, Module};
use crate::suggest;
use crate::text::joined;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::any::{TypeId, type_name};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The kernels of a module, as the expansion writes them. offload-format's `expansion::named`
/// describes the lines.
#[derive(Debug)]
pub struct NamedKernels {
    /// The kernels with functions, by the layout of their arguments.
    pub groups: &'static [NamedGroup],
    /// The lines of kernels without functions.
    pub others: &'static str,
}

/// Kernels whose arguments have the same layout.
#[derive(Debug)]
pub struct NamedGroup {
    /// The lines of the kernels.
    pub kernels: &'static str,
    /// The offset of each argument, and a function that describes its type.
    #[allow(clippy::type_complexity, reason = "expansions write the pairs")]
    pub arguments: &'static [(usize, fn() -> Wanted)],
    /// The offset of the end of the last argument.
    pub bytes: usize,
    /// Whether all images have the arguments at these offsets.
    pub has_buffer: bool,
    /// Returns the function that calls the kernels for the CPU.
    pub invoke: fn() -> InvokeResult,
}

/// The type of a kernel's parameter.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub(super) id: TypeId,
    pub(super) name: &'static str,
}

/// Describes a parameter's type, for which an `Argument<T>` is passed.
pub fn wanted<T: 'static>() -> Wanted {
    let id = TypeId::of::<T>();
    let name = if id == TypeId::of::<AnyConst>() {
        type_name::<*const c_void>()
    } else if id == TypeId::of::<AnyMut>() {
        type_name::<*mut c_void>()
    } else {
        type_name::<T>()
    };
    Wanted { id, name }
}

/// A kernel of the table.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of its function.
    pub(super) name: &'static str,
    pub(super) symbol: &'static str,
    pub(super) source_name: &'static str,
    pub(super) place: &'static str,
    /// The names of the parameters, with tabs between them. If there is no function, the reason.
    pub(super) parameters: &'static str,
    /// The number of its group, if the kernel has a function.
    group: Option<usize>,
}

impl Entry {
    /// Returns the name of a parameter, counted from 0.
    pub(super) fn parameter(&self, number: usize) -> &'static str {
        self.parameters.split('\t').nth(number).unwrap_or_default()
    }

    /// Reads the line of a kernel.
    fn read(line: &'static str, group: Option<usize>) -> Self {
        let mut parts = line.splitn(5, '\t');
        let mut next = || parts.next().unwrap_or_default();
        let name = next();
        let mut other = || match next() {
            "" => name,
            other => other,
        };
        let (symbol, source_name) = (other(), other());
        Self { name, symbol, source_name, place: next(), parameters: next(), group }
    }
}

/// A layout of arguments, with the types of the parameters.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) arguments: Vec<(usize, Wanted)>,
    pub(super) bytes: usize,
    pub(super) has_buffer: bool,
    #[cfg_attr(not(feature = "run"), expect(dead_code, reason = "launches on the CPU use it"))]
    pub(super) invoke: InvokeResult,
}

/// The kinds of names, in the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameKind {
    Function,
    Symbol,
    Source,
}

#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
    groups: Vec<Group>,
    /// All names of the kernels in alphabetical order, each with the number of the entry.
    names: Vec<(&'static str, NameKind, usize)>,
}

impl Table {
    fn read(kernels: &'static NamedKernels) -> Self {
        let of_group = |(number, group): (usize, &NamedGroup)| {
            group.kernels.lines().map(move |line| Entry::read(line, Some(number)))
        };
        let mut entries: Vec<Entry> =
            kernels.groups.iter().enumerate().flat_map(of_group).collect();
        entries.extend(kernels.others.lines().map(|line| Entry::read(line, None)));
        let groups = kernels.groups.iter().map(|group| Group {
            arguments: group.arguments.iter().map(|(offset, of)| (*offset, of())).collect(),
            bytes: group.bytes,
            has_buffer: group.has_buffer,
            invoke: (group.invoke)(),
        });
        let mut names = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            names.push((entry.name, NameKind::Function, number));
            names.push((entry.symbol, NameKind::Symbol, number));
            names.push((entry.source_name, NameKind::Source, number));
        }
        names.sort_unstable();
        Self { groups: groups.collect(), entries, names }
    }

    /// Returns the kernel of this name, or all kernels if several have the name in the source.
    fn find(&self, name: &str) -> Result<&Entry, Vec<&str>> {
        let first = self.names.partition_point(|(other, ..)| *other < name);
        let same = self.names[first..].iter().take_while(|(other, ..)| *other == name);
        let (kind, number) = match same.clone().next() {
            Some((_, kind, number)) => (*kind, *number),
            None => return Err(Vec::new()),
        };
        let of_kind = same.filter(|(_, other, _)| *other == kind);
        match of_kind.clone().count() {
            1 => Ok(&self.entries[number]),
            _ => Err(of_kind.map(|(.., number)| self.entries[*number].name).collect()),
        }
    }
}

/// The place of a module's table, which is empty until the program asks for a kernel by its name.
#[derive(Debug)]
pub struct NamedTable(AtomicPtr<Table>);

impl NamedTable {
    /// Returns a place without a table.
    #[allow(clippy::new_without_default, reason = "expansions call it in a `static`")]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the table, and reads it in the first call. This is what `OnceLock` does; programs
    /// without std have none.
    #[allow(unsafe_code)]
    fn get(&'static self, kernels: &'static NamedKernels) -> &'static Table {
        let known = self.0.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: only the exchange below stores a pointer. It is that of a table that no code
            // frees or changes any more.
            return unsafe { &*known };
        }
        let new = Box::into_raw(Box::new(Table::read(kernels)));
        match self.0.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above.
            Ok(_) => unsafe { &*new },
            Err(known) => {
                // SAFETY: `new` comes from `into_raw`, and this thread has not shared it. Another
                // thread has stored `known` as above.
                unsafe {
                    drop(Box::from_raw(new));
                    &*known
                }
            }
        }
    }
}

/// Finds a kernel of a module. Only macro expansions use it.
pub fn named<F: Form>(
    table: &'static NamedTable,
    kernels: &'static NamedKernels,
    module: Module<'static, F>,
    name: &str,
) -> Result<NamedKernel<F>, CallError> {
    let table = table.get(kernels);
    match table.find(name) {
        Ok(entry) => match entry.group {
            Some(group) => Ok(NamedKernel { module, entry, group: &table.groups[group] }),
            None => Err(not_found(
                module,
                name,
                format!("it cannot be called, because {}", entry.parameters),
            )),
        },
        Err(several) => Err(not_found(module, name, table.why_not(module, name, &several))),
    }
}

fn not_found<F: Form>(module: Module<'static, F>, name: &str, why: String) -> CallError {
    CallError::Name { name: name.to_string(), module: module.name(), why }
}

/// The most names in an error.
const MOST: usize = 5;

impl Table {
    /// Returns why no kernel has this name; `several` have it in the source.
    #[cold]
    fn why_not<F: Form>(&self, module: Module<'static, F>, name: &str, several: &[&str]) -> String {
        if !several.is_empty() {
            return format!("several kernels have this name in the source: {}", some(several));
        }
        if module.find(name).is_some() {
            return format!(
                "its parameters are not known; declare it with them, as in include_kernels!(\"{}\", extern {{ fn \
                 {name}(n: i32, x: *mut f32); }})",
                module.pack_name()
            );
        }
        if let Some(other) = module.other_with(name) {
            return format!("the module \"{other}\" of the pack has it");
        }
        let of_template = |entry: &&Entry| {
            entry.source_name.strip_prefix(name).is_some_and(|rest| rest.starts_with('<'))
        };
        let mut instances: Vec<&str> =
            self.entries.iter().filter(of_template).map(|entry| entry.source_name).collect();
        if !instances.is_empty() {
            instances.sort_unstable();
            return format!("it is a template with {}", some(&instances));
        }
        let names = self.entries.iter().flat_map(|entry| {
            let others = [entry.symbol, entry.source_name].into_iter();
            core::iter::once(entry.name).chain(others.filter(|other| *other != entry.name))
        });
        let near = suggest::nearest(name, names, MOST);
        if !near.is_empty() {
            return format!("did you mean {}?", quoted(&near));
        }
        let mut names: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        if names.is_empty() {
            "it has no kernels".to_string()
        } else {
            format!("it has {}", some(&names))
        }
    }
}

/// Returns the first names in backticks, and the number of the remaining ones.
fn some(names: &[&str]) -> String {
    match names.get(..MOST) {
        Some(first) if names.len() > MOST => {
            format!("{}, and {} more", quoted(first), names.len() - MOST)
        }
        _ => quoted(names),
    }
}

/// Returns the names in backticks, with commas between them.
fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    joined(&names, ", ")
}
