//! Atomic operations on all targets except NVIDIA's GPUs: the operations of `core`, for the whole
//! system.

use super::{AtomicBits, Operation, Scope};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicI32, AtomicIsize, AtomicU32, AtomicUsize, Ordering};
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::{AtomicI64, AtomicU64};

pub(crate) const HAS_ORDERS: bool = true;

macro_rules! integers {
    ($($integer:ident $atomic:ident;)*) => {$(
        impl AtomicBits for $integer {
            #[inline(always)]
            fn load(cell: &UnsafeCell<Self>, order: Ordering, _: Scope) -> Self {
                // SAFETY: threads use the number atomically.
                unsafe { $atomic::from_ptr(cell.get()) }.load(order)
            }

            #[inline(always)]
            fn store(cell: &UnsafeCell<Self>, value: Self, order: Ordering, _: Scope) {
                // SAFETY: threads use the number atomically.
                unsafe { $atomic::from_ptr(cell.get()) }.store(value, order);
            }

            #[inline(always)]
            fn fetch(
                cell: &UnsafeCell<Self>,
                operation: Operation,
                value: Self,
                order: Ordering,
                _: Scope,
            ) -> Self {
                // SAFETY: threads use the number atomically.
                let number = unsafe { $atomic::from_ptr(cell.get()) };
                match operation {
                    Operation::Swap => number.swap(value, order),
                    Operation::Add => number.fetch_add(value, order),
                    Operation::Sub => number.fetch_sub(value, order),
                    Operation::And => number.fetch_and(value, order),
                    Operation::Or => number.fetch_or(value, order),
                    Operation::Xor => number.fetch_xor(value, order),
                    Operation::Min => number.fetch_min(value, order),
                    Operation::Max => number.fetch_max(value, order),
                }
            }

            #[inline(always)]
            fn compare_exchange(
                cell: &UnsafeCell<Self>,
                [current, new]: [Self; 2],
                [success, failure]: [Ordering; 2],
                _: Scope,
            ) -> Result<Self, Self> {
                // SAFETY: threads use the number atomically.
                let number = unsafe { $atomic::from_ptr(cell.get()) };
                number.compare_exchange(current, new, success, failure)
            }
        }
    )*};
}

integers! { u32 AtomicU32; i32 AtomicI32; usize AtomicUsize; isize AtomicIsize; }
#[cfg(target_has_atomic = "64")]
integers! { u64 AtomicU64; i64 AtomicI64; }

macro_rules! floats {
    ($float:ident $bits:ident) => {
        impl AtomicBits for $float {
            #[inline(always)]
            fn load(cell: &UnsafeCell<Self>, order: Ordering, scope: Scope) -> Self {
                Self::from_bits($bits::load(bits(cell), order, scope))
            }

            #[inline(always)]
            fn store(cell: &UnsafeCell<Self>, value: Self, order: Ordering, scope: Scope) {
                $bits::store(bits(cell), value.to_bits(), order, scope);
            }

            #[inline(always)]
            fn fetch(
                cell: &UnsafeCell<Self>,
                operation: Operation,
                value: Self,
                order: Ordering,
                scope: Scope,
            ) -> Self {
                let mut old = Self::load(cell, Ordering::Relaxed, scope);
                loop {
                    let new = match operation {
                        Operation::Add => old + value,
                        Operation::Sub => old - value,
                        _ => value,
                    };
                    let orders = [order, Ordering::Relaxed];
                    match Self::compare_exchange(cell, [old, new], orders, scope) {
                        Ok(old) => return old,
                        Err(other) => old = other,
                    }
                }
            }

            #[inline(always)]
            fn compare_exchange(
                cell: &UnsafeCell<Self>,
                values: [Self; 2],
                orders: [Ordering; 2],
                scope: Scope,
            ) -> Result<Self, Self> {
                let values = values.map(Self::to_bits);
                $bits::compare_exchange(bits(cell), values, orders, scope)
                    .map(Self::from_bits)
                    .map_err(Self::from_bits)
            }
        }
    };
}
floats! { f32 u32 }
#[cfg(target_has_atomic = "64")]
floats! { f64 u64 }

/// Returns the bits of a floating-point number.
fn bits<F, B>(cell: &UnsafeCell<F>) -> &UnsafeCell<B> {
    const { assert!(size_of::<F>() == size_of::<B>()) };
    // SAFETY: both are numbers of the same size.
    unsafe { &*cell.get().cast() }
}
