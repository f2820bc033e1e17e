//! Random types: records (structs, classes and unions), and types that contain them.

use super::numbers::Numbers;
use super::scalars::{ALIKE, BIT_FIELDS, CLASSES, PAIRS, SCALARS, Scalar, vector};
use std::fmt::Write;

/// A type of a parameter or field.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// The type in C++.
    pub(super) cpp: String,
    /// The Rust type of a parameter.
    pub(super) parameter: String,
    /// The Rust type of a value in memory, where `Bool` replaces `bool`.
    memory: String,
    /// The maximum size in bytes. `align` is the maximum alignment.
    pub(super) size: u64,
    pub(super) align: u64,
    is_union: bool,
}

/// The records of a kernel that is being generated.
#[derive(Debug)]
pub(super) struct Records {
    seed: u64,
    count: u64,
    /// The number of unfinished packed records. These records will contain the next record.
    packed: u64,
    /// The number of unfinished records that can contain only trivial types.
    trivial: u64,
    /// Whether the records have few fields, so that registers can hold most of them.
    is_small: bool,
    /// The definitions of the records in C++.
    pub(super) cpp: String,
    /// A function `ones` for each record, which sets all bits of the record's values.
    pub(super) ones: String,
}

impl Value {
    fn new(cpp: &str, rust: &str, size: u64) -> Self {
        let (cpp, rust) = (cpp.to_owned(), rust.to_owned());
        Self { cpp, parameter: rust.clone(), memory: rust, size, align: size, is_union: false }
    }

    fn record(cpp: &str, name: &str, (size, align): (u64, u64)) -> Self {
        Self { size, align, ..Self::new(cpp, &format!("kernels::{name}"), size) }
    }
}

impl Records {
    pub(super) fn new(seed: u64, is_small: bool) -> Self {
        let (cpp, ones) = Default::default();
        Self { seed, count: 0, packed: 0, trivial: 0, is_small, cpp, ones }
    }

    /// Returns a type for a parameter.
    pub(super) fn parameter(&mut self, numbers: &mut Numbers) -> Value {
        match numbers.weighted(&[38, 8, 14, 28, 12]) {
            0 => {
                let value = self.scalar(numbers);
                Value { parameter: alike(numbers, &value.parameter), ..value }
            }
            1 => self.enumeration(numbers),
            2 => self.pointer(numbers, true),
            3 => self.record(numbers, 0),
            _ => self.of_vector(numbers),
        }
    }

    /// Returns a number type. In packed records, this type is never a class, because not all
    /// compilers would pack a class.
    fn scalar(&self, numbers: &mut Numbers) -> Value {
        if self.packed == 0 && numbers.percent(20) {
            return of_number(*numbers.pick(&CLASSES));
        }
        scalar(numbers)
    }

    fn of_vector(&self, numbers: &mut Numbers) -> Value {
        if self.packed == 0 && numbers.percent(10) {
            let name = *numbers.pick(&PAIRS);
            return Value::record(name, name, (4, 4));
        }
        let (name, size, align) = vector(numbers);
        Value::record(name, name, (size, align))
    }

    fn name(&mut self, letter: char) -> String {
        self.count += 1;
        format!("{letter}{}_{}", self.seed, self.count)
    }

    fn enumeration(&mut self, numbers: &mut Numbers) -> Value {
        let name = self.name('E');
        let (head, values, rust, size) = *numbers.pick(&[
            ("enum", "A, B", "u32", 4),
            ("enum", "A = -1, B", "i32", 4),
            ("enum class", "A, B", "i32", 4),
            ("enum class : unsigned char", "A, B", "u8", 1),
            ("enum : short", "A, B", "i16", 2),
            ("enum class : unsigned long long", "A, B", "u64", 8),
        ]);
        let (head, base) = head.split_once(" : ").unwrap_or((head, ""));
        let colon = if base.is_empty() { "" } else { " : " };
        let values = values.replace('A', &format!("A{name}")).replace('B', &format!("B{name}"));
        let _ = writeln!(self.cpp, "{head} {name}{colon}{base} {{ {values} }};");
        Value::new(&name, rust, size)
    }

    fn pointer(&mut self, numbers: &mut Numbers, is_parameter: bool) -> Value {
        let is_const = numbers.percent(40);
        let (cpp, to) = match numbers.weighted(&[30, 15, 10, 10, 10, 25, 10]) {
            0 => {
                let value = self.scalar(numbers);
                let memory = alike(numbers, &value.memory);
                (value.cpp, if is_parameter { memory } else { value.memory })
            }
            1 => ("void".to_owned(), "u8".to_owned()),
            2 => {
                let value = self.of_vector(numbers);
                (value.cpp, value.memory)
            }
            3 => {
                // A pointer to a type that is declared but not defined.
                let name = self.name('O');
                let _ = writeln!(self.cpp, "struct {name};");
                (name.clone(), format!("kernels::{name}"))
            }
            4 => {
                let Value { cpp, memory, .. } = scalar(numbers);
                return Value::new(&format!("{cpp} **"), &format!("*mut *mut {memory}"), 8);
            }
            5 => {
                let value = self.record(numbers, 1);
                (value.cpp, value.memory)
            }
            _ if is_parameter => {
                let Value { cpp, memory, .. } = scalar(numbers);
                let count = numbers.between(2, 9);
                return Value::new(
                    &format!("{cpp} (*)[{count}]"),
                    &format!("*mut [{memory}; {count}]"),
                    8,
                );
            }
            _ => return Value::new("void *", "*mut u8", 8),
        };
        let sign = if is_parameter && cpp != "void" && numbers.percent(15) { '&' } else { '*' };
        if is_const {
            Value::new(&format!("const {cpp} {sign}"), &format!("*const {to}"), 8)
        } else {
            Value::new(&format!("{cpp} {sign}"), &format!("*mut {to}"), 8)
        }
    }

    /// Returns a record. `depth` is the number of records around this record.
    fn record(&mut self, numbers: &mut Numbers, depth: u64) -> Value {
        // Only some compilers pack a field that is not plain old data, so packed structs have no
        // such fields.
        let kinds = KINDS.map(|(kind, weight)| match kind {
            _ if self.packed > 0 && !kind.is_plain_old_data() => 0,
            _ if self.trivial > 0 && kind.is_non_trivial() => 0,
            _ => weight,
        });
        let kind = KINDS[numbers.weighted(&kinds)].0;
        let name = self.name('S');
        let mut body = Body::default();
        let (mut head, mut behind, mut base) =
            (format!("struct {name}"), String::new(), String::new());
        let (mut before, mut after, mut align) = (String::new(), "", 0);
        let (mut own, mut rust) = (name.clone(), name.clone());
        match kind {
            Kind::Struct | Kind::Empty | Kind::ZeroLength => {}
            Kind::Packed => behind = " __attribute__((packed))".to_owned(),
            Kind::Aligned => align = *numbers.pick(&[16, 32, 64]),
            Kind::Pragma => {
                before = format!("#pragma pack(push, {})\n", numbers.pick(&[2, 4]));
                after = "\n#pragma pack(pop)";
            }
            Kind::Union => head = format!("union {name}"),
            Kind::Derived => {
                let of = self.record(numbers, depth + 1);
                if !of.is_union {
                    let _ = writeln!(body.ones, "  ones(static_cast<{} &>(s));", of.cpp);
                    body.place((of.size, of.align));
                    base = format!(" : {}", of.cpp);
                }
            }
            Kind::Template => {
                let Value { cpp, size, align, .. } = scalar(numbers);
                let count = numbers.between(1, 4);
                before = "template <class T, int N> ".to_owned();
                body.text = "  T first;\n  T items[N];\n".to_owned();
                body.ones = "  ones(s.first);\n  for (auto &it : s.items) ones(it);\n".to_owned();
                body.place((size * (count + 1), align));
                own = format!("{name}<{cpp}, {count}>");
                // Debug information resolves typedefs, so the record's name in it contains `__bf16`
                // instead of `bf16_t`.
                let argument = match cpp.as_str() {
                    "bf16_t" => "__bf16",
                    "size_t" | "std::size_t" => "unsigned long",
                    "ptrdiff_t" => "long",
                    other => other,
                };
                rust = format!("{name}_{}_{count}", argument.replace(' ', "_"));
            }
            Kind::Class => {
                // Private fields are also part of the layout.
                head = format!("class {name}");
                body.text = format!("  friend void ones({name} &);\n  friend struct Layout;\n");
            }
            Kind::EmptyBases => {
                let [first, second, third] = [(); 3].map(|()| self.name('B'));
                let _ = writeln!(
                    self.cpp,
                    "struct {first} {{}};\nstruct {second} {{}};\nstruct {third} : {second} {{}};"
                );
                base = format!(" : {first}, {third}");
            }
            Kind::Destructor => body.text = format!("  __device__ ~{name}() {{}}\n"),
            Kind::TrivialAbi => {
                head = format!("struct __attribute__((trivial_abi)) {name}");
                body.text = format!("  __device__ ~{name}() {{}}\n");
            }
            Kind::Copy => {
                body.text = format!(
                    "  {name}() = default;\n  __device__ {name}(const {name} &it) {{ __builtin_memcpy(this, &it, sizeof it); }}\n"
                );
            }
            Kind::DeletedCopy => {
                body.text = format!("  {name}() = default;\n  {name}(const {name} &) = delete;\n");
            }
            Kind::Virtual => {
                body.text = "  __device__ virtual void act() {}\n".to_owned();
                body.place((8, 8));
            }
        }
        let fields = match kind {
            Kind::Template | Kind::Empty => 0,
            _ if self.is_small => numbers.between(1, 3),
            _ => numbers.between(1, 6),
        };
        let is_packed = kind == Kind::Packed;
        let has_only_trivial = is_packed || matches!(kind, Kind::Pragma | Kind::Union);
        self.packed += u64::from(is_packed);
        self.trivial += u64::from(has_only_trivial);
        for at in 0..fields {
            let before = body.ones.len();
            self.field(numbers, depth, &format!("f{at}"), kind == Kind::Union, &mut body);
            if kind == Kind::Union {
                let own = body.ones.split_off(before);
                let _ = write!(body.ones, "  add_by(s, [](auto &s) {{\n{own}  }});\n");
            }
        }
        self.packed -= u64::from(is_packed);
        self.trivial -= u64::from(has_only_trivial);
        if kind == Kind::ZeroLength {
            let Value { cpp, align, .. } = scalar(numbers);
            let _ = writeln!(body.text, "  {cpp} none[0];");
            body.place((0, align));
        }
        let Body { text, ones, size, align: natural } = body;
        if kind == Kind::Aligned {
            // The alignment is at least that of the fields.
            align = align.max(natural);
            head = format!("struct alignas({align}) {name}");
        }
        let _ = writeln!(self.cpp, "{before}{head}{base} {{\n{text}}}{behind};{after}");
        let _ = write!(self.ones, "inline void ones({own} &s) {{\n{ones}}}\n");
        let align = natural.max(align).max(1);
        let size = size.max(1).next_multiple_of(align);
        let is_union = kind == Kind::Union;
        let value = Value::record(&own, &rust, (size, align));
        Value { is_union, ..value }
    }

    fn field(
        &mut self,
        numbers: &mut Numbers,
        depth: u64,
        name: &str,
        in_union: bool,
        body: &mut Body,
    ) {
        let choice = numbers.weighted(&[34, 6, 10, 12, 8, 12, 14, 4]);
        match choice {
            // Several consecutive bit-fields share bytes.
            6 if !in_union => return bit_fields(numbers, name, body),
            7 if depth < 2 => {
                let mut inner = Body::default();
                for at in 0..numbers.between(1, 3) {
                    self.field(numbers, 2, &format!("f{at}"), false, &mut inner);
                }
                let _ = writeln!(body.text, "  struct {{\n{}  }} {name};", inner.text);
                let _ = writeln!(
                    body.ones,
                    "  set_by<decltype(s.{name})>(&s.{name}, [](auto &s) {{\n{}  (void)s;\n  }});",
                    inner.ones
                );
                return body.place((inner.size, inner.align));
            }
            _ => {}
        }
        let value = match choice {
            1 => self.enumeration(numbers),
            2 => self.pointer(numbers, false),
            3 => self.of_vector(numbers),
            5 if depth < 2 => self.record(numbers, depth + 1),
            _ => self.scalar(numbers),
        };
        let Value { cpp, size, align: value_align, .. } = value;
        let counts: Vec<u64> = match choice {
            4 if numbers.percent(25) => vec![numbers.between(1, 3), numbers.between(2, 3)],
            4 => vec![numbers.between(1, if self.is_small { 3 } else { 9 })],
            5 if numbers.percent(30) => vec![numbers.between(1, 3)],
            _ => Vec::new(),
        };
        let align = if !in_union && !self.is_small && numbers.percent(4) {
            value_align.max(32)
        } else {
            value_align
        };
        let aligned =
            if align > value_align { format!("alignas({align}) ") } else { String::new() };
        let suffix: String = counts.iter().map(|count| format!("[{count}]")).collect();
        let count: u64 = counts.iter().product();
        let _ = writeln!(body.text, "  {aligned}{cpp} {name}{suffix};");
        let _ = writeln!(
            body.ones,
            "  for (int i = 0; i < {count}; ++i) set<{cpp}>((char *)&s.{name} + i * sizeof({cpp}));"
        );
        body.place((size * count, align));
    }
}

/// The kinds of records, with their weights.
const KINDS: [(Kind, u64); 16] = [
    (Kind::Struct, 46),
    (Kind::Packed, 12),
    (Kind::Aligned, 10),
    (Kind::Pragma, 6),
    (Kind::Union, 8),
    (Kind::Derived, 8),
    (Kind::Template, 5),
    (Kind::Empty, 8),
    (Kind::Class, 2),
    (Kind::ZeroLength, 2),
    (Kind::EmptyBases, 4),
    (Kind::Destructor, 5),
    (Kind::TrivialAbi, 3),
    (Kind::Copy, 4),
    (Kind::DeletedCopy, 4),
    (Kind::Virtual, 3),
];

/// A kind of record. C++ compilers have different rules for each kind's layout, or for passing
/// records of this kind by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Struct,
    Packed,
    Aligned,
    /// A struct after `#pragma pack`.
    Pragma,
    Union,
    Derived,
    Template,
    Empty,
    Class,
    /// A struct that ends with an array without elements.
    ZeroLength,
    EmptyBases,
    Destructor,
    /// A struct with a destructor, which clang passes as if the struct had none.
    TrivialAbi,
    /// A struct with a copy constructor.
    Copy,
    DeletedCopy,
    Virtual,
}

impl Kind {
    fn is_non_trivial(self) -> bool {
        matches!(
            self,
            Self::Destructor | Self::TrivialAbi | Self::Copy | Self::DeletedCopy | Self::Virtual
        )
    }

    fn is_plain_old_data(self) -> bool {
        !self.is_non_trivial() && !matches!(self, Self::Derived | Self::Class | Self::EmptyBases)
    }
}

/// The fields of a record.
#[derive(Debug, Default)]
struct Body {
    text: String,
    /// Statements that set all bits of `s`'s fields.
    ones: String,
    size: u64,
    align: u64,
}

impl Body {
    fn place(&mut self, (size, align): (u64, u64)) {
        self.size = self.size.next_multiple_of(align.max(1)) + size;
        self.align = self.align.max(align);
    }
}

fn bit_fields(numbers: &mut Numbers, name: &str, body: &mut Body) {
    for at in 0..numbers.between(1, 4) {
        let (ty, most) = *numbers.pick(&BIT_FIELDS);
        let bits = numbers.between(1, most);
        if numbers.percent(10) {
            let _ = writeln!(body.text, "  {ty} : {};", if numbers.percent(50) { 0 } else { bits });
            body.place((most.div_ceil(8), most.div_ceil(8)));
            continue;
        }
        let _ = writeln!(body.text, "  {ty} {name}_{at} : {bits};");
        let _ = writeln!(body.ones, "  s.{name}_{at} = ({ty})-1;");
        body.place((most.div_ceil(8), most.div_ceil(8)));
    }
}

/// Returns a C++ number type that is not a class.
fn scalar(numbers: &mut Numbers) -> Value {
    of_number(*numbers.pick(&SCALARS))
}

fn of_number((cpp, rust, size): Scalar) -> Value {
    let memory = if rust == "bool" { "offload_gpu::types::Bool" } else { rust };
    Value { memory: memory.to_owned(), ..Value::new(cpp, rust, size) }
}

/// Returns a type whose values a program may pass for this Rust type. This type is often the Rust
/// type itself.
fn alike(numbers: &mut Numbers, rust: &str) -> String {
    let others = ALIKE.iter().find(|(it, _)| *it == rust).map_or(&[][..], |(_, others)| others);
    let at = numbers.below(others.len() as u64 + 1) as usize;
    others.get(at).copied().unwrap_or(rust).to_owned()
}
