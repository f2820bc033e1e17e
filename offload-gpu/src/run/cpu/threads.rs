//! Runs the blocks of a grid on all cores of the CPU.

use super::beside::beside;
use super::check::{Progress, Refusal, Settings, found, order};
use super::image::Kernel;
use super::{log, positive, running};
use crate::run::backend::Arguments;
use crate::run::launch::Launch;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use core::ffi::{c_uint, c_void};
use core::mem;
use core::num::NonZero;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use offload_pack::checks::Order;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// The maximum number of threads that all launches of a process start in total, unless a single
/// launch requests more. The number is limited because each thread needs several memory mappings.
const MOST_ADDED: u64 = 1024;

/// Runs a grid to its end.
///
/// Returns an error message if the grid cannot run in the requested order, if the system cannot run
/// it, or if a checked image reports findings.
///
/// # Safety
/// `kernel` belongs to an image that stays loaded during the call, and has these arguments.
pub(super) unsafe fn run(
    kernel: *const c_void,
    launch: &Launch,
    arguments: &Arguments<'_>,
) -> Result<(), String> {
    // SAFETY: the caller guarantees that the kernel's image is loaded.
    let kernel = unsafe { &*kernel.cast::<Kernel>() };
    let is_checked = kernel.launchers.is_checked;
    let number = log::launched(arguments.kernel, is_checked);
    let threads = threads()?;
    // Checked images enforce the time limit themselves, because their message also contains the
    // source line.
    let limit = if is_checked { None } else { log::time_limit()? };
    // A time limit needs an order: the message contains the running block and thread, which the
    // image stores only with an order.
    let order = order()?.or(limit.map(|_| Order::Forward));
    let depth = running::depth();
    let grid = launch.grid.0;
    let blocks: u64 = grid.iter().map(|&count| u64::from(count)).product();
    let run_part = |first: u64, end: u64| {
        let mut refusal = Refusal::new();
        let settings = Settings::new(None, Some(&kernel.name), ptr::null(), &mut refusal, depth);
        // SAFETY: the caller of `run` guarantees the same conditions.
        unsafe { run_blocks(kernel, launch, arguments, (first, end), &settings) };
        refusal.result()
    };
    // SAFETY: the caller of `run` guarantees the same conditions.
    let run_all =
        |_, _| unsafe { run_on_one(kernel, (order, limit), (number, depth), launch, arguments) };
    let (run, workers): (&Run<'_>, u64) = if is_checked || order.is_some() {
        (&run_all, 1)
    } else {
        (&run_part, blocks.min(threads as u64))
    };
    // Each OS thread has its own `__shared__` variables. If a kernel starts this launch, the
    // waiting block still uses this thread's variables, so the blocks run on other threads. Checked
    // images have separate variables for each block.
    let runs_here = depth == 0 || is_checked;
    if runs_here && workers == 1 {
        return run(0, blocks);
    }
    // Each thread claims blocks in portions of an eighth of its share, so that all threads finish
    // at about the same time.
    let part = if workers == 1 { blocks } else { (blocks / (workers * 8)).max(1) };
    let next = AtomicU64::new(0);
    let shared = Shared(run);
    let result = Mutex::new(Ok(()));
    let work = || {
        let run = shared.get();
        loop {
            let first = next.fetch_add(part, Ordering::Relaxed);
            if first >= blocks {
                break;
            }
            if let Err(why) = run(first, blocks.min(first + part)) {
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Err(why);
                next.store(blocks, Ordering::Relaxed);
            }
        }
    };
    static ADDED: AtomicU64 = AtomicU64::new(0);
    let wanted = workers - u64::from(runs_here);
    let before = ADDED.fetch_add(wanted, Ordering::Relaxed);
    let room = MOST_ADDED.max(threads as u64).saturating_sub(before);
    let added = wanted.min(room.max(u64::from(!runs_here)));
    ADDED.fetch_sub(wanted - added, Ordering::Relaxed);
    beside(added as usize, &work, &mut || {
        if runs_here {
            work();
        }
    });
    ADDED.fetch_sub(added, Ordering::Relaxed);
    if next.into_inner() < blocks {
        return Err(
            "the system cannot start another thread, which a kernel that launches kernels needs"
                .into(),
        );
    }
    let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
    mem::replace(&mut *result, Ok(()))
}

/// Runs the whole grid on this thread, in a set order or with a sanitizer's checks. The checks find
/// races even on one thread, since they treat all blocks as concurrent.
///
/// # Safety
/// The conditions of [`run`] apply.
unsafe fn run_on_one(
    kernel: &Kernel,
    (order, limit): (Option<Order>, Option<Duration>),
    (number, depth): (Option<usize>, c_uint),
    launch: &Launch,
    arguments: &Arguments<'_>,
) -> Result<(), String> {
    let name = arguments.kernel;
    let c_name = CString::new(log::name_in_reports(number, name)).ok();
    let progress = Progress::default();
    let mut refusal = Refusal::new();
    let settings =
        Settings::new(order, c_name.as_deref(), &raw const progress, &mut refusal, depth);
    let (grid, block) = (launch.grid.0, launch.block.0);
    let blocks: u64 = grid.iter().map(|&count| u64::from(count)).product();
    let mut findings = 0;
    let mut call = || {
        // SAFETY: the caller guarantees the conditions.
        findings = unsafe { run_blocks(kernel, launch, arguments, (0, blocks), &settings) };
    };
    match limit {
        Some(limit) => {
            log::within(limit, (name, number), &|| place(&progress, grid, block), &mut call)
        }
        None => call(),
    }
    let is_address = |at: &usize| *at < 64 && arguments.addresses >> at & 1 != 0;
    let addresses = (0..arguments.pointers.len()).filter(is_address).map(|at| {
        // SAFETY: the argument is an address, which has the size of a `usize`. The argument may be
        // unaligned.
        (at, unsafe { arguments.pointers[at].cast::<usize>().read_unaligned() })
    });
    // Launches that are checked for races are always logged: the image does not count races, and
    // the reports contain addresses.
    if findings > 0 || kernel.launchers.checks_races {
        log::found(number, findings, addresses);
    }
    if findings == 0 { refusal.result() } else { Err(found(findings)) }
}

/// Runs the blocks from `first` up to, but not including, `end` on this thread. Returns the number
/// of findings.
///
/// # Safety
/// The conditions of [`run`] apply.
unsafe fn run_blocks(
    kernel: &Kernel,
    launch: &Launch,
    arguments: &Arguments<'_>,
    (first, end): (u64, u64),
    settings: &Settings,
) -> c_uint {
    let mut findings = 0;
    // SAFETY: the types are those of `offload/schedule.h`. The addresses, which are only read, and
    // the settings with all that they point to live until the call returns.
    running::blocks(kernel.launchers.no_access, settings.depth, &mut || unsafe {
        findings = (kernel.launchers.blocks)(
            launch.grid.0.as_ptr(),
            launch.block.0.as_ptr(),
            first,
            end,
            launch.shared_memory,
            kernel.entry,
            arguments.pointers.as_ptr().cast_mut().cast(),
            settings,
        );
    });
    findings
}

/// Returns the indices of the running block and thread.
fn place(progress: &Progress, grid: [u32; 3], block: [u32; 3]) -> String {
    let index = |number: &AtomicU64, size: [u32; 3]| {
        let number = number.load(Ordering::Relaxed);
        let [x, y, _] = size.map(|size| u64::from(size.max(1)));
        format!("({}, {}, {})", number % x, number / x % y, number / x / y)
    };
    format!("block {}, thread {}", index(&progress.block, grid), index(&progress.thread, block))
}

/// A function that runs blocks of a grid.
type Run<'a> = dyn Fn(u64, u64) -> Result<(), String> + 'a;

/// The function that all threads of a launch call.
#[derive(Clone, Copy)]
struct Shared<'a>(&'a Run<'a>);

impl<'a> Shared<'a> {
    fn get(self) -> &'a Run<'a> {
        self.0
    }
}

// SAFETY: the function is a kernel with its arguments. The kernel's blocks may run concurrently,
// and the caller of the launch guarantees that its pointers are valid.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

/// Returns the number of threads that run a grid: `OFFLOAD_CPU_THREADS`, or the number of cores.
///
/// Returns an error message if the variable is not a positive number.
fn threads() -> Result<usize, String> {
    // Cached, since counting cores reads files of the system.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get));
    let asked = positive("OFFLOAD_CPU_THREADS", "threads")?;
    Ok(asked.map_or_else(cores, |count| usize::try_from(count.get()).unwrap_or(usize::MAX)))
}
