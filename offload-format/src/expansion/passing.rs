//! How the C++ of a CPU passes the parameters of kernels, and what Rust passes there.
//!
//! | C++ passes | Rust passes |
//! |---|---|
//! | a number, a pointer, a struct as C does | the same type |
//! | the address of a copy, for classes that are no plain bytes | the address of a copy |
//! | nothing, for an empty class on x86-64 | nothing |
//! | a record in memory, since it does not fit into registers | a struct of the same size, in memory too |
//! | anything else in registers | nothing: such kernels cannot be launched on the CPU |
//!
//! Source: the Itanium C++ ABI, 3.1.2.3 "Non-Trivial Parameters"; the System V ABI for x86-64,
//! 3.2.3 "Parameter Passing"; the Procedure Call Standard for the Arm 64-bit Architecture, 6.8.2.

use crate::signature::{Content, Passing, Record, Scalar, Type};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// How Rust passes a parameter to C++.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Passed {
    /// As the value.
    Value,
    /// As the address of a copy.
    Address,
    /// Not at all, if the CPU passes nothing for an empty class, which `what` describes.
    Nothing { what: String },
    /// As the value, if the CPU gets records of `bytes` bytes in memory. Otherwise, and if `bytes`
    /// is 0, Rust cannot pass the parameter, which `what` describes.
    InMemory { bytes: u64, what: String },
}

impl Passed {
    /// Returns the word for `cpu_call!`.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Value | Self::InMemory { .. } => "value",
            Self::Address => "address",
            Self::Nothing { .. } => "nothing",
        }
    }

    /// Returns the list of parameters that Rust can pass only on some CPUs, as Rust code.
    pub(super) fn conditions(all: &[Self]) -> String {
        let item = |it: &Self| match it {
            Self::Value | Self::Address => None,
            Self::Nothing { what } => Some(format!("(__offload::PassedIf::Empty, {what:?}),")),
            Self::InMemory { bytes, what } => {
                Some(format!("(__offload::PassedIf::InMemory({bytes}), {what:?}),"))
            }
        };
        all.iter().filter_map(item).collect()
    }
}

/// Returns how a parameter of this type is passed.
pub(super) fn passed(ty: &Type, records: &[Record]) -> Passed {
    let never = |what: &str| Passed::InMemory { bytes: 0, what: what.to_owned() };
    match ty {
        Type::Scalar(Scalar::F16 | Scalar::Bf16) => never("a 16-bit floating-point number"),
        Type::Scalar(_) | Type::Pointer { .. } | Type::Void => Passed::Value,
        // Compilers differ in whether such an array changes the registers of a struct.
        Type::Array { count: 0, .. } => never("an array without elements"),
        Type::Array { of, .. } => passed(of, records),
        Type::Record(name) => match records.iter().find(|record| record.name == *name) {
            Some(record) => passed_record(record, records),
            None => never(name),
        },
    }
}

fn passed_record(record: &Record, records: &[Record]) -> Passed {
    let what = |why: &str| format!("`{}`, which {why}", record.source_name);
    let (registers, why) = match (record.passing, &record.content) {
        (Passing::Address, _) => return Passed::Address,
        // Compilers differ in how they pass a larger one.
        (Passing::Nothing, _)
            if record.size.is_some_and(|size| size.bytes <= Passing::IN_REGISTERS) =>
        {
            return Passed::Nothing { what: what("is empty") };
        }
        (Passing::Nothing, _) => return Passed::InMemory { bytes: 0, what: what("is empty") },
        (Passing::Vector { bytes }, _) => {
            (bytes.max(Passing::IN_REGISTERS), "is or contains a vector".to_owned())
        }
        (Passing::Fields, Content::Opaque | Content::Differs) => {
            (Passing::IN_REGISTERS, "is a union, or has another layout that Rust lacks".to_owned())
        }
        (Passing::Fields, Content::Fields(fields) | Content::Packed(fields)) => {
            let unlike = fields.iter().find_map(|field| match passed(&field.ty, records) {
                Passed::Value => None,
                Passed::Address => Some("a class that C++ passes by its address".to_owned()),
                Passed::Nothing { what } | Passed::InMemory { what, .. } => Some(what),
            });
            match unlike {
                None => return Passed::Value,
                Some(what) => (Passing::IN_REGISTERS, format!("contains {what}")),
            }
        }
    };
    let bytes = record.size.map(|size| size.bytes).filter(|bytes| *bytes > registers);
    Passed::InMemory { bytes: bytes.unwrap_or(0), what: what(&why) }
}
