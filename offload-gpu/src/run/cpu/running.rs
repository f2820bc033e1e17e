//! Marks the OS threads on which an image runs blocks. If a kernel crashes, the system sends a
//! signal, and the image, which knows the kernel and its stacks, reports the cause.

use core::cell::Cell;
use core::ffi::{c_int, c_uint, c_void};
use std::thread_local;

/// An image's function that reports a crash of the blocks on this thread. With `signal` 0, it does
/// not return if the address is in the guard of one of the blocks' stacks. With any other `signal`,
/// it prints the kernel that the signal ends, and returns.
pub(super) type NoAccess = unsafe extern "C" fn(address: *const c_void, signal: c_int);

/// The state of an OS thread.
#[derive(Clone, Copy)]
struct Running {
    /// The function of the image that runs blocks on this thread, if any.
    #[allow(dead_code, reason = "only signal handlers read it, and some systems have none")]
    no_access: Option<NoAccess>,
    /// How many launches wait for this thread's launches.
    depth: c_uint,
    /// Whether the thread has a stack for signal handlers.
    has_signal_stack: bool,
}

thread_local! {
    static RUNNING: Cell<Running> =
        const { Cell::new(Running { no_access: None, depth: 0, has_signal_stack: false }) };
}

/// Returns how many launches wait for this thread's launches: more than 0 inside a kernel.
pub(super) fn depth() -> c_uint {
    RUNNING.get().depth
}

/// Calls a function that runs an image's blocks, in a launch of this depth.
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

/// Signal handlers, on the systems whose signal structures this module declares.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    target_pointer_width = "64"
))]
mod signals {
    use super::super::{check, memory};
    use super::RUNNING;
    use core::cell::UnsafeCell;
    use core::ffi::{c_char, c_int, c_void};
    use core::mem;
    use core::ptr;
    use core::sync::atomic::{AtomicBool, Ordering};

    /// The signals of crashes: `SIGSEGV`, `SIGILL`, `SIGTRAP`, `SIGBUS`, `SIGFPE`.
    const SIGNALS: [c_int; 5] = [SIGSEGV, 4, 5, 7, 8];
    const SIGSEGV: c_int = 11;
    const SA_SIGINFO: c_int = 4;
    const SA_ONSTACK: c_int = 0x0800_0000;
    const SS_DISABLE: c_int = 2;
    const RTLD_LAZY: c_int = 1;
    const RTLD_NOLOAD: c_int = 4;
    const RTLD_NODELETE: c_int = 0x1000;

    /// `struct sigaction`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Action {
        handler: usize,
        mask: [u64; 16],
        flags: c_int,
        restorer: usize,
    }

    /// `siginfo_t`, up to the address.
    #[repr(C)]
    struct Info {
        signal_and_error: [c_int; 2],
        /// Positive if the OS kernel, not a process, sent the signal.
        code: c_int,
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
        fn raise(signal: c_int) -> c_int;
        /// Finds the file that contains this address: the first field of `Dl_info`.
        fn dladdr(address: *const c_void, found: *mut [*const c_char; 4]) -> c_int;
        fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    }

    /// An action for each signal number up to `SIGSEGV`.
    struct Before(UnsafeCell<[Action; SIGSEGV as usize + 1]>);

    // SAFETY: a single thread writes each action, before it sets the handler that reads the action.
    unsafe impl Sync for Before {}

    const DEFAULT: Action = Action { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };

    /// The previous actions, from Rust's standard library or the program.
    static BEFORE: Before = Before(UnsafeCell::new([DEFAULT; SIGSEGV as usize + 1]));

    /// Reports a signal that a launched kernel causes on this thread. Also passes each signal to
    /// the previous handler, unless the report ends the program.
    unsafe extern "C" fn handle(signal: c_int, info: *const Info, context: *mut c_void) {
        // SAFETY: the system passes a valid structure, and the action was stored before this
        // handler was set.
        let (info, before) = unsafe { (&*info, &(*BEFORE.0.get())[signal as usize]) };
        // Ignore signals that processes send: the launched kernel did not cause them.
        let no_access = RUNNING.get().no_access.filter(|_| info.code > 0);
        if let Some(no_access) = no_access
            && signal == SIGSEGV
        {
            // SAFETY: blocks of the function's image run on this thread.
            unsafe { no_access(info.address, 0) };
        }
        // 0 is the default action, and 1 ignores the signal.
        if before.handler > 1 {
            type Handler = unsafe extern "C" fn(c_int, *const Info, *mut c_void);
            // SAFETY: the program set this function as a handler; it may ignore the last two
            // arguments.
            unsafe { mem::transmute::<usize, Handler>(before.handler)(signal, info, context) };
        } else {
            // SAFETY: the system returned this action. `raise` repeats the signal after this
            // handler, since not every instruction causes its signal again.
            unsafe {
                sigaction(signal, before, ptr::null_mut());
                raise(signal);
            }
        }
        if let Some(no_access) = no_access {
            let mut next = DEFAULT;
            // SAFETY: the structure has the system's layout, and blocks of the function's image run
            // on this thread.
            unsafe {
                sigaction(signal, ptr::null(), &mut next);
                // If the default action is set, it ends the program: the kernel cannot continue.
                if next.handler == 0 {
                    no_access(info.address, signal);
                }
            }
        }
    }

    /// Installs the handlers, once per process. Returns whether this thread has a stack for signal
    /// handlers, as Rust's own threads do.
    pub(super) fn install() -> bool {
        static INSTALLED: AtomicBool = AtomicBool::new(false);
        // A sanitizer has its own handler.
        if check::is_checked() {
            return true;
        }
        if !INSTALLED.swap(true, Ordering::Relaxed) {
            stay_loaded();
            for signal in SIGNALS {
                // SAFETY: the structures have the system's layout, no handler reads this action
                // yet, and the new handler calls only functions that signal handlers may call.
                unsafe {
                    let before = &raw mut (*BEFORE.0.get())[signal as usize];
                    sigaction(signal, ptr::null(), before);
                    // The program's own handler may need more stack than a signal stack has.
                    if (*before).handler <= 1 || (*before).flags & SA_ONSTACK != 0 {
                        let handler = handle as *const () as usize;
                        let flags = (*before).flags | SA_SIGINFO | SA_ONSTACK;
                        sigaction(signal, &Action { handler, flags, ..*before }, ptr::null_mut());
                    }
                }
            }
        }
        let stack = signal_stack();
        stack.flags & SS_DISABLE == 0
    }

    /// If the handler is in a shared library, keeps that library loaded, even if the program closes
    /// it.
    fn stay_loaded() {
        let mut found = [ptr::null(); 4];
        // SAFETY: the structure has the system's layout, and the library is loaded already.
        unsafe {
            if dladdr(handle as *const c_void, &raw mut found) != 0 {
                dlopen(found[0], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
            }
        }
    }

    fn signal_stack() -> SignalStack {
        let mut stack = SignalStack { start: ptr::null_mut(), flags: 0, size: 0 };
        // SAFETY: the structure has the system's layout.
        unsafe { sigaltstack(ptr::null(), &raw mut stack) };
        stack
    }

    /// Provides a signal stack for this thread during the call of `run`, since the thread's stack
    /// may be small.
    #[cold]
    pub(super) fn on_thread_without_stack(run: &mut dyn FnMut()) {
        let before = signal_stack();
        let size = 32 * 1024;
        let start = memory::allocate(size);
        if start.is_null() {
            return run();
        }
        // SAFETY: the memory lives until the second `sigaltstack`, and nothing else uses it.
        unsafe {
            let stack = SignalStack { start: start.cast(), flags: 0, size };
            sigaltstack(&raw const stack, ptr::null_mut());
            run();
            sigaltstack(&raw const before, ptr::null_mut());
            memory::free(start, size);
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
