//! Cuts one kernel into regions. Finds where regions begin and end, and which values threads keep
//! between regions.

use super::known::{CONSTANT, VARIES, comparison, known};
use super::text::{Line, has, has_constant_of_thread, instructions, plain, replaced, split, word};
use super::{ENTRY, THREAD, WAIT, group_of};
use std::fmt::Write as _;
use std::mem::take;

/// `TURN` is the kind of a wait that only turns a loop, and `TURNED` is the suffix of kernels with
/// turned loops. `LEAST` is the smallest number of threads in a row for which turned loops are
/// faster.
const TURN: &str = "255";
const TURNED: &str = ".turned";
const LEAST: usize = 8;

/// The metadata that marks memory accesses as independent across threads.
const GROUP: &str = ", !llvm.access.group !900000000";

/// A kernel's turned loops.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The labels at which the loops begin.
    pub(super) headers: Vec<usize>,
    /// The `phi` values at these labels that are the same in all threads.
    pub(super) uniform: Vec<usize>,
}

/// A kernel while it is cut into regions.
#[derive(Default)]
pub(super) struct Kernel {
    pub(super) lines: Vec<Line>,
    /// For each segment, the number of the wait at which it ends, or 0 if it ends with its block.
    pub(super) waits: Vec<usize>,
    /// For each segment, the segments from which threads enter it.
    pub(super) before: Vec<Vec<usize>>,
    /// For each label, the first and the last segment of its block.
    pub(super) first: Vec<usize>,
    last: Vec<usize>,
    /// A number greater than every value's number.
    pub(super) numbers: usize,
    /// The turned loops, and the values that threads share when they run together. `uniforms` holds
    /// each value's number, its type, and the wait at which it begins.
    turns: Turns,
    uniforms: Vec<(usize, String, usize)>,
    /// For the shared values: the stores before the next wait, the instructions at the start of a
    /// region that compute the values' addresses, and the parameters for these addresses.
    stores: Vec<String>,
    own: String,
    owns: String,
    /// The number of waits, their kinds, and where regions continue after them.
    count: usize,
    kinds: String,
    cases: String,
    // LLVM IR of each region: the instructions before the loop over the threads (`once`), the
    // parameters that pass on their results (`same`), and the start of each thread (`begin`).
    once: String,
    same: String,
    begin: String,
    /// Instructions whose results depend only on the arguments and the indices, but differ between
    /// threads.
    varying: Vec<Line>,
    /// For comparisons of sums of `threadIdx.x`: the functions that compute result and sum, the
    /// checks whether two threads of a row get the same results, and the parameters for the
    /// results.
    sums: String,
    agree: Vec<(usize, String)>,
    results: String,
    /// The types of the arrays.
    fields: Vec<String>,
}

/// Returns the number and the text of a kernel's regions, or the reason why its threads need
/// stacks. If loops can be turned, the text contains the regions with turned loops before those
/// without, because a launch runs the first regions that are valid for it.
pub(super) fn regions(name: &str, function: &str) -> Result<(usize, String), String> {
    let text = instructions(function);
    let mut plain = Kernel::of(&text, Turns::default())?;
    let (turns, count) = (plain.turns(), plain.count + 1);
    let mut module = String::new();
    if !turns.uniform.is_empty()
        && let Ok(mut turned) = Kernel::of(&text, turns)
        && let Ok(text) = turned.module(&format!("{name}{TURNED}"), function)
    {
        module = text;
    }
    module.push_str(&plain.module(name, function)?);
    Ok((count, module))
}

impl Kernel {
    fn of(text: &str, turns: Turns) -> Result<Self, String> {
        let mut kernel = Self { turns, ..Self::default() };
        kernel.split(text)?;
        kernel.find_paths()?;
        Ok(kernel)
    }

    fn split(&mut self, function: &str) -> Result<(), String> {
        // The parameter is number 0. The first block is number 1, and has no label.
        let (mut label, mut is_header) = (1, false);
        self.begin_block(label);
        for line in function.lines().skip(1) {
            if !line.starts_with(' ') {
                if let Some((number, _)) = line.split_once(':') {
                    let Ok(number) = number.parse() else {
                        return Err("a label is named instead of numbered".to_owned());
                    };
                    label = number;
                    self.begin_block(label);
                    is_header = self.turns.headers.contains(&label);
                }
                continue;
            }
            let line = plain(line);
            if line.is_empty() || has(line, &["@llvm.dbg.", "@llvm.lifetime."]) {
                continue;
            }
            if has_constant_of_thread(line) {
                return Err(format!(
                    "a constant contains the address of a thread's variable: {line}"
                ));
            }
            if is_header && !has(line, &[" = phi "]) {
                is_header = false;
                self.end_region(label, TURN);
            }
            let mut line = Line::of(line, self.waits.len() - 1);
            if self.turns.uniform.contains(&line.value) {
                self.make_uniform(&mut line)?;
            }
            let code = line.opcode();
            if ["indirectbr", "callbr", "catchswitch"].contains(&code) {
                return Err(format!("it branches with {code}"));
            }
            if let Some((_, kind)) = line.text.split_once(WAIT) {
                let (kind, _) = word(kind, 2).split_once(')').unwrap_or_default();
                if kind.parse::<u8>().is_err() {
                    return Err("the warp function that it calls is unknown".to_owned());
                }
                self.end_region(label, kind);
                continue;
            }
            if ["ret", "br", "switch", "unreachable", "resume", "invoke"].contains(&code) {
                self.push(&format!("br label %e{label}."));
                self.push(&format!("e{label}.:"));
            }
            if line.text == "ret void" {
                line.text = "ret i32 0".to_owned();
            }
            self.lines.push(line);
        }
        self.numbers = self.lines.len() + 2;
        Ok(())
    }

    fn end_region(&mut self, label: usize, kind: &str) {
        self.count += 1;
        let (wait, segment) = (self.count, self.waits.len());
        let _ = write!(self.kinds, ", i8 {kind}");
        let _ = write!(self.cases, " i32 {wait}, label %resume.{wait}");
        for store in take(&mut self.stores) {
            self.push(&store);
        }
        self.push(&format!("ret i32 {wait}"));
        self.waits[segment - 1] = wait;
        self.waits.push(0);
        self.last[label] = segment;
        self.push(&format!("resume.{wait}:"));
    }

    /// Lets threads that run together share the value of a `phi`.
    fn make_uniform(&mut self, line: &mut Line) -> Result<(), String> {
        let (value, ty) = (take(&mut line.value), line.result_type()?.to_owned());
        let name = value.to_string();
        let array = self.add_array(value, &ty, "same.").replace("%t", "%first.t");
        self.own.push_str(&array);
        self.own.push_str(&replaced(include_str!("own.ll"), &[("{value}", &name), ("{ty}", &ty)]));
        self.stores.push(format!("store {ty} %own.of.{value}., ptr %own.{value}."));
        self.uniforms.push((value, ty, self.count + 1));
        let _ = write!(self.owns, ", ptr noalias %own.{value}.");
        line.text = line.text.replacen(&format!("%v{value}."), &format!("%own.of.{value}."), 1);
        Ok(())
    }

    fn push(&mut self, line: &str) {
        self.lines.push(Line::of(line, self.waits.len() - 1));
    }

    fn begin_block(&mut self, label: usize) {
        let segment = self.waits.len();
        self.waits.push(0);
        while self.first.len() <= label {
            self.first.push(segment);
            self.last.push(segment);
        }
        self.first[label] = segment;
        self.last[label] = segment;
        self.push(&format!("b{label}.:"));
    }

    /// Finds the segments that precede each segment. Rejects waits after a caught exception,
    /// because no other thread could then run on the same stack.
    fn find_paths(&mut self) -> Result<(), String> {
        self.before = lists(self.waits.len());
        let mut waits = Vec::new();
        for (segment, &wait) in self.waits.iter().enumerate() {
            if wait != 0 {
                self.before[segment + 1].push(segment);
                waits.push(segment);
            }
        }
        for line in &self.lines {
            if line.opcode() != "phi" {
                for &label in &line.labels {
                    self.before[self.first[label]].push(line.segment);
                }
            }
        }
        let leads_to_wait = self.on_the_way(&waits, usize::MAX);
        for line in &self.lines {
            if leads_to_wait[line.segment] && line.opcode() == "landingpad" {
                return Err("threads wait after they catch an exception".to_owned());
            }
        }
        Ok(())
    }

    /// Returns the segments on all paths to `ends`. A path through `start` begins there.
    pub(super) fn on_the_way(&self, ends: &[usize], start: usize) -> Vec<bool> {
        let mut found = vec![false; self.waits.len()];
        let mut todo = ends.to_vec();
        while let Some(at) = todo.pop() {
            if !found[at] {
                found[at] = true;
                if at != start {
                    todo.extend_from_slice(&self.before[at]);
                }
            }
        }
        found
    }

    /// Moves instructions whose results depend only on the arguments and the indices in front of
    /// the body or, if the result is the same for all threads, out of the loop over the threads.
    /// Also moves variables in memory, which become arrays in kernels that wait.
    fn repeat(&mut self) -> Result<(), String> {
        let (mut of, mut used) = (vec![0; self.numbers], vec![false; self.numbers]);
        of[0] = 3;
        let mut once = Vec::new();
        for (value, ty, _) in &self.uniforms {
            of[*value] = 1;
            let text = format!("%v{value}. = load {ty}, ptr %own.{value}.");
            let _ = writeln!(self.once, "  {text}");
            once.push(Line { text, value: *value, ..Line::default() });
        }
        let mut varying = Vec::new();
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for mut line in take(&mut self.lines) {
                let known = known(&line, &of);
                if known == 0 || line.value == 0 {
                    self.lines.push(line);
                    continue;
                }
                is_done = false;
                of[line.value] = known & !CONSTANT;
                if known & CONSTANT != 0 {
                    line.text.push_str(", !invariant.load !900000001");
                }
                if self.count != 0 && line.opcode() == "alloca" {
                    let mut parts = split(line.text.split_once("alloca ").unwrap_or_default().1);
                    let (ty, align) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                    if word(align, 0) != "align" {
                        return Err(sizes());
                    }
                    let ty = format!("{{ {ty}, [0 x <{} x i8>] }}", word(align, 1));
                    let address = self.add_array(line.value, &ty, "v");
                    self.begin.push_str(&address);
                } else if known & VARIES == 0 {
                    let _ = writeln!(self.once, "  {}", line.text);
                    once.push(line);
                } else {
                    line.mark_used(&mut used);
                    varying.push(line);
                }
            }
        }
        self.varying = varying;
        self.compare(&of);
        for line in &self.lines {
            line.mark_used(&mut used);
            if self.count != 0 && has(&line.text, &[" = alloca ", "@llvm.stacksave"]) {
                return Err(sizes());
            }
        }
        for line in &once {
            if used[line.value] {
                let _ = write!(self.same, ", {} %v{}.", line.result_type()?, line.value);
            }
        }
        Ok(())
    }

    /// Writes the first instructions of each thread, which get the results of comparisons of sums
    /// as parameters. Threads in a row that got the same results run together, so clang hoists
    /// code that depends on the results out of the loop over these threads.
    fn compare(&mut self, of: &[usize]) {
        for (at, line) in self.varying.iter().enumerate() {
            let Some((order, ty, sum)) = comparison(line, of) else {
                let _ = writeln!(self.begin, "  {}", line.text);
                continue;
            };
            let mut lines = String::new();
            let mut needed = vec![false; self.numbers];
            needed[line.value] = true;
            for line in self.varying[..=at].iter().rev() {
                if needed[line.value] {
                    line.mark_used(&mut needed);
                    lines.insert_str(0, &format!("  {}\n", line.text));
                }
            }
            // Drop these flags: a result that is poison in one thread may be defined in others.
            let flags = [(" nsw", ""), (" nuw", ""), (" nneg", ""), (" samesign", "")];
            let value = line.value.to_string();
            let by = [
                ("{lines}", &*replaced(&lines, &flags)),
                ("{ty}", ty),
                ("{order}", order),
                ("{value}", &value),
                ("{sum}", &sum.to_string()),
            ];
            self.sums.push_str(&replaced(include_str!("sum.ll"), &by));
            self.agree.push((line.value, replaced(include_str!("agree.ll"), &by)));
            let _ = write!(self.results, ", i1 %v{value}.");
        }
    }

    /// Returns the text of a region. The comparisons in `agree` have the same results in all
    /// threads that run together.
    fn region(&self, number: usize) -> String {
        let mut is_in = vec![false; self.waits.len()];
        let start = self.waits.iter().position(|&wait| wait == number && number != 0);
        is_in[start.map_or(0, |wait| wait + 1)] = true;
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for (segment, before) in self.before.iter().enumerate() {
                if !is_in[segment] && before.iter().any(|&it| is_in[it] && self.waits[it] == 0) {
                    is_in[segment] = true;
                    is_done = false;
                }
            }
        }
        let mut used = vec![false; self.numbers];
        for line in self.lines.iter().filter(|line| is_in[line.segment]) {
            line.mark_used(&mut used);
        }
        for line in self.varying.iter().rev() {
            if used[line.value] {
                line.mark_used(&mut used);
            }
        }
        let (mut agree, mut results, mut before) = (String::new(), self.results.clone(), 0);
        for (value, text) in &self.agree {
            if used[*value] {
                agree.push_str(&text.replace("{before}", &before.to_string()));
                before = *value;
            } else {
                results = results.replace(&format!("%v{value}."), "false");
            }
        }
        let _ = writeln!(agree, "  %agree = freeze i1 %agree.{before}");
        let (mut fill, mut last) = (String::new(), String::new());
        for (value, ty, wait) in &self.uniforms {
            if self.waits.iter().zip(&is_in).any(|(it, &is_in)| is_in && it == wait) {
                let by = [
                    ("{value}", &*value.to_string()),
                    ("{ty}", ty),
                    ("{wait}", &wait.to_string()),
                    ("{last}", &last),
                ];
                fill.push_str(&replaced(include_str!("fill.ll"), &by));
                last = format!(".{value}");
            }
        }
        let is_turn = self.kinds.split(", i8 ").nth(number) == Some(TURN);
        let by = [
            ("{region}", &*number.to_string()),
            ("{agree}", &agree),
            ("{results}", &results),
            ("{fill}", &fill),
            ("{turn}", &if is_turn { number.to_string() } else { "-1".to_owned() }),
        ];
        replaced(include_str!("region.ll"), &by)
    }

    /// Adds an array to the kernel. Returns the instructions that find the thread's element.
    fn add_array(&mut self, value: usize, ty: &str, kind: &str) -> String {
        let (field, value) = (self.fields.len().to_string(), value.to_string());
        let by = [("{field}", field.as_str()), ("{value}", &value), ("{ty}", ty), ("{kind}", kind)];
        self.fields.push(ty.to_owned());
        replaced(include_str!("array.ll"), &by)
    }

    /// Finds the values to keep across waits, and adds an array for each. Returns the values to
    /// keep at each wait, and the values' types (empty for values that are not kept).
    fn keep(&mut self) -> Result<(Vec<Vec<usize>>, Vec<String>), String> {
        // Collect each value's definition, and the segments at whose ends the value is needed.
        let (mut definitions, mut ends) = (vec![usize::MAX; self.numbers], lists(self.numbers));
        for (at, line) in self.lines.iter().enumerate() {
            definitions[line.value] = at;
        }
        for line in &self.lines {
            let is_phi = line.opcode() == "phi";
            for (at, &value) in line.uses.iter().enumerate() {
                if is_phi {
                    ends[value].push(self.last[line.labels[at]]);
                } else if definitions[value] < self.lines.len()
                    && self.lines[definitions[value]].segment != line.segment
                {
                    ends[value].extend_from_slice(&self.before[line.segment]);
                }
            }
        }
        let (mut kept, mut types) = (lists(self.count + 1), Vec::new());
        for (value, ends) in ends.iter().enumerate() {
            let mut ty = String::new();
            if !ends.is_empty() && definitions[value] < self.lines.len() {
                let line = &self.lines[definitions[value]];
                let is_alive = self.on_the_way(ends, line.segment);
                for (segment, &wait) in self.waits.iter().enumerate() {
                    if wait != 0 && is_alive[segment] {
                        kept[wait].push(value);
                        ty = line.result_type()?.to_owned();
                    }
                }
            }
            if !ty.is_empty() {
                let _ = writeln!(self.begin, "  %slot.{value}. = alloca {ty}");
                let address = self.add_array(value, &ty, "kept.");
                self.begin.push_str(&address);
            }
            types.push(ty);
        }
        Ok((kept, types))
    }

    /// Returns the kernel's instructions, plus those that keep values. A kept value lives in a
    /// variable between its definition and its uses, and is copied to an array before a wait and
    /// back afterwards.
    fn body(&mut self) -> Result<String, String> {
        // Arrays contain an element for each thread, but all threads share variables outside
        // arrays.
        let group = if self.count == 0 && has(&self.begin, &["alloca"]) { "" } else { GROUP };
        let (kept, types) = self.keep()?;
        let mut at_ends = lists(self.first.len());
        for line in &mut self.lines {
            for (at, &value) in line.uses.iter().enumerate() {
                if !types[value].is_empty() && has(&line.text, &[" = phi "]) {
                    let label = line.labels[at];
                    if !at_ends[label].contains(&value) {
                        at_ends[label].push(value);
                    }
                    let from = format!("%v{value}., %e{label}.");
                    let to = format!("%end.{value}.{label}., %e{label}.");
                    line.text = line.text.replace(&from, &to);
                }
            }
        }
        let (mut out, mut stores) = (String::new(), String::new());
        for (number, line) in self.lines.iter().enumerate() {
            let code = line.opcode();
            let mut text = line.text.clone();
            if code != "phi" {
                if code != "landingpad" {
                    out.push_str(&take(&mut stores));
                }
                for &value in &line.uses {
                    let (ty, name) = (&types[value], format!("%v{value}."));
                    if !ty.is_empty() && has(&text, &[&name]) {
                        let load = format!("%load.{number}.{value}.");
                        let _ = writeln!(out, "  {load} = load {ty}, ptr %slot.{value}.");
                        text = text.replace(&name, &load);
                    }
                }
            }
            if let Some(label) = text.strip_prefix("br label %e") {
                let label: usize = label.trim_end_matches('.').parse().unwrap_or_default();
                for value in &at_ends[label] {
                    let ty = &types[*value];
                    let _ =
                        writeln!(out, "  %end.{value}.{label}. = load {ty}, ptr %slot.{value}.");
                }
            }
            if code == "ret" {
                let wait: usize = word(&text, 2).parse().unwrap_or_default();
                move_values(&mut out, &kept[wait], &types, number, ["slot", "kept"]);
            }
            if line.is_call() {
                out.push_str(
                    "  call void @offload_cpu_set_thread(i32 %number, i32 %x, i32 %y, i32 %z)\n",
                );
            }
            let is_access =
                ["load", "store"].contains(&code) && !has(&text, &["!llvm.access.", "ptr %own."]);
            let _ = writeln!(out, "{text}{}", if is_access { group } else { "" });
            let (value, ty) = (line.value, &types[line.value]);
            if !ty.is_empty() {
                let _ = writeln!(stores, "  store {ty} %v{value}., ptr %slot.{value}.");
            }
            if let Some(wait) = text.strip_prefix("resume.") {
                let wait: usize = wait.trim_end_matches(':').parse().unwrap_or_default();
                move_values(&mut out, &kept[wait], &types, number, ["kept", "slot"]);
            }
        }
        Ok(out)
    }

    /// Returns the text of the regions and of their table.
    fn module(&mut self, name: &str, function: &str) -> Result<String, String> {
        self.repeat()?;
        let body = &self.body()?;
        let head = function.lines().next().unwrap_or_default();
        let mut attributes = group_of(head).to_owned();
        if let Some((_, personality)) = head.split_once(" personality ptr ") {
            let _ = write!(attributes, " personality ptr {}", word(personality, 0));
        }
        let mut text = self.sums.clone();
        text.push_str(include_str!("threads.ll"));
        let mut regions = String::new();
        for region in 0..=self.count {
            text.push_str(&self.region(region));
            let _ = write!(regions, ", ptr @\"{name}.region.{region}\"");
        }
        text.push_str(include_str!("table.ll"));
        let (fields, count) = (self.fields.join(", "), (self.count + 1).to_string());
        let mut uniforms = Vec::new();
        for (field, (_, ty, _)) in self.uniforms.iter().enumerate() {
            uniforms.push(replaced(
                "{ i64, i64 } { i64 ptrtoint (ptr getelementptr (%\"{name}.kept\", ptr null, i64 0, \
                 i32 {field}) to i64), i64 ptrtoint (ptr getelementptr ({ty}, ptr null, i64 1) to i64) }",
                &[("{field}", &field.to_string()), ("{ty}", ty)],
            ));
        }
        let least = if uniforms.is_empty() { 0 } else { LEAST };
        let entry = name.trim_end_matches(TURNED).replacen(THREAD, ENTRY, 1);
        let by = [
            ("{fields}", fields.as_str()),
            ("{own}", &self.own),
            ("{owns}", &self.owns),
            ("{once}", &self.once),
            ("{arrive}", if self.count == 0 { "" } else { include_str!("arrive.ll") }),
            ("{results}", &self.results),
            ("{same}", &self.same),
            ("{begin}", &self.begin),
            ("{cases}", &self.cases),
            ("{body}", body),
            ("{attributes}", &attributes),
            ("{count}", &count),
            ("{regions}", &regions[2..]),
            ("{kinds}", &self.kinds),
            ("{least}", &least.to_string()),
            ("{uniform.count}", &uniforms.len().to_string()),
            ("{uniforms}", &uniforms.join(", ")),
            ("{entry}", &entry),
            ("{name}", name),
        ];
        Ok(replaced(&text, &by))
    }
}

/// Writes the instructions that copy the values kept across a wait.
fn move_values(
    out: &mut String,
    kept: &[usize],
    types: &[String],
    number: usize,
    [from, to]: [&str; 2],
) {
    for value in kept {
        let ty = &types[*value];
        let moved = format!("%moved.{number}.{value}.");
        let _ = writeln!(out, "  {moved} = load {ty}, ptr %{from}.{value}.{GROUP}");
        let _ = writeln!(out, "  store {ty} {moved}, ptr %{to}.{value}.{GROUP}");
    }
}

fn lists(count: usize) -> Vec<Vec<usize>> {
    let mut lists = Vec::new();
    while lists.len() < count {
        lists.push(Vec::new());
    }
    lists
}

fn sizes() -> String {
    "it has arrays whose sizes are known only at run time".to_owned()
}
