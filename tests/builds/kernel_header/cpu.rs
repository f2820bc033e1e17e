//! Kernels whose threads wait for each other, run on the CPU. Their results must equal those of
//! plain loops.

use super::expected::{self, Cells, numbers};
use super::{built, compiler};
use libloading::{Library, Symbol};
use offload_tests::prelude::*;
use std::ffi::c_void;

const SOURCE: &str = include_str!("kernels.cu");

tests!(compilers());

/// Returns tests with several compilers, optimization levels, and ways to switch between the
/// threads' stacks.
fn compilers() -> impl Iterator<Item = Test> {
    let compilers = [
        ("gcc_unoptimized", "g++", "-O0"),
        ("gcc_optimized", "g++", "-O3"),
        ("gcc_ucontext", "g++", "-O2 -DOFFLOAD_CPU_UCONTEXT -DOFFLOAD_CPU_DIVIDING_GUARDS"),
        ("clang_unoptimized", "clang++", "-O0"),
        ("clang_optimized", "clang++", "-O3"),
        ("clang_small_stacks", "clang++", "-O2 -DOFFLOAD_CPU_STACK=20000"),
        ("gcc_64_lanes", "g++", "-O2 -DOFFLOAD_CPU_LANES=64"),
        ("clang_64_lanes", "clang++", "-O2 -DOFFLOAD_CPU_LANES=64"),
    ];
    compilers.into_iter().map(|(name, compiler, options)| {
        Test::new(
            module_path!(),
            &format!("kernels_on_the_cpu_compute_what_loops_do_{name}"),
            CLANG,
            move || {
                let mut image = Image::load(&compile(name, compiler, options));
                image.lanes = if options.contains("LANES=64") { 64 } else { 32 };
                for size in [1, 2, 31, 32, 33, 64, 100, 333, 1000, 1024] {
                    block(&image, [size, 1, 1]);
                }
                for shape in [[8, 4, 4], [1, 32, 2], [3, 5, 7], [1, 1, 64], [2, 33, 1]] {
                    block(&image, shape);
                }
                transpose(&image);
                atomics(&image);
                extremes(&image);
            },
        )
    })
}

/// Returns a command that compiles kernels with a C++ compiler.
fn cxx(program: impl AsRef<OsStr>, options: &str) -> Command {
    let usual = "-x c++ -std=c++17 -Wall -Wextra -Werror -fPIC -fvisibility=hidden";
    compiler(program, &format!("{usual} {options}"))
}

fn compile(name: &str, program: &str, options: &str) -> PathBuf {
    compile_source(name, program, options, SOURCE)
}

fn compile_source(name: &str, program: &str, options: &str, source: &str) -> PathBuf {
    let folder = scratch::folder(&format!("kernels-{name}"));
    scratch::write(folder.join("kernels.cu"), source);
    let program = if program == "clang++" { llvm_bin().join(program) } else { program.into() };
    let image = folder.join("kernels.so");
    let mut command = cxx(program, &format!("{options} -shared -Wl,-z,defs"));
    command.arg(folder.join("kernels.cu")).arg("-o");
    succeed(command.arg(&image));
    image
}

/// In inline assembly, g++ for AArch64 accepts different constraints than g++ and clang for x86-64.
#[test(needs(&[Tool::GccAarch64]))]
fn gcc_for_aarch64_compiles_kernels() {
    for options in ["-O0 -g", "-O3", "-O2 -DOFFLOAD_CPU_UCONTEXT"] {
        let name = options.replace(' ', "");
        compile(&format!("aarch64{name}"), "aarch64-linux-gnu-g++", options);
    }
}

/// A loaded image for the CPU, and the number of lanes in its warps.
struct Image {
    library: Library,
    lanes: usize,
}

type Launch = unsafe extern "C" fn(*const u32, *const u32, Thread, *mut c_void);
type Thread = unsafe extern "C" fn(*mut c_void);
type LaunchShared = unsafe extern "C" fn(*const u32, *const u32, usize, Thread, *mut c_void);

impl Image {
    fn load(path: &Path) -> Self {
        // SAFETY: the image was compiled from the source above, and runs no code when it is loaded.
        let library = unsafe { Library::new(path) }.expect("the image can be loaded");
        Self { library, lanes: 32 }
    }

    /// # Safety
    /// `F` must be the type of the function called `name`.
    unsafe fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: the caller guarantees that the type is correct.
        unsafe { self.library.get(name) }.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn launch<F: Fn()>(&self, grid: [u32; 3], block: [u32; 3], shared: usize, thread: F) {
        unsafe extern "C" fn call<F: Fn()>(context: *mut c_void) {
            // SAFETY: `context` points to the launch's closure, which outlives the launch and is
            // only read.
            unsafe { (*context.cast::<F>())() }
        }
        let context = (&raw const thread).cast_mut().cast();
        // SAFETY: the types are those in offload/cpu.h.
        unsafe {
            if shared == 0 {
                let launch = self.function::<Launch>("offload_cpu_launch");
                launch(grid.as_ptr(), block.as_ptr(), call::<F>, context);
            } else {
                let launch = self.function::<LaunchShared>("offload_cpu_launch_shared");
                launch(grid.as_ptr(), block.as_ptr(), shared, call::<F>, context);
            }
        }
    }
}

/// Launches a kernel from the source above. The arguments' types must be those of the kernel's
/// parameters. A comment at each use explains why the arrays are large enough.
macro_rules! launch {
    ($image:expr, $kernel:ident($($argument:ident: $ty:ty),+), $grid:expr, $block:expr $(, $shared:expr)?) => {{
        type Kernel = unsafe extern "C" fn($($ty),+);
        let shared = 0 $(+ $shared)?;
        // SAFETY: the type is that of the function in the source.
        let kernel = unsafe { $image.function::<Kernel>(stringify!($kernel)) };
        // SAFETY: the arrays have all elements that the kernel accesses, as a comment at each use
        // explains.
        $image.launch($grid, $block, shared, || unsafe { kernel($($argument),+) });
    }};
}

/// Names of system functions that nvcc also accepts as kernel names.
const SYSTEM: &str = "access alarm brk chdir chroot clone close crypt dup dup2 execv fork fsync getpid index isatty \
    link lseek nice open pause pipe pread read readlink rindex rmdir sbrk setns sleep stat swab symlink sync sysconf truncate \
    unlink unshare usleep wait write";

/// Returns a source with a kernel for each name in `SYSTEM`. The kernels' threads wait for each
/// other.
fn of_system() -> String {
    let kernel = |name| {
        format!(
            "extern \"C\" __global__ void {name}(int *x) {{\n  x[threadIdx.x] = threadIdx.x;\n  __syncthreads();\n  \
             x[blockDim.x + threadIdx.x] = x[blockDim.x - 1 - threadIdx.x];\n}}\n"
        )
    };
    SYSTEM.split_whitespace().map(kernel).collect()
}

/// If an image calls a system function that shares its name with a kernel, the call must still
/// reach the system function.
#[test(CLANG)]
fn kernels_have_names_of_system_functions() {
    for (program, options) in
        [("g++", "-O2"), ("clang++", "-O2"), ("g++", "-O2 -DOFFLOAD_CPU_UCONTEXT")]
    {
        let name = format!("system-{program}{}", options.len());
        let image = Image::load(&compile_source(&name, program, options, &of_system()));
        let expected: Vec<i32> = (0..64).chain((0..64).rev()).collect();
        let mut x = vec![0; 128];
        let start = x.as_mut_ptr();
        // 64 threads access twice as many elements.
        launch!(image, dup(start: *mut i32), [1, 1, 1], [64, 1, 1]);
        assert_eq!(x, expected, "{program}");
        x.fill(0);
        launch!(image, sysconf(start: *mut i32), [1, 1, 1], [64, 1, 1]);
        assert_eq!(x, expected, "{program}");
    }
}

#[test(NVCC.slow())]
fn nvcc_takes_names_of_system_functions() {
    let folder = scratch::folder("kernels-system-nvcc");
    scratch::write(folder.join("k.cu"), of_system());
    run(cuda("nvcc"), &folder, "-arch=sm_80 -ptx k.cu -o k.ptx");
}

/// Checks the sums, reversals, scans, votes and lanes of blocks with this shape.
fn block(image: &Image, shape: [u32; 3]) {
    sums(image, shape);
    reversal(image, shape);
    let size = shape.iter().product::<u32>() as usize;
    for n in [1, size / 2 + 1, size] {
        scan(image, shape, n);
    }
    votes(image, shape);
    lanes(image, shape);
}

fn sums(image: &Image, shape: [u32; 3]) {
    const BLOCKS: usize = 3;
    let size = shape.iter().product::<u32>() as usize;
    let x: Vec<f32> = numbers(BLOCKS * size).iter().map(|x| *x as f32).collect();
    let found = [0_f32; BLOCKS];
    let (from, to) = (x.as_ptr(), found.as_ptr().cast_mut());
    // The kernel reads one element per thread, and writes one per block.
    launch!(image, tree_sum(from: *const f32, to: *mut f32), [BLOCKS as u32, 1, 1], shape);
    let expected = expected::sums(&x, size);
    // SAFETY: reads the value again, after foreign code wrote it.
    let found = unsafe { std::ptr::read_volatile(&raw const found) };
    assert_eq!(found.to_vec(), expected, "tree_sum {shape:?}");
}

fn reversal(image: &Image, shape: [u32; 3]) {
    let size = shape.iter().product::<u32>() as usize;
    let mut x: Vec<f64> = (0..2 * size).map(|x| x as f64).collect();
    let expected = expected::reversed(&x, size);
    let data = x.as_mut_ptr();
    // `x` has one element for each thread of two blocks.
    launch!(image, reverse(data: *mut f64), [2, 1, 1], shape, size * 8);
    assert_eq!(x, expected, "reverse {shape:?}");
    // A grid without blocks runs no thread.
    launch!(image, reverse(data: *mut f64), [0, 1, 1], shape, size * 8);
}

fn scan(image: &Image, shape: [u32; 3], n: usize) {
    let size = shape.iter().product::<u32>() as usize;
    let x = numbers(size);
    let mut found = vec![-1; size];
    let (from, to, count) = (x.as_ptr(), found.as_mut_ptr(), n as u32);
    // `x` and `found` have one element for each thread.
    launch!(image, scan(from: *const i32, to: *mut i32, count: u32), [1, 1, 1], shape);
    assert_eq!(found, expected::scanned(&x, n), "scan of {n}, {shape:?}");
}

fn votes(image: &Image, shape: [u32; 3]) {
    let size = shape.iter().product::<u32>() as usize;
    let mut found = [(); 3].map(|()| vec![-1; 2 * size]);
    let [counts, alls, anys] = found.each_mut().map(|list| list.as_mut_ptr());
    // Each buffer has two elements for each thread.
    launch!(image, votes(counts: *mut i32, alls: *mut i32, anys: *mut i32), [1, 1, 1], shape);
    assert_eq!(found, expected::votes(size), "votes {shape:?}");
}

fn lanes(image: &Image, shape: [u32; 3]) {
    let size = shape.iter().product::<u32>() as usize;
    let x = numbers(size);
    let mut found = vec![-1_i64; 8 * size];
    let (from, to) = (x.as_ptr(), found.as_mut_ptr());
    // `x` has one element for each thread, and `found` has eight.
    launch!(image, lanes(from: *const i32, to: *mut i64), [1, 1, 1], shape);
    assert_eq!(found, expected::lanes(&x, image.lanes), "lanes {shape:?}");
    found.fill(-1);
    let to = found.as_mut_ptr();
    // As above.
    launch!(image, groups(from: *const i32, to: *mut i64), [1, 1, 1], shape);
    assert_eq!(found, expected::groups(&x, image.lanes), "groups {shape:?}");
}

fn transpose(image: &Image) {
    let (rows, columns) = (48, 80);
    let x = numbers(rows * columns);
    for height in [1, 4, 16] {
        let mut found = vec![-1; rows * columns];
        let (from, to) = (x.as_ptr(), found.as_mut_ptr());
        // The matrices have 16 rows and 16 columns for each block.
        let grid = [columns as u32 / 16, rows as u32 / 16, 1];
        launch!(image, transpose(from: *const i32, to: *mut i32), grid, [16, height, 1]);
        let expected = expected::transposed(&x, rows, columns);
        assert_eq!(found, expected, "transpose, {height} rows of threads");
    }
}

/// Runs four launches at the same time. Each launch has its own shared memory, but all launches
/// change the same cells with atomic functions.
fn atomics(image: &Image) {
    const LAUNCHES: u32 = 4;
    const THREADS: u32 = 5 * 96;
    let mut cells = Cells::new();
    let addresses = [
        cells.i.as_mut_ptr() as usize,
        cells.u.as_mut_ptr() as usize,
        cells.l.as_mut_ptr() as usize,
        cells.f.as_mut_ptr() as usize,
        cells.d.as_mut_ptr() as usize,
    ];
    std::thread::scope(|scope| {
        for _ in 0..LAUNCHES {
            scope.spawn(move || {
                let [i, u, l, f, d] = addresses;
                // The arrays contain all elements that the kernel accesses. The kernel changes the
                // elements only with atomic functions.
                launch!(
                    image,
                    atomics(i: usize, u: usize, l: usize, f: usize, d: usize),
                    [5, 1, 1],
                    [32, 3, 1]
                );
                for shape in [[7, 1, 1], [64, 2, 1]] {
                    block(image, shape);
                }
            });
        }
    });
    assert_eq!(cells, Cells::after(LAUNCHES, THREADS));
}

/// Tests minima and maxima of a quiet or signaling NaN and an extreme number.
fn extremes(image: &Image) {
    for [nan, wide] in [[0x7fc0_0000, 0x7ff8_0000], [0x7f80_0001, 0x7ff0_0000], [!0, !0]] {
        for number in [f32::MAX, 1e-45, -0.0, f32::NEG_INFINITY] {
            let (bits, found) = ([nan, number.to_bits(), wide], [!0_u32]);
            let (from, to) = (bits.as_ptr(), found.as_ptr().cast_mut());
            // The kernel reads three elements, and writes one.
            launch!(image, extremes(from: *const u32, to: *mut u32), [1, 1, 1], [1, 1, 1]);
            // SAFETY: reads the value again, after foreign code wrote it.
            let wrong = unsafe { std::ptr::read_volatile(&raw const found) };
            assert_eq!(wrong, [0], "{nan:x}, {number}");
        }
    }
}

/// Tests the image that a build script makes.
#[test(CLANG.slow())]
fn kernels_with_barriers_run_on_the_cpu_for_many_block_sizes() {
    let scenario = built("header_cpu", &["cpu"], SOURCE);
    let image = Image::load(&scenario.output("release", "k/cpu.so"));
    // Every size up to eight warps, then the sizes around whole warps.
    for size in (1..=1024).filter(|size| *size <= 256 || (size + 1) % 32 <= 2) {
        sums(&image, [size, 1, 1]);
        reversal(&image, [size, 1, 1]);
        votes(&image, [size, 1, 1]);
    }
    for size in (1..=1024).step_by(51) {
        block(&image, [size, 1, 1]);
    }
}

/// Returns the path of a program that consists of the kernels and a C++ `main`.
fn program(name: &str, options: &str, main: &str) -> PathBuf {
    let folder = scratch::folder(name);
    scratch::write(folder.join("program.cu"), format!("{SOURCE}\n{main}"));
    let program = folder.join("program");
    succeed(cxx("g++", options).arg(folder.join("program.cu")).arg("-o").arg(&program));
    program
}

#[test(GCC)]
fn threads_that_wait_for_each_other_end_the_program_with_a_message() {
    let program = program(
        "kernels-stuck",
        "-O1",
        "#include <string.h>\n#include <utility>\n\
         __global__ void functions() { if (threadIdx.x % 2) __syncwarp(); else __any_sync(OFFLOAD_ALL_LANES, 1); }\n\
         __global__ void shared() { OFFLOAD_DYNAMIC_SHARED(float, tile); tile[0] = 1; }\n\
         __global__ void local() {\n  \
           volatile unsigned values[700000];\n  \
           values[threadIdx.x] = values[699999] = threadIdx.x;\n  \
           __syncthreads();\n  \
           if (values[threadIdx.x] + values[699999] != 2 * threadIdx.x) abort();\n}\n\
         int main(int, char **names) {\n  \
           unsigned grid[] = {2, 1, 1}, block[] = {40, 1, 1};\n  \
           for (auto [name, kernel] : {std::pair(\"stuck\", stuck), {\"functions\", functions}, {\"shared\", shared},\n  \
                                       {\"local\", local}})\n    \
             if (strcmp(name, names[1]) == 0)\n      \
               offload_cpu_launch(grid, block, [](void *it) { (*static_cast<void (**)()>(it))(); }, &kernel);\n}\n",
    );
    for (launch, expected) in [
        (
            "stuck",
            "offload: the threads of block (0, 0, 0) wait for each other: of 40, 16 are at a barrier, 16 in a warp \
             function, and 8 have returned.\n",
        ),
        // NVIDIA's GPUs would wait forever here, too.
        (
            "functions",
            "offload: lanes of a warp wait for each other in block (0, 0, 0): thread 0 in __any_sync, thread 1 in \
             __syncwarp.\n",
        ),
        (
            "shared",
            "offload: block (0, 0, 0), thread (0, 0, 0): the kernel uses dynamic shared memory, and the launch gives none: \
             set its size with Launch::shared_memory",
        ),
    ] {
        let output = Command::new(&program).arg(launch).output().expect("the program starts");
        assert!(!output.status.success());
        assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    }
    // No GPU gives a thread this much local memory.
    succeed(Command::new(&program).arg("local"));
}

#[test(GCC.slow())]
fn barriers_on_the_cpu_please_the_address_sanitizer() {
    let program = program(
        "kernels-asan",
        "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all",
        "static float x[2048], sums[2];\nstatic long long out[8192];\nstatic int numbers[1024];\n\
         int main() {\n  for (float &each : x) each = 2;\n  \
           for (unsigned size = 1; size <= 1024; size += 31) {\n    \
             unsigned grid[] = {2, 1, 1}, one[] = {1, 1, 1}, block[] = {size, 1, 1};\n    \
             offload_cpu_launch(grid, block, [](void *) { tree_sum(x, sums); }, nullptr);\n    \
             offload_cpu_launch(one, block, [](void *) { lanes(numbers, out); }, nullptr);\n    \
             if (sums[0] != 2 * size || sums[1] != 2 * size) return 1;\n  }\n}\n",
    );
    succeed(&mut Command::new(program));
}
