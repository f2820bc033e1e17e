//! Atomic operations with an order and a scope.

use crate::arch::{self, Operation};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;

/// A number in memory that threads read and write atomically, with the methods of `core`'s atomic
/// types.
///
/// As in `core`, each call names the order of its operation. The operation is atomic among the
/// threads of its scope `S`. The scope is the whole [`System`], with other GPUs and the CPU, unless
/// [`device`] or [`block`] chooses a smaller one. Operations with a smaller scope are faster on
/// NVIDIA's GPUs. AMD's GPUs and the CPU execute all operations for the whole system.
///
/// On NVIDIA's GPUs, rustc drops the order of operations of `core` that read and write, such as
/// [`AtomicU32::fetch_add`]. This type replaces them. It needs `sm_70` or newer: older GPUs have no
/// instructions with an order.
///
/// ```
/// use core::sync::atomic::Ordering;
/// use offload_kernel::{Atomic, block_index, grid_size, kernel, thread_index};
///
/// kernel! {
///     /// Writes the sum of all blocks' parts, in the last block that has written its part.
///     ///
///     /// # Safety
///     /// `parts` has an element for each block. `done` is 0, and `sum` has one element.
///     pub unsafe fn sum(parts: *mut u32, done: *mut u32, sum: *mut u32) {
///         let (block, blocks) = (block_index().x, grid_size().x);
///         if thread_index().x > 0 {
///             return;
///         }
///         // SAFETY: the caller guarantees the elements, and all threads use `done` atomically. A
///         // block releases its part. The last one acquires all of them.
///         unsafe {
///             *parts.add(block as usize) = block + 1;
///             let done = Atomic::from_ptr(done).device();
///             if done.fetch_add(1, Ordering::AcqRel) + 1 == blocks {
///                 *sum = (0..blocks).map(|block| *parts.add(block as usize)).sum();
///             }
///         }
///     }
/// }
/// # let [mut parts, mut done, mut total] = [0_u32; 3];
/// # unsafe { sum(&mut parts, &mut done, &mut total) };
/// # assert_eq!([done, total], [1, 1]);
/// ```
///
/// [`device`]: Atomic::device
/// [`block`]: Atomic::block
/// [`System`]: scope::System
/// [`AtomicU32::fetch_add`]: core::sync::atomic::AtomicU32::fetch_add
#[repr(transparent)]
#[derive(Debug)]
pub struct Atomic<T, S = scope::System> {
    cell: UnsafeCell<T>,
    scope: PhantomData<S>,
}

// SAFETY: all accesses of the number are atomic.
unsafe impl<T: AtomicNumber, S> Sync for Atomic<T, S> {}

/// A number type for [`Atomic`]: an integer or a floating-point number of 4 or 8 bytes.
pub trait AtomicNumber: arch::AtomicBits {}

/// An integer type for [`Atomic`].
pub trait AtomicInteger: AtomicNumber {}

macro_rules! numbers {
    ($($integer:ident)*; $($float:ident)*) => {
        $(impl AtomicInteger for $integer {})*
        $(impl AtomicNumber for $integer {})*
        $(impl AtomicNumber for $float {})*
    };
}
numbers! { u32 i32 usize isize; f32 }
#[cfg(target_has_atomic = "64")]
numbers! { u64 i64; f64 }

/// The threads among which an operation is atomic.
pub mod scope {
    use crate::arch;

    /// The threads of a block: `thread_scope_block` in CUDA, a workgroup in HIP.
    #[derive(Debug)]
    pub enum Block {}

    /// The threads of a GPU: `thread_scope_device` in CUDA, an agent in HIP.
    #[derive(Debug)]
    pub enum Device {}

    /// All threads, including those of other GPUs and of the CPU.
    #[derive(Debug)]
    pub enum System {}

    /// One of the scopes of this module.
    pub trait Scope: sealed::Scope {}

    pub(super) mod sealed {
        /// The scope as a value.
        pub trait Scope {
            const VALUE: crate::arch::Scope;
        }
    }

    macro_rules! scopes {
        ($($name:ident)*) => {$(
            impl Scope for $name {}
            impl sealed::Scope for $name {
                const VALUE: arch::Scope = arch::Scope::$name;
            }
        )*};
    }
    scopes! { Block Device System }
}

impl<T: AtomicNumber> Atomic<T> {
    /// Returns the number at a pointer.
    ///
    /// # Safety
    /// `ptr` points to a number in global or shared memory, not to a local variable of a thread. It
    /// is aligned to the number's size, and the memory is valid during `'a`. As long as threads use
    /// the number atomically, no thread accesses it otherwise. Threads that use the number at the
    /// same time are in the scope of each operation.
    #[inline(always)]
    pub const unsafe fn from_ptr<'a>(ptr: *mut T) -> &'a Self {
        const {
            assert!(
                arch::HAS_ORDERS,
                "Atomic needs sm_70 or newer. For older GPUs, put fences of core around an atomic operation of core with \
                 Ordering::Relaxed"
            );
        }
        // SAFETY: the caller guarantees the number, and this type has the number's layout.
        unsafe { &*ptr.cast() }
    }

    /// Returns the number with the scope of this GPU: operations are atomic among its threads.
    #[inline(always)]
    pub const fn device(&self) -> &Atomic<T, scope::Device> {
        self.with_scope()
    }

    /// Returns the number with the scope of this block: operations are atomic among its threads.
    #[inline(always)]
    pub const fn block(&self) -> &Atomic<T, scope::Block> {
        self.with_scope()
    }

    #[inline(always)]
    const fn with_scope<S>(&self) -> &Atomic<T, S> {
        // SAFETY: the types have the same layout.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }
}

impl<T: AtomicNumber, S: scope::Scope> Atomic<T, S> {
    /// Returns the number.
    ///
    /// # Panics
    /// `order` is `Release` or `AcqRel`.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> T {
        T::load(&self.cell, order, S::VALUE)
    }

    /// Writes `value`.
    ///
    /// # Panics
    /// `order` is `Acquire` or `AcqRel`.
    #[inline(always)]
    pub fn store(&self, value: T, order: Ordering) {
        T::store(&self.cell, value, order, S::VALUE);
    }

    /// Writes `value`, and returns the old number.
    #[inline(always)]
    pub fn swap(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Swap, value, order)
    }

    /// Writes `new` if the number has the bits of `current`. Returns the old number: as `Ok` if
    /// `new` was written, with the order `success`; otherwise as an error, with the order
    /// `failure`.
    ///
    /// # Panics
    /// `failure` is `Release` or `AcqRel`.
    ///
    /// # Errors
    /// The number does not have the bits of `current`.
    #[inline(always)]
    pub fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        T::compare_exchange(&self.cell, [current, new], [success, failure], S::VALUE)
    }

    /// Adds `value`, and returns the old number. Integer sums wrap around.
    #[inline(always)]
    pub fn fetch_add(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Add, value, order)
    }

    /// Subtracts `value`, and returns the old number. Integer differences wrap around.
    #[inline(always)]
    pub fn fetch_sub(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Sub, value, order)
    }

    #[inline(always)]
    fn fetch(&self, operation: Operation, value: T, order: Ordering) -> T {
        T::fetch(&self.cell, operation, value, order, S::VALUE)
    }
}

impl<T: AtomicInteger, S: scope::Scope> Atomic<T, S> {
    /// Writes the bits that are set in the number and in `value`, and returns the old number.
    #[inline(always)]
    pub fn fetch_and(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::And, value, order)
    }

    /// Writes the bits that are set in the number, in `value`, or in both, and returns the old
    /// number.
    #[inline(always)]
    pub fn fetch_or(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Or, value, order)
    }

    /// Writes the bits that are set in only one of the number and `value`, and returns the old
    /// number.
    #[inline(always)]
    pub fn fetch_xor(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Xor, value, order)
    }

    /// Writes the smaller of the number and `value`, and returns the old number.
    #[inline(always)]
    pub fn fetch_min(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Min, value, order)
    }

    /// Writes the larger of the number and `value`, and returns the old number.
    #[inline(always)]
    pub fn fetch_max(&self, value: T, order: Ordering) -> T {
        self.fetch(Operation::Max, value, order)
    }
}
