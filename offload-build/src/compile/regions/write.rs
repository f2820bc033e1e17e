//! The text of a kernel's regions: a function that runs a thread from one wait to the next, the loops
//! that call it, and the table of the loops.

use super::cut::{Kernel, Known, callee, is_call, no_type};
use super::text::{Function, defined, incoming, opcode, parts, replaced, result_type, uses};
use super::{ENTRY, THREAD, group_of};
use std::fmt::Write as _;

impl Kernel<'_> {
    /// Returns, for each value, whether it may be an address in memory that the threads of a loop
    /// share: of a variable that is in no array.
    fn shared_by_threads(&self) -> Vec<bool> {
        let mut is_shared = vec![false; self.definition.len()];
        for variable in &self.variables {
            is_shared[variable.value] = !variable.is_kept;
        }
        let is_any = is_shared.contains(&true);
        let mut before = Vec::new();
        while before != is_shared {
            before.clone_from(&is_shared);
            for line in self.lines() {
                let Some(value) = defined(line) else { continue };
                let code = opcode(line);
                let is_read = code == "load" || is_call(line);
                is_shared[value] |= if is_read {
                    is_any && self.known[value] == Known::No
                } else {
                    code == "alloca" || uses(line).iter().any(|&it| is_shared[it])
                };
            }
        }
        is_shared
    }

    /// Writes the function that runs a thread from one wait to the next, and its loops.
    pub(super) fn write(
        &mut self,
        function: &Function<'_>,
        kept: &[Vec<usize>],
    ) -> Result<String, String> {
        let name = function.name.trim_matches('"');
        let mut out = String::from("\n");
        // A value that is kept is a variable between its definition and its uses.
        let mut types: Vec<Option<String>> = vec![None; self.definition.len()];
        let (mut begin, mut slots, mut memory) = (String::new(), String::new(), String::new());
        for (value, line) in self.definition.iter().enumerate() {
            if !kept.iter().any(|it| it.contains(&value)) {
                continue;
            }
            let Some(ty) = result_type(line, self.module.ir) else { return Err(no_type(line)) };
            let _ = writeln!(begin, "  %slot.{value} = alloca {ty}");
            write_element(&mut begin, &format!("%kept.{value}"), (name, "slots", &mut slots), &ty);
            types[value] = Some(ty);
        }
        for variable in &self.variables {
            let value = format!("%v{}", variable.value);
            let ty = element(&variable.alloca);
            if variable.is_kept {
                write_element(&mut begin, &value, (name, "memory", &mut memory), &ty);
            } else {
                let _ = writeln!(begin, "  {value} = {}", variable.alloca);
            }
        }
        for line in &self.repeated[1] {
            let _ = writeln!(begin, "  {}", named(line));
        }
        // What is the same in all threads is a parameter.
        let mut used = vec![false; self.definition.len()];
        for line in self.lines() {
            // Instructions that are done once lead to others of their kind, which are used here.
            for value in uses(line) {
                used[value] = true;
            }
        }
        let (mut once, mut same) = (String::new(), String::new());
        for line in &self.repeated[0] {
            let _ = writeln!(once, "  {}", named(line));
            let Some(value) = defined(line).filter(|&value| used[value]) else { continue };
            let Some(ty) = result_type(line, self.module.ir) else { return Err(no_type(line)) };
            let _ = write!(same, ", {ty} %v{value}");
        }
        let _ = write!(begin, "  switch i32 %region, label %v{} [", self.blocks[0].label);
        for wait in 1..=self.waits.len() {
            let _ = write!(begin, " i32 {wait}, label %resume.{wait}");
        }
        begin.push_str(" ]\n");
        for (of, fields) in [("slots", &slots), ("memory", &memory)] {
            let fields = fields.trim_start_matches(", ");
            let _ = writeln!(out, "%\"{name}.{of}\" = type {{ {fields} }}");
        }
        let attributes = function_attributes(function.head);
        let fill = |text: &str| {
            let text = text.replace("{same}", &same).replace("{once}\n", &once);
            let text = text.replace("{name}", name).replace("{attributes}", &attributes);
            text.replace("{mask}", self.module.mask_type())
        };
        out.push_str(&fill(include_str!("threads.ll")));
        out.push_str(&begin);
        self.write_blocks(&mut out, kept, &types);
        let (mut regions, mut kinds) = ("".to_owned(), "i8 0".to_owned());
        for region in 0..=self.waits.len() {
            let text = fill(include_str!("region.ll")).replace("{region}", &region.to_string());
            out.push_str(&text);
            let _ = write!(regions, ", ptr @\"{name}.region.{region}\"");
        }
        for (kind, _) in &self.waits {
            let _ = write!(kinds, ", i8 {kind}");
        }
        let table =
            fill(include_str!("table.ll")).replace("{count}", &(self.waits.len() + 1).to_string());
        let table =
            table.replace("{regions}", regions.trim_start_matches(", ")).replace("{kinds}", &kinds);
        let entry = name.replacen(THREAD, ENTRY, 1);
        let table = table.replace("{entry}", &entry);
        out.push_str(&table.replace("{waits}", &self.waits.len().to_string()));
        Ok(out)
    }

    fn write_blocks(&mut self, out: &mut String, kept: &[Vec<usize>], types: &[Option<String>]) {
        let is_shared = self.shared_by_threads();
        let mut loads = 0;
        // Loads for each `phi`, at the ends of the blocks before it.
        let mut at_end = vec![String::new(); self.blocks.len()];
        for at in 0..self.blocks.len() {
            for line in &mut self.blocks[at].lines {
                if opcode(line) != "phi" {
                    break;
                }
                for (value, from) in incoming(line) {
                    let Some((value, ty)) = value.and_then(|it| Some((it, types[it].as_ref()?)))
                    else {
                        continue;
                    };
                    loads += 1;
                    let end = &mut at_end[self.block_of[from]];
                    let _ = writeln!(end, "  %load.{loads} = load {ty}, ptr %slot.{value}");
                    let edge = format!("[ %load.{loads}, %{from} ]");
                    *line = line.replacen(&format!("[ %{value}, %{from} ]"), &edge, 1);
                }
            }
        }
        for (block, at_end) in self.blocks.iter().zip(&at_end) {
            let _ = writeln!(out, "v{}:", block.label);
            let mut stores = String::new();
            for (at, line) in block.lines.iter().enumerate() {
                let is_first = ["phi", "landingpad"].contains(&opcode(line));
                let mut of_line = Vec::new();
                if !is_first {
                    out.push_str(&std::mem::take(&mut stores));
                    for value in uses(line) {
                        let Some(ty) = &types[value] else { continue };
                        loads += 1;
                        of_line.push((value, loads));
                        let _ = writeln!(out, "  %load.{loads} = load {ty}, ptr %slot.{value}");
                    }
                }
                if at + 1 == block.lines.len() {
                    out.push_str(at_end);
                    write_moves(out, block.wait, kept, types, ["slot", "kept"]);
                }
                // A function that is called may ask which thread runs.
                if is_call(line) && callee(line).is_none_or(|name| !name.starts_with("llvm.")) {
                    out.push_str("  call void @offload_cpu_set_thread(i32 %number, i32 %x, i32 %y, i32 %z)\n");
                }
                let own = defined(line);
                let text = replaced(line, &|number, is_label| {
                    let load = of_line.iter().find(|it| it.0 == number && !is_label)?;
                    (own != Some(number)).then(|| format!("%load.{}", load.1))
                });
                let is_access = ["load", "store"].contains(&opcode(line))
                    && !line.contains("!llvm.access.group");
                let is_parallel = is_access && !uses(line).iter().any(|&it| is_shared[it]);
                let group = if is_parallel { ", !llvm.access.group !900000000" } else { "" };
                let text = if text == "ret void" { "ret i32 0" } else { &named(&text) };
                let _ = writeln!(out, "  {text}{group}");
                if let Some((value, ty)) = own.and_then(|it| Some((it, types[it].as_ref()?))) {
                    let _ = writeln!(stores, "  store {ty} %v{value}, ptr %slot.{value}");
                }
            }
            if block.wait != 0 {
                let _ = writeln!(out, "resume.{}:", block.wait);
                write_moves(out, block.wait, kept, types, ["kept", "slot"]);
                let _ = writeln!(out, "  br label %v{}", self.waits[block.wait - 1].1);
            }
        }
        out.push_str("}\n");
    }
}

/// Writes moves of the values that are kept over a wait.
fn write_moves(
    out: &mut String,
    wait: usize,
    kept: &[Vec<usize>],
    types: &[Option<String>],
    [from, to]: [&str; 2],
) {
    if wait == 0 {
        return;
    }
    let group = |place: &str| if place == "kept" { ", !llvm.access.group !900000000" } else { "" };
    for &value in &kept[wait - 1] {
        let Some(ty) = &types[value] else { continue };
        let moved = format!("%{from}.to.{to}.{wait}.{value}");
        let _ = writeln!(out, "  {moved} = load {ty}, ptr %{from}.{value}{}", group(from));
        let _ = writeln!(out, "  store {ty} {moved}, ptr %{to}.{value}{}", group(to));
    }
}

/// Returns an instruction with names that do not depend on their order.
fn named(line: &str) -> String {
    replaced(line, &|number, _| Some(format!("%v{number}")))
}

/// Returns the attributes of a function with which it can be inlined.
fn function_attributes(head: &str) -> String {
    let personality = head.find(" personality ").map_or("", |start| {
        let rest = &head[start..];
        let end = rest.find(" !").or_else(|| rest.rfind(" {")).unwrap_or(rest.len());
        &rest[..end]
    });
    format!("{}{personality}", group_of(head).unwrap_or_default())
}

/// Returns the type of an array's element for a variable, with the alignment of the variable.
fn element(alloca: &str) -> String {
    let parts = parts(alloca.strip_prefix("alloca ").unwrap_or(alloca));
    let mut ty = parts[0].to_owned();
    let mut alignment = "1";
    for part in &parts[1..] {
        match part.split_once(' ') {
            Some(("align", bytes)) => alignment = bytes,
            Some(("i64" | "i32", count)) => ty = format!("[{count} x {ty}]"),
            _ => {}
        }
    }
    format!("{{ {ty}, [0 x <{alignment} x i8>] }}")
}

/// Writes the address of the thread's element of an array, and adds the array to `fields`.
fn write_element(
    out: &mut String,
    place: &str,
    (name, of, fields): (&str, &str, &mut String),
    ty: &str,
) {
    let field = format!("(%\"{name}.{of}\", ptr null, i64 0, i32 {})", parts(fields).len() - 1);
    let _ = writeln!(
        out,
        "  {place}.array = mul i64 %stride, ptrtoint (ptr getelementptr {field} to i64)\n  \
         {place}.first = getelementptr inbounds i8, ptr %{of}, i64 {place}.array\n  \
         {place} = getelementptr inbounds {ty}, ptr {place}.first, i64 %t"
    );
    let _ = write!(fields, ", {ty}");
}
