//! Contexts on devices, and the modules loaded in them, for all vendors.

use super::backend::{Backend, Handle, LoadableImage};
use super::error::{Cause, Result, RunError};
use super::launch::DeviceLimits;
use crate::call::DeviceId;
use crate::pack::{Compressed, Form, Kernel, Module, PackImage};
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;
use offload_format::select::DeviceInfo;
use offload_format::target::Vendor;
use offload_pack::pack_index::Limits;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// A device with a context on it.
pub(super) struct Context {
    pub(super) vendor: Vendor,
    pub(super) ordinal: i32,
    pub(super) product: String,
    pub(super) info: DeviceInfo,
    pub(super) memory: Option<u64>,
    pub(super) limits: DeviceLimits,
    /// `None` for the device's own context, which all libraries of a program share.
    pub(super) foreign: Option<ForeignContext>,
    pub(super) backend: Box<dyn Backend>,
    pub(super) modules: Modules,
}

/// The modules loaded in a context; initially empty.
#[derive(Default)]
pub(super) struct Modules(RwLock<Sorted<ModuleKey, Arc<Slot>>>);

/// Key-value pairs, sorted by key. A sorted vector needs less code: a hash table would make up a
/// tenth of the code that rustc compiles for this module.
type Sorted<K, V> = Vec<(K, V)>;

/// A context that another library created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ForeignContext {
    pub(super) handle: Handle,
    /// The context's ID in the process, if the driver has such IDs. A later context can have the
    /// same handle, but never the same ID.
    pub(super) id: Option<u64>,
}

/// A module's key, unique in a program: the address of its pack's bytes, and its name.
type ModuleKey = (usize, &'static str);

/// The slot for a module, empty until the module is loaded. If two threads request the same module,
/// the second waits until the first has loaded it.
type Slot = Mutex<Option<Arc<LoadedModule>>>;

/// A module that is loaded in a context.
pub(super) struct LoadedModule {
    pub(super) handle: Handle,
    /// The image, with a type that does not depend on the form of its pack.
    pub(super) image: PackImage<Compressed>,
    kernels: RwLock<Sorted<String, LoadedKernel>>,
    /// Locked while the program copies to or from a variable.
    copies: Mutex<()>,
}

impl LoadedModule {
    /// Locks out other threads' copies of the module's variables as long as the result exists.
    pub(super) fn copying(&self) -> MutexGuard<'_, ()> {
        lock(&self.copies)
    }
}

/// A kernel of a loaded module.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadedKernel {
    pub(super) handle: Handle,
    pub(super) limits: Limits,
    /// How many bytes of dynamic shared memory the driver already allows for this kernel.
    shared_memory: usize,
}

/// The contexts in use, so that all requests for a device share one context.
static CONTEXTS: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// Locks a mutex. The mutex's value is valid even if a thread panicked while it held the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the device's context if one is in use, or creates a new context.
pub(super) fn shared(
    vendor: Vendor,
    ordinal: i32,
    foreign: Option<ForeignContext>,
    new: &dyn Fn() -> Result<Context>,
) -> Result<Arc<Context>> {
    let mut contexts = lock(&CONTEXTS);
    contexts.retain(|context| context.strong_count() > 0);
    let same = |context: &Arc<Context>| {
        (context.vendor, context.ordinal, context.foreign) == (vendor, ordinal, foreign)
    };
    if let Some(found) = contexts.iter().filter_map(Weak::upgrade).find(same) {
        return Ok(found);
    }
    let context = Arc::new(new()?);
    contexts.push(Arc::downgrade(&context));
    Ok(context)
}

/// Returns the contexts of all devices of a vendor, in order.
///
/// Returns an error message if one of them cannot be opened.
pub(super) fn all_shared(
    vendor: Vendor,
    count: i32,
    open: &dyn Fn(i32) -> Result<Context>,
) -> core::result::Result<Vec<Arc<Context>>, String> {
    let mut contexts = Vec::new();
    for ordinal in 0..count {
        let context = shared(vendor, ordinal, None, &|| open(ordinal));
        contexts.push(context.map_err(|error| error.to_string())?);
    }
    Ok(contexts)
}

/// Returns a name's index in a sorted list; the error is the index at which to insert the name.
fn place<V>(sorted: &Sorted<String, V>, name: &str) -> core::result::Result<usize, usize> {
    sorted.binary_search_by(|(key, _)| key.as_str().cmp(name))
}

impl Context {
    pub(super) fn id(&self) -> DeviceId {
        DeviceId::new(self.vendor, self.ordinal)
    }

    /// Returns the loaded module. The first call loads it.
    pub(super) fn module<F: Form>(&self, module: &Module<'_, F>) -> Result<Arc<LoadedModule>> {
        let slot = match module.key() {
            Some(key) if self.vendor.is_gpu() || module.is_trusted() => self.slot(key),
            // `load` will return the reason why this module cannot be loaded. Its slot must not be
            // shared, since a program may embed the same file twice but trust it only once.
            _ => Arc::default(),
        };
        let mut slot = lock(&slot);
        if let Some(loaded) = &*slot {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(self.load(module)?);
        *slot = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Returns the slot of the module with this key.
    #[inline]
    fn slot(&self, key: ModuleKey) -> Arc<Slot> {
        let place = |modules: &Sorted<ModuleKey, Arc<Slot>>| {
            modules.binary_search_by_key(&key, |(key, _)| *key)
        };
        let modules = self.modules.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = place(&modules) {
            return Arc::clone(&modules[at].1);
        }
        drop(modules);
        let mut modules = self.modules.0.write().unwrap_or_else(PoisonError::into_inner);
        let at = place(&modules).unwrap_or_else(|at| {
            modules.insert(at, (key, Arc::default()));
            at
        });
        Arc::clone(&modules[at].1)
    }

    fn load<F: Form>(&self, module: &Module<'_, F>) -> Result<LoadedModule> {
        let attempted = || format!("load the module \"{}\"", module.name());
        let chosen = module.select(&self.info);
        let image = chosen.map_err(|error| {
            RunError::new(attempted(), Cause::NoImage(error.map(PackImage::as_compressed)))
        })?;
        if !self.vendor.is_gpu() && !module.is_trusted() {
            return Err(RunError::refused(
                attempted(),
                "its image for the CPU would run in this program, but was not compiled by this \
                 build. Choose a different device or, if you trust the file, write \
                 include_offload!(path = \"...\", unsafe(cpu))",
            ));
        }
        let image = image.into_image();
        let content = image.decompress().map_err(|error| {
            RunError::refused(
                attempted(),
                format!("could not decompress the {} {}: {error}", image.target(), image.kind()),
            )
        })?;
        let bytes = content.bytes();
        let name = format!("{} {}", image.target(), image.kind());
        let handle = self.backend.load(&LoadableImage { start: content.as_ptr(), bytes, name })?;
        Ok(LoadedModule {
            handle,
            image: image.as_compressed(),
            kernels: RwLock::default(),
            copies: Mutex::default(),
        })
    }

    pub(super) fn kernel<F: Form>(
        &self,
        module: &LoadedModule,
        kernel: &Kernel<'_, F>,
    ) -> Result<LoadedKernel> {
        let name = kernel.name();
        let kernels = module.kernels.read().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = place(&kernels, name) {
            return Ok(kernels[at].1);
        }
        drop(kernels);
        let attempted = || {
            format!(
                "find the kernel {name} in the {} {}",
                module.image.target(),
                module.image.kind()
            )
        };
        if module.image.has_kernel(name) == Some(false) {
            return Err(RunError::refused(
                attempted(),
                "the image for this device has no such kernel",
            ));
        }
        let c_name = CString::new(module.image.symbol(name))
            .map_err(|_| RunError::refused(attempted(), "its name contains a NUL"))?;
        let (handle, shared_memory) = self.backend.function(module.handle, &c_name)?;
        // If the image contains no limits, the launch is checked only against the device's limits.
        let mut limits = module.image.limits(name).unwrap_or_default();
        limits.shared_memory = limits.shared_memory.or(shared_memory);
        let loaded = LoadedKernel { handle, limits, shared_memory: 0 };
        let mut kernels = module.kernels.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have added the kernel in the meantime.
        if let Err(at) = place(&kernels, name) {
            kernels.insert(at, (name.to_string(), loaded));
        }
        Ok(loaded)
    }

    /// Makes the driver allow this many bytes of dynamic shared memory for a kernel's launches,
    /// unless it already does.
    pub(super) fn allow_shared_memory(
        &self,
        module: &LoadedModule,
        name: &str,
        kernel: &LoadedKernel,
        bytes: usize,
    ) -> Result<()> {
        let fixed = kernel.limits.shared_memory.unwrap_or(0);
        if bytes <= kernel.shared_memory
            || (bytes as u64).saturating_add(fixed) <= self.limits.shared_memory
        {
            return Ok(());
        }
        // The lock prevents a launch on another thread, which needs less, from lowering the limit.
        let mut kernels = module.kernels.write().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = place(&kernels, name)
            && bytes > kernels[at].1.shared_memory
        {
            self.backend.allow_shared_memory(kernel.handle, bytes)?;
            kernels[at].1.shared_memory = bytes;
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let modules = self.modules.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (_, slot) in modules {
            if let Some(module) = &*lock(slot) {
                self.backend.unload(module.handle);
            }
        }
    }
}

impl fmt::Debug for LoadedModule {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedModule").field("image", &self.image).finish_non_exhaustive()
    }
}
