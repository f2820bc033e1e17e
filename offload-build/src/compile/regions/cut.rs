//! The cut of one kernel into regions: where they begin and end, and what threads keep between them.

use super::text::{
    Block, Function, blocks, bracketed, defined, first_type, global_names, incoming, locals,
    opcode, operation, parts, replaced, result_type, targets, uses,
};
use super::{BARRIER, Calls, LANE_NUMBER, MEET, attributes, is_leaf};

/// Operations without effects, which may be done where their result is not needed.
const PURE: &str = " add sub mul shl lshr ashr and or xor trunc zext sext icmp fcmp select uitofp \
    sitofp fadd fsub fmul fneg fpext fptrunc ptrtoint inttoptr bitcast freeze ";

const SIZES_AT_RUN_TIME: &str = "it has arrays whose sizes are known when it runs";

/// The cut of a kernel needs this of its module.
pub(super) struct Module<'a> {
    pub(super) ir: &'a str,
    pub(super) calls: &'a Calls<'a>,
    /// For each function, whether threads can wait in it.
    pub(super) waits: Vec<bool>,
    /// Whether a call through a pointer may lead to such a function.
    pub(super) is_pointer_to_wait: bool,
    pub(super) is_alone: bool,
}

/// How regions know a value without an array: they repeat the instructions that lead to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Known {
    No,
    Value,
    /// The addresses of the arguments.
    Addresses,
    /// The address of something that no thread changes: an argument, `blockIdx`.
    Constant,
    /// The address of `threadIdx`.
    Thread,
}

/// A variable in memory.
pub(super) struct Variable {
    pub(super) value: usize,
    pub(super) alloca: String,
    /// Whether it lives over a wait, and is therefore in an array.
    pub(super) is_kept: bool,
    pub(super) has_start: bool,
}

/// A kernel on its way to regions.
pub(super) struct Kernel<'a> {
    pub(super) module: &'a Module<'a>,
    pub(super) blocks: Vec<Block>,
    /// The kind of each wait, and the label after it.
    pub(super) waits: Vec<(usize, usize)>,
    /// For each label, the position of its block; for each value, its instruction.
    pub(super) block_of: Vec<usize>,
    pub(super) definition: Vec<String>,
    /// For each block, those that can follow it.
    pub(super) next: Vec<Vec<usize>>,
    pub(super) known: Vec<Known>,
    /// The instructions that each region repeats: once, and for each thread.
    pub(super) repeated: [Vec<String>; 2],
    pub(super) variables: Vec<Variable>,
}

impl Module<'_> {
    /// Returns the number of regions of a kernel and their text, or why its threads need stacks.
    pub(super) fn regions(&self, function: &Function<'_>) -> Result<(usize, String), String> {
        let mut kernel = Kernel {
            module: self,
            blocks: blocks(function),
            waits: Vec::new(),
            block_of: Vec::new(),
            definition: Vec::new(),
            next: Vec::new(),
            known: Vec::new(),
            repeated: [Vec::new(), Vec::new()],
            variables: Vec::new(),
        };
        kernel.refuse_calls()?;
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

    /// Returns the type of a warp's masks, which has a bit for each lane.
    pub(super) fn mask_type(&self) -> &'static str {
        // The letter is that of `unsigned long long`.
        if self.ir.contains("meetE21offload_warp_functiony") { "i64" } else { "i32" }
    }
}

/// Returns the arguments of a call, each with its type.
fn arguments(line: &str) -> Vec<&str> {
    let start = line.find('@').and_then(|at| Some(at + line[at..].find('(')?));
    let text = &line[start.unwrap_or(line.len())..];
    parts(text.get(1..bracketed(text).max(2) - 1).unwrap_or_default())
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or_default()
}

pub(super) fn is_call(line: &str) -> bool {
    ["call", "invoke"].contains(&opcode(line)) && !line.contains(" asm ")
}

fn is_wait(line: &str) -> bool {
    is_call(line) && (line.contains(BARRIER) || line.contains(MEET))
}

/// Returns the function that a call names; `None` for a call through a pointer.
pub(super) fn callee(line: &str) -> Option<&str> {
    let first = global_names(line).first().copied()?;
    line.contains(&format!("@{first}(")).then_some(first)
}

impl Kernel<'_> {
    /// Returns the instructions of all blocks, and those that regions repeat.
    pub(super) fn lines(&self) -> Vec<&str> {
        let mut lines = Vec::new();
        let mut parts: Vec<&[String]> = Vec::new();
        for block in &self.blocks {
            parts.push(&block.lines);
        }
        parts.push(&self.repeated[0]);
        parts.push(&self.repeated[1]);
        for part in parts {
            for line in part {
                lines.push(line.as_str());
            }
        }
        lines
    }

    /// Refuses calls that may lead to a wait outside of the kernel's own instructions.
    fn refuse_calls(&self) -> Result<(), String> {
        let module = self.module;
        for line in self.lines() {
            if ["indirectbr", "callbr", "catchswitch"].contains(&opcode(line)) {
                return Err("it jumps to the address of a label".to_owned());
            }
            if !is_call(line) || is_wait(line) {
                continue;
            }
            let Some(name) = callee(line) else {
                if module.is_pointer_to_wait || !module.is_alone {
                    return Err("it calls through a pointer, and may so reach a wait".to_owned());
                }
                continue;
            };
            let shown = name.trim_matches('"');
            match module.calls.position(name) {
                Some(at) if module.waits[at] && !is_leaf(name) => {
                    return Err(format!("it calls {shown}, which waits and cannot be inlined"));
                }
                None if !module.is_alone && module.may_be_of_a_source(name) => {
                    return Err(format!("it calls {shown} of another source, which may wait"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn new_number(&mut self) -> usize {
        self.definition.push(String::new());
        self.definition.len() - 1
    }

    /// Ends blocks at waits, after the stores of what the thread tells the others. The next block
    /// begins with the load of the answer. A result of `invoke` gets a block, too.
    fn split(&mut self) -> Result<(), String> {
        let (mut most, mut used) = (0, Vec::new());
        for line in self.lines() {
            for (_, _, number) in locals(line) {
                most = most.max(number);
            }
            used.extend(uses(line));
        }
        most = self.blocks.iter().fold(most, |most, block| most.max(block.label));
        self.definition = vec![String::new(); most + 1];
        let mut all: Vec<Block> = Vec::new();
        // The new predecessors in `phi`: of any block or of this one, instead of which one.
        let mut renamed: Vec<(Option<usize>, usize, usize)> = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            let begin = block.label;
            let mut current = Block { label: begin, lines: Vec::new(), wait: 0 };
            for line in block.lines {
                if opcode(&line) == "invoke"
                    && let Some(value) = defined(&line)
                {
                    let (thrown, label) = (self.new_number(), self.new_number());
                    let Some(ty) = result_type(&line, self.module.ir) else {
                        return Err(no_type(&line));
                    };
                    let to = targets(&line)[0];
                    renamed.push((Some(to), begin, label));
                    let line = line.replacen(&format!("%{value} ="), &format!("%{thrown} ="), 1);
                    let line =
                        line.replacen(&format!("label %{to} "), &format!("label %{label} "), 1);
                    current.lines.push(line);
                    let copy = format!("%{value} = freeze {ty} %{thrown}");
                    all.push(current);
                    current =
                        Block { label, lines: vec![copy, format!("br label %{to}")], wait: 0 };
                    continue;
                }
                if !is_wait(&line) {
                    current.lines.push(line);
                    continue;
                }
                let result = defined(&line).filter(|it| used.contains(it));
                let kind = self.write_to_arrays(&line, result.is_some(), &mut current.lines)?;
                let after = self.new_number();
                self.waits.push((kind, after));
                current.wait = self.waits.len();
                current.lines.push(format!("ret i32 {}", current.wait));
                all.push(current);
                current = Block { label: after, lines: Vec::new(), wait: 0 };
                if let Some(result) = result {
                    let wide = if line.contains(MEET) { result } else { self.new_number() };
                    current.lines.push(format!("%{wide} = load i64, ptr %own.result"));
                    if wide != result {
                        current.lines.push(format!("%{result} = trunc i64 %{wide} to i32"));
                    }
                }
            }
            let is_after_wait = self.waits.last().is_some_and(|it| it.1 == current.label);
            let invokes = all
                .last()
                .is_some_and(|it| it.lines.last().is_some_and(|line| opcode(line) == "invoke"));
            if is_after_wait {
                renamed.push((None, begin, current.label));
            } else if invokes && current.label != begin {
                let end = all.last().map_or(begin, |it| it.label);
                renamed.push((None, begin, end));
            }
            all.push(current);
        }
        self.block_of = vec![0; self.definition.len()];
        for (at, block) in all.iter_mut().enumerate() {
            self.block_of[block.label] = at;
            for line in &mut block.lines {
                if opcode(line) == "phi" {
                    *line = replaced(line, &|number, is_label| {
                        let is_own = |to: Option<usize>| to.is_none_or(|to| to == block.label);
                        let new =
                            renamed.iter().find(|it| is_label && it.1 == number && is_own(it.0));
                        new.map(|it| format!("%{}", it.2))
                    });
                }
                if let Some(value) = defined(line) {
                    self.definition[value].clone_from(line);
                }
            }
        }
        for block in &all {
            let mut next = Vec::new();
            if block.wait != 0 {
                next.push(self.block_of[self.waits[block.wait - 1].1]);
            }
            for label in targets(block.lines.last().map_or("", |it| it)) {
                next.push(self.block_of[label]);
            }
            self.next.push(next);
        }
        self.blocks = all;
        Ok(())
    }

    /// Adds the stores of what a thread tells those that wait with it. Returns the kind of the wait:
    /// 0 for a barrier, 1 for one that counts, then the warp functions.
    fn write_to_arrays(
        &mut self,
        line: &str,
        has_result: bool,
        lines: &mut Vec<String>,
    ) -> Result<usize, String> {
        match arguments(line)[..] {
            [function, mask, value, source] if line.contains(MEET) => {
                let Ok(function) = last_word(function).parse::<usize>() else {
                    return Err("it is not known which warp function it calls".to_owned());
                };
                for (array, argument) in [("mask", mask), ("value", value), ("source", source)] {
                    let ty = first_type(argument).unwrap_or("i32");
                    lines.push(format!("store {ty} {}, ptr %own.{array}", last_word(argument)));
                }
                Ok(function + 2)
            }
            [holds] if line.contains(BARRIER) => {
                if has_result {
                    let wide = self.new_number();
                    lines.push(format!("%{wide} = zext i1 {} to i64", last_word(holds)));
                    lines.push(format!("store i64 %{wide}, ptr %own.value"));
                }
                Ok(usize::from(has_result))
            }
            _ => Err("a wait has other arguments than in offload/schedule.h".to_owned()),
        }
    }

    /// Refuses waits where another thread could not run on the same stack.
    fn refuse_waits(&self) -> Result<(), String> {
        // How many exceptions are caught or under way at the beginning of each block.
        let mut depths = vec![-1; self.blocks.len()];
        depths[0] = 0;
        let mut todo = vec![0];
        while let Some(at) = todo.pop() {
            let mut depth = depths[at];
            for line in &self.blocks[at].lines {
                depth += i32::from(opcode(line) == "landingpad");
                depth -= i32::from(line.contains("@__cxa_end_catch("));
                if line.contains("@llvm.stacksave") && !self.waits.is_empty() {
                    return Err(SIZES_AT_RUN_TIME.to_owned());
                }
            }
            if self.blocks[at].wait != 0 && depth > 0 {
                return Err("threads wait while an exception is handled".to_owned());
            }
            for &next in &self.next[at] {
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
        self.known = vec![Known::No; self.definition.len()];
        self.known[0] = Known::Addresses;
        let lanes = self.module.mask_type().trim_start_matches('i');
        for block in &mut self.blocks {
            for line in &mut block.lines {
                *line = with_indices(line, lanes);
            }
        }
        let mut varies = vec![false; self.definition.len()];
        let (mut before, mut count) = (usize::MAX, 0);
        while before != count {
            before = count;
            for block in &mut self.blocks {
                for line in std::mem::take(&mut block.lines) {
                    let (known, is_constant) = known(&line, &self.known);
                    match defined(&line) {
                        Some(value) if known != Known::No => {
                            self.known[value] = known;
                            let is_marked = !is_constant || line.contains("!invariant.load");
                            let mark = if is_marked { "" } else { ", !invariant.load !900000001" };
                            let of_thread = ["%index.threadIdx", "%number"];
                            varies[value] = of_thread.iter().any(|it| line.contains(it))
                                || uses(&line).iter().any(|&it| varies[it]);
                            self.repeated[usize::from(varies[value])].push(line + mark);
                            count += 1;
                        }
                        _ => block.lines.push(line),
                    }
                }
            }
        }
    }

    /// Returns the position of the variable that a line uses.
    fn variable(&self, line: &str) -> Option<usize> {
        let used = uses(line);
        self.variables.iter().position(|it| used.contains(&it.value))
    }

    /// Takes the variables in memory out of the first block, and finds those that live over waits.
    fn take_variables(&mut self) -> Result<(), String> {
        for at in 0..self.blocks.len() {
            for line in std::mem::take(&mut self.blocks[at].lines) {
                let value = defined(&line).filter(|_| opcode(&line) == "alloca");
                if let Some(value) = value.filter(|_| at == 0 && uses(&line).is_empty()) {
                    let alloca = operation(&line).to_owned();
                    self.variables.push(Variable {
                        value,
                        alloca,
                        is_kept: false,
                        has_start: false,
                    });
                } else if value.is_some() && !self.waits.is_empty() {
                    return Err(SIZES_AT_RUN_TIME.to_owned());
                } else {
                    self.blocks[at].lines.push(line);
                }
            }
        }
        // For each block and variable: where its lifetime starts or ends.
        let mut changes = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            for line in &block.lines {
                if line.contains("@llvm.lifetime.")
                    && let Some(variable) = self.variable(line)
                {
                    changes.push((at, variable, line.contains("@llvm.lifetime.start")));
                }
            }
        }
        for &(_, variable, starts) in &changes {
            self.variables[variable].has_start |= starts;
        }
        for variable in 0..self.variables.len() {
            let mut is_alive = vec![false; self.blocks.len()];
            let mut todo: Vec<usize> = (0..self.blocks.len()).collect();
            while let Some(at) = todo.pop() {
                let mut now = is_alive[at] || at == 0 && !self.variables[variable].has_start;
                for &(block, of, starts) in &changes {
                    if block == at && of == variable {
                        now = starts;
                    }
                }
                self.variables[variable].is_kept |= now && self.blocks[at].wait != 0;
                for &next in &self.next[at] {
                    if now && !is_alive[next] {
                        is_alive[next] = true;
                        todo.push(next);
                    }
                }
            }
        }
        // Arrays over the threads have no lifetimes.
        for at in 0..self.blocks.len() {
            for line in std::mem::take(&mut self.blocks[at].lines) {
                let variable = self.variable(&line);
                let is_kept = variable.is_some_and(|it| self.variables[it].is_kept);
                if !is_kept || !line.contains("@llvm.lifetime.") {
                    self.blocks[at].lines.push(line);
                }
            }
        }
        Ok(())
    }

    /// Returns, for each wait, the values that have to be kept.
    fn live_over_waits(&self) -> Vec<Vec<usize>> {
        let count = self.definition.len();
        let mut is_value = vec![false; count];
        for (value, line) in self.definition.iter().enumerate() {
            let is_known = self.known[value] != Known::No || opcode(line) == "alloca";
            is_value[value] = !line.is_empty() && !is_known;
        }
        // What each block needs at its beginning.
        let mut live = vec![vec![false; count]; self.blocks.len()];
        let mut todo: Vec<usize> = (0..self.blocks.len()).collect();
        while let Some(at) = todo.pop() {
            let block = &self.blocks[at];
            let mut now = vec![false; count];
            for &next in &self.next[at] {
                for value in 0..count {
                    now[value] |= live[next][value];
                }
                for line in &self.blocks[next].lines {
                    if opcode(line) != "phi" {
                        break;
                    }
                    for (value, from) in incoming(line) {
                        if let Some(value) = value
                            && from == block.label
                        {
                            now[value] = is_value[value];
                        }
                    }
                }
            }
            for line in block.lines.iter().rev() {
                if let Some(value) = defined(line) {
                    now[value] = false;
                }
                if opcode(line) != "phi" {
                    for value in uses(line) {
                        now[value] = is_value[value];
                    }
                }
            }
            if now != live[at] {
                live[at] = now;
                for before in 0..self.blocks.len() {
                    if self.next[before].contains(&at) {
                        todo.push(before);
                    }
                }
            }
        }
        let mut kept = Vec::new();
        for (_, after) in &self.waits {
            let live = &live[self.block_of[*after]];
            let mut values = Vec::new();
            for (value, &is_live) in live.iter().enumerate() {
                if is_live {
                    values.push(value);
                }
            }
            kept.push(values);
        }
        kept
    }
}

pub(super) fn no_type(line: &str) -> String {
    format!("the type of a value is not known: {line}")
}

/// Returns an instruction that asks for an index with the region's own.
fn with_indices(line: &str, lanes: &str) -> String {
    let value = defined(line).unwrap_or_default();
    if line.contains(LANE_NUMBER) {
        return format!("%{value} = urem i32 %number, {lanes}");
    }
    let mut line = line.to_owned();
    for index in ["threadIdx", "blockIdx", "blockDim", "gridDim"] {
        let name = format!("@{index}");
        while let Some(at) = line.find(&name) {
            if line.contains("@llvm.threadlocal.address") {
                return format!(
                    "%{value} = getelementptr inbounds i8, ptr %index.{index}.0, i64 0"
                );
            }
            // clang 15: getelementptr inbounds (%struct.dim3, ptr @threadIdx, i64 0, i32 1)
            let constant = line[..at].rfind("getelementptr inbounds (");
            let (start, end, member) = match (constant, line[at..].find(')')) {
                (Some(start), Some(end)) if !line[start..at].contains(')') => {
                    (start, at + end + 1, last_word(&line[at..at + end]))
                }
                _ => (at, at + name.len(), "0"),
            };
            line = format!("{}%index.{index}.{member}{}", &line[..start], &line[end..]);
        }
    }
    line
}

/// Returns how the result of an instruction is known, and whether it is loaded from memory that no
/// thread changes.
fn known(line: &str, of: &[Known]) -> (Known, bool) {
    let code = opcode(line);
    let used = uses(line);
    if used.iter().any(|&it| of[it] == Known::No) {
        return (Known::No, false);
    }
    let pointer = match used.first() {
        Some(&first) => of[first],
        None if line.contains("%index.threadIdx") => Known::Thread,
        None if line.contains("%index.") => Known::Constant,
        None => Known::Value,
    };
    let pure = match code {
        "load" if line.contains(" volatile ") || line.contains(" atomic ") => Known::No,
        "load" => match pointer {
            Known::Addresses => Known::Constant,
            Known::Constant | Known::Thread => Known::Value,
            Known::Value | Known::No => Known::No,
        },
        "getelementptr" => pointer,
        "urem" | "udiv" | "srem" | "sdiv" => match last_word(line).parse::<u64>() {
            Ok(divisor) if divisor != 0 => Known::Value,
            _ => Known::No,
        },
        "call" => {
            let pure = ["threadlocal.address", "umin", "umax", "smin", "smax", "abs", "fshl"];
            let is_pure = pure.iter().any(|it| line.contains(&format!("@llvm.{it}.")));
            if is_pure { Known::Value } else { Known::No }
        }
        _ if PURE.contains(&format!(" {code} ")) => Known::Value,
        _ => Known::No,
    };
    (pure, code == "load" && pointer != Known::Thread)
}
