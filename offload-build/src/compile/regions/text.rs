//! Reads LLVM IR as text: definitions, instructions, and the instructions' result types.

pub(super) use super::super::debug_info::metadata::split;

use super::super::debug_info::ir::{length, name_length};
use super::group_of;

/// The names of a thread's variables. In regions, `@threadIdx` is `%threadIdx.of.0`.
const OF_THREAD: [&str; 8] = [
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "offload_cpu_value",
    "offload_cpu_result",
    "offload_cpu_mask",
    "offload_cpu_source",
];

/// Uses of a thread's variables as clang writes them, with their replacements in regions.
const USES_OF_THREAD: [(&str, &str); 9] = [
    ("@llvm.threadlocal.address.p0(ptr align 4 %", "@offload_cpu_place(ptr align 4 %"),
    ("@llvm.threadlocal.address.p0(ptr align 8 %", "@offload_cpu_place(ptr align 8 %"),
    // The next rows are forms that clang 15 writes.
    ("getelementptr inbounds (%struct.dim3, ptr %", "%"),
    (".of.0, i64 0, i32 1)", ".of.1"),
    (".of.0, i64 0, i32 2)", ".of.2"),
    ("getelementptr inbounds (i8, ptr %", "%"),
    (".of.0, i64 4)", ".of.4"),
    // These rows join instructions that span several lines.
    ("\n    ", " "),
    ("\n  ]", " ]"),
];

/// An instruction or a label. Values are written as `%v1.`. A block begins at the label `%b2.` and
/// ends with the block `%e2.`, which contains only the terminator.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) text: String,
    /// The number of the value that this instruction defines, or 0.
    pub(super) value: usize,
    pub(super) uses: Vec<usize>,
    /// The labels that this instruction may jump to. For a `phi`, the label of each incoming value.
    pub(super) labels: Vec<usize>,
    pub(super) segment: usize,
}

impl Line {
    pub(super) fn of(line: &str, segment: usize) -> Self {
        let (mut uses, mut labels, mut value) = (Vec::new(), Vec::new(), 0);
        let mut text = String::with_capacity(line.len() + 16);
        let is_phi = has(line, &[" = phi "]);
        let (mut last, mut is_value) = (0, false);
        for (start, end) in names_after(line, b'%') {
            let Ok(number) = line[start + 1..end].parse() else { continue };
            let before = &line[..start];
            let is_label = before.ends_with("label ") || is_phi && before.ends_with(", ");
            if start == 0 {
                value = number;
            } else if !is_label {
                uses.push(number);
            } else if is_value || !is_phi {
                labels.push(number);
            }
            is_value = !is_label && start != 0;
            text.push_str(&line[last..start + 1]);
            text.push(if !is_label {
                'v'
            } else if is_phi {
                'e'
            } else {
                'b'
            });
            text.push_str(&line[start + 1..end]);
            text.push('.');
            last = end;
        }
        text.push_str(&line[last..]);
        Self { text, value, uses, labels, segment }
    }

    /// Returns the instruction's first word. Skips words such as `tail` before `call`.
    pub(super) fn opcode(&self) -> &str {
        let first = word(operation(&self.text), 0);
        if has(first, &["tail"]) { "call" } else { first }
    }

    /// Whether this instruction calls a function that may depend on the running thread.
    pub(super) fn is_call(&self) -> bool {
        ["call", "invoke"].contains(&self.opcode())
            && !has(&self.text, &[" asm ", "@llvm.", "@offload_cpu_place("])
    }

    pub(super) fn mark_used(&self, used: &mut [bool]) {
        for &value in &self.uses {
            used[value] = true;
        }
    }

    pub(super) fn result_type(&self) -> Result<&str, String> {
        let ty = result_type(operation(&self.text));
        if ty.is_empty() {
            return Err(format!("the type of a value is not known: {}", self.text));
        }
        Ok(ty)
    }
}

pub(super) fn has(text: &str, others: &[&str]) -> bool {
    for other in others {
        if text.find(other).is_some() {
            return true;
        }
    }
    false
}

pub(super) fn word(text: &str, number: usize) -> &str {
    text.split(' ').nth(number).unwrap_or_default()
}

pub(super) fn replaced(text: &str, by: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (from, to) in by {
        text = text.replace(from, to);
    }
    text
}

/// Returns the names and the texts of a module's definitions, declarations and groups of attributes
/// (`#5`).
pub(super) fn definitions(ir: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = ir;
    while let Some(end) = rest.find('\n') {
        let head = &rest[..end];
        let is_function = head.starts_with("define ");
        let end = if is_function { rest.find("\n}").unwrap_or(end) } else { end };
        if is_function || head.starts_with("declare ") || head.starts_with('@') {
            let name = global_names(head).first().copied().unwrap_or_default();
            found.push((name, &rest[..end]));
        } else if head.starts_with("attributes ") {
            found.push((group_of(head), head));
        }
        rest = &rest[end + 1..];
    }
    found
}

/// Returns the global names in a text outside debug information, including any quotation marks.
pub(super) fn global_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in text.lines() {
        if !has(line, &["#dbg_", "@llvm.dbg."]) {
            for (start, end) in names_after(line, b'@') {
                names.push(&line[start + 1..end]);
            }
        }
    }
    names
}

pub(super) fn calls_pointer(text: &str) -> bool {
    for (_, end) in names_after(text, b'%') {
        if text[end..].starts_with('(') {
            return true;
        }
    }
    false
}

/// Returns where each name that follows `sign` (`@` or `%`) begins and ends, sign included.
fn names_after(text: &str, sign: u8) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let start = at;
        at += 1;
        if bytes[start] == sign {
            at += name_length(&text[at..]);
            found.push((start, at));
        } else if bytes[start] == b'"' {
            at = start + name_length(&text[start..]);
        }
    }
    found
}

/// Returns the instructions and labels of a function, one per line.
pub(super) fn instructions(function: &str) -> String {
    let (mut text, mut last) = (String::new(), 0);
    for (start, end) in names_after(function, b'@') {
        let name = &function[start + 1..end];
        if OF_THREAD.contains(&name) {
            text.push_str(&function[last..start]);
            text.push('%');
            text.push_str(name);
            text.push_str(".of.0");
            last = end;
        }
    }
    text.push_str(&function[last..]);
    replaced(&text, &USES_OF_THREAD)
}

/// Whether a constant in an instruction contains a thread's variable, as in clang 15's output.
pub(super) fn has_constant_of_thread(line: &str) -> bool {
    let mut rest = line;
    // An argument list has no space before its bracket.
    while let Some(start) = rest.find(" (") {
        rest = &rest[start + 2..];
        if has(&rest[..length(rest, b')')], &[".of."]) {
            return true;
        }
    }
    false
}

/// Returns an instruction without its debug information.
pub(super) fn plain(line: &str) -> &str {
    let line = line.split(", !dbg !").next().unwrap_or_default();
    line.split("#dbg_").next().unwrap_or_default().trim()
}

/// Returns an instruction without the value that it defines.
fn operation(line: &str) -> &str {
    match line.split_once(" = ") {
        Some((name, rest)) if name.starts_with('%') => rest,
        _ => line,
    }
}

/// Returns the first type in an instruction's text, skipping the words before it.
fn first_type(text: &str) -> &str {
    const NAMES: &str = " ptr float double half bfloat x86_fp80 fp128 ";
    let mut rest = text;
    while !rest.is_empty() {
        let end = length(rest, b' ');
        let word = &rest[..end];
        let bits = word.strip_prefix('i').unwrap_or_default();
        if bits.parse::<u32>().is_ok()
            || word.starts_with(['{', '[', '<', '%'])
            || !word.is_empty() && has(NAMES, &[&format!(" {word} ")])
        {
            return word;
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    ""
}

/// Returns the type of an instruction's result, or an empty string if the text does not contain it.
pub(super) fn result_type(operation: &str) -> &str {
    let code = word(operation, 0);
    let parts: Vec<&str> = split(&operation[code.len()..]).collect();
    let is_second = ["select", "atomicrmw"].contains(&code) && parts.len() > 1;
    let ty = first_type(parts[usize::from(is_second)]);
    match code {
        "cmpxchg" | "shufflevector" | "va_arg" | "invoke" => "",
        "getelementptr" if !has(operation, &[", <"]) => "ptr",
        "icmp" | "fcmp" if !ty.starts_with('<') => "i1",
        "getelementptr" | "icmp" | "fcmp" => "",
        "extractelement" => ty[..ty.len().max(1) - 1].split_once(" x ").unwrap_or_default().1,
        "extractvalue" if parts.len() == 2 && ty.starts_with("{ ") => {
            let members: Vec<&str> = split(&ty[2..ty.len() - 2]).collect();
            members[parts[1].parse().unwrap_or(0)]
        }
        "extractvalue" => "",
        // In a cast, the result type follows `to`. A `to` in brackets belongs to a constant.
        _ => match parts[0].split_once(" to ") {
            Some((_, ty)) if !ty.contains(')') => ty,
            _ => ty,
        },
    }
}
