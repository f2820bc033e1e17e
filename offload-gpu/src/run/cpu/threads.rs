//! Runs the blocks of a grid on all cores of the CPU.

use super::beside::beside;
use super::check::{Progress, Settings, found, order};
use super::image::{Kernel, LaunchWith};
use super::{log, positive};
use crate::call::Invoke;
use crate::run::backend::Arguments;
use crate::run::launch::Launch;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use core::ffi::c_void;
use core::num::NonZero;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use offload_format::checks::{Order, variables};
use std::sync::OnceLock;
use std::thread;

/// The data that each thread of a grid gets: the kernel's address, its arguments, and the function
/// that calls it.
struct Context {
    function: *const c_void,
    arguments: *const u8,
    invoke: Invoke,
}

/// Runs one thread of a grid. If the kernel throws an exception and does not catch it, the image
/// ends the program before the exception leaves any function. The search for a handler still walks
/// through this function, so it must allow unwinding.
///
/// # Safety
/// `context` is a [`Context`] of a kernel that is loaded.
unsafe extern "C-unwind" fn run_thread(context: *mut c_void) {
    // SAFETY: the caller guarantees that the context is valid. The threads of a grid share the
    // context, and only read it.
    let context = unsafe { &*context.cast::<Context>() };
    // SAFETY: the caller of the launch guarantees the arguments.
    unsafe { (context.invoke)(context.function, context.arguments) };
}

/// Runs a grid to its end.
///
/// Returns an error in words if the grid cannot run in the order that was asked for, or if a
/// checked image finds something.
///
/// # Safety
/// `kernel` belongs to an image that stays loaded during the call, and accepts the arguments that
/// `invoke` passes.
pub(super) unsafe fn run(
    kernel: *const c_void,
    launch: &Launch,
    invoke: Invoke,
    arguments: &Arguments<'_>,
) -> Result<(), String> {
    // SAFETY: the caller guarantees that the kernel's image is loaded.
    let kernel = unsafe { &*kernel.cast::<Kernel>() };
    let name = arguments.kernel;
    let number = log::launched(name, kernel.launchers.is_checked);
    let threads = threads()?;
    // Checked images enforce the time limit themselves: the message that they print also contains
    // the source line.
    let limit = if kernel.launchers.is_checked { None } else { log::time_limit()? };
    // A launch with a time limit needs an order, because the message contains the running block and
    // thread. The image records them only with an order.
    let order = order()?.or(limit.map(|_| Order::Forward));
    if kernel.launchers.is_checked || order.is_some() {
        let with = kernel.launchers.with.ok_or_else(|| {
            format!(
                "{} or {} is set, and the image for the CPU runs in no other order than its own: build it with this \
                 version of offload-build, or unset the variables",
                variables::ORDER,
                variables::TIME_LIMIT
            )
        })?;
        // SAFETY: the caller of `run` guarantees the same conditions.
        return unsafe {
            run_on_one(kernel, with, (order, limit), number, launch, invoke, arguments)
        };
    }
    let grid = launch.grid.0;
    let blocks: u64 = grid.iter().map(|&count| u64::from(count)).product();
    let run = |first: u64, end: u64| {
        let arguments = arguments.start;
        let mut context = Context { function: kernel.address, arguments, invoke };
        let context = (&raw mut context).cast();
        let (grid, block) = (grid.as_ptr(), launch.block.0.as_ptr());
        let shared = launch.shared_memory;
        // SAFETY: the types are those of `offload/schedule.h`. The context and the settings live
        // until the call returns.
        unsafe {
            if let Some(with) = kernel.launchers.with {
                let settings = Settings::new(None, Some(&kernel.name), ptr::null());
                with(grid, block, first, end, shared, run_thread, context, &raw const settings);
            } else {
                (kernel.launchers.blocks)(grid, block, first, end, shared, run_thread, context);
            }
        }
    };
    let workers = usize::try_from(blocks).map_or(usize::MAX, |blocks| blocks.min(threads));
    if workers == 1 {
        run(0, blocks);
        return Ok(());
    }
    // Each thread gets an eighth of its share of the blocks at a time, so that no thread waits long
    // for the last one.
    let part = (blocks / (workers as u64 * 8)).max(1);
    let next = AtomicU64::new(0);
    let shared = Shared(&run);
    let work = || {
        let run = shared.get();
        loop {
            let first = next.fetch_add(part, Ordering::Relaxed);
            if first >= blocks {
                break;
            }
            run(first, blocks.min(first + part));
        }
    };
    beside(workers - 1, &work, &mut || work());
    Ok(())
}

/// Runs the whole grid on this thread, in a set order or with the checks of a sanitizer. The checks
/// find races even on one thread: they treat all blocks as concurrent.
///
/// # Safety
/// The conditions of [`run`] apply; `with` belongs to the kernel's image.
unsafe fn run_on_one(
    kernel: &Kernel,
    with: LaunchWith,
    (order, limit): (Option<Order>, Option<Duration>),
    number: Option<usize>,
    launch: &Launch,
    invoke: Invoke,
    arguments: &Arguments<'_>,
) -> Result<(), String> {
    let name = arguments.kernel;
    let c_name = CString::new(log::name_in_reports(number, name)).ok();
    let progress = Progress::default();
    let settings = Settings::new(order, c_name.as_deref(), &raw const progress);
    let (grid, block) = (launch.grid.0, launch.block.0);
    let blocks: u64 = grid.iter().map(|&count| u64::from(count)).product();
    let mut context = Context { function: kernel.address, arguments: arguments.start, invoke };
    let mut findings = 0;
    let mut call = || {
        // SAFETY: the types are those of `offload/schedule.h`. The context, the settings and the
        // memory that they point to live until the call returns.
        findings = unsafe {
            with(
                grid.as_ptr(),
                launch.block.0.as_ptr(),
                0,
                blocks,
                launch.shared_memory,
                run_thread,
                (&raw mut context).cast(),
                &raw const settings,
            )
        }
    };
    match limit {
        Some(limit) => {
            log::within(limit, (name, number), &|| place(&progress, grid, block), &mut call)
        }
        None => call(),
    }
    let is_address = |at: &usize| *at < 64 && arguments.addresses >> at & 1 != 0;
    let addresses = (0..arguments.pointers.len()).filter(is_address).map(|at| {
        // SAFETY: the argument is set to an address, which has the size of a `usize`. It need not
        // be aligned.
        (at, unsafe { arguments.pointers[at].cast::<usize>().read_unaligned() })
    });
    // The image does not count races, and their reports contain addresses.
    if findings > 0 || kernel.launchers.checks_races {
        log::found(number, findings, addresses);
    }
    if findings == 0 { Ok(()) } else { Err(found(findings)) }
}

/// Returns the indices of the block and the thread that are running.
fn place(progress: &Progress, grid: [u32; 3], block: [u32; 3]) -> String {
    let index = |number: &AtomicU64, size: [u32; 3]| {
        let number = number.load(Ordering::Relaxed);
        let [x, y, _] = size.map(|size| u64::from(size.max(1)));
        format!("({}, {}, {})", number % x, number / x % y, number / x / y)
    };
    format!("block {}, thread {}", index(&progress.block, grid), index(&progress.thread, block))
}

/// A reference to the function that all threads of a launch call.
struct Shared<'a, F>(&'a F);

impl<'a, F> Shared<'a, F> {
    fn get(self) -> &'a F {
        self.0
    }
}

impl<F> Clone for Shared<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Shared<'_, F> {}

// SAFETY: the function is a kernel with its arguments. Threads may run its blocks at the same time,
// and the caller of the launch guarantees that its pointers are valid.
unsafe impl<F> Send for Shared<'_, F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Shared<'_, F> {}

/// Returns the number of threads of the operating system that run a grid: `OFFLOAD_CPU_THREADS`,
/// otherwise the number of cores.
///
/// Returns an error in words if the variable is not a positive number.
fn threads() -> Result<usize, String> {
    // The number is kept, since counting cores reads files of the system.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get));
    let asked = positive("OFFLOAD_CPU_THREADS", "threads")?;
    Ok(asked.map_or_else(cores, |count| usize::try_from(count.get()).unwrap_or(usize::MAX)))
}
