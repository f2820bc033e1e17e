//! Atomic operations on NVIDIA's GPUs: instructions with an order and a scope (PTX ISA, "Memory
//! Consistency Model"). For operations that read and write, LLVM 22 omits the order and the scope.
//!
//! `SeqCst` is a fence before an instruction with a weaker order, as in CUDA's libcu++.

use super::{AtomicBits, Operation, Scope};
use core::arch::asm;
use core::cell::UnsafeCell;
use core::ops::Neg;
use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

pub(crate) const HAS_ORDERS: bool = cfg!(target_feature = "sm_70");

/// Calls the macro for an instruction with the names of the instruction's order and scope.
macro_rules! ordered {
    ($run:ident $operands:tt $order:ident $scope:ident {$($orders:pat => $name:literal,)*}) => {
        match ($order, $scope) {
            $(
                ($orders, Scope::Block) => $run!($operands $name ".cta"),
                ($orders, Scope::Device) => $run!($operands $name ".gpu"),
                ($orders, Scope::System) => $run!($operands $name ".sys"),
            )*
            _ => panic!("the operation does not have this order"),
        }
    };
}

/// Calls the macro for an instruction that reads and writes.
macro_rules! reads_and_writes {
    ($run:ident $operands:tt $order:ident $scope:ident) => {
        ordered!($run $operands $order $scope {
            Relaxed => ".relaxed",
            Acquire | SeqCst => ".acquire",
            Release => ".release",
            AcqRel => ".acq_rel",
        })
    };
}

/// Returns the result of an operation's instruction, which has this name and this type.
macro_rules! by_operation {
    ($operation:ident $operands:tt $order:ident $scope:ident {$($name:ident => $instruction:literal $ty:literal,)*}) => {
        match $operation {
            $(Operation::$name => by_operation!($operands $instruction $ty $order $scope),)*
        }
    };
    (($($operand:ident)*) $instruction:literal $ty:literal $order:ident $scope:ident) => {
        reads_and_writes!(fetch ($($operand)* $instruction $ty) $order $scope)
    };
}

macro_rules! fence {
    (() $order:literal $scope:literal) => {
        // SAFETY: the instruction orders accesses.
        unsafe { asm!(concat!("fence", $order, $scope, ";"), options(nostack, preserves_flags)) }
    };
}

macro_rules! load {
    (($cell:ident $register:ident $bits:literal) $order:literal $scope:literal) => {{
        let value;
        // SAFETY: the cell is a number that threads use atomically.
        unsafe {
            asm!(
                concat!("ld", $order, $scope, $bits, " {value}, [{cell}];"),
                value = out($register) value,
                cell = in(reg64) $cell.get(),
                options(nostack, preserves_flags),
            );
        }
        value
    }};
}

macro_rules! store {
    (($cell:ident $value:ident $register:ident $bits:literal) $order:literal $scope:literal) => {
        // SAFETY: the cell is a number that threads use atomically.
        unsafe {
            asm!(
                concat!("st", $order, $scope, $bits, " [{cell}], {value};"),
                value = in($register) $value,
                cell = in(reg64) $cell.get(),
                options(nostack, preserves_flags),
            );
        }
    };
}

macro_rules! fetch {
    (($cell:ident $value:ident $register:ident $($name:literal)*) $order:literal $scope:literal) => {{
        let old;
        // SAFETY: the cell is a number that threads use atomically.
        unsafe {
            asm!(
                concat!("atom", $order, $scope, $($name,)* " {old}, [{cell}], {value};"),
                old = out($register) old,
                value = in($register) $value,
                cell = in(reg64) $cell.get(),
                options(nostack, preserves_flags),
            );
        }
        old
    }};
}

macro_rules! compare {
    (($cell:ident $current:ident $new:ident $register:ident $bits:literal) $order:literal $scope:literal) => {{
        let old;
        // SAFETY: the cell is a number that threads use atomically.
        unsafe {
            asm!(
                concat!("atom", $order, $scope, ".cas", $bits, " {old}, [{cell}], {current}, {new};"),
                old = out($register) old,
                current = in($register) $current,
                new = in($register) $new,
                cell = in(reg64) $cell.get(),
                options(nostack, preserves_flags),
            );
        }
        old
    }};
}

#[inline(always)]
fn fence_if_sequential(order: Ordering, scope: Scope) {
    if order == SeqCst {
        ordered!(fence () order scope { SeqCst => ".sc", });
    }
}

/// Returns the order of a comparison that may fail: the combination of both orders.
#[inline(always)]
fn strongest(success: Ordering, failure: Ordering) -> Ordering {
    match (success, failure) {
        (_, Release | AcqRel) => panic!("a comparison that fails does not have this order"),
        (SeqCst, _) | (_, SeqCst) => SeqCst,
        (Relaxed, Acquire) => Acquire,
        (Release, Acquire) => AcqRel,
        _ => success,
    }
}

/// Each number with its register, and with PTX's types for its bits, sums and minima.
/// Floating-point numbers have no minima.
macro_rules! numbers {
    ($($number:ident $register:ident $bits:literal $sum:literal $least:literal $negated:ident $($to_bits:ident)?;)*) => {$(
        impl AtomicBits for $number {
            #[inline(always)]
            fn load(cell: &UnsafeCell<Self>, order: Ordering, scope: Scope) -> Self {
                fence_if_sequential(order, scope);
                ordered!(load (cell $register $bits) order scope {
                    Relaxed => ".relaxed",
                    Acquire | SeqCst => ".acquire",
                })
            }

            #[inline(always)]
            fn store(cell: &UnsafeCell<Self>, value: Self, order: Ordering, scope: Scope) {
                fence_if_sequential(order, scope);
                ordered!(store (cell value $register $bits) order scope {
                    Relaxed | SeqCst => ".relaxed",
                    Release => ".release",
                });
            }

            #[inline(always)]
            fn fetch(
                cell: &UnsafeCell<Self>,
                operation: Operation,
                value: Self,
                order: Ordering,
                scope: Scope,
            ) -> Self {
                fence_if_sequential(order, scope);
                let value =
                    if let Operation::Sub = operation { value.$negated() } else { value };
                by_operation!(operation (cell value $register) order scope {
                    Swap => ".exch" $bits,
                    Add => ".add" $sum,
                    Sub => ".add" $sum,
                    And => ".and" $bits,
                    Or => ".or" $bits,
                    Xor => ".xor" $bits,
                    Min => ".min" $least,
                    Max => ".max" $least,
                })
            }

            #[inline(always)]
            fn compare_exchange(
                cell: &UnsafeCell<Self>,
                [current, new]: [Self; 2],
                [success, failure]: [Ordering; 2],
                scope: Scope,
            ) -> Result<Self, Self> {
                let order = strongest(success, failure);
                fence_if_sequential(order, scope);
                let old: Self =
                    reads_and_writes!(compare (cell current new $register $bits) order scope);
                let is_same = old$(.$to_bits())? == current$(.$to_bits())?;
                if is_same { Ok(old) } else { Err(old) }
            }
        }
    )*};
}

numbers! {
    u32 reg32 ".b32" ".u32" ".u32" wrapping_neg;
    i32 reg32 ".b32" ".u32" ".s32" wrapping_neg;
    u64 reg64 ".b64" ".u64" ".u64" wrapping_neg;
    i64 reg64 ".b64" ".u64" ".s64" wrapping_neg;
    usize reg64 ".b64" ".u64" ".u64" wrapping_neg;
    isize reg64 ".b64" ".u64" ".s64" wrapping_neg;
    f32 reg32 ".b32" ".f32" ".s32" neg to_bits;
    f64 reg64 ".b64" ".f64" ".s64" neg to_bits;
}
