//! Random kernels. Generates kernels whose parameters have types of all kinds, and programs that
//! call the kernels.
//!
//! One seed determines one kernel, `k<seed>`, and the records (structs, classes and unions) that
//! the kernel needs. The kernel's name in a failure message is therefore enough to reproduce the
//! failure. The sources are both CUDA for GPUs and C++17 for CPUs:
//!
//! | function | returns |
//! |---|---|
//! | [`RandomKernels::header`] | the types |
//! | [`RandomKernels::source`] | the kernels: each copies the bytes of its arguments to the first one |
//! | [`RandomKernels::program`] | a Rust program that calls each kernel |
//! | [`RandomKernels::masks`] | which bits are padding, computed by a C++ program on the host |

mod numbers;
mod program;
mod records;
mod scalars;

use crate::scratch;
use crate::tools::{stdout, succeed};
pub use numbers::Numbers;
use records::{Records, Value};
use std::collections::{BTreeMap, HashSet};
use std::env;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

/// The environment variable that replaces a test's seeds. Its value is a seed (`17`) or a range of
/// seeds (`100-200`).
pub const SEEDS: &str = "OFFLOAD_TEST_SEEDS";

/// Kernels with random parameters, and the types of the parameters.
#[derive(Debug)]
pub struct RandomKernels {
    header: String,
    /// C++ functions that set all bits of a value, for the program that prints masks.
    ones: String,
    /// All kernels.
    pub kernels: Vec<RandomKernel>,
}

/// Masks in hexadecimal digits, by the name of a kernel or record. A kernel has the masks of its
/// arguments, and a record has one mask. Padding bits are 0.
pub type Masks = BTreeMap<String, Vec<String>>;

/// A kernel with random parameters.
#[derive(Debug)]
pub struct RandomKernel {
    /// The kernel's name.
    pub name: String,
    /// The kernel's parameters, in order.
    pub parameters: Vec<RandomParameter>,
    /// Whether C++ can copy each argument.
    pub is_copyable: bool,
}

/// A parameter of a random kernel.
#[derive(Debug)]
pub struct RandomParameter {
    /// The type of the parameter in C++.
    pub cpp: String,
    /// The Rust type of the value that a program passes for the parameter. Records are in the
    /// module `kernels`.
    pub rust: String,
}

/// The maximum size of all parameters of a kernel in bytes. NVIDIA's limit is 4096.
const MOST_BYTES: u64 = 3000;

/// The maximum number of parameters of a kernel.
const MOST_PARAMETERS: u64 = 24;

impl RandomKernels {
    /// Generates a kernel for each of these seeds, or for the seeds in the variable [`SEEDS`].
    ///
    /// # Panics
    /// Panics if the variable's value is neither a seed nor a range of seeds.
    pub fn new(seeds: RangeInclusive<u64>) -> Self {
        let asked = env::var(SEEDS).ok().map(|text| {
            let (first, last) = text.split_once('-').unwrap_or((&text, &text));
            first
                .parse()
                .ok()
                .zip(last.parse().ok())
                .unwrap_or_else(|| panic!("{SEEDS} is {text}, not 17 or 100-200"))
        });
        let seeds = asked.map_or(seeds, |(first, last)| first..=last);
        let mut this =
            Self { header: scalars::vectors(), ones: String::new(), kernels: Vec::new() };
        seeds.for_each(|seed| this.add(seed));
        this
    }

    /// Whether the seeds are the test's own. If the seeds come from the variable, there may be too
    /// few kernels for a check that counts them.
    pub fn are_usual(&self) -> bool {
        env::var_os(SEEDS).is_none()
    }

    fn add(&mut self, seed: u64) {
        let mut numbers = Numbers::new(seed);
        // Some kernels have few parameters and small records, so a CPU's registers can hold all
        // arguments.
        let is_small = seed % 4 == 1;
        let mut records = Records::new(seed, is_small);
        let others = numbers.below(if is_small { 4 } else { MOST_PARAMETERS });
        let mut parameters =
            vec![RandomParameter { cpp: "unsigned char *".to_owned(), rust: "*mut u8".to_owned() }];
        let mut bytes = 8;
        for _ in 0..others {
            let Value { cpp, parameter, size, align, .. } = records.parameter(&mut numbers);
            if (align > 16 || cpp == "__int128") && !seed.is_multiple_of(4) {
                continue;
            }
            bytes += size + align;
            if bytes > MOST_BYTES {
                break;
            }
            parameters.push(RandomParameter { cpp, rust: parameter });
        }
        self.header += &records.cpp;
        self.ones += &records.ones;
        let is_copyable = !records.cpp.contains("= delete");
        self.kernels.push(RandomKernel { name: format!("k{seed}"), parameters, is_copyable });
    }

    /// Returns the types as C++17, which clang can compile for GPUs and g++ can compile for CPUs.
    pub fn header(&self) -> String {
        format!("#pragma once\n{}", self.header)
    }

    /// Returns the source of the kernels. The source includes their types from `types.h`.
    pub fn source(&self) -> String {
        let mut text = SOURCE.to_owned();
        let not_for_spirv = self.not_for_spirv();
        for RandomKernel { name, parameters, .. } in &self.kernels {
            let list: Vec<String> = parameters
                .iter()
                .enumerate()
                .map(|(at, it)| declaration(&it.cpp, &format!("a{at}")))
                .collect();
            let put = |(at, it): (usize, &RandomParameter)| {
                if it.cpp.ends_with('&') {
                    format!("  put(a0, &a{at});\n")
                } else {
                    format!("  put(a0, a{at});\n")
                }
            };
            let puts: String = parameters.iter().enumerate().skip(1).map(put).collect();
            let kernel = format!(
                "extern \"C\" __global__ void {name}({}) {{\n{puts}  (void)a0;\n}}\n",
                list.join(", ")
            );
            text += &if not_for_spirv.contains(name) {
                format!("#if !OFFLOAD_SPIRV\n{kernel}#endif\n")
            } else {
                kernel
            };
        }
        text
    }

    /// Returns the names of kernels that cannot be compiled to SPIR-V. Their parameters or records
    /// have types that SPIR-V lacks, or their records have arrays without elements. A record's name
    /// contains its kernel's number: `S16_7` belongs to `k16`.
    pub fn not_for_spirv(&self) -> HashSet<String> {
        let is_outside =
            |it: &&RandomKernel| it.parameters.iter().any(|it| is_not_for_spirv(&it.cpp));
        let of_kernels = self.kernels.iter().filter(is_outside).map(|it| it.name.clone());
        let (mut of, mut names) = ("", of_kernels.collect::<HashSet<_>>());
        for line in self.header.lines() {
            let record = ["struct ", "union ", "class "].iter().find_map(|it| line.split_once(it));
            let number = record.and_then(|(_, rest)| rest.split_once('_')).map(|(name, _)| name);
            let number = number.map(|name| name.trim_start_matches(|c: char| !c.is_ascii_digit()));
            of = number.filter(|number| !number.is_empty()).unwrap_or(of);
            if line.contains("[0];") || is_not_for_spirv(line) {
                names.insert(format!("k{of}"));
            }
        }
        names
    }

    /// Returns masks for each kernel's arguments except the first, and for each of these records. A
    /// record is given by its name and its C++ type. In a mask, a bit is 1 if it is part of a
    /// value, and 0 if it is padding. A program computes the masks. The program is built in
    /// `folder`, which must contain `kernels/types.h`.
    ///
    /// # Panics
    /// Panics if g++ does not compile the program.
    pub fn masks<'a>(
        &self,
        folder: &Path,
        records: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Masks {
        let mut text = format!("{MASKS}{}int main() {{\n", self.ones);
        for RandomKernel { name, parameters, .. } in &self.kernels {
            let shows: String =
                parameters[1..].iter().map(|it| format!("  show<{}>();\n", it.cpp)).collect();
            let _ = write!(text, "  printf(\"{name}\");\n{shows}  puts(\"\");\n");
        }
        for (name, ty) in records {
            // g++ lacks `__bf16`, clang's name.
            let ty = ty.replace("__bf16", "bf16_t");
            let _ = write!(text, "  printf(\"{name}\");\n  show<{ty}>();\n  puts(\"\");\n");
        }
        let [source, program] = ["masks.cc", "masks"].map(|name| folder.join(name));
        scratch::write(&source, text + "}\n");
        let mut gcc = Command::new("g++");
        gcc.args(["-std=c++17", "-w", "-I"]).arg(folder.join("kernels")).arg("-include");
        let headers = scratch::workspace().join("offload-build/include");
        gcc.arg(headers.join("offload/kernel.h")).arg("-I").arg(headers);
        succeed(gcc.arg(source).arg("-o").arg(&program));
        let printed = stdout(&succeed(&mut Command::new(program)));
        let mask = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            (words.next().expect("a line has a name"), words.collect())
        };
        printed.lines().map(mask).collect()
    }
}

/// Returns a parameter's declaration. The name follows the type, except that in a pointer to an
/// array, the name is inside the type.
fn declaration(ty: &str, name: &str) -> String {
    match ty.split_once("(*)") {
        Some((before, behind)) => format!("{before}(*{name}){behind}"),
        None => format!("{ty} {name}"),
    }
}

const SOURCE: &str = r#"#include "types.h"

template <class T> __device__ inline void put(unsigned char *&to, const T &value) {
  __builtin_memcpy(to, &value, sizeof value);
  to += sizeof value;
}
"#;

const MASKS: &str = r#"#include "types.h"
#include <stdio.h>
#include <string.h>
#include <type_traits>

template <class T> void ones(T &value) { memset(&value, 255, sizeof value); }
/* A value may lie anywhere in a packed record. */
template <class T, class Ones> void set_by(void *at, Ones by) {
  T value;
  memset(static_cast<void *>(&value), 0, sizeof value);
  by(value);
  memcpy(at, &value, sizeof value);
}
/* The fields of a union share bytes. */
template <class T, class Ones> void add_by(T &all, Ones by) {
  T value;
  memset(static_cast<void *>(&value), 0, sizeof value);
  by(value);
  for (size_t i = 0; i < sizeof value; ++i)
    reinterpret_cast<unsigned char *>(&all)[i] |= reinterpret_cast<unsigned char *>(&value)[i];
}
template <class T> void set(void *at) {
  set_by<T>(at, [](T &value) { ones(value); });
}
#define ONES(type, base, count) inline void ones(type &value) { memset(&value, 255, sizeof(base) * count); }
VECTORS(ONES)

template <class T> void show_value() {
  T value;
  memset(static_cast<void *>(&value), 0, sizeof value);
  ones(value);
  putchar(' ');
  for (size_t i = 0; i < sizeof value; ++i)
    printf("%02x", reinterpret_cast<unsigned char *>(&value)[i]);
}
/* A reference is passed as a pointer. */
template <class T> void show() {
  show_value<std::conditional_t<std::is_reference_v<T>, void *, std::remove_cv_t<T>>>();
}
"#;

/// Whether SPIR-V lacks the type. SPIR-V has no 128-bit integers and, without extensions, no
/// bfloat16.
fn is_not_for_spirv(cpp: &str) -> bool {
    ["__int128", "bf16_t"].iter().any(|it| cpp.contains(it))
}
