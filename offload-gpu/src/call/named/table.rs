//! A table of a module's kernels by name, read from the expansion's text on first use.
//!
//! The functions are `#[inline]`, so that only programs that choose kernels by name compile them.

use super::{CallError, NamedKernel};
use crate::call::{AnyConst, AnyMut};
use crate::pack::{Form, Module};
use crate::suggest;
use crate::text::joined;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::any::{TypeId, type_name};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A module's kernels, as the expansion writes them. offload-pack's `expansion::named` documents
/// the line format.
#[derive(Debug)]
pub struct NamedKernels {
    /// The kernels with functions, grouped by the layout of their arguments.
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
    #[allow(clippy::type_complexity, reason = "macro expansions write the pairs")]
    pub arguments: &'static [(usize, fn() -> Wanted)],
    /// The end offset of the last argument.
    pub bytes: usize,
    /// Whether all images use these offsets.
    pub has_buffer: bool,
}

/// The type of a kernel's parameter.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub(super) id: TypeId,
    pub(super) name: &'static str,
}

impl Wanted {
    /// Whether the parameter is a pointer.
    pub(super) fn is_pointer(&self) -> bool {
        self.name.starts_with('*')
    }
}

/// Returns the description of a parameter that accepts an `Argument<T>`.
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
    /// The names of the parameters, separated by tabs; if the kernel has no function, the reason.
    pub(super) parameters: &'static str,
    /// The kernel's group, if the kernel has a function.
    group: Option<&'static NamedGroup>,
}

impl Entry {
    /// Returns the name of a parameter, counted from 0.
    #[inline]
    pub(super) fn parameter(&self, number: usize) -> &'static str {
        self.parameters.split('\t').nth(number).unwrap_or_default()
    }

    /// Reads the line of a kernel.
    #[inline]
    fn read(line: &'static str, group: Option<&'static NamedGroup>) -> Self {
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

/// The kernels of a module. Every kernel has three names: the function's name, the symbol, and the
/// name in the source. The names are numbered: first all functions, then all symbols, then all
/// names in the source.
#[derive(Debug)]
struct Table {
    entries: Vec<Entry>,
    /// A hash table of names. An empty slot contains 0, and any other slot a name's number plus 1.
    /// rustc would compile much more code for a sort or a standard map.
    slots: Vec<usize>,
}

impl Table {
    #[inline]
    fn read(kernels: &'static NamedKernels) -> Self {
        let mut entries = Vec::new();
        for group in kernels.groups {
            for line in group.kernels.lines() {
                entries.push(Entry::read(line, Some(group)));
            }
        }
        for line in kernels.others.lines() {
            entries.push(Entry::read(line, None));
        }
        let names = 3 * entries.len();
        let slots = vec![0; (2 * names + 1).next_power_of_two()];
        let mut table = Self { entries, slots };
        for number in 0..names {
            let name = table.name(number);
            // For C kernels, all three names are the same.
            if number < table.entries.len() || name != table.entry(number).name {
                let mut at = table.slot(name);
                while table.slots[at] != 0 {
                    at = table.after(at);
                }
                table.slots[at] = number + 1;
            }
        }
        table
    }

    /// Returns the kernel to which the name with this number belongs.
    fn entry(&self, number: usize) -> &Entry {
        &self.entries[number % self.entries.len()]
    }

    fn name(&self, number: usize) -> &'static str {
        let entry = self.entry(number);
        [entry.name, entry.symbol, entry.source_name][number / self.entries.len()]
    }

    /// Returns the slot at which the search for a name begins.
    #[inline]
    fn slot(&self, name: &str) -> usize {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        hash as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Returns the kernel with this name. If several kernels share the name in the source, the
    /// error lists their functions.
    #[inline]
    fn find(&self, name: &str) -> Result<&Entry, Vec<&'static str>> {
        let (mut first, mut several) = (None, Vec::new());
        let mut at = self.slot(name);
        while self.slots[at] != 0 {
            let number = self.slots[at] - 1;
            if self.name(number) == name {
                match first {
                    None => first = Some(number),
                    // A function's name takes precedence over a symbol, and a symbol over a name in
                    // the source.
                    Some(first) if number / self.entries.len() == first / self.entries.len() => {
                        if several.is_empty() {
                            several.push(self.entry(first).name);
                        }
                        several.push(self.entry(number).name);
                    }
                    Some(_) => break,
                }
            }
            at = self.after(at);
        }
        match first {
            Some(number) if several.is_empty() => Ok(self.entry(number)),
            _ => Err(several),
        }
    }
}

/// A module's table, which is empty until the program first looks up a name.
#[derive(Debug)]
pub struct NamedTable(AtomicPtr<Table>);

impl NamedTable {
    /// Returns an empty table.
    #[allow(clippy::new_without_default, reason = "macro expansions call `new` in a `static`")]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the table; the first call reads it. This type replaces `OnceLock`, which needs std.
    #[allow(unsafe_code)]
    #[inline]
    fn get(&'static self, kernels: &'static NamedKernels) -> &'static Table {
        let known = self.0.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: only the exchange below stores a pointer. It points to a table that is never
            // freed or changed again.
            return unsafe { &*known };
        }
        let new = Box::into_raw(Box::new(Table::read(kernels)));
        match self.0.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above.
            Ok(_) => unsafe { &*new },
            Err(known) => {
                // SAFETY: `new` comes from `into_raw`, and is not shared. Another thread has stored
                // `known` in the same way.
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
            Some(group) => Ok(NamedKernel { module, entry, group }),
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

/// The maximum number of names in an error.
const MOST: usize = 5;

impl Table {
    /// Returns the reason why the name is unknown or ambiguous; `several` lists the functions that
    /// share the name in the source.
    #[cold]
    fn why_not<F: Form>(&self, module: Module<'static, F>, name: &str, several: &[&str]) -> String {
        if !several.is_empty() {
            return format!(
                "several kernels have this name in the source. Use one of {}",
                some(several)
            );
        }
        if module.find(name).is_some() {
            return format!(
                "its parameters are not known. Declare them, as in include_kernels!(\"{}\", extern {{ fn \
                 {name}(n: i32, x: *mut f32); }})",
                module.pack_name()
            );
        }
        if self.entries.is_empty() && module.images().len() == 0 {
            return "the module has no images in this build".to_string();
        }
        if let Some(other) = module.other_with(name) {
            return format!("it is in the pack's module \"{other}\"");
        }
        let mut instances = Vec::new();
        for entry in &self.entries {
            if entry.source_name.strip_prefix(name).is_some_and(|rest| rest.starts_with('<')) {
                instances.push(entry.source_name);
            }
        }
        if !instances.is_empty() {
            return format!("it is a template. Use one of its instances: {}", some(&instances));
        }
        let names = 0..3 * self.entries.len();
        let near = suggest::nearest(name, names.map(|number| self.name(number)), MOST);
        if !near.is_empty() {
            return format!("did you mean {}?", quoted(&near));
        }
        if self.entries.is_empty() {
            return "the module has no kernels".to_string();
        }
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
        format!("the module has {}", some(&names))
    }
}

/// Returns the first names in backticks, and the number of the remaining names.
#[inline]
fn some(names: &[&str]) -> String {
    match names.get(..MOST) {
        Some(first) if names.len() > MOST => {
            format!("{}, and {} more", quoted(first), names.len() - MOST)
        }
        _ => quoted(names),
    }
}

/// Returns the names in backticks, separated by commas.
#[inline]
fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    joined(&names, ", ")
}
