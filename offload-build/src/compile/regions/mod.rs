//! Cuts kernels in clang's LLVM IR into regions at waits, so that their threads need no stacks.
//!
//! A region is a loop that runs the threads of a block from one wait to the next, and
//! `offload/regions.h` runs the regions. Before the cut, clang inlines as much as possible into the
//! functions that run one thread. After the cut, it optimizes the regions.

mod kernel;
mod known;
#[cfg(test)]
mod tests;
mod text;
mod turn;

use self::text::{calls_pointer, definitions, global_names, has};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The section of the functions that each run one thread of a kernel, and the prefix of their
/// names. Their only parameter points to the addresses of the arguments.
const ENTRIES: &str = "section \"offload_threads\"";
const THREAD: &str = "offload_cpu_thread_";
/// The name prefix of entries, which programs launch.
const ENTRY: &str = "offload_cpu_kernel_";
/// The call to the function in which threads wait.
const WAIT: &str = "@offload_cpu_wait(";

/// The definitions that regions share. The metadata marks the loops over the threads, and the
/// memory accesses that are independent across threads.
const COMMON: &str = "define internal ptr @offload_cpu_place(ptr returned %0) alwaysinline {\n  ret \
    ptr %0\n}\n!900000000 = distinct !{}\n!900000001 = !{}\n!900000002 = distinct !{!900000002, \
    !{!\"llvm.loop.parallel_accesses\", !900000000}}\n";

/// The definitions and declarations of a module.
struct Module<'a> {
    /// The texts by name.
    texts: HashMap<&'a str, &'a str>,
    /// Whether a call through a pointer may lead to a wait.
    is_pointer_to_wait: bool,
    /// Whether only this source can define functions in which threads wait.
    is_alone: bool,
}

/// Returns the IR, plus the regions of each kernel that can be cut and a record of each kernel for
/// the image. `is_alone` tells whether the source is the module's only one.
pub(crate) fn cut(ir: &str, is_alone: bool) -> String {
    let all = definitions(ir);
    let texts = all.iter().copied().collect();
    let mut module = Module { texts, is_pointer_to_wait: !is_alone, is_alone };
    for (name, text) in &all {
        module.is_pointer_to_wait |= !is_of_scheduler(name) && has(text, &[WAIT]);
    }
    let mut after = String::new();
    for (name, text) in all {
        let head = text.lines().next().unwrap_or_default();
        if !head.starts_with("define ") || !has(head, &[ENTRIES]) {
            continue;
        }
        let name = name.trim_matches('"');
        let regions = match module.wait_outside(text) {
            Some(why) => Err(why),
            None => kernel::regions(name, text),
        };
        let what = match regions {
            Ok((count, text)) => {
                after.push_str(&text);
                format!("regions: {count}")
            }
            Err(why) => format!("stacks: {}", why.replace(['"', '\\'], " ")),
        };
        let line = format!("{} {what}", &name[THREAD.len()..]);
        let _ = writeln!(
            after,
            "@\"{name}.record\" = weak hidden constant [{} x i8] c\"{line}\\0A\", section \
             \".offload.regions\", align 1",
            line.len() + 1
        );
    }
    format!("{ir}{after}{COMMON}")
}

impl Module<'_> {
    /// If a kernel may wait in a function that is not inlined, returns the reason.
    fn wait_outside(&self, kernel: &str) -> Option<String> {
        let (mut names, mut at, mut text) = (Vec::new(), 0, kernel);
        // The names, in the type of `texts`, because another type costs more than its clarity.
        let mut known = HashMap::new();
        loop {
            if self.is_pointer_to_wait && calls_pointer(text) {
                return Some("it calls a function pointer, and the function may wait".to_owned());
            }
            for name in global_names(text) {
                if known.insert(name, "").is_none() {
                    names.push(name);
                }
            }
            text = "";
            while text.is_empty() && at < names.len() {
                if !is_of_scheduler(names[at]) {
                    text = self.texts.get(names[at]).copied().unwrap_or_default();
                }
                at += 1;
            }
            if text.is_empty() {
                return None;
            }
            let shown = names[at - 1].trim_matches('"');
            if has(text, &[WAIT]) {
                return Some(format!("it calls {shown}, which waits and cannot be inlined"));
            }
            if !self.is_alone && text.starts_with("declare ") && self.is_of_source(text, shown) {
                return Some(format!("it calls {shown} from another source, which may wait"));
            }
        }
    }

    /// Whether a different source may define this declared function. clang knows the effects of C
    /// library functions, and marks them `nofree`.
    fn is_of_source(&self, declaration: &str, name: &str) -> bool {
        let of_library = ["llvm.", "__", "_ZSt", "_ZNSt", "_ZNKSt", "_Zn", "_Zd"];
        if of_library.iter().any(|it| name.starts_with(it)) {
            return false;
        }
        let attributes = self.texts.get(group_of(declaration));
        !attributes.is_some_and(|attributes| has(attributes, &[" nofree "]))
    }
}

/// Whether a function belongs to the scheduler, which runs blocks. Kernels that launch kernels may
/// call scheduler functions.
fn is_of_scheduler(name: &str) -> bool {
    name.starts_with("offload_cpu_")
        || name.find("11offload_cpu").is_some_and(|at| at <= "_ZZNK".len())
}

/// Returns the name of a function's attribute group, such as `#5`.
fn group_of(head: &str) -> &str {
    head.split(' ').find(|word| word.starts_with('#')).unwrap_or_default()
}
