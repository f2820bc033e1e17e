//! Images whose kernels a sanitizer checks (`OFFLOAD_CPU_CHECK` at build time), and the order in
//! which blocks and threads run (`OFFLOAD_CPU_ORDER` at run time).

use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_char, c_uint};
use core::ptr;
use core::sync::atomic::AtomicU64;
use offload_pack::checks::{Check, CheckedImage, Order, variables};
use std::env;
use std::sync::OnceLock;

/// Returns the image to load: `image`, or the image inside it that fits this program's sanitizer.
/// Also returns the description of that image's sanitizer, or `None` if it has no sanitizer.
///
/// Returns an error if the program was started without the sanitizer's library: loading the library
/// later would end or crash the program.
pub(super) fn choose(image: &[u8]) -> Result<(Option<CheckedImage>, &[u8]), String> {
    let all = CheckedImage::all(image);
    if all.is_empty() {
        return Ok((None, image));
    }
    let hints: String = all.iter().map(|(checked, _)| hint(checked)).collect();
    match all.into_iter().find(|(checked, _)| is_loadable(checked.check)) {
        Some((checked, image)) => Ok((Some(checked), image)),
        None => Err(format!(
            "the image was built with a sanitizer that is not loaded in this program.{hints}"
        )),
    }
}

fn is_loadable(check: Check) -> bool {
    match check {
        Check::Memory | Check::MemoryAndUndefined => is_there("__asan_init"),
        Check::Races => is_there("__tsan_init"),
        // The library of UndefinedBehaviorSanitizer may also be loaded later, if the loader finds
        // it.
        Check::Undefined => true,
    }
}

/// Returns advice for the user: the variables that load the sanitizer's library when the program
/// starts.
pub(super) fn hint(CheckedImage { check, libraries, symbolizer }: &CheckedImage) -> String {
    let (variable, options) = check.sanitizer_options();
    let before = if symbolizer.is_empty() { "" } else { ":external_symbolizer_path=" };
    format!(
        "\nThe image was built with {}={}: start the program with LD_PRELOAD={libraries} \
         {variable}={options}{before}{symbolizer}, or build the image without {0}.",
        variables::CHECK,
        check.name()
    )
}

/// Whether the program, or a library loaded at its start, has a function with this name.
fn is_there(name: &str) -> bool {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
        // Not `Library::this()`, which panics in a static musl program, because such a program has
        // no loader. SAFETY: the program is already loaded, so this call runs no code.
        let program = unsafe { Library::open(None::<&str>, RTLD_LAZY | RTLD_LOCAL) };
        // SAFETY: the address is only tested, and nothing is called.
        program.is_ok_and(|it| unsafe { it.get::<*const u8>(name.as_bytes()) }.is_ok())
    }
    #[cfg(not(unix))]
    {
        let _ = name;
        false
    }
}

/// Whether the program runs under a sanitizer, in which case new memory is filled with a pattern.
pub(super) fn is_checked() -> bool {
    static CHECKED: OnceLock<bool> = OnceLock::new();
    *CHECKED.get_or_init(|| is_there("__asan_init") || is_there("__tsan_init"))
}

/// Returns the order that `OFFLOAD_CPU_ORDER` sets, or `None` if the variable is unset or empty.
///
/// Returns an error message if the value is not an order.
pub(super) fn order() -> Result<Option<Order>, String> {
    let Some(text) = env::var_os(variables::ORDER).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    Order::parse(&text).map(Some).ok_or_else(|| {
        format!(
            "{} is '{text}', but must be 'forward', 'reverse', or 'random:' and a number, such as \
             'random:7'",
            variables::ORDER
        )
    })
}

/// The settings for running a grid, as `offload/schedule.h` declares them.
#[repr(C)]
pub(super) struct Settings {
    pub(super) size: usize,
    /// The kernel's name for messages, or null.
    pub(super) kernel: *const c_char,
    pub(super) order: c_uint,
    pub(super) seed: u64,
    /// Where the image stores the running block and thread; may be null.
    pub(super) progress: *const Progress,
    /// Memory that all images share.
    pub(super) stacks: *const SharedStacks,
    pub(super) stacks_size: usize,
    /// The process that owns the stacks.
    pub(super) process: u32,
    /// Where the image writes the reason if the system cannot run the grid.
    pub(super) refusal: *mut Refusal,
    pub(super) refusal_size: usize,
    /// How many outer launches wait for this one: a kernel may launch kernels itself.
    pub(super) depth: c_uint,
}

/// Memory that all images share: the stacks of launches, as `offload/stacks.h` declares them, and
/// from byte 256 the `process_checks` of `offload/checks.cpp`. The program owns it, because images
/// may be unloaded.
pub(super) type SharedStacks = [AtomicU64; 64];

static STACKS: SharedStacks = [const { AtomicU64::new(0) }; 64];

/// The reason why the system cannot run a grid, as text that ends with a NUL.
pub(super) struct Refusal([u8; 512]);

impl Refusal {
    pub(super) fn new() -> Self {
        Self([0; 512])
    }

    /// Returns an error with the reason if the grid could not run.
    pub(super) fn result(&self) -> Result<(), String> {
        match CStr::from_bytes_until_nul(&self.0) {
            Ok(text) if !text.is_empty() => Err(text.to_string_lossy().into_owned()),
            _ => Ok(()),
        }
    }
}

/// The numbers of the running block and thread, written by the image and read by another thread.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) block: AtomicU64,
    pub(super) thread: AtomicU64,
}

impl Settings {
    pub(super) fn new(
        order: Option<Order>,
        kernel: Option<&CStr>,
        progress: *const Progress,
        refusal: &mut Refusal,
        depth: c_uint,
    ) -> Self {
        let (order, seed) = match order {
            None => (0, 0),
            Some(Order::Forward) => (1, 0),
            Some(Order::Reverse) => (2, 0),
            Some(Order::Random(seed)) => (3, seed),
        };
        let kernel = kernel.map_or(ptr::null(), CStr::as_ptr);
        Self {
            size: size_of::<Self>(),
            kernel,
            order,
            seed,
            progress,
            stacks: &raw const STACKS,
            stacks_size: size_of_val(&STACKS),
            process: std::process::id(),
            refusal,
            refusal_size: size_of_val(&refusal.0),
            depth,
        }
    }
}

/// Returns the error text for a launch in which a sanitizer found this many errors.
pub(super) fn found(findings: u32) -> String {
    match findings {
        1 => "the checked build reported a finding; see above".into(),
        _ => format!("the checked build reported {findings} findings; see above"),
    }
}
