//! Kernels that the program chooses by name at run time: the `named` function of
//! `include_kernels!`, and calls whose arguments are checked against the source at run time.

mod error;
mod table;

pub use error::CallError;
pub use table::{NamedGroup, NamedKernels, NamedTable, named, wanted};

#[cfg(feature = "run")]
use super::BufferDevices;
#[cfg(feature = "cudarc")]
use super::BufferEvent;
use super::{Passed, Stored, store};
use crate::pack::{Form, Kernel, Module, Plain};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::any::{Any, TypeId, type_name};
use core::ffi::c_void;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;
use table::Entry;

/// A kernel found by its name, with the `named` function of
/// [`include_kernels!`](crate::include_kernels).
///
/// The handle is small and `Copy`: keep it for further launches. Pass the arguments as a tuple or
/// one by one:
///
/// ```
/// # use offload_gpu::{CallError, NamedKernel, DeviceBuffer};
/// # mod kernels {
/// #     pub fn named(_: &str) -> Result<offload_gpu::NamedKernel, offload_gpu::CallError> { todo!() }
/// # }
/// # fn example(dtype: &str, x: *const f32, mut y: *mut f32) -> Result<(), CallError> {
/// let kernel = kernels::named(&format!("affine_{dtype}"))?; // or the nearest names
/// let call = kernel.call((1000, 2.0_f32, x, y))?;
/// let same = kernel.arg(1000)?.arg(2.0_f32)?.arg(x)?.arg(y)?;
/// # Ok(()) }
/// ```
///
/// Launch the result like the [`Call`](super::Call) from the kernel's function. A `NamedKernel`
/// accepts the same arguments as that function; for any other argument, the error names the
/// parameter and both types. The compiler does not know the parameters, so write the type of a
/// number (`2.0_f32`) or convert it (`n as i32`).
///
/// Arguments of existing launches through cudarc need no change. For a pointer parameter, a `usize`
/// or `u64` with the value 0 is a null pointer. With the `cudarc` feature, any `u64` is accepted as
/// an address, like `CUdeviceptr`, and `&CudaSlice` may also be passed for memory that the kernel
/// writes; like cudarc's own launches, the launch then records a read.
#[derive(Clone, Copy)]
pub struct NamedKernel<F: Form = Plain> {
    module: Module<'static, F>,
    entry: &'static Entry,
    group: &'static NamedGroup,
}

impl<F: Form> NamedKernel<F> {
    /// Returns the name of the kernel's function in the module of kernels.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Returns the kernel, with its name in the images.
    pub fn kernel(&self) -> Kernel<'static, F> {
        crate::pack::kernel(self.module, self.entry.symbol)
    }

    /// Passes all arguments, as a tuple: `(n, 2.0_f32, &x, &mut y)`, or `(n,)` for one.
    ///
    /// Returns an error if the number of arguments or any type differs from the source.
    pub fn call(self, arguments: impl Arguments) -> Result<NamedCall<F>, CallError> {
        arguments.pass_to(self)
    }

    /// Passes the first argument; [`NamedCall::arg`] passes the others.
    ///
    /// Returns an error if the kernel has no parameters, or if the argument does not fit the first
    /// parameter.
    pub fn arg(self, argument: impl AnyArgument) -> Result<NamedCall<F>, CallError> {
        self.without_arguments().arg(argument)
    }

    fn without_arguments(self) -> NamedCall<F> {
        let memory = Box::new_uninit_slice(self.group.bytes + (ALIGN - 1));
        NamedCall {
            kernel: self,
            count: 0,
            addresses: 0,
            memory,
            #[cfg(feature = "run")]
            devices: BufferDevices::NONE,
            #[cfg(feature = "cudarc")]
            events: Vec::new(),
        }
    }

    /// Returns the error for this number of arguments.
    #[cold]
    fn wrong_count(&self, passed: usize) -> CallError {
        let Entry { name: kernel, place, parameters, .. } = self.entry;
        let expected = self.group.arguments.len();
        CallError::Count { kernel, place, parameters, expected, passed }
    }
}

impl<F: Form> fmt::Debug for NamedKernel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedKernel")
            .field("name", &self.entry.name)
            .field("module", &self.module.name())
            .finish_non_exhaustive()
    }
}

/// The alignment of the arguments, which is the greatest of any OpenCL type.
const ALIGN: usize = 128;

/// A call to a [`NamedKernel`] with the arguments passed so far.
///
/// Each argument is passed before the next one is evaluated. An argument may therefore use a buffer
/// that an earlier argument borrows mutably, which Rust does not allow within one function call:
///
/// ```
/// # use offload_gpu::{CallError, DeviceBuffer, NamedKernel};
/// # struct Buffer(Vec<f32>);
/// # impl Buffer { fn len(&self) -> usize { self.0.len() } }
/// # impl DeviceBuffer for Buffer {
/// #     type Item = f32;
/// #     fn device_address(&self) -> *const f32 { self.0.as_ptr() }
/// # }
/// # fn example(fill: NamedKernel, mut out: Buffer) -> Result<(), CallError> {
/// let call = fill.arg(&mut out)?.arg(out.len() as u64)?;
/// # Ok(()) }
/// ```
///
/// With a tuple, or with the kernel's function, `out` stays borrowed until all arguments are
/// evaluated:
///
/// ```compile_fail,E0502
/// # use offload_gpu::{CallError, DeviceBuffer, NamedKernel};
/// # struct Buffer(Vec<f32>);
/// # impl Buffer { fn len(&self) -> usize { self.0.len() } }
/// # impl DeviceBuffer for Buffer {
/// #     type Item = f32;
/// #     fn device_address(&self) -> *const f32 { self.0.as_ptr() }
/// # }
/// # fn example(fill: NamedKernel, mut out: Buffer) -> Result<(), CallError> {
/// let call = fill.call((&mut out, out.len() as u64))?; // `let n = out.len() as u64;` before it
/// # Ok(()) }
/// ```
pub struct NamedCall<F: Form = Plain> {
    kernel: NamedKernel<F>,
    /// The number of arguments passed so far.
    count: usize,
    /// A bit for each of the first 64 arguments: set if the argument is an address.
    pub(crate) addresses: u64,
    /// The arguments, starting at the first address aligned to `ALIGN`.
    memory: Box<[MaybeUninit<u8>]>,
    /// The devices of the arguments that are buffers.
    #[cfg(feature = "run")]
    pub(crate) devices: BufferDevices,
    /// The events of the arguments that are cudarc buffers.
    #[cfg(feature = "cudarc")]
    pub(crate) events: Vec<Option<BufferEvent>>,
}

impl<F: Form> NamedCall<F> {
    /// Passes the next argument.
    ///
    /// Returns an error if the kernel has no more parameters, or if the argument does not fit the
    /// next parameter.
    pub fn arg<A: AnyArgument>(mut self, argument: A) -> Result<Self, CallError> {
        if self.set(argument) { Ok(self) } else { Err(self.refusal(type_name::<A>())) }
    }

    /// Passes the next argument. Returns false if the argument does not fit.
    fn set<A: AnyArgument>(&mut self, argument: A) -> bool {
        let number = self.count;
        let Some((offset, wanted)) = self.kernel.group.arguments.get(number) else { return false };
        let wanted = wanted();
        #[cfg(not(feature = "cudarc"))]
        let fits = A::Value::fits(wanted.id);
        #[cfg(feature = "cudarc")]
        let fits =
            A::Value::fits(wanted.id) || A::IS_OF_CUDARC && A::Value::fits_mutable(wanted.id);
        // If an argument does not fit, convert it only if it is a number, which may be an address.
        // Converting a cudarc buffer orders streams, even if the buffer is rejected afterwards.
        let number_types = [TypeId::of::<usize>(), TypeId::of::<u64>()];
        let may_be_address =
            wanted.is_pointer() && number_types.contains(&TypeId::of::<A::Value>());
        if !fits && !may_be_address {
            return false;
        }
        #[cfg(not(feature = "run"))]
        let value = argument.pass();
        #[cfg(feature = "run")]
        let value = argument.pass_noting(number, &mut self.devices);
        #[cfg(feature = "cudarc")]
        self.events.extend(self.devices.event.take().map(Some));
        if !fits && !is_address(&value) {
            return false;
        }
        let start = self.padding() + offset;
        store(&mut self.memory[start..], value);
        let bit = if fits { A::Value::address_bit } else { <*const c_void>::address_bit };
        self.addresses |= bit(number);
        self.count += 1;
        true
    }

    /// Returns why an argument of this type cannot be passed as the next one.
    #[cold]
    fn refusal(&self, passed: &'static str) -> CallError {
        let Entry { name: kernel, place, .. } = self.kernel.entry;
        let Some((_, wanted)) = self.kernel.group.arguments.get(self.count) else {
            return self.kernel.wrong_count(self.count + 1);
        };
        let parameter = self.kernel.entry.parameter(self.count);
        let (number, expected) = (self.count + 1, wanted().name);
        CallError::Argument { kernel, place, number, parameter, expected, passed }
    }

    /// The number of bytes before the first argument.
    fn padding(&self) -> usize {
        self.memory.as_ptr().addr().wrapping_neg() % ALIGN
    }

    /// Returns an error if arguments are missing.
    fn complete(&self) -> Result<(), CallError> {
        if self.count == self.len() {
            return Ok(());
        }
        Err(self.kernel.wrong_count(self.count))
    }

    /// Returns the address of the first argument; the others follow at their offsets.
    fn start(&self) -> *const u8 {
        self.memory[self.padding()..].as_ptr().cast()
    }

    /// Returns the number of the kernel's parameters.
    pub(crate) fn len(&self) -> usize {
        self.kernel.group.arguments.len()
    }

    /// Writes the address of each argument to `pointers`, which has an element for each parameter.
    ///
    /// Returns an error if arguments are missing.
    pub(crate) fn write_pointers(&self, pointers: &mut [*mut c_void]) -> Result<(), CallError> {
        self.complete()?;
        let start = self.start().cast_mut();
        for (pointer, (offset, _)) in pointers.iter_mut().zip(self.kernel.group.arguments) {
            *pointer = start.wrapping_add(*offset).cast();
        }
        Ok(())
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> Kernel<'static, F> {
        self.kernel.kernel()
    }

    /// Returns the address of each argument, in order, like
    /// [`Call::pointers`](super::Call::pointers). The addresses are in memory that this call owns.
    /// The call may be moved, but must live until the launch has returned.
    ///
    /// Returns an error if arguments are missing.
    pub fn pointers(&self) -> Result<Vec<*mut c_void>, CallError> {
        let mut pointers = vec![ptr::null_mut(); self.len()];
        self.write_pointers(&mut pointers)?;
        Ok(pointers)
    }

    /// Returns the address and the size in bytes of the memory that contains all arguments, like
    /// [`Call::buffer`](super::Call::buffer).
    ///
    /// Returns an error if arguments are missing, or if the offsets of the arguments differ between
    /// images; [`NamedCall::pointers`] works for all images.
    pub fn buffer(&self) -> Result<(*const c_void, usize), CallError> {
        self.complete()?;
        if !self.kernel.group.has_buffer {
            let Entry { name: kernel, place, .. } = self.kernel.entry;
            return Err(CallError::Offsets { kernel, place });
        }
        Ok((self.start().cast(), self.kernel.group.bytes))
    }
}

impl<F: Form> fmt::Debug for NamedCall<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedCall")
            .field("kernel", &self.kernel)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// Returns whether a number may be passed as an address. Programs that launch through cudarc pass
/// addresses as `u64`, and 0 as the null pointer.
#[inline]
fn is_address(value: &dyn Any) -> bool {
    const HAS_SIZE: bool = size_of::<u64>() == size_of::<usize>();
    let is_address = |number: &u64| *number == 0 || cfg!(feature = "cudarc");
    value.downcast_ref::<usize>() == Some(&0)
        || HAS_SIZE && value.downcast_ref::<u64>().is_some_and(is_address)
}

/// A value that some kernel accepts: [`NamedKernel`] compares its type with the kernel's parameter
/// at run time. Every type that implements [`Argument`](super::Argument) for some type implements
/// this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to any kernel",
    label = "not a number, a pointer, a buffer or a struct of the kernels",
    note = "the documentation of `offload_gpu::Argument` lists the types that can be passed"
)]
pub trait AnyArgument: Passed<Value: 'static> {}

#[diagnostic::do_not_recommend]
impl<A: Passed<Value: 'static>> AnyArgument for A {}

/// All arguments of a kernel, as a tuple of up to 32 elements. Pass more arguments with
/// [`NamedKernel::arg`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of arguments",
    label = "expected a tuple of arguments",
    note = "write `(n, &x)`, or `(n,)` for one argument; pass more than 32 arguments one by one, \
            with `arg`"
)]
pub trait Arguments {
    /// Passes the arguments to a kernel.
    #[doc(hidden)]
    fn pass_to<F: Form>(self, kernel: NamedKernel<F>) -> Result<NamedCall<F>, CallError>;
}

macro_rules! impl_arguments {
    ($($argument:ident)*) => {
        impl<$($argument: AnyArgument),*> Arguments for ($($argument,)*) {
            fn pass_to<F: Form>(self, kernel: NamedKernel<F>) -> Result<NamedCall<F>, CallError> {
                const COUNT: usize = 0 $(+ { let _ = stringify!($argument); 1 })*;
                if COUNT != kernel.group.arguments.len() {
                    return Err(kernel.wrong_count(COUNT));
                }
                #[allow(non_snake_case)]
                let ($($argument,)*) = self;
                #[allow(unused_mut)]
                let mut call = kernel.without_arguments();
                $(if !call.set($argument) {
                    return Err(call.refusal(type_name::<$argument>()));
                })*
                Ok(call)
            }
        }
    };
    (each: $($argument:ident)*) => { impl_arguments! { @ [] $($argument)* } };
    (@ [$($before:ident)*]) => { impl_arguments! { $($before)* } };
    (@ [$($before:ident)*] $next:ident $($after:ident)*) => {
        impl_arguments! { $($before)* }
        impl_arguments! { @ [$($before)* $next] $($after)* }
    };
}

impl_arguments! { each: A B C D E G H I J K L M N O P Q R S T U V W X Y Z AA BB CC DD EE GG HH }

#[cfg(test)]
mod tests;
