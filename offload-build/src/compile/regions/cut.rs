//! The regions of one kernel.

use super::text::{
    Block, Function, blocks, bracketed, defined, first_type, global_names, incoming, locals,
    opcode, operation, parts, replaced, result_type, targets, uses,
};
use super::{BARRIER, Calls, LANE_NUMBER, MEET, attributes, group_of, is_leaf};
use std::fmt::Write as _;

/// The indices, which regions have as values of their loops.
const INDICES: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// Operations without effects, which may be done where their result is not needed.
const PURE: [&str; 26] = [
    "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "trunc", "zext", "sext",
    "icmp", "fcmp", "select", "uitofp", "sitofp", "fadd", "fsub", "fmul", "fneg", "fpext",
    "fptrunc", "ptrtoint", "inttoptr", "bitcast",
];

/// What the cut of a kernel needs to know of its module.
pub(super) struct Module<'a> {
    pub(super) ir: &'a str,
    pub(super) calls: &'a Calls<'a>,
    /// The functions in which threads can wait.
    pub(super) waits: Vec<bool>,
    /// Whether a call through a pointer may lead to a function in which threads wait.
    pub(super) is_pointer_to_wait: bool,
    pub(super) is_alone: bool,
}

/// How a value is known at the beginning of each region, without an array.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    No,
    /// From the arguments and the indices alone.
    Value,
    /// The addresses of the arguments, and the address of one of them.
    Addresses,
    Argument,
    /// An index, whose members are values.
    Index,
}

/// A wait: the number of its kind, what threads write to the arrays, and the result.
struct Wait {
    kind: usize,
    written: Vec<(&'static str, String)>,
    result: Option<(usize, String)>,
    after: usize,
}

/// A kernel on its way to regions.
struct Kernel<'a> {
    module: &'a Module<'a>,
    blocks: Vec<Block>,
    waits: Vec<Wait>,
    /// For each number: the position of the block with this label, and the instruction of a value.
    block_of: Vec<usize>,
    definition: Vec<String>,
    known: Vec<Known>,
    /// The instructions that each region repeats.
    repeated: Vec<String>,
    /// The variables in memory, and for each whether it lives over a wait.
    variables: Vec<(usize, String, bool)>,
}

const NONE: usize = usize::MAX;

impl Module<'_> {
    /// Returns the number of regions of a kernel and their text, or why its threads need stacks.
    pub(super) fn regions(&self, function: &Function<'_>) -> Result<(usize, String), String> {
        let mut kernel = Kernel {
            module: self,
            blocks: blocks(function),
            waits: Vec::new(),
            block_of: Vec::new(),
            definition: Vec::new(),
            known: Vec::new(),
            repeated: Vec::new(),
            variables: Vec::new(),
        };
        kernel.refuse_calls()?;
        kernel.number();
        kernel.split()?;
        kernel.refuse_waits()?;
        kernel.repeat();
        kernel.take_variables()?;
        let kept = kernel.live_over_waits();
        let text = kernel.write(function, &kept)?;
        Ok((kernel.waits.len() + 1, text))
    }

    /// Returns whether a function that is only declared may be one of another source. clang knows
    /// what functions of the C library do.
    fn may_be_of_a_source(&self, name: &str) -> bool {
        let of_library = ["llvm.", "__", "_ZSt", "_ZNSt", "_ZNKSt", "_Zn", "_Zd"];
        let called = format!(" @{name}(");
        let mut declared = self.ir.lines().filter(|it| it.starts_with("declare "));
        let head = declared.find(|it| it.contains(&called)).unwrap_or_default();
        let is_known = attributes(self.ir, head).contains(" nofree ");
        !is_known && !of_library.iter().any(|it| name.starts_with(it))
    }

    fn mask_type(&self) -> &'static str {
        // The letter is that of `unsigned long long`.
        if self.ir.contains("meetE21offload_warp_functiony") { "i64" } else { "i32" }
    }

    /// Returns what the regions of all kernels of a module need.
    pub(super) fn common(&self) -> String {
        "\n%offload.frame = type { ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr, [9 x i32] }\n\
         !900000000 = distinct !{}\n!900000001 = !{}\n\
         !900000002 = distinct !{!900000002, !{!\"llvm.loop.parallel_accesses\", !900000000}, \
         !{!\"llvm.loop.vectorize.enable\", i1 true}}\n"
            .to_owned()
    }
}

/// Returns the text between the brackets of a call.
fn arguments<'a>(line: &'a str, name: &str) -> Vec<&'a str> {
    let Some(at) = line.find(name) else { return Vec::new() };
    let Some(open) = line[at..].find('(') else { return Vec::new() };
    let text = &line[at + open..];
    parts(&text[1..bracketed(text) - 1])
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or_default()
}

fn is_wait(line: &str) -> bool {
    opcode(line) == "call" && (line.contains(BARRIER) || line.contains(MEET))
}

/// Returns the global function that a call calls; none for a call through a pointer or of assembly.
fn callee(line: &str) -> Option<&str> {
    let first = global_names(line).first().copied()?;
    line.contains(&format!("@{first}(")).then_some(first)
}

impl Kernel<'_> {
    /// Reports calls that may lead to a wait outside of the kernel's own instructions.
    fn refuse_calls(&self) -> Result<(), String> {
        let module = self.module;
        for line in self.blocks.iter().flat_map(|block| &block.lines) {
            let code = opcode(line);
            if ["indirectbr", "callbr", "catchswitch", "cleanuppad"].contains(&code) {
                return Err("it jumps to the address of a label".to_owned());
            }
            if !["call", "invoke"].contains(&code) || is_wait(line) || line.contains(" asm ") {
                continue;
            }
            let Some(name) = callee(line) else {
                if module.is_pointer_to_wait || !module.is_alone {
                    return Err("it calls through a pointer, and may so reach a wait".to_owned());
                }
                continue;
            };
            let known = module.calls.functions.binary_search_by_key(&name, |it| it.name);
            let shown = name.trim_matches('"');
            match known {
                Ok(at) if module.waits[at] && !is_leaf(name) => {
                    return Err(format!(
                        "it calls {shown}, in which threads wait, and which is not inlined"
                    ));
                }
                Err(_) if !module.is_alone && module.may_be_of_a_source(name) => {
                    return Err(format!(
                        "it calls {shown} of another source, in which threads may wait"
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Finds out which number is which.
    fn number(&mut self) {
        let mut most = 0;
        for block in &self.blocks {
            most = most.max(block.label);
            for line in &block.lines {
                for (_, _, number) in locals(line) {
                    most = most.max(number);
                }
            }
        }
        self.block_of = vec![NONE; most + 1];
        self.definition = vec![String::new(); most + 1];
    }

    fn new_label(&mut self) -> usize {
        self.block_of.push(NONE);
        self.definition.push(String::new());
        self.block_of.len() - 1
    }

    /// Ends blocks at waits, and gives results of `invoke` a block of their own.
    fn split(&mut self) -> Result<(), String> {
        let mut all = Vec::new();
        // The block in which each block ends now, and the block between an `invoke` and its target.
        let mut ends = Vec::new();
        let mut between = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            let begin = block.label;
            let mut current = Block { label: begin, lines: Vec::new(), wait: 0 };
            for line in block.lines {
                let is_call = is_wait(&line);
                if !is_call && opcode(&line) == "invoke" {
                    if line.contains(BARRIER) || line.contains(MEET) {
                        return Err("a wait is called as if it threw an exception".to_owned());
                    }
                    if defined(&line).is_some() {
                        let to = targets(&line)[0];
                        let label = self.new_label();
                        between.push((begin, to, label));
                        let first = std::cell::Cell::new(true);
                        let line = replaced(&line, &|_, is_label| {
                            (is_label && first.replace(false)).then(|| format!("%{label}"))
                        });
                        current.lines.push(line);
                        let lines = vec![format!("br label %{to}")];
                        all.push(std::mem::replace(&mut current, Block { label, lines, wait: 0 }));
                        continue;
                    }
                }
                if !is_call {
                    current.lines.push(line);
                    continue;
                }
                let after = self.new_label();
                let wait = self.wait(&line, after)?;
                self.waits.push(wait);
                current.lines.push(line);
                current.wait = self.waits.len();
                let next = Block { label: after, lines: Vec::new(), wait: 0 };
                all.push(std::mem::replace(&mut current, next));
            }
            let is_between = between
                .last()
                .is_some_and(|&(from, _, label)| from == begin && label == current.label);
            let end = if is_between {
                all.last().map_or(begin, |it: &Block| it.label)
            } else {
                current.label
            };
            ends.push((begin, end));
            all.push(current);
        }
        for block in &mut all {
            let label = block.label;
            for line in &mut block.lines {
                if opcode(line) != "phi" {
                    break;
                }
                *line = replaced(line, &|number, is_label| {
                    if !is_label {
                        return None;
                    }
                    let edge = between.iter().find(|it| it.0 == number && it.1 == label);
                    let end = ends.iter().find(|it| it.0 == number);
                    edge.map(|it| it.2).or(end.map(|it| it.1)).map(|to| format!("%{to}"))
                });
            }
        }
        for (at, block) in all.iter().enumerate() {
            self.block_of[block.label] = at;
            for line in &block.lines {
                if let Some(value) = defined(line) {
                    self.definition[value].clone_from(line);
                }
            }
        }
        self.blocks = all;
        Ok(())
    }

    /// Reads the call of a wait.
    fn wait(&self, line: &str, after: usize) -> Result<Wait, String> {
        let result =
            defined(line).map(|value| (value, if line.contains(MEET) { "i64" } else { "i32" }));
        let value_of = |argument: &str| {
            let ty = first_type(argument).unwrap_or("i32").to_owned();
            (ty, last_word(argument).to_owned())
        };
        let mut written = Vec::new();
        let mut kind = 0;
        if line.contains(MEET) {
            let arguments = arguments(line, MEET);
            let [function, mask, value, source] = arguments[..] else {
                return Err("a warp function has other arguments".to_owned());
            };
            let Ok(function) = last_word(function).parse::<usize>() else {
                return Err("which warp function it calls is not known".to_owned());
            };
            kind = function + 2;
            for (array, argument) in [("mask", mask), ("value", value), ("source", source)] {
                let (ty, value) = value_of(argument);
                written.push((array, format!("{ty} {value}")));
            }
        } else {
            let arguments = arguments(line, BARRIER);
            let value = last_word(arguments.first().copied().unwrap_or("false")).to_owned();
            written.push(("value", format!("i1 {value}")));
        }
        let result = result.map(|(value, ty)| (value, ty.to_owned()));
        Ok(Wait { kind, written, result, after })
    }

    fn successors(&self, block: &Block) -> Vec<usize> {
        let labels = match block.wait {
            0 => targets(block.lines.last().map_or("", |it| it)),
            wait => vec![self.waits[wait - 1].after],
        };
        let mut found = Vec::new();
        for label in labels {
            found.push(self.block_of[label]);
        }
        found
    }

    /// Reports waits where another thread could not run on the same stack.
    fn refuse_waits(&self) -> Result<(), String> {
        if self.waits.is_empty() {
            return Ok(());
        }
        // How many exceptions are caught or under way at the beginning of each block.
        let mut depths = vec![-1; self.blocks.len()];
        depths[0] = 0;
        let mut todo = vec![0];
        while let Some(at) = todo.pop() {
            let mut depth = depths[at];
            for line in &self.blocks[at].lines {
                depth += i32::from(opcode(line) == "landingpad");
                depth -= i32::from(line.contains("@__cxa_end_catch("));
                if line.contains("@llvm.stacksave") {
                    return Err("it has arrays whose sizes are known when it runs".to_owned());
                }
            }
            if self.blocks[at].wait != 0 && depth > 0 {
                return Err("threads wait while an exception is handled".to_owned());
            }
            for next in self.successors(&self.blocks[at]) {
                if depths[next] < depth && depth < 4 {
                    depths[next] = depth;
                    todo.push(next);
                }
            }
        }
        Ok(())
    }

    /// Moves the instructions whose results follow from the arguments and the indices alone.
    fn repeat(&mut self) {
        self.known = vec![Known::No; self.block_of.len()];
        self.known[0] = Known::Addresses;
        let lanes = self.module.mask_type().strip_prefix('i').unwrap_or_default();
        for block in &mut self.blocks {
            for line in &mut block.lines {
                *line = with_indices(line, lanes);
            }
        }
        loop {
            let before = self.repeated.len();
            for block in &mut self.blocks {
                let mut left = Vec::new();
                for line in std::mem::take(&mut block.lines) {
                    let known = known(&line, &self.known);
                    match defined(&line) {
                        Some(value) if known != Known::No => {
                            self.known[value] = known;
                            let is_load = opcode(&line) == "load";
                            let is_index = line.contains("%index.");
                            let is_marked = line.contains("!invariant.load");
                            let mut line = line;
                            if is_load
                                && !is_index
                                && !is_marked
                                && uses(&line).iter().any(|&it| self.known[it] != Known::Index)
                            {
                                line.push_str(", !invariant.load !900000001");
                            }
                            self.repeated.push(line);
                        }
                        _ => left.push(line),
                    }
                }
                block.lines = left;
            }
            if before == self.repeated.len() {
                return;
            }
        }
    }

    /// Takes the variables in memory out of the first block, and finds those that live over waits.
    fn take_variables(&mut self) -> Result<(), String> {
        let has_waits = !self.waits.is_empty();
        for (at, block) in self.blocks.iter_mut().enumerate() {
            let mut left = Vec::new();
            for line in std::mem::take(&mut block.lines) {
                let Some(value) = defined(&line).filter(|_| opcode(&line) == "alloca") else {
                    left.push(line);
                    continue;
                };
                if at == 0 && uses(&line).is_empty() {
                    self.variables.push((value, operation(&line).to_owned(), has_waits));
                    continue;
                }
                if has_waits {
                    return Err("it has arrays whose sizes are known when it runs".to_owned());
                }
                left.push(line);
            }
            block.lines = left;
        }
        if !has_waits {
            return Ok(());
        }
        let place = |variables: &[(usize, String, bool)], line: &str| {
            let used = uses(line);
            variables.iter().position(|it| used.contains(&it.0))
        };
        let mut starts = vec![false; self.variables.len()];
        for line in self.blocks.iter().flat_map(|it| &it.lines) {
            if let Some(at) = place(&self.variables, line) {
                starts[at] |= line.contains("@llvm.lifetime.start");
            }
        }
        // The variables that may be alive at the beginning of each block.
        let mut alive = vec![vec![false; starts.len()]; self.blocks.len()];
        for (at, &starts) in starts.iter().enumerate() {
            alive[0][at] = !starts;
        }
        let mut over = vec![false; starts.len()];
        let mut todo: Vec<usize> = (0..self.blocks.len()).rev().collect();
        while let Some(at) = todo.pop() {
            let mut now = alive[at].clone();
            for line in &self.blocks[at].lines {
                let starts = line.contains("@llvm.lifetime.start");
                if starts || line.contains("@llvm.lifetime.end") {
                    if let Some(variable) = place(&self.variables, line) {
                        now[variable] = starts;
                    }
                }
            }
            for next in self.successors(&self.blocks[at]) {
                for variable in 0..now.len() {
                    over[variable] |= self.blocks[at].wait != 0 && now[variable];
                    if now[variable] && !alive[next][variable] {
                        alive[next][variable] = true;
                        todo.push(next);
                    }
                }
            }
        }
        for (variable, over) in self.variables.iter_mut().zip(over) {
            variable.2 = over;
        }
        // Arrays over the threads have no lifetimes.
        let variables = &self.variables;
        for block in &mut self.blocks {
            block.lines.retain(|line| {
                !line.contains("@llvm.lifetime.")
                    || !place(variables, line).is_some_and(|at| variables[at].2)
            });
        }
        Ok(())
    }

    /// Returns, for each wait, the values that have to be kept.
    fn live_over_waits(&self) -> Vec<Vec<usize>> {
        let count = self.block_of.len();
        let mut of_value = vec![false; count];
        for (value, line) in self.definition.iter().enumerate() {
            of_value[value] = !line.is_empty() && self.known[value] == Known::No;
        }
        for (value, _, _) in &self.variables {
            of_value[*value] = false;
        }
        // What each block needs at its beginning.
        let mut live: Vec<Vec<bool>> = vec![vec![false; count]; self.blocks.len()];
        loop {
            let mut is_done = true;
            for at in (0..self.blocks.len()).rev() {
                let block = &self.blocks[at];
                let mut now = vec![false; count];
                for next in self.successors(block) {
                    for value in 0..count {
                        now[value] |= live[next][value];
                    }
                    for line in &self.blocks[next].lines {
                        if opcode(line) != "phi" {
                            break;
                        }
                        for (value, from) in incoming(line) {
                            if let Some(value) = value.filter(|_| from == block.label) {
                                now[value] = of_value[value];
                            }
                        }
                    }
                }
                for line in block.lines.iter().rev() {
                    if let Some(value) = defined(line).filter(|_| !is_wait(line)) {
                        now[value] = false;
                    }
                    if opcode(line) != "phi" {
                        for value in uses(line) {
                            now[value] = of_value[value];
                        }
                    }
                }
                for wait in &self.waits {
                    if let Some((value, _)) =
                        wait.result.as_ref().filter(|_| wait.after == block.label)
                    {
                        now[*value] = false;
                    }
                }
                if now != live[at] {
                    live[at] = now;
                    is_done = false;
                }
            }
            if is_done {
                break;
            }
        }
        let mut kept = Vec::new();
        for wait in &self.waits {
            let live = &live[self.block_of[wait.after]];
            kept.push((0..count).filter(|&value| live[value]).collect());
        }
        kept
    }

    /// Returns, for each value, whether it may be an address of a variable that is not in an array:
    /// the threads of a loop share this memory.
    fn shared_by_threads(&self) -> Vec<bool> {
        let mut shared = vec![false; self.block_of.len()];
        let mut is_any = false;
        for (value, _, over) in &self.variables {
            shared[*value] = !over;
            is_any |= !over;
        }
        loop {
            let before = shared.clone();
            let blocks = self.blocks.iter().flat_map(|it| &it.lines);
            for line in blocks.chain(&self.repeated) {
                let Some(value) = defined(line) else { continue };
                let code = opcode(line);
                shared[value] |= is_any
                    && self.known[value] == Known::No
                    && ["load", "call", "invoke"].contains(&code)
                    || code == "alloca"
                    || code != "load" && uses(line).iter().any(|&it| shared[it]);
            }
            if before == shared {
                return shared;
            }
        }
    }

    /// Writes the regions.
    fn write(&self, function: &Function<'_>, kept: &[Vec<usize>]) -> Result<String, String> {
        let name = function.name.trim_matches('"');
        let mut slots: Vec<Option<(usize, String)>> = vec![None; self.block_of.len()];
        let mut types = Vec::new();
        for &value in kept.iter().flatten() {
            if slots[value].is_none() {
                let line = &self.definition[value];
                let Some(ty) = result_type(line, self.module.ir) else {
                    return Err(format!("the type of a value is not known: {line}"));
                };
                slots[value] = Some((types.len(), ty.clone()));
                types.push(if ty == "i1" { "i8".to_owned() } else { ty });
            }
        }
        let mut out = String::new();
        let all = if types.is_empty() { "i8".to_owned() } else { types.join(", ") };
        let _ = writeln!(out, "%\"{name}.slots\" = type {{ {all} }}");
        let mut memory = Vec::new();
        for (_, alloca, over) in &self.variables {
            if *over {
                memory.push(element(alloca));
            }
        }
        let all = if memory.is_empty() { "i8".to_owned() } else { memory.join(", ") };
        let _ = writeln!(out, "%\"{name}.memory\" = type {{ {all} }}");
        let attributes = function_attributes(function.head);
        let _ = writeln!(
            out,
            "define internal i32 @\"{name}.threads\"(ptr %0, ptr noalias %slots, ptr %memory, i64 %stride, ptr noalias \
             %value, ptr noalias %result, ptr noalias %mask, ptr noalias %source, i64 %t, i32 %d0, i32 %d1, i32 %d2, \
             i32 %d3, i32 %d4, i32 %d5, i32 %d6, i32 %d7, i32 %d8, i32 %d9, i32 %d10, i32 %d11, i32 %region) \
             alwaysinline {attributes} {{\nbegin:\n  %number = trunc i64 %t to i32"
        );
        self.write_begin(&mut out, name, &slots);
        let mut cases = String::new();
        for wait in 1..=self.waits.len() {
            let _ = write!(cases, "i32 {wait}, label %resume.{wait} ");
        }
        let _ = writeln!(out, "  switch i32 %region, label %v{} [ {cases}]", self.blocks[0].label);
        self.write_blocks(&mut out, kept, &slots);
        out.push_str("}\n");
        self.write_loops(&mut out, name, &attributes);
        Ok(out)
    }

    /// Writes what each region does first.
    fn write_begin(&self, out: &mut String, name: &str, slots: &[Option<(usize, String)>]) {
        for (index, dimension) in INDICES.iter().enumerate() {
            let _ = writeln!(out, "  %index.{dimension} = alloca [3 x i32], align 4");
            for member in 0..3 {
                let place = format!("%index.{dimension}.{member}");
                let _ = writeln!(
                    out,
                    "  {place} = getelementptr inbounds i32, ptr %index.{dimension}, i64 {member}\n  \
                     store i32 %d{}, ptr {place}, align 4",
                    index * 3 + member
                );
            }
        }
        for (array, ty) in [
            ("value", "i64"),
            ("result", "i64"),
            ("mask", self.module.mask_type()),
            ("source", "i32"),
        ] {
            let _ =
                writeln!(out, "  %own.{array} = getelementptr inbounds {ty}, ptr %{array}, i64 %t");
        }
        let mut place = 0;
        for (value, alloca, over) in &self.variables {
            if *over {
                write_element(
                    out,
                    &format!("%v{value}"),
                    (name, "memory", place),
                    &element(alloca),
                );
                place += 1;
            } else {
                let _ = writeln!(out, "  %v{value} = {alloca}");
            }
        }
        for (value, slot) in slots.iter().enumerate() {
            if let Some((place, ty)) = slot {
                let kept = if ty == "i1" { "i8" } else { ty };
                let _ = writeln!(out, "  %slot.{value} = alloca {ty}");
                write_element(out, &format!("%kept.{value}"), (name, "slots", *place), kept);
            }
        }
        for line in &self.repeated {
            let _ = writeln!(out, "  {}", named(line));
        }
    }

    fn write_blocks(
        &self,
        out: &mut String,
        kept: &[Vec<usize>],
        slots: &[Option<(usize, String)>],
    ) {
        let shared = self.shared_by_threads();
        let mut loads = 0;
        // What `phi` needs at the end of the blocks before it.
        let mut at_end: Vec<String> = vec![String::new(); self.blocks.len()];
        let mut texts: Vec<Vec<String>> = Vec::new();
        for block in &self.blocks {
            let mut lines = Vec::new();
            let mut stores: Vec<String> = Vec::new();
            for line in &block.lines {
                let is_phi = opcode(line) == "phi";
                let mut line = line.clone();
                if is_phi {
                    for (value, from) in incoming(&line.clone()) {
                        let Some((value, (_, ty))) =
                            value.and_then(|it| Some((it, slots[it].as_ref()?)))
                        else {
                            continue;
                        };
                        loads += 1;
                        let text = format!("  %load.{loads} = load {ty}, ptr %slot.{value}\n");
                        at_end[self.block_of[from]].push_str(&text);
                        line = line.replacen(
                            &format!("[ %{value}, %{from} ]"),
                            &format!("[ %load.{loads}, %{from} ]"),
                            1,
                        );
                    }
                } else {
                    lines.append(&mut stores);
                    let mut own: Vec<(usize, usize)> = Vec::new();
                    for value in uses(&line) {
                        let Some((_, ty)) = &slots[value] else { continue };
                        if own.iter().all(|it| it.0 != value) {
                            loads += 1;
                            own.push((value, loads));
                            lines.push(format!("  %load.{loads} = load {ty}, ptr %slot.{value}"));
                        }
                    }
                    let defined = defined(&line);
                    let with_loads = replaced(&line, &|number, is_label| {
                        let load = own.iter().find(|it| it.0 == number && !is_label)?;
                        (defined != Some(number)).then(|| format!("%load.{}", load.1))
                    });
                    self.before(&mut lines, &line);
                    if is_memory_access(&line) && uses(&line).iter().all(|&it| !shared[it]) {
                        line = format!("{with_loads}, !llvm.access.group !900000000");
                    } else {
                        line = with_loads;
                    }
                }
                if let Some(value) = defined(&line).filter(|_| !is_wait(&line)) {
                    if let Some((_, ty)) = &slots[value] {
                        let is_late = opcode(&line) == "invoke";
                        let store = format!("  store {ty} %v{value}, ptr %slot.{value}");
                        if !is_late {
                            stores.push(store);
                        }
                    }
                }
                lines.push(format!("  {}", named(&line)));
                if !is_phi {
                    lines.append(&mut stores);
                }
            }
            lines.append(&mut stores);
            texts.push(lines);
        }
        for (at, block) in self.blocks.iter().enumerate() {
            let _ = writeln!(out, "v{}:", block.label);
            self.write_after_wait(out, block, slots);
            let last = texts[at].len().saturating_sub(1);
            for (number, line) in texts[at].iter().enumerate() {
                if number == last {
                    out.push_str(&at_end[at]);
                }
                if number == last && block.wait != 0 {
                    self.write_wait(out, block.wait, line, &kept[block.wait - 1], slots);
                    continue;
                }
                let text = if line.trim() == "ret void" { "  ret i32 0" } else { line };
                let _ = writeln!(out, "{text}");
            }
        }
    }

    /// Writes stores of values that exist at the beginning of a block: results of waits and `invoke`.
    fn write_after_wait(&self, out: &mut String, block: &Block, slots: &[Option<(usize, String)>]) {
        for wait in &self.waits {
            let Some((value, ty)) = wait.result.as_ref().filter(|_| wait.after == block.label)
            else {
                continue;
            };
            if ty == "i64" {
                let _ = writeln!(
                    out,
                    "  %v{value} = load i64, ptr %own.result, !llvm.access.group !900000000"
                );
            } else {
                let _ = writeln!(
                    out,
                    "  %v{value}.wide = load i64, ptr %own.result, !llvm.access.group !900000000\n  \
                     %v{value} = trunc i64 %v{value}.wide to i32"
                );
            }
            if slots[*value].is_some() {
                let _ = writeln!(out, "  store {ty} %v{value}, ptr %slot.{value}");
            }
        }
        for before in &self.blocks {
            let Some(line) = before.lines.last().filter(|it| opcode(it) == "invoke") else {
                continue;
            };
            let Some(value) = defined(line).filter(|_| targets(line)[0] == block.label) else {
                continue;
            };
            if let Some((_, ty)) = &slots[value] {
                let _ = writeln!(out, "  store {ty} %v{value}, ptr %slot.{value}");
            }
        }
    }

    /// Adds what has to precede an instruction: functions that are called may ask which thread runs.
    fn before(&self, lines: &mut Vec<String>, line: &str) {
        let is_call =
            ["call", "invoke"].contains(&opcode(line)) && !is_wait(line) && !line.contains(" asm ");
        if is_call && callee(line).is_none_or(|name| !name.starts_with("llvm.")) {
            lines.push(
                "  call void @offload_cpu_set_thread(i32 %number, i32 %d0, i32 %d1, i32 %d2)"
                    .to_owned(),
            );
        }
    }

    /// Writes the end of a region: the thread keeps its values and tells what it waits for.
    fn write_wait(
        &self,
        out: &mut String,
        number: usize,
        line: &str,
        kept: &[usize],
        slots: &[Option<(usize, String)>],
    ) {
        const GROUP: &str = ", !llvm.access.group !900000000";
        // The values of the call have new names by now.
        let wait = &self.waits[number - 1];
        let is_warp = line.contains(MEET);
        let arguments = arguments(line, if is_warp { MEET } else { BARRIER });
        let places: &[usize] = if is_warp { &[1, 2, 3] } else { &[0] };
        for (&(array, _), &place) in wait.written.iter().zip(places) {
            let argument = arguments[place];
            let value = last_word(argument);
            if !is_warp {
                let _ = writeln!(out, "  %wait.{number} = zext i1 {value} to i64");
                let _ = writeln!(out, "  store i64 %wait.{number}, ptr %own.value{GROUP}");
                continue;
            }
            let ty = first_type(argument).unwrap_or("i32");
            let _ = writeln!(out, "  store {ty} {value}, ptr %own.{array}{GROUP}");
        }
        for &value in kept {
            let Some((_, ty)) = &slots[value] else { continue };
            let from = format!("%keep.{number}.{value}");
            let _ = writeln!(out, "  {from} = load {ty}, ptr %slot.{value}");
            if ty == "i1" {
                let _ = writeln!(
                    out,
                    "  {from}.byte = zext i1 {from} to i8\n  store i8 {from}.byte, ptr %kept.{value}{GROUP}"
                );
            } else {
                let _ = writeln!(out, "  store {ty} {from}, ptr %kept.{value}{GROUP}");
            }
        }
        let _ = writeln!(out, "  ret i32 {number}\nresume.{number}:");
        for &value in kept {
            let Some((_, ty)) = &slots[value] else { continue };
            let from = format!("%back.{number}.{value}");
            if ty == "i1" {
                let _ = writeln!(
                    out,
                    "  {from}.byte = load i8, ptr %kept.{value}{GROUP}\n  {from} = trunc i8 {from}.byte to i1"
                );
            } else {
                let _ = writeln!(out, "  {from} = load {ty}, ptr %kept.{value}{GROUP}");
            }
            let _ = writeln!(out, "  store {ty} {from}, ptr %slot.{value}");
        }
        let _ = writeln!(out, "  br label %v{}", wait.after);
    }

    /// Writes the loop of each region over the threads, and the table of regions.
    fn write_loops(&self, out: &mut String, name: &str, attributes: &str) {
        let count = self.waits.len() + 1;
        let mut regions = Vec::new();
        let mut kinds = Vec::new();
        for region in 0..count {
            let _ = writeln!(
                out,
                "define internal i64 @\"{name}.region.{region}\"(ptr noalias %frame, i32 %from, i32 %to) {attributes} {{\nbegin:"
            );
            let fields = [
                "addresses",
                "slots",
                "memory",
                "stride",
                "next",
                "value",
                "result",
                "mask",
                "source",
            ];
            for (place, field) in fields.iter().enumerate() {
                let ty = if *field == "stride" { "i64" } else { "ptr" };
                let _ = writeln!(
                    out,
                    "  %at.{field} = getelementptr inbounds %offload.frame, ptr %frame, i64 0, i32 {place}\n  \
                     %{field} = load {ty}, ptr %at.{field}"
                );
            }
            let mut dimensions = String::new();
            for place in 0..9 {
                let number = place + 3;
                let _ = writeln!(
                    out,
                    "  %at.d{number} = getelementptr inbounds %offload.frame, ptr %frame, i64 0, i32 9, i64 {place}\n  \
                     %d{number} = load i32, ptr %at.d{number}"
                );
                let _ = write!(dimensions, "i32 %d{number}, ");
            }
            let call = format!(
                "call i32 @\"{name}.threads\"(ptr %addresses, ptr %slots, ptr %memory, i64 %stride, ptr %value, ptr %result, \
                 ptr %mask, ptr %source, i64 %t, i32 %x, i32 %y, i32 %z, {dimensions}i32 {region})"
            );
            let stored = if count == 1 {
                ""
            } else {
                "  %at = getelementptr inbounds i32, ptr %next, i64 %t\n  \
                 store i32 %came.to, ptr %at, !llvm.access.group !900000000\n"
            };
            out.push_str(&LOOP.replace("CALL", &call).replace("STORED", stored));
            regions.push(format!("ptr @\"{name}.region.{region}\""));
            let kind = if region == 0 { 0 } else { self.kind(&self.waits[region - 1]) };
            kinds.push(format!("i8 {kind}"));
        }
        let size = |of: &str, is_used: bool| {
            if is_used {
                format!("ptrtoint (ptr getelementptr (%\"{name}.{of}\", ptr null, i32 1) to i64)")
            } else {
                "0".to_owned()
            }
        };
        let has_slots = !self.waits.is_empty();
        let has_memory = self.variables.iter().any(|it| it.2);
        let _ = writeln!(
            out,
            "@\"{name}.run\" = internal constant [{count} x ptr] [{}]\n\
             @\"{name}.kinds\" = internal constant [{count} x i8] [{}]\n\
             @\"{name}_regions\" = hidden constant {{ i64, i64, i64, ptr, ptr }} {{ i64 {}, i64 {}, i64 {}, ptr @\"{name}.run\", \
             ptr @\"{name}.kinds\" }}",
            regions.join(", "),
            kinds.join(", "),
            count - 1,
            size("slots", has_slots),
            size("memory", has_memory),
        );
    }

    /// Returns the number of a wait's kind: nobody has to count for a barrier whose result is not
    /// used.
    fn kind(&self, wait: &Wait) -> usize {
        let is_used = wait.result.as_ref().is_some_and(|(value, _)| {
            self.blocks.iter().flat_map(|it| &it.lines).any(|line| uses(line).contains(value))
        });
        if wait.kind == 0 { usize::from(is_used) } else { wait.kind }
    }
}

/// The loop of a region: rows of threads, each with one loop that clang can vectorize.
const LOOP: &str = "  %row.first = udiv i32 %from, %d6
  %x.first = urem i32 %from, %d6
  br label %row
row:
  %r = phi i32 [ %row.first, %begin ], [ %r.next, %row.end ]
  %x.start = phi i32 [ %x.first, %begin ], [ 0, %row.end ]
  %least.row = phi i32 [ -1, %begin ], [ %least.next, %row.end ]
  %most.row = phi i32 [ 0, %begin ], [ %most.next, %row.end ]
  %base = mul i32 %r, %d6
  %left = sub i32 %to, %base
  %is.last = icmp ult i32 %left, %d6
  %x.end = select i1 %is.last, i32 %left, i32 %d6
  %z = udiv i32 %r, %d7
  %y = urem i32 %r, %d7
  br label %thread
thread:
  %x = phi i32 [ %x.start, %row ], [ %x.next, %thread ]
  %least = phi i32 [ %least.row, %row ], [ %least.next, %thread ]
  %most = phi i32 [ %most.row, %row ], [ %most.next, %thread ]
  %number = add nuw i32 %base, %x
  %t = zext i32 %number to i64
  %came.to = CALL
STORED  %is.less = icmp ult i32 %came.to, %least
  %least.next = select i1 %is.less, i32 %came.to, i32 %least
  %is.more = icmp ugt i32 %came.to, %most
  %most.next = select i1 %is.more, i32 %came.to, i32 %most
  %x.next = add nuw i32 %x, 1
  %has.more = icmp ult i32 %x.next, %x.end
  br i1 %has.more, label %thread, label %row.end, !llvm.loop !900000002
row.end:
  %r.next = add nuw i32 %r, 1
  %done = mul i32 %r.next, %d6
  %has.rows = icmp ult i32 %done, %to
  br i1 %has.rows, label %row, label %end
end:
  %low = zext i32 %least.next to i64
  %high = zext i32 %most.next to i64
  %high.part = shl i64 %high, 32
  %both = or i64 %low, %high.part
  ret i64 %both
}
";

/// Returns the names of values and labels that do not depend on their order.
fn named(line: &str) -> String {
    replaced(line, &|number, _| (number != 0).then(|| format!("%v{number}")))
}

/// Returns the attributes of a function with which it can be inlined.
fn function_attributes(head: &str) -> String {
    let mut text = group_of(head).unwrap_or_default().to_owned();
    if let Some(start) = head.find(" personality ") {
        let rest = &head[start..];
        let end = rest.find(" !").or_else(|| rest.rfind(" {")).unwrap_or(rest.len());
        text.push_str(&rest[..end]);
    }
    text
}

fn is_memory_access(line: &str) -> bool {
    let code = opcode(line);
    (code == "load" || code == "store") && !line.contains("!llvm.access.group")
}

/// Returns the type of an array's element for a variable, with the alignment of the variable.
fn element(alloca: &str) -> String {
    let parts = parts(alloca.strip_prefix("alloca ").unwrap_or(alloca));
    let mut ty = parts[0].to_owned();
    let mut alignment = 1;
    for part in &parts[1..] {
        if let Some(bytes) = part.strip_prefix("align ") {
            alignment = bytes.parse().unwrap_or(16);
        } else if let Some(count) = part.strip_prefix("i64 ").or(part.strip_prefix("i32 ")) {
            ty = format!("[{count} x {ty}]");
        }
    }
    if alignment <= 1 { ty } else { format!("{{ {ty}, [0 x <{alignment} x i8>] }}") }
}

/// Writes the address of the thread's element of an array.
fn write_element(out: &mut String, place: &str, (name, of, field): (&str, &str, usize), ty: &str) {
    let _ = writeln!(
        out,
        "  {place}.array = mul i64 %stride, ptrtoint (ptr getelementptr (%\"{name}.{of}\", ptr null, i64 0, i32 {field}) to i64)\n  \
         {place}.base = getelementptr inbounds i8, ptr %{of}, i64 {place}.array\n  \
         {place} = getelementptr inbounds {ty}, ptr {place}.base, i64 %t"
    );
}

/// Returns an instruction that asks for an index with the region's own.
fn with_indices(line: &str, lanes: &str) -> String {
    let mut line = line.to_owned();
    if let Some(value) = defined(&line).filter(|_| line.contains(LANE_NUMBER)) {
        return format!("%{value} = urem i32 %number, {lanes}");
    }
    for index in INDICES {
        let name = format!("@{index}");
        while let Some(at) = line.find(&name) {
            if line.contains("@llvm.threadlocal.address") {
                let value = defined(&line).unwrap_or_default();
                return format!("%{value} = getelementptr inbounds i8, ptr %index.{index}, i64 0");
            }
            // clang 15: getelementptr inbounds (%struct.dim3, ptr @threadIdx, i64 0, i32 1)
            let constant = line[..at].rfind("getelementptr inbounds (");
            let end = line[at..].find(')').map(|it| at + it);
            let (start, end, text) = match (constant, end) {
                (Some(start), Some(end)) if !line[start..at].contains(')') => {
                    let member = last_word(&line[at..end]);
                    (start, end + 1, format!("%index.{index}.{member}"))
                }
                _ => (at, at + name.len(), format!("%index.{index}")),
            };
            line.replace_range(start..end, &text);
        }
    }
    line
}

/// Returns how the result of an instruction is known.
fn known(line: &str, of: &[Known]) -> Known {
    let code = opcode(line);
    let used = uses(line);
    let is_index = line.contains("%index.");
    if used.iter().any(|&it| of[it] == Known::No) {
        return Known::No;
    }
    match code {
        "load" if line.contains(" volatile ") || line.contains(" atomic ") => Known::No,
        "load" if is_index => Known::Value,
        "load" => match used.first().map(|&it| of[it]) {
            Some(Known::Addresses) => Known::Argument,
            Some(Known::Argument | Known::Index) => Known::Value,
            _ => Known::No,
        },
        "getelementptr" if is_index => Known::Index,
        "getelementptr" => used.first().map_or(Known::Value, |&it| of[it]),
        "urem" | "udiv" | "srem" | "sdiv" => match last_word(line).parse::<u64>() {
            Ok(divisor) if divisor != 0 => Known::Value,
            _ => Known::No,
        },
        "call" => {
            let intrinsics =
                ["threadlocal.address", "umin.", "umax.", "smin.", "smax.", "abs.", "fshl."];
            let is_pure = intrinsics.iter().any(|it| line.contains(&format!("@llvm.{it}")));
            if is_pure { Known::Value } else { Known::No }
        }
        _ if PURE.contains(&code) => Known::Value,
        _ => Known::No,
    }
}
