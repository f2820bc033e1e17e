//! Kernels without stacks: clang's LLVM IR, cut at waits into regions.
//!
//! A region is a loop that runs the threads of a block from one wait to the next. `offload/regions.h`
//! runs the regions. clang inlines first: `mark` says what it has to inline into the entries of
//! kernels. After that, `cut` writes the regions, which clang optimizes.

mod cut;
#[cfg(test)]
mod tests;
mod text;
mod write;

use self::text::{Function, functions, global_names};

/// The section of functions that run one thread of a kernel, with the addresses of the arguments as
/// the only parameter. The names begin so.
const ENTRIES: &str = "section \"offload_threads\"";
const THREAD: &str = "offload_cpu_thread_";
/// The start of the names of entries, which programs launch.
const ENTRY: &str = "offload_cpu_kernel_";
const BARRIER: &str = "_ZN11offload_cpu7barrierE";
const MEET: &str = "_ZN11offload_cpu4meetE";
const LANE_NUMBER: &str = "_ZN11offload_cpu11lane_numberE";

/// The group of the accesses to memory in which threads are independent, and the loops over them.
const COMMON: &str = "!900000000 = distinct !{}\n!900000001 = !{}\n!900000002 = distinct \
    !{!900000002, !{!\"llvm.loop.parallel_accesses\", !900000000}}\n";

/// The functions of a module, and which functions refer to which.
struct Calls<'a> {
    functions: Vec<Function<'a>>,
    /// For each function, the positions of others.
    to: Vec<Vec<usize>>,
    /// Whether the function is one in which threads wait, or refers to `threadIdx`.
    waits: Vec<bool>,
    asks: Vec<bool>,
}

impl<'a> Calls<'a> {
    fn of(ir: &'a str) -> Self {
        let mut this =
            Self { functions: functions(ir), to: Vec::new(), waits: Vec::new(), asks: Vec::new() };
        for function in &this.functions {
            let (mut callees, mut wait, mut ask) = (Vec::new(), false, false);
            if !is_leaf(function.name) {
                for name in global_names(function.body) {
                    wait |= name.starts_with(BARRIER) || name.starts_with(MEET);
                    ask |= name == "threadIdx" || name.starts_with(LANE_NUMBER);
                    if let Some(at) = this.position(name)
                        && !callees.contains(&at)
                    {
                        callees.push(at);
                    }
                }
            }
            this.to.push(callees);
            this.waits.push(wait);
            this.asks.push(ask);
        }
        this
    }

    /// Returns the position of a function that the module defines.
    fn position(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|it| it.name == name)
    }

    /// Returns the functions from which a call leads to one of `roots`, and these.
    fn leading_to(&self, roots: &[bool]) -> Vec<bool> {
        let mut found = roots.to_vec();
        loop {
            let mut is_done = true;
            for at in 0..found.len() {
                if !found[at] && self.to[at].iter().any(|&to| found[to]) {
                    found[at] = true;
                    is_done = false;
                }
            }
            if is_done {
                return found;
            }
        }
    }

    /// Returns the functions to which calls from `start` lead.
    fn reached_from(&self, start: &[usize]) -> Vec<bool> {
        let mut found = vec![false; self.functions.len()];
        let mut todo = start.to_vec();
        while let Some(at) = todo.pop() {
            for &to in &self.to[at] {
                if !found[to] {
                    found[to] = true;
                    todo.push(to);
                }
            }
        }
        found
    }
}

fn is_leaf(name: &str) -> bool {
    name.starts_with(BARRIER) || name.starts_with(MEET) || name.starts_with(LANE_NUMBER)
}

/// Whether a function runs blocks, perhaps for a kernel that launches kernels. What offload/entry.h
/// has for kernels is inlined without a mark.
fn is_of_scheduler(name: &str) -> bool {
    name.starts_with("offload_cpu_launch")
        || name.find("11offload_cpu").is_some_and(|at| at <= "_ZZNK".len())
}

/// Returns the attributes that a function has in a group.
fn attributes<'a>(ir: &'a str, head: &str) -> &'a str {
    let Some(group) = group_of(head) else { return "" };
    let Some(start) = ir.find(&format!("\nattributes {group} = {{")) else { return "" };
    ir[start + 1..].lines().next().unwrap_or_default()
}

/// Returns the name of a function's group of attributes: `#5`.
fn group_of(head: &str) -> Option<&str> {
    let start = head.rfind(") ").map_or(0, |at| at + 1);
    let found = head[start..].split(' ').find(|word| word.starts_with('#'))?;
    Some(found)
}

/// Returns the module in which clang inlines what waits or asks for `threadIdx` into the entries of
/// kernels; `None` if there are none.
pub(crate) fn mark(ir: &str) -> Option<String> {
    let calls = Calls::of(ir);
    let mut entries = Vec::new();
    for (at, function) in calls.functions.iter().enumerate() {
        if function.head.contains(ENTRIES) {
            entries.push(at);
        }
    }
    if entries.is_empty() {
        return None;
    }
    let reached = calls.reached_from(&entries);
    let mut roots = calls.waits.clone();
    for (at, &asks) in calls.asks.iter().enumerate() {
        roots[at] |= asks;
    }
    let needed = calls.leading_to(&roots);
    let mut text = ir.to_owned();
    for (at, function) in calls.functions.iter().enumerate() {
        let is_leaf = is_leaf(function.name);
        let is_inlined = reached[at] && needed[at] && !is_of_scheduler(function.name);
        let Some(group) = group_of(function.head).filter(|_| is_inlined || is_leaf) else {
            continue;
        };
        if is_leaf {
            let head = function.head.replacen(group, &format!("nounwind {group}"), 1);
            text = text.replacen(function.head, &head, 1);
            continue;
        }
        let attributes = attributes(ir, function.head);
        if attributes.contains(" noreturn ") || calls.reached_from(&[at])[at] {
            continue;
        }
        // The group is that of other functions, too.
        let own = format!("#{}", 1_000_000 + at);
        let head = function.head.replacen(group, &format!("alwaysinline {own}"), 1);
        text = text.replacen(function.head, &head, 1);
        let attributes = attributes.replacen(group, &own, 1);
        let attributes = attributes.replace(" noinline ", " ").replace(" optnone ", " ");
        text.push_str(&attributes.replace(" alwaysinline ", " "));
        text.push('\n');
    }
    Some(text)
}

/// Returns the module with regions for each kernel that can have them, and with a line about each
/// kernel that is in the image. `is_alone`: no other source can
/// define a function in which threads wait.
pub(crate) fn cut(ir: &str, is_alone: bool) -> String {
    let calls = Calls::of(ir);
    let waits = calls.leading_to(&calls.waits);
    let mut is_pointer_to_wait = false;
    for (at, function) in calls.functions.iter().enumerate() {
        if waits[at] && !function.head.contains(ENTRIES) {
            is_pointer_to_wait |= is_address_taken(ir, &format!("@{}", function.name));
        }
    }
    let module = cut::Module { ir, calls: &calls, waits, is_pointer_to_wait, is_alone };
    let mut text = ir.to_owned();
    let mut after = String::new();
    for function in &calls.functions {
        if !function.head.contains(ENTRIES) {
            continue;
        }
        let name = function.name.trim_matches('"');
        let regions = module.regions(function);
        if let Ok((_, of_kernel)) = &regions {
            after.push_str(of_kernel);
        }
        after.push_str(&record(name, &regions));
    }
    text.push_str(&after);
    text.push_str(COMMON);
    text
}

/// Returns the line about a kernel in the image, for who wants to know how its threads wait.
fn record(thread: &str, regions: &Result<(usize, String), String>) -> String {
    let kernel = thread.strip_prefix(THREAD).unwrap_or(thread);
    let what = match regions {
        Ok((count, _)) => format!("{count} regions"),
        Err(why) => format!("stacks: {}", why.replace(['"', '\\'], " ")),
    };
    let text = format!("{kernel} {what}");
    let (length, section) = (text.len() + 1, "section \".offload.regions\", align 1");
    format!(
        "@\"{thread}.record\" = weak hidden constant [{length} x i8] c\"{text}\\0A\", {section}\n"
    )
}

/// Returns whether a module does something with a function but call it.
fn is_address_taken(ir: &str, name: &str) -> bool {
    let mut rest = ir;
    while let Some(at) = rest.find(name) {
        let line_start = rest[..at].rfind('\n').map_or(0, |it| it + 1);
        let next = rest.as_bytes().get(at + name.len()).copied().unwrap_or(b' ');
        let is_whole = !(next.is_ascii_alphanumeric() || b"-$._".contains(&next));
        let is_listed = ["@llvm.used", "@llvm.compiler.used", "define "]
            .iter()
            .any(|it| rest[line_start..].starts_with(it));
        if is_whole && next != b'(' && !is_listed {
            return true;
        }
        rest = &rest[at + name.len()..];
    }
    false
}
