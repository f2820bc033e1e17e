//! Reads and writes the variables of loaded modules.

use super::backend::Place;
use super::buffer::BufferItem;
use super::context::LoadedModule;
use super::device::Device;
use super::error::{Result, RunError};
use super::loaded::Loaded;
use crate::pack::{Form, Module};
use crate::variable::Variable;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::ToString;
use core::ffi::c_void;
use core::mem::{self, MaybeUninit};
use core::{any, ptr, slice};

/// Access to the variable on a device. Each method loads the module first if necessary.
///
/// Each device has its own copy of the variable, and so does each context of
/// [`Device::from_cuda_context`]. A copy starts with the value in the source, and lives as long as
/// the [`Device`]. If several modules of a pack have the variable, each has its own copy, whose
/// constant is in the Rust module with the module's name.
///
/// Like a [`Buffer`](super::Buffer)'s methods, reads and writes wait for earlier launches on the
/// device's default stream, and return when the values are copied. Later launches on the default
/// stream see the values. To order a read or a write after kernels on other streams, call
/// [`Device::synchronize`] first. On the CPU, a launch returns only after the kernel has run. Reads
/// and writes by several threads run one after another.
///
/// The caller of the `unsafe` launch guarantees that variables are not copied while a kernel uses
/// them.
impl<T: Copy, Item: BufferItem, F: Form> Variable<'_, T, Item, F> {
    /// Copies a value to the variable: `cudaMemcpyToSymbol`.
    ///
    /// Returns an error if the module cannot be loaded on this device, if the image lacks the
    /// variable, if the sizes differ, or if the device fails.
    pub fn write(&self, device: &Device, value: &T) -> Result<()> {
        let bytes = bytes(slice::from_ref(value));
        // SAFETY: `copy` checks that the variable is at least as large as the value.
        self.copy(device, |place| unsafe { device.0.backend.upload(place.start, bytes) })
    }

    /// Copies the value of the variable from the device: `cudaMemcpyFromSymbol`. For an array that
    /// is too large for the stack, [`read_at`](Self::read_at) fills a slice.
    ///
    /// Returns an error in the same cases as [`write`](Self::write).
    pub fn read(&self, device: &Device) -> Result<T> {
        let mut value = MaybeUninit::<T>::uninit();
        let to = value.as_mut_ptr().cast();
        let size = size_of::<T>();
        // SAFETY: the source and the destination have this many bytes.
        self.copy(device, |place| unsafe { device.0.backend.download(to, place.start, size) })?;
        // SAFETY: all bytes were copied. `T` is an item or an array of items, for which any bytes
        // are valid values.
        Ok(unsafe { value.assume_init() })
    }

    /// Returns the address of the variable's first item on the device: `cudaGetSymbolAddress`. Pass
    /// the address to a kernel, or to other libraries, for example for copies on a stream. The
    /// address is valid as long as the [`Device`] exists.
    ///
    /// Returns an error in the same cases as [`write`](Self::write).
    pub fn address(&self, device: &Device) -> Result<*mut Item> {
        let mut address = ptr::null_mut();
        self.copy(device, |place| {
            address = place.start.0.cast();
            Ok(())
        })?;
        Ok(address)
    }

    /// Loads the module, finds the variable, and calls `copy` while no other copy runs.
    fn copy(&self, device: &Device, copy: impl FnOnce(&Place) -> Result<()>) -> Result<()> {
        let copied = || {
            let module = device.0.module(&self.module())?;
            let place = find(device, &module, self.symbol())?;
            let bytes = size_of::<T>();
            let found = place.size;
            if bytes > found || (bytes < found && !place.may_be_smaller) {
                let attempted = format!("use the variable {}", self.symbol());
                let why = format!(
                    "it is {found} bytes in the {} {}, but {bytes} bytes as `{}`",
                    module.image.target(),
                    module.image.kind(),
                    any::type_name::<T>()
                );
                return Err(RunError::refused(attempted, why).advice(
                    "The variable's type must match the source and be the same for all targets.",
                ));
            }
            // On the CPU, concurrent copies would be a data race.
            let _copying = module.copying();
            copy(&place)
        };
        copied().map_err(|error| error.on(|| device.to_string()))
    }
}

/// Access to part of an array. `first` is the index of the first element; elements may be arrays.
impl<E: Copy, const N: usize, Item: BufferItem, F: Form> Variable<'_, [E; N], Item, F> {
    /// Copies these values to the array, starting at the element `first`.
    ///
    /// Returns an error in the same cases as [`write`](Self::write).
    ///
    /// # Panics
    /// Panics if the range is out of bounds.
    pub fn write_at(&self, device: &Device, first: usize, values: &[E]) -> Result<()> {
        let offset = offset::<E, N>(first, values.len());
        let bytes = bytes(values);
        // SAFETY: the array has these elements, so the bytes are inside the variable.
        self.copy(device, |place| unsafe { device.0.backend.upload(place.at(offset), bytes) })
    }

    /// Fills `into` with the array's elements, starting at the element `first`.
    ///
    /// Returns an error in the same cases as [`write`](Self::write).
    ///
    /// # Panics
    /// Panics if the range is out of bounds.
    pub fn read_at(&self, device: &Device, first: usize, into: &mut [E]) -> Result<()> {
        let offset = offset::<E, N>(first, into.len());
        let (to, size) = (into.as_mut_ptr().cast(), mem::size_of_val(into));
        // SAFETY: the array has these elements, so the bytes are inside the variable. `E` is an
        // item or an array of items, for which any bytes are valid values.
        self.copy(device, |place| unsafe { device.0.backend.download(to, place.at(offset), size) })
    }
}

impl<'pack, F: Form> Module<'pack, F> {
    /// Returns the variable with this name. Use this method for variables without a constant: those
    /// in files embedded by their paths, and those of unknown type. `name` is the name in the
    /// images, which is mangled for a C++ variable in a namespace.
    ///
    /// Using the variable is an error if its size in the image differs from the size of `T`.
    ///
    /// ```
    /// # use offload_gpu::{KernelPack, run::{Device, RunError}};
    /// # fn example(pack: &'static KernelPack, device: &Device) -> Result<(), RunError> {
    /// // __constant__ int limits[2];
    /// let limits = pack.module("math").variable::<[i32; 2]>("limits");
    /// limits.write(device, &[0, 255])?;
    /// # Ok(())
    /// # }
    /// ```
    pub const fn variable<T: BufferItem>(&self, name: &'pack str) -> Variable<'pack, T, T, F> {
        // SAFETY: the value is one item.
        unsafe { Variable::new(*self, name) }
    }
}

impl Loaded {
    /// Returns the address and the size in bytes of a variable on the device, for other libraries.
    /// `name` is the name in the images. The address is valid as long as the [`Device`] exists.
    ///
    /// Returns an error if the image has no such variable.
    #[inline]
    pub fn raw_variable(&self, name: &str) -> Result<(*mut c_void, usize)> {
        let found = find(self.device(), self.module(), name);
        let place = found.map_err(|error| error.on(|| self.device().to_string()))?;
        Ok((place.start.0, place.size))
    }
}

#[inline]
fn find(device: &Device, module: &LoadedModule, name: &str) -> Result<Place> {
    let attempted = || {
        let image = &module.image;
        format!("find the variable {name} in the {} {}", image.target(), image.kind())
    };
    let c_name = CString::new(name)
        .map_err(|_| RunError::refused(attempted(), "its name contains a NUL"))?;
    device.0.backend.variable(module.handle, &c_name, &attempted)
}

/// Returns the offset in bytes of an element.
///
/// # Panics
/// Panics if an array of `N` elements does not have `count` elements from `first` on.
#[track_caller]
fn offset<E, const N: usize>(first: usize, count: usize) -> usize {
    assert!(
        first.checked_add(count).is_some_and(|end| end <= N),
        "the variable has {N} elements, but the copy needs {count} from element {first} on"
    );
    first * size_of::<E>()
}

/// Returns the bytes of values. Padding may be uninitialized.
fn bytes<T: Copy>(values: &[T]) -> &[MaybeUninit<u8>] {
    // SAFETY: the slice has this many bytes, and the result borrows it.
    unsafe { slice::from_raw_parts(values.as_ptr().cast(), mem::size_of_val(values)) }
}
