//! Launches on the CPU that need much of the system's resources: many stacks, large stacks, or
//! launches inside kernels.

use crate::{Result, deep, divided, small, stacks};
use offload_gpu::run::{Device, Launch, RunError};
use std::ffi::{CString, c_char, c_int, c_void};
use std::{fs, ptr, thread};

unsafe extern "C" {
    safe fn getpid() -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
    fn mmap(at: usize, size: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut u8;
    fn mprotect(start: *mut u8, size: usize, access: c_int) -> c_int;
    fn getrusage(who: c_int, usage: *mut [i64; 18]) -> c_int;
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn pthread_attr_init(attributes: *mut [u64; 16]) -> c_int;
    fn pthread_attr_setstacksize(attributes: *mut [u64; 16], size: usize) -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const [u64; 16],
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int;
}

/// `struct sigaction`.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

const SIGSEGV: c_int = 11;
const SA_SIGINFO: c_int = 4;
const SA_ONSTACK: c_int = 0x0800_0000;
const SA_NODEFER: c_int = 0x4000_0000;
const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

/// Calls a macro for each of two packs with these kernels: one with the best stack guards that the
/// system supports, and one with guards that divide mappings.
macro_rules! for_each_pack {
    ($do:ident) => {{
        $do!(stacks);
        $do!(divided);
    }};
}

/// Launches blocks of 1024 threads from `launching` threads at the same time.
pub fn many(launching: usize) -> Result {
    macro_rules! launch {
        ($pack:ident) => {{
            let launch = || -> std::result::Result<(), RunError> {
                let device = Device::cpu();
                let numbers: Vec<i32> = (0..8 * 1024).collect();
                for _ in 0..3 {
                    let mut x = device.buffer(&numbers)?;
                    // SAFETY: the buffer has an element for each thread.
                    unsafe { $pack::turn(&mut x).launch(&device, 8, 1024)? };
                    let turned: Vec<i32> =
                        numbers.chunks(1024).flat_map(|block| block.iter().rev().copied()).collect();
                    assert!(x.to_vec()? == turned);
                }
                Ok(())
            };
            thread::scope(|scope| {
                let all: Vec<_> = (0..launching).map(|_| scope.spawn(launch)).collect();
                all.into_iter().try_for_each(|it| it.join().expect("no launch panics"))
            })?;
        }};
    }
    for_each_pack!(launch);
    println!("done");
    Ok(())
}

/// Launches 256 blocks of 1024 threads. Most blocks must wait for stacks that other blocks use.
/// Prints whether the waiting system threads sleep only rarely.
pub fn waiting() -> Result {
    let device = Device::cpu();
    let mut x = device.buffer(&vec![1; 256 * 1024])?;
    // SAFETY: the buffer has an element for each thread.
    unsafe { divided::turn(&mut x).launch(&device, 256, 1024)? };
    let mut used = [0; 18];
    // SAFETY: the type is that of the C library.
    unsafe { getrusage(0, &raw mut used) };
    // The last field but one is the number of times that this process slept (getrusage(2)).
    println!("sleeps: {}", if used[16] < 5000 { "few".into() } else { used[16].to_string() });
    Ok(())
}

/// Sets an action for SIGSEGV, launches a kernel, then causes the signal.
pub fn own_handler(kind: &str) -> Result {
    static mut PAGES: [*mut u8; 2] = [ptr::null_mut(); 2];
    /// Makes the page accessible, and accesses the second page, which causes a second signal.
    unsafe extern "C" fn again(_: c_int, info: *const [usize; 3], _: *mut c_void) {
        // SAFETY: the system passes the structure, and the pages are mapped.
        unsafe {
            let page = (*info)[2] as *mut u8;
            mprotect(page, 4096, 3);
            if page == PAGES[0] {
                PAGES[1].write_volatile(1);
            }
        }
    }
    /// Makes the page accessible, and uses much stack.
    unsafe extern "C" fn large(_: c_int, info: *const [usize; 3], _: *mut c_void) {
        let mut memory = [1_u8; 200 * 1024];
        std::hint::black_box(&mut memory);
        // SAFETY: as above.
        unsafe { mprotect((*info)[2] as *mut u8, 4096, 3) };
    }
    let (handler, flags) = match kind {
        "again" => (again as *const () as usize, SA_SIGINFO | SA_ONSTACK | SA_NODEFER),
        "large" => (large as *const () as usize, SA_SIGINFO),
        _ => (0, 0),
    };
    let action = Action { handler, mask: [0; 16], flags, restorer: 0 };
    // SAFETY: the types are those of the C library, and the handlers do only what handlers may do.
    unsafe {
        PAGES = [0; 2].map(|at| mmap(at, 4096, 0, 0x22, -1, 0));
        sigaction(SIGSEGV, &raw const action, ptr::null_mut());
        let device = Device::cpu();
        let mut x = device.buffer(&[1; 64])?;
        stacks::turn(&mut x).launch(&device, 1, 64)?;
        if kind == "default" {
            kill(getpid(), SIGSEGV);
        } else {
            PAGES[0].write_volatile(1);
        }
    }
    println!("goes on");
    Ok(())
}

/// Prints whether a library stays loaded after `dlclose` because it has launched a kernel.
pub fn unload(library: &str) -> Result {
    let file = CString::new(library)?;
    // SAFETY: the library has this function.
    unsafe {
        let library = dlopen(file.as_ptr(), RTLD_LAZY);
        let launches = dlsym(library, c"launches".as_ptr());
        std::mem::transmute::<*mut c_void, extern "C" fn()>(launches)();
        dlclose(library);
        println!("stays: {}", !dlopen(file.as_ptr(), RTLD_LAZY | RTLD_NOLOAD).is_null());
    }
    Ok(())
}

/// Launches inside kernels, from `launching` threads at the same time.
pub fn nested(launching: usize) -> Result {
    macro_rules! launch {
        ($pack:ident) => {{
            extern "C" fn innermost() {
                launch_inner(ptr::null_mut(), 4000);
            }
            extern "C" fn middle() {
                launch_inner(innermost as *mut c_void, 2000);
            }
            fn launch_inner(call: *mut c_void, sum: i32) {
                let device = Device::cpu();
                let mut x = device.buffer(&[0; 1024]).unwrap();
                let launch = Launch::new(4, 1024).shared_memory(4096);
                // SAFETY: the buffer and a block's shared memory have an element for each thread.
                // All blocks write the same values.
                unsafe { $pack::inner(call, &mut x).launch_as(&device, &launch).unwrap() };
                assert!(x.to_vec().unwrap() == [sum; 1024]);
            }
            thread::scope(|scope| {
                for _ in 0..launching {
                    scope.spawn(|| {
                        let device = Device::cpu();
                        let mut x = device.buffer(&[0; 1024]).unwrap();
                        let launch = Launch::new(4, 1024).shared_memory(4096);
                        let call = if launching == 1 { middle } else { innermost };
                        let call = call as extern "C" fn() as *mut c_void;
                        // SAFETY: as above.
                        unsafe { $pack::outer(call, &mut x).launch_as(&device, &launch).unwrap() };
                        assert!(x.to_vec().unwrap() == [16; 1024]);
                    });
                }
            });
        }};
    }
    for_each_pack!(launch);
    println!("done");
    Ok(())
}

/// Uses 4 MiB of stack in each kind of thread. build.rs sets the stack size to 16 MB.
pub fn deep_enough() -> Result {
    let device = Device::cpu();
    let mut x = device.buffer(&[0])?;
    // SAFETY: the kernels write one element.
    unsafe {
        deep::before(2000, &mut x).launch(&device, 8, 64)?;
        deep::after(2000, &mut x).launch(&device, 8, 64)?;
        deep::alone(2000, &mut x).launch(&device, 8, 64)?;
    }
    println!("{:?}", x.to_vec()?);
    Ok(())
}

/// Launches a kernel that needs more stack than it has, or that crashes in a different way.
pub fn overflow(kernel: &str) -> Result {
    let device = Device::cpu();
    let mut x = device.buffer(&[0])?;
    macro_rules! launch {
        ($pack:ident) => {
            // SAFETY: the kernels write one element, or end the program.
            unsafe {
                match kernel {
                    "before" => $pack::before(9000, &mut x).launch(&device, 1, 64)?,
                    "after" => $pack::after(600, &mut x).launch(&device, 1, 64)?,
                    "alone" => $pack::alone(9000, &mut x).launch(&device, 1, 64)?,
                    "frame" => $pack::frame(1, &mut x).launch(&device, 1, 64)?,
                    "small" => small::after(600, &mut x).launch(&device, 1, 64)?,
                    "divided" => divided::after(600, &mut x).launch(&device, 1, 64)?,
                    "null" => $pack::null(ptr::null_mut::<i32>()).launch(&device, 2, 64)?,
                    "waits" => $pack::waits(ptr::null_mut::<i32>()).launch(&device, 2, 64)?,
                    "divide" => $pack::divide(0, &mut x).launch(&device, 2, 64)?,
                    "traps" => $pack::traps().launch(&device, 2, 64)?,
                    _ => $pack::stops().launch(&device, 2, 64)?,
                }
            }
        };
    }
    launch!(stacks);
    Ok(())
}

/// Overflows a kernel's stack on a system thread that has a small stack, and no stack for signals,
/// because neither Rust nor the program set one up.
pub fn overflow_on_bare_thread() -> Result {
    extern "C" fn start(_: *mut c_void) -> *mut c_void {
        overflow("after").expect("the launch ends the program");
        ptr::null_mut()
    }
    let (mut thread, mut attributes) = (0, [0; 16]);
    // SAFETY: the types are those of the C library.
    unsafe {
        pthread_attr_init(&raw mut attributes);
        assert!(pthread_attr_setstacksize(&raw mut attributes, 40 * 1024) == 0);
        assert!(pthread_create(&mut thread, &raw const attributes, start, ptr::null_mut()) == 0);
        pthread_join(thread, ptr::null_mut());
    }
    Ok(())
}

/// Prints the results of launches that the system may refuse.
pub fn refused() -> Result {
    let device = Device::cpu();
    let mut x = device.buffer(&[0; 8 * 1024])?;
    let shared = |bytes| Launch::new(1, 1024).shared_memory(bytes);
    // SAFETY: the buffer has an element for each thread.
    unsafe {
        println!("{:?}", stacks::turn(&mut x).launch(&device, 8, 1024));
        println!("{:?}", stacks::inner(ptr::null_mut::<c_void>(), &mut x).launch_as(&device, &shared(300_000)));
        println!("{:?}", stacks::inner(ptr::null_mut::<c_void>(), &mut x).launch_as(&device, &shared(4096)));
    }
    Ok(())
}

/// Prints whether a second launch of the same block reuses stacks that are already in memory, and
/// whether stacks return most of their memory after a launch used much of it.
pub fn kept() -> Result {
    let device = Device::cpu();
    let mut x = device.buffer(&[0; 1024])?;
    let mut launch = |touches: bool| {
        // SAFETY: the buffer has an element for each thread.
        unsafe {
            match touches {
                false => stacks::turn(&mut x).launch(&device, 1, 1024),
                true => stacks::touch(&mut x).launch(&device, 1, 1024),
            }
        }
    };
    // Returns the number of page faults, which is the tenth field (proc_pid_stat(5)).
    let faults = || -> u64 {
        let text = fs::read_to_string("/proc/self/stat").unwrap();
        text.rsplit(')').next().unwrap().split(' ').nth(8).unwrap().parse().unwrap()
    };
    let resident = || -> u64 {
        let text = fs::read_to_string("/proc/self/status").unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    };
    launch(false)?;
    let first = faults();
    launch(false)?;
    println!("faults of 1024 threads: {}", if faults() - first < 256 { "few" } else { "many" });
    launch(true)?;
    println!("left of 320 MiB: {}", if resident() < 160 { "little" } else { "much" });
    Ok(())
}
