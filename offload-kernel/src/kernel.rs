//! The macro that defines kernels. Only the calling convention and the symbol depend on the target.
//!
//! The first and the last token of each function come from the caller, even `pub`. The debug
//! information then contains the caller's line, above which offload-build reads the comments, and
//! the names of the parameters. Tokens that match `vis` or `block` would lose their position.

/// Defines kernels, each as a `pub unsafe fn` with numbers, `bool` and pointers as parameters.
///
/// In images, a kernel's symbol is its name, and its calling convention is `extern "gpu-kernel"`,
/// or `extern "C"` on the CPU. Outside images, for example in tests of the crate of kernels, a
/// kernel is a plain `unsafe fn`.
///
/// ```
/// offload_kernel::kernel! {
///     /// Writes `value` into each of `n` elements.
///     ///
///     /// # Safety
///     /// `y` has `n` elements, and nothing else uses them during the launch.
///     pub unsafe fn fill(n: usize, value: f32, y: *mut f32) {
///         // SAFETY: the caller guarantees the elements, and this thread asks once for its own.
///         if let Some(y) = unsafe { offload_kernel::element(y, n) } {
///             *y = value;
///         }
///     }
/// }
///
/// let mut y = [0.0];
/// // SAFETY: there is one element.
/// unsafe { fill(1, 2.0, y.as_mut_ptr()) };
/// assert_eq!(y, [2.0]);
/// ```
///
/// A kernel that is not `unsafe` does not compile:
///
/// ```compile_fail
/// offload_kernel::kernel! {
///     pub fn fill(value: f32, y: *mut f32) {}
/// }
/// ```
#[macro_export]
macro_rules! kernel {
    ($($token:tt)*) => {
        $crate::__kernels! { [] $($token)* }
    };
}

/// Defines the first kernel of the tokens, then the others. The brackets contain attributes of the
/// first kernel. Up to eight attributes move there at a time: each call of the macro counts towards
/// the compiler's `recursion_limit`, and each line of a comment is an attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! __kernels {
    ([]) => {};
    ([$($before:tt)*] #$a:tt #$b:tt #$c:tt #$d:tt #$e:tt #$f:tt #$g:tt #$h:tt $($rest:tt)*) => {
        $crate::__kernels! { [$($before)* #$a #$b #$c #$d #$e #$f #$g #$h] $($rest)* }
    };
    ([$($before:tt)*] #$a:tt #$b:tt #$c:tt $($rest:tt)*) => {
        $crate::__kernels! { [$($before)* #$a #$b #$c] $($rest)* }
    };
    ([$($before:tt)*] #$attribute:tt $($rest:tt)*) => {
        $crate::__kernels! { [$($before)* #$attribute] $($rest)* }
    };
    ([$($attributes:tt)*] $pub:tt unsafe fn $name:tt $parameters:tt $body:tt $($rest:tt)*) => {
        $crate::__function! { [$($attributes)*] $pub $name $parameters $body }
        $crate::__kernels! { [] $($rest)* }
    };
}

/// Defines an entry point. The macro allows the unstable calling convention, so that crates of
/// kernels need no `feature`.
#[cfg(any(target_arch = "amdgpu", target_arch = "nvptx64"))]
#[doc(hidden)]
#[macro_export]
#[allow_internal_unstable(abi_gpu_kernel)]
macro_rules! __function {
    ([$($attributes:tt)*] $pub:tt $name:tt $parameters:tt $body:tt) => {
        $($attributes)*
        #[allow(clippy::missing_safety_doc, reason = "clippy does not see comments in macros")]
        #[unsafe(no_mangle)]
        $pub unsafe extern "gpu-kernel" fn $name $parameters $body
    };
}

/// Defines an entry point of an image for the CPU, in the section by which offload-build recognizes
/// the kernels of such an image.
#[cfg(offload_cpu)]
#[doc(hidden)]
#[macro_export]
macro_rules! __function {
    ([$($attributes:tt)*] $pub:tt $name:tt $parameters:tt $body:tt) => {
        $($attributes)*
        #[allow(clippy::missing_safety_doc, reason = "clippy does not see comments in macros")]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "__TEXT,offload")]
        $pub unsafe extern "C" fn $name $parameters $body

        $crate::__entry! { $name $parameters }
    };
}

/// Defines the entry of a kernel in an image for the CPU. The entry gets the addresses of the
/// arguments, and runs the thread whose index is set.
#[cfg(offload_cpu)]
#[doc(hidden)]
#[macro_export]
macro_rules! __entry {
    ($name:tt ($($parameter:tt $($other:ident)?: $ty:ty),* $(,)?)) => {
        const _: () = {
            #[unsafe(export_name = concat!("offload_cpu_kernel_", stringify!($name)))]
            #[allow(unused)]
            unsafe extern "C" fn entry(addresses: *const *const ()) {
                let mut next = addresses;
                // SAFETY: the caller of the launch guarantees the arguments. Each argument has an
                // address, in the order of the parameters.
                unsafe {
                    $name($({
                        let argument = next.read().cast::<$ty>();
                        next = next.add(1);
                        argument.read_unaligned()
                    }),*)
                }
            }
        };
    };
}

#[cfg(not(any(offload_cpu, target_arch = "amdgpu", target_arch = "nvptx64")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __function {
    ([$($attributes:tt)*] $pub:tt $name:tt $parameters:tt $body:tt) => {
        $($attributes)*
        #[allow(clippy::missing_safety_doc, reason = "clippy does not see comments in macros")]
        $pub unsafe fn $name $parameters $body
    };
}
