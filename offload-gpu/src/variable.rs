//! The `__constant__` and `__device__` variables of a module.

use crate::pack::{Form, Module, Plain};
use core::fmt;
use core::marker::PhantomData;

/// A variable of a module, in the memory of each device that the module is loaded on.
/// [`include_kernels!`](crate::include_kernels) declares a constant of this type for each
/// `__constant__` and `__device__` variable of the sources, named like the variable, but in upper
/// case.
///
/// `T` is the variable's type, such as `[f32; 256]`, and `Item` is the type of its items, `f32`.
/// With the `run` feature, host code reads and writes the variable:
///
/// ```
/// # #[cfg(feature = "run")]
/// # mod example {
/// #     use offload_gpu::{KernelPack, Variable, run::{Device, RunError}, __expansion::not_built};
/// #     static PACK: KernelPack = not_built("saxpy", "this is an example", &[
/// #         offload_gpu::__expansion::ModuleRecord::new("saxpy", &[])]);
/// #     mod kernels {
/// #         pub const TABLE: super::Variable<'static, [f32; 4]> = super::PACK.module("saxpy").variable("table");
/// #         pub const COUNTER: super::Variable<'static, u32> = super::PACK.module("saxpy").variable("counter");
/// #     }
/// # fn example(device: &Device) -> Result<u32, RunError> {
/// // __constant__ float table[4];
/// kernels::TABLE.write(device, &[0.5, 1.0, 1.5, 2.0])?;
/// kernels::TABLE.write_at(device, 2, &[3.0, 4.0])?; // the last two
/// // __device__ unsigned counter;
/// kernels::COUNTER.read(device)
/// # }
/// # }
/// ```
///
/// Source: `__constant__` and `__device__` of the CUDA C++ programming guide; the functions
/// `cuModuleGetGlobal_v2` (CUDA driver API) and `hipModuleGetGlobal` (HIP).
pub struct Variable<'pack, T, Item = T, F: Form = Plain> {
    module: Module<'pack, F>,
    symbol: &'pack str,
    /// A `Variable` contains no `T` or `Item`, so any thread may use it.
    of: PhantomData<fn() -> (T, Item)>,
}

impl<'pack, T, Item, F: Form> Variable<'pack, T, Item, F> {
    /// Returns the variable with this symbol in the module's images.
    ///
    /// # Safety
    /// `T` is `Item`, or an array of `Item`s with any number of dimensions.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "copies rely on the caller's types")]
    pub const unsafe fn new(module: Module<'pack, F>, symbol: &'pack str) -> Self {
        Self { module, symbol, of: PhantomData }
    }

    /// Returns the variable's name in the images, for `cuModuleGetGlobal` and `hipModuleGetGlobal`.
    pub const fn symbol(&self) -> &'pack str {
        self.symbol
    }

    /// Returns the module that contains the variable.
    pub const fn module(&self) -> Module<'pack, F> {
        self.module
    }
}

impl<T, Item, F: Form> Clone for Variable<'_, T, Item, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, Item, F: Form> Copy for Variable<'_, T, Item, F> {}

impl<T, Item, F: Form> fmt::Debug for Variable<'_, T, Item, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("module", &self.module.name())
            .field("symbol", &self.symbol)
            .finish()
    }
}

/// A variable `Name` that host code cannot access, for the reason `Why`: calling its methods does
/// not compile. Only macro expansions use it.
///
/// Source: the C++ standard, [basic.link], for variables with internal linkage.
pub struct HiddenVariable<Name, Why>(PhantomData<fn() -> (Name, Why)>);

impl<Name, Why> HiddenVariable<Name, Why> {
    /// The only value.
    pub const NEW: Self = Self(PhantomData);
}

impl<Name, Why> fmt::Debug for HiddenVariable<Name, Why> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HiddenVariable")
    }
}

/// Declares three items: a reason, a trait without implementations that carries the message, and
/// the methods of [`Variable`], which require the trait.
macro_rules! hidden {
    ($(#[$doc:meta])* $why:ident, $trait:ident: $message:literal, $label:literal, $note:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $why {}

        #[doc = concat!("The condition of methods for [`", stringify!($why), "`].")]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $trait {}

        #[allow(clippy::unused_self, missing_docs, reason = "calls of these methods never compile")]
        impl<Name> HiddenVariable<Name, $why> {
            pub fn write<D, V>(&self, _: D, _: V) -> Never where Name: $trait { Ok(()) }
            pub fn read<D>(&self, _: D) -> Never where Name: $trait { Ok(()) }
            pub fn write_at<D, V>(&self, _: D, _: usize, _: V) -> Never where Name: $trait { Ok(()) }
            pub fn read_at<D, V>(&self, _: D, _: usize, _: V) -> Never where Name: $trait { Ok(()) }
            pub fn address<D>(&self, _: D) -> Never where Name: $trait { Ok(()) }
        }
    };
}

/// The result of methods that cannot be called. `?` accepts it in any function that returns errors.
type Never = Result<(), core::convert::Infallible>;

hidden! {
    /// The variable has internal linkage.
    Static, HasExternalLinkage:
    "host code cannot access the variable `{Self}`: it is `static`, or in an unnamed namespace",
    "images do not export the variable",
    "remove `static`, or name the namespace"
}

hidden! {
    /// The variable's type differs between targets.
    Differs, HasOneType:
    "host code cannot access the variable `{Self}`: its type differs between targets",
    "no single type fits all images",
    "declare it with one type for all targets"
}
