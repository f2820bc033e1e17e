//! Finds the loops to turn. In a turned loop, all threads run one iteration, then all run the next.
//! The loop over the threads thus becomes the innermost loop, which clang vectorizes.
//!
//! A region ends where an iteration begins, although threads do not wait there. Values that change
//! identically in all threads, such as counters, are stored once. This is valid for threads on the
//! same path, because they start with the same values and leave the loop in the same iteration. If
//! threads of a block have waited at different places, `offload/regions.h` compares the values.

use super::kernel::{Kernel, Turns};
use super::known::{AGREED, IN_ROW, PURE, PURE_CALLS, SUM, VARIES, known};
use super::text::{Line, has};

/// A loop that threads enter only at its start and leave only at its end.
struct Loop {
    header: usize,
    start: usize,
    end: usize,
    body: Vec<bool>,
}

impl Kernel {
    /// Returns the loops to turn. Returns none if the kernel's results may depend on the order of
    /// its threads even without a race.
    pub(super) fn turns(&self) -> Turns {
        let mut loops = self.loops();
        if self.lines.iter().any(|line| !is_plain(line)) {
            loops.clear();
        }
        let is_number = |line: &&Line| {
            line.opcode() == "phi"
                && line.result_type().is_ok_and(|it| it.starts_with('i') || it == "ptr")
        };
        let phis: Vec<&Line> = self.lines.iter().filter(is_number).collect();
        // First assume that all values are the same in all threads, then remove each value that
        // depends on a differing one.
        let mut uniform: Vec<usize> = phis.iter().map(|line| line.value).collect();
        loop {
            let of = self.knowledge(&uniform);
            let before = (loops.len(), uniform.len());
            loops.retain(|it| {
                let is_here =
                    |line: &&&Line| line.segment == it.start && uniform.contains(&line.value);
                phis.iter().any(|line| is_here(&line)) && self.is_turned(it, &of)
            });
            uniform.retain(|&value| {
                phis.iter().any(|line| {
                    line.value == value
                        && loops.iter().any(|it| it.start == line.segment)
                        && line.uses.iter().all(|&it| is_same(&of, it))
                })
            });
            if before == (loops.len(), uniform.len()) {
                return Turns { headers: loops.iter().map(|it| it.header).collect(), uniform };
            }
        }
    }

    /// Returns the loops that threads enter only at their start and leave only at their end.
    fn loops(&self) -> Vec<Loop> {
        let mut loops = Vec::new();
        for line in &self.lines {
            let label = line.text.strip_prefix('b').and_then(|text| text.strip_suffix(".:"));
            let Some(Ok(header)) = label.map(str::parse) else { continue };
            let start = line.segment;
            let before = &self.before[start];
            for &end in before.iter().filter(|_| before.len() == 2) {
                let body = self.on_the_way(&[end], start);
                let is_left = |line: &Line| {
                    line.opcode() != "phi"
                        && body[line.segment]
                        && line.labels.iter().any(|&label| !body[self.first[label]])
                };
                let mut leave = self.lines.iter().filter(|line| is_left(line));
                if body[start]
                    && !body[0]
                    && leave.next().is_some_and(|line| line.segment == end)
                    && leave.next().is_none()
                {
                    loops.push(Loop { header, start, end, body });
                }
            }
        }
        loops
    }

    /// Returns what is known about each value if the values in `uniform` are the same in all
    /// threads.
    fn knowledge(&self, uniform: &[usize]) -> Vec<usize> {
        let mut of = vec![0; self.numbers];
        of[0] = 3;
        for &value in uniform {
            of[value] = 1;
        }
        let mut is_done = false;
        while !is_done {
            is_done = true;
            for line in self.lines.iter().filter(|line| line.value != 0) {
                if of[line.value] == 0 {
                    of[line.value] = known(line, &of);
                    is_done &= of[line.value] == 0;
                }
            }
        }
        of
    }

    /// Whether all threads run a loop equally often, and turning the loop makes it faster: no
    /// branch may lead just a few threads into the loop, and threads must access adjacent memory.
    fn is_turned(&self, it: &Loop, of: &[usize]) -> bool {
        self.lines.iter().all(|line| match line.opcode() {
            "br" | "switch" if !line.uses.is_empty() => {
                let condition = line.uses[0];
                if line.segment == it.end || is_of_run(of, condition) {
                    return line.segment != it.end || is_same(of, condition);
                }
                let ways = self.on_the_way(&[it.start], line.segment);
                let leads_past = || line.labels.iter().any(|&label| !ways[self.first[label]]);
                !(it.body[line.segment] || ways[line.segment] && leads_past())
            }
            "load" | "store" if it.body[line.segment] => {
                let address =
                    line.text.rsplit_once("ptr %v").and_then(|(_, text)| text.split_once('.'));
                let address = address.and_then(|(number, _)| number.parse().ok());
                address.is_none_or(|at: usize| is_of_run(of, at) || of[at] & SUM != 0)
            }
            _ => true,
        })
    }
}

/// Whether a value is the same in threads that run together.
fn is_of_run(of: &[usize], value: usize) -> bool {
    of[value] != 0 && of[value] & (IN_ROW | AGREED) != IN_ROW
}

fn is_same(of: &[usize], value: usize) -> bool {
    of[value] != 0 && of[value] & VARIES == 0
}

/// Whether an instruction only computes, jumps, or accesses memory in a way that reveals the order
/// of threads only if there is a race.
fn is_plain(line: &Line) -> bool {
    const OTHERS: &str = " phi br switch ret getelementptr extractvalue insertvalue extractelement \
        insertelement shufflevector urem udiv srem sdiv fdiv frem ";
    const CALLS: [&str; 4] =
        ["@llvm.assume(", "@llvm.experimental.noalias.", "@_ZTH", "@offload_cpu_place("];
    let text = &line.text;
    match line.opcode() {
        "load" | "store" => !has(text, &[" volatile ", " atomic "]),
        "call" if has(text, &["@llvm."]) && !has(text, &[" void @", "ptr"]) => true,
        "call" => has(text, &PURE_CALLS) || has(text, &CALLS),
        _ if text.ends_with(':') => true,
        code => has(PURE, &[&format!(" {code} ")]) || has(OTHERS, &[&format!(" {code} ")]),
    }
}
