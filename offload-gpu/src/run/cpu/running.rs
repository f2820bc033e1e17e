//! Marks the threads of the operating system on which an image runs blocks. If a kernel's thread
//! needs more stack than it has, the system sends a signal. The image knows the stacks, and reports
//! the thread.

use core::cell::Cell;
use core::ffi::{c_uint, c_void};
use std::thread_local;

/// A function of an image that does not return if the address belongs to the guard of a stack of
/// the blocks that run on this thread.
pub(super) type NoAccess = unsafe extern "C" fn(address: *const c_void);

/// The state of a thread of the operating system.
#[derive(Clone, Copy)]
struct Running {
    /// The function of the image that runs blocks on this thread, if one does.
    no_access: Option<NoAccess>,
    /// How many launches wait for what this thread launches.
    depth: c_uint,
    /// Whether it has a stack for the handlers of signals.
    has_signal_stack: bool,
}

thread_local! {
    static RUNNING: Cell<Running> =
        const { Cell::new(Running { no_access: None, depth: 0, has_signal_stack: false }) };
}

/// Returns how many launches wait for what this thread launches: more than 0 in a kernel.
pub(super) fn depth() -> c_uint {
    RUNNING.get().depth
}

/// Calls a function that runs blocks of an image, in a launch of this depth.
pub(super) fn blocks(no_access: Option<NoAccess>, depth: c_uint, run: &mut dyn FnMut()) {
    let outer = RUNNING.get();
    let has_signal_stack = outer.has_signal_stack || signals::install();
    RUNNING.set(Running { no_access, depth: depth + 1, has_signal_stack });
    if has_signal_stack {
        run();
    } else {
        signals::on_thread_without_stack(run);
    }
    RUNNING.set(Running { has_signal_stack, ..outer });
}

/// Systems whose structures for signals are known here.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    target_pointer_width = "64"
))]
mod signals {
    use super::super::check;
    use super::RUNNING;
    use core::cell::UnsafeCell;
    use core::ffi::{c_int, c_void};
    use core::mem::{self, MaybeUninit};
    use core::ptr;
    use core::sync::atomic::{AtomicBool, Ordering};

    const SIGSEGV: c_int = 11;
    const SA_SIGINFO: c_int = 4;
    const SA_ONSTACK: c_int = 0x0800_0000;
    const SS_DISABLE: c_int = 2;

    /// `struct sigaction`.
    #[repr(C)]
    struct Action {
        handler: usize,
        mask: [u64; 16],
        flags: c_int,
        restorer: usize,
    }

    /// `siginfo_t`, up to the address.
    #[repr(C)]
    struct Info {
        numbers: [c_int; 3],
        address: *const c_void,
    }

    /// `stack_t`.
    #[repr(C)]
    struct SignalStack {
        start: *mut c_void,
        flags: c_int,
        size: usize,
    }

    unsafe extern "C" {
        fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
        fn sigaltstack(new: *const SignalStack, old: *mut SignalStack) -> c_int;
    }

    struct Before(UnsafeCell<Action>);

    // SAFETY: one thread writes the action, before it sets the handler that reads it.
    unsafe impl Sync for Before {}

    /// The action before this module's: that of Rust's standard library, or the program's.
    static BEFORE: Before =
        Before(UnsafeCell::new(Action { handler: 0, mask: [0; 16], flags: 0, restorer: 0 }));

    /// Handles a signal while a kernel runs on this thread, and passes on all others.
    unsafe extern "C" fn handle(signal: c_int, info: *const Info, context: *mut c_void) {
        if let Some(no_access) = RUNNING.get().no_access {
            // SAFETY: blocks of the function's image run on this thread; the system passes a valid
            // structure.
            unsafe { no_access((*info).address) };
        }
        // SAFETY: the action was written before this handler was set.
        let before = unsafe { &*BEFORE.0.get() };
        // 0 and 1 are the default and nothing.
        if before.handler > 1 {
            type Handler = unsafe extern "C" fn(c_int, *const Info, *mut c_void);
            // SAFETY: the program set this function as a handler, which may ignore the last two
            // arguments.
            unsafe { mem::transmute::<usize, Handler>(before.handler)(signal, info, context) };
        } else {
            // SAFETY: the action is one that the system returned. The instruction then sends the
            // signal again.
            unsafe { sigaction(SIGSEGV, before, ptr::null_mut()) };
        }
    }

    /// Sets the handler, once in a process. Returns whether this thread has a stack for it; threads
    /// of Rust programs do.
    pub(super) fn install() -> bool {
        static INSTALLED: AtomicBool = AtomicBool::new(false);
        // A sanitizer has its own handler.
        if check::is_checked() {
            return true;
        }
        if !INSTALLED.swap(true, Ordering::Relaxed) {
            let own = Action {
                handler: handle as *const () as usize,
                mask: [0; 16],
                flags: SA_SIGINFO | SA_ONSTACK,
                restorer: 0,
            };
            // SAFETY: the structures have the system's layout, and the handler calls only what may
            // be called in one.
            unsafe {
                sigaction(SIGSEGV, ptr::null(), BEFORE.0.get());
                sigaction(SIGSEGV, &raw const own, ptr::null_mut());
            }
        }
        let stack = signal_stack();
        stack.flags & SS_DISABLE == 0
    }

    fn signal_stack() -> SignalStack {
        let mut stack = SignalStack { start: ptr::null_mut(), flags: 0, size: 0 };
        // SAFETY: the structure has the system's layout.
        unsafe { sigaltstack(ptr::null(), &raw mut stack) };
        stack
    }

    /// Lends the thread a part of its own stack: kernels run on others.
    #[cold]
    #[inline(never)]
    pub(super) fn on_thread_without_stack(run: &mut dyn FnMut()) {
        let before = signal_stack();
        let mut memory = MaybeUninit::<[u8; 32 * 1024]>::uninit();
        let start = memory.as_mut_ptr().cast();
        let stack = SignalStack { start, flags: 0, size: size_of_val(&memory) };
        // SAFETY: the memory lives until the second call, and nothing else uses it.
        unsafe {
            sigaltstack(&raw const stack, ptr::null_mut());
            run();
            sigaltstack(&raw const before, ptr::null_mut());
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    target_pointer_width = "64"
)))]
mod signals {
    pub(super) fn install() -> bool {
        true
    }

    pub(super) fn on_thread_without_stack(run: &mut dyn FnMut()) {
        run();
    }
}
