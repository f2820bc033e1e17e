//! Random kernels without races. Their threads wait in loops and branches. Kernels with odd seeds
//! have no arrays of their own, and often have loops that the build turns (see turn.rs in
//! offload-build).

use offload_tests::random_kernels::Numbers;
use std::fmt::Write;

/// A kernel under construction. Its variables are `a` to `e`, `v[4]`, and records behind pointers.
struct Kernel {
    numbers: Numbers,
    /// The number of loop variables.
    loops: usize,
    /// Whether threads may return early. If so, no later code calls a function that all threads
    /// must call.
    returns: bool,
    /// Whether the variables are only `a` to `e`.
    is_plain: bool,
}

/// Returns the source of a kernel for each seed.
pub(super) fn source(seeds: impl Iterator<Item = u64>) -> String {
    let mut text = String::from(BEGIN);
    for seed in seeds {
        let numbers = Numbers::new(seed);
        let is_plain = seed % 2 == 1;
        let mut kernel = Kernel { numbers, loops: 0, returns: seed % 3 == 0, is_plain };
        let count = kernel.numbers.between(3, 8);
        let body: String = (0..count).map(|_| kernel.statement(0, &[], true, false)).collect();
        let apart: String = (0..2).map(|_| kernel.apart(&[])).collect();
        let (last, count) = (kernel.expression(1), kernel.statement(3, &[], false, false));
        let (arrays, sum) = if is_plain { ("", "out[g]") } else { (ARRAYS, SUM) };
        let _ = writeln!(
            text,
            "KERNEL(k{seed}) {{ {VARIABLES} {arrays} {body}\n  {apart}\n  \
             for (unsigned z = 0; z < t % 5u; z++) {{ a += __syncthreads_count({last} & 1u); {count} }}\n  \
             out[g] = a + b * 3u + c * 5u + d * 7u + e * 11u + {sum};\n}}"
        );
    }
    text
}

const BEGIN: &str = "#include \"run.h\"
struct record { unsigned x, y; };
__device__ unsigned reduce(unsigned v) {
  __shared__ unsigned s[1024];
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  s[t] = v;
  __syncthreads();
  for (unsigned k = 1; k < threads; k *= 2) { unsigned o = s[(t + k) % threads]; __syncthreads(); s[t] += o; __syncthreads(); }
  v = s[0];
  __syncthreads();
  return v;
}
";

const VARIABLES: &str = "__shared__ unsigned s0[1024], s1[1024];
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), g = blockIdx.x * (n / 4) + t, un = n;
  unsigned a = in[g], b = in[g] * 3u, c = t, d = 5, e = g, threads = n / 4;
  s0[t] = a; s1[t] = b;
  __syncthreads();\n";

const ARRAYS: &str = "unsigned v[4] = {a, b, 3, 4};
  record q0{a, 1}, q1{b, 2}, *p0 = a & 1 ? &q0 : &q1, *p1 = &q1;
  p0->y = p1->y = un;\n";

const SUM: &str = "v[0] + v[1] * 3u + v[2] * 9u + v[3] * 27u + q0.x + q1.x * 5u";

impl Kernel {
    fn variable(&mut self) -> &'static str {
        const ALL: [&str; 5] = ["a", "b", "c", "d", "e"];
        ALL[self.numbers.below(5) as usize]
    }

    /// Returns an expression that may differ between threads.
    fn expression(&mut self, depth: u32) -> String {
        let of = |kernel: &mut Self| kernel.expression(depth + 1);
        match self.numbers.below(if depth < 3 { 8 } else { 3 }) {
            0 => format!("{}u", self.numbers.below(1000)),
            1 | 2 => self.numbers.pick(&["a", "b", "c", "d", "e", "t", "g"]).to_string(),
            3 if self.is_plain => format!("s{}[t]", self.numbers.below(2)),
            3 => format!("v[{} & 3]", of(self)),
            4 => format!("({} >> ({} & 31))", of(self), of(self)),
            5 => {
                let comparison = self.numbers.pick(&["<", "==", ">"]);
                format!("({} {comparison} {} ? {} : {})", of(self), of(self), of(self), of(self))
            }
            _ => {
                let operator = self.numbers.pick(&["+", "-", "*", "^", "&", "|"]);
                format!("({} {operator} {})", of(self), of(self))
            }
        }
    }

    /// Returns an expression that is the same in all threads of a block.
    fn uniform(&mut self, loops: &[String]) -> String {
        let others = ["blockIdx.x", "un", "blockDim.x"];
        let at = self.numbers.below((loops.len() + others.len()) as u64) as usize;
        let value = if at < loops.len() { &loops[at] } else { others[at - loops.len()] };
        let (factor, more) = (self.numbers.between(1, 8), self.numbers.below(9));
        format!("(({value} * {factor}u + {more}u) % {}u)", self.numbers.between(2, 4))
    }

    /// Returns a condition that may differ between threads. The condition often compares a sum that
    /// contains `threadIdx.x` and may wrap.
    fn condition(&mut self, depth: u32) -> String {
        if self.numbers.below(2) == 0 {
            return format!("{} & 1u", self.expression(depth));
        }
        self.comparison(depth)
    }

    fn comparison(&mut self, depth: u32) -> String {
        let index = self.numbers.pick(&[
            "threadIdx.x",
            "(blockIdx.x * blockDim.x + threadIdx.x)",
            "(threadIdx.x + blockDim.x * threadIdx.y)",
            "(threadIdx.z - threadIdx.x)",
        ]);
        let near = |numbers: &mut Numbers| {
            let base = numbers.pick(&[0, 0x7fff_ffc0_u64, 0xffff_ff80]);
            format!("{}u", (base + numbers.below(256)) as u32)
        };
        let (more, other) = (near(&mut self.numbers), near(&mut self.numbers));
        let ty = self.numbers.pick(&["int", "unsigned", "long long", "unsigned long long"]);
        let (inner, comparison) =
            (self.numbers.pick(&["int", "unsigned"]), self.numbers.pick(&["<", "<=", ">", ">="]));
        let others = [&*other, "un", "threadIdx.y"];
        let other = self.numbers.pick(&others);
        let comparison =
            format!("({ty})({inner})({index} + {more}) {comparison} ({ty})({inner}){other}");
        match self.numbers.below(4) {
            0 => format!("{comparison} && {}", self.condition(depth)),
            1 => format!("{comparison} || ({})", self.condition(depth)),
            _ => comparison,
        }
    }

    /// Returns a loop that all threads run equally often, or sometimes a loop that only looks like
    /// one.
    fn loop_without_waits(&mut self, loops: &[String]) -> String {
        self.loops += 1;
        let (name, end) = (format!("i{}", self.loops), self.uniform(loops));
        let (x, y) = (self.variable(), self.variable());
        let inner = [loops, std::slice::from_ref(&name)].concat();
        let (array, value) = (self.numbers.below(2), self.expression(2));
        let mut body = match self.numbers.below(3) {
            0 => format!("{x} = {x} * 3u + s{array}[t] * {name}; {y} ^= {value};"),
            1 => format!("s{array}[t] += {name} ^ {x}; {y} += s{array}[t];"),
            _ => format!("{x} += {name}; if ({}) {y} ^= {name} * 5u;", self.condition(2)),
        };
        if loops.len() < 3 && self.numbers.below(3) == 0 {
            body += &self.loop_without_waits(&inner);
        }
        let condition = self.condition(2);
        match self.numbers.below(20) {
            0 => body += &format!("if ({condition}) break;"),
            1 => body += &format!("if ({condition}) continue; {y} += {x};"),
            2 => body += &format!("if ({condition}) {name}++;"),
            3 => body += &format!("if ({} == 1) break;", self.uniform(&inner)),
            4 if self.returns => body += &format!("if ({condition}) {{ out[g] += {x}; return; }}"),
            5 => {
                return format!(
                    "s{array}[t] = {end}; for (unsigned {name} = 0; {name} < s{array}[t] % 7u; {name}++) {{ {body} }}"
                );
            }
            6 => {
                return format!(
                    "if ({condition}) for (unsigned {name} = 0; {name} < {end}; {name}++) {{ {body} }}"
                );
            }
            // Some threads begin the loop again while others are still in it.
            7..=9 => {
                let comparison = self.comparison(3);
                return format!(
                    "for (unsigned r{name} = 0; r{name} < 1u + (threadIdx.y + 1u) % 3u; r{name}++) \
                     for (unsigned {name} = 0; {name} < 2u + {end}; {name}++) {{ {body} if ({comparison}) break; out[g] += {name}; }}"
                );
            }
            _ => {}
        }
        let (first, by) = (self.uniform(loops), self.numbers.between(1, 3));
        format!("for (unsigned {name} = {first}; {name} < 3u + {end}; {name} += {by}) {{ {body} }}")
    }

    /// Returns a loop in which threads reach a barrier in different rounds.
    fn apart(&mut self, loops: &[String]) -> String {
        self.loops += 1;
        let (name, end) = (format!("i{}", self.loops), self.uniform(loops));
        let (x, y) = (self.variable(), self.variable());
        let inner = [loops, std::slice::from_ref(&name)].concat();
        let more = if loops.len() < 2 && self.numbers.below(2) == 0 {
            self.apart(&inner)
        } else {
            self.loop_without_waits(&inner)
        };
        let (first, by) = (self.numbers.below(64), self.numbers.between(1, 30));
        let condition = match self.numbers.below(3) {
            0 => self.condition(1),
            1 => format!("threadIdx.x + {name} * {by}u < {first}u"),
            _ => format!("threadIdx.x + {name} * {by}u >= {first}u"),
        };
        let holds = self.expression(1);
        format!(
            "for (unsigned {name} = 0; {name} < 2u + {end}; {name}++) {{ {x} ^= {name} * {y}; \
             if ({condition}) {x} += __syncthreads_count({holds} & 1u) * {name}; {more} {y} += {name}; }}\n  "
        )
    }

    fn statements(
        &mut self,
        depth: u32,
        most: u64,
        loops: &[String],
        waits: bool,
        in_loop: bool,
    ) -> String {
        let count = self.numbers.between(1, most);
        (0..count).map(|_| self.statement(depth + 1, loops, waits, in_loop)).collect()
    }

    fn statement(&mut self, depth: u32, loops: &[String], waits: bool, in_loop: bool) -> String {
        let kind = match depth {
            5.. => 0,
            _ if self.is_plain && self.numbers.below(2) == 0 => self.numbers.between(20, 24),
            _ => self.numbers.below(20),
        };
        let (x, y) = (self.variable(), self.variable());
        let plain = |kernel: &mut Self| kernel.statements(depth, 3, loops, false, false);
        let text = match kind {
            0..=3 => {
                let operator = self.numbers.pick(&["=", "+=", "^=", "*="]);
                format!("{x} {operator} {};", self.expression(0))
            }
            4 if !self.is_plain => {
                format!("v[{} & 3] = {};", self.expression(2), self.expression(0))
            }
            5 => format!(
                "if ({}) {{ {} }} else {{ {} }}",
                self.condition(0),
                plain(self),
                plain(self)
            ),
            6 => {
                self.loops += 1;
                let (name, end) = (format!("i{}", self.loops), self.expression(2));
                format!(
                    "for (unsigned {name} = 0; {name} < ({end} & 7u); {name}++) {{ {x} += {name}; {} }}",
                    plain(self)
                )
            }
            7 | 8 if waits => {
                self.loops += 1;
                let (name, end) = (format!("i{}", self.loops), self.uniform(loops));
                let inner = [loops, std::slice::from_ref(&name)].concat();
                let body = self.statements(depth, 4, &inner, true, true);
                format!("for (unsigned {name} = 0; {name} < 1u + {end}; {name}++) {{ {body} }}")
            }
            9 | 10 if waits => {
                let condition = self.uniform(loops);
                let (yes, no) = (
                    self.statements(depth, 3, loops, true, in_loop),
                    self.statements(depth, 3, loops, true, in_loop),
                );
                format!("if ({condition}) {{ {yes} }} else {{ {no} }}")
            }
            11 if waits && in_loop => {
                let way = self.numbers.pick(&["break;", "continue;"]);
                format!("if ({} == 0) {way}", self.uniform(loops))
            }
            11 if waits => {
                let (value, end) = (self.uniform(loops), self.numbers.pick(&["break;", ""]));
                let bodies = [(); 3].map(|()| self.statements(depth, 3, loops, true, false));
                format!(
                    "switch {value} {{ case 0: {} {end} case 1: {} break; default: {} }}",
                    bodies[0], bodies[1], bodies[2]
                )
            }
            12..=14 if waits => {
                let (array, by) = (self.numbers.below(2), self.numbers.below(70));
                let operator = self.numbers.pick(&["=", "+=", "^="]);
                format!(
                    "s{array}[t] = {x}; __syncthreads(); {y} {operator} s{array}[(t + {by}) % threads]; __syncthreads();"
                )
            }
            15 if waits => {
                let function = self.numbers.pick(&["xor", "down", "up"]);
                let (value, by) = (self.expression(1), self.uniform(loops));
                format!("{y} += __shfl_{function}_sync(~0u, {value}, {by}) * {x};")
            }
            16 if waits && !self.returns => {
                format!(
                    "{x} += {} + reduce({}) * {};",
                    self.expression(2),
                    self.expression(1),
                    self.expression(2)
                )
            }
            17 if waits => {
                let (half, value, from) =
                    (self.numbers.below(2), self.expression(1), self.expression(2));
                format!(
                    "if (t / 32 % 2 == {half}) {{ {x} ^= __shfl_sync(~0u, {value}, {from}); {y} += __ballot_sync(~0u, {} & 1u); }}",
                    self.expression(1)
                )
            }
            18 if waits => format!(
                "if ({}) {{ {} __syncthreads(); {} }} else {{ __syncthreads(); {} }}",
                self.condition(1),
                plain(self),
                plain(self),
                plain(self)
            ),
            19 if waits && self.returns => {
                format!(
                    "if (({} & 15u) == 3u && {}) {{ out[g] = {}; return; }}",
                    self.expression(1),
                    self.condition(1),
                    self.expression(1)
                )
            }
            19 if waits => format!("{x} += __syncthreads_count({} & 1u);", self.expression(1)),
            20 | 21 => {
                let inner = self.loop_without_waits(loops);
                format!("{x} += {y} * {}; {inner}", self.expression(1))
            }
            22 if waits => {
                let (array, by) = (self.numbers.below(2), self.numbers.below(70));
                format!(
                    "s{array}[t] = {x}; __syncthreads(); if (t + {by}u < threads) {y} += s{array}[t + {by}u]; __syncthreads();"
                )
            }
            4 | 7..=9 if self.is_plain => format!("out[g] += {};", self.expression(0)),
            7..=9 => format!("p{}->x += {};", self.numbers.below(2), self.expression(0)),
            _ => format!("{x} -= {};", self.expression(0)),
        };
        text + "\n  "
    }
}
