//! With each version of clang, kernels that the build cuts into regions must write the same numbers
//! as kernels whose threads have stacks.

// The modules' unit tests do not run here.
#[allow(dead_code, unused_imports)]
#[path = "../../../offload-build/src/compile/debug_info/mod.rs"]
mod debug_info;
#[allow(dead_code, unused_imports)]
#[path = "../../../offload-build/src/compile/regions/mod.rs"]
mod product;
mod random;

use offload_tests::own;
use offload_tests::prelude::*;
use offload_tests::random_kernels::SEEDS;

const NEEDS: Needs = needs(&[Tool::Oldest, Tool::Clangs, Tool::Llvm22]);

/// The options with which the build inlines functions before it cuts kernels into regions.
const INLINED: &str = "-DOFFLOAD_CPU_REGIONS -O1 -finline-functions -mllvm -inline-threshold=2475 \
                       -fno-vectorize -fno-slp-vectorize -fno-math-errno -fdiscard-value-names \
                       -emit-llvm -S";

/// Compiles a source as the build does, and runs its kernels with stacks and by regions. Returns
/// the image's lines about kernels.
fn run(name: &str, clang: &Path, source: &str, options: &str) -> Vec<String> {
    let folder = scratch::folder(name);
    scratch::write(folder.join("k.cu"), source);
    scratch::write(folder.join("run.h"), include_str!("run.h"));
    let clang = |options: &str, input: &str, output: &str| {
        let mut command = Command::new(clang);
        command.current_dir(&folder).args(options.split_whitespace()).arg(input);
        succeed(command.args(["-o", output]));
        fs::read_to_string(folder.join(output)).unwrap_or_default()
    };
    let header = workspace().join("offload-build/include");
    let usual = "-std=c++17 -fPIC -fvisibility=hidden -w -include offload/kernel.h -x c++";
    let ir = clang(
        &format!("{usual} -I {} {options} {INLINED}", header.display()),
        "k.cu",
        "inlined.ll",
    );
    let cut = product::cut(&ir, true);
    scratch::write(folder.join("cut.ll"), &cut);
    clang("-fPIC -w -O2 -mllvm -enable-nontrivial-unswitch -c", "cut.ll", "k.o");
    succeed(Command::new("c++").current_dir(&folder).args(["k.o", "-o", "k"]));
    let printed = stdout(&succeed(Command::new(folder.join("k")).current_dir(&folder)));
    assert_eq!(printed, "", "{}", folder.display());
    let mut records = Vec::new();
    for line in cut.lines().filter(|line| line.contains(".record\" = ")) {
        let text = line.split_once("c\"").and_then(|(_, text)| text.split_once("\\0A"));
        records.push(text.expect("a record is a line").0.to_owned());
    }
    records.sort();
    records
}

/// The kernels that keep stacks, with the reasons.
const WITH_STACKS: [&str; 10] = [
    "computed_goto stacks: it calls _Z13computed_gotoPKiPii, which waits and cannot be inlined",
    "pointer_waits stacks: it calls a function pointer, and the function may wait",
    "recursion_waits stacks: it calls _Z3reci, which waits and cannot be inlined",
    "throws_inside stacks: threads wait after they catch an exception",
    "tid_by_pointer stacks: it calls a function pointer, and the function may wait",
    "virtual_waits stacks: it calls a function pointer, and the function may wait",
    "vla stacks: it has arrays whose sizes are known only at run time",
    "wait_in_catch stacks: threads wait after they catch an exception",
    "wait_in_try stacks: threads wait after they catch an exception",
    "wait_in_try2 stacks: threads wait after they catch an exception",
];

#[test(NEEDS)]
fn kernels_by_regions_compute_what_threads_with_stacks_do() {
    for (version, clang) in tools::clangs() {
        for options in ["", "-DOFFLOAD_CPU_LANES=64 -g"] {
            // The source's masks are for 32 lanes.
            let source = include_str!("kernels.cu");
            let source = if options.is_empty() { source.to_owned() } else { wide(source) };
            let records = run(&format!("regions-{version}"), &clang, &source, options);
            let (stacks, regions): (Vec<&String>, Vec<&String>) =
                records.iter().partition(|line| line.contains(" stacks: "));
            assert_eq!(stacks, WITH_STACKS, "clang {version}");
            assert!(regions.len() > 30, "{regions:?}");
            assert!(regions.iter().any(|it| *it == "votes regions: 7"), "{regions:?}");
        }
    }
}

/// Returns a source with masks for 64 lanes.
fn wide(source: &str) -> String {
    source.replace("~0u,", "~0ull,")
}

#[test(NEEDS)]
fn random_kernels_by_regions_compute_what_threads_with_stacks_do() {
    let asked = env::var(SEEDS).ok();
    for (version, clang) in tools::clangs() {
        let range = asked.as_deref().map_or((u64::from(version) * 10, 10), |text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let first: u64 = first.parse().expect("a seed is a number");
            (first, last.parse::<u64>().expect("a seed is a number") - first + 1)
        });
        let seeds = range.0..range.0 + range.1;
        let source = random::source(seeds);
        let records = run(&format!("random-regions-{version}"), &clang, &source, "");
        let is_cut = |line: &String| line.contains(" regions: ");
        assert!(records.iter().all(is_cut), "clang {version}: {records:?}");
    }
}

const PLANTED: &str = r#"use offload_gpu::run::Device;
mod kernels { offload_gpu::include_kernels!("planted"); }
fn main() {
    let device = Device::best_for(&kernels::PACK).unwrap();
    let mut y = device.buffer(&[0; 64]).unwrap();
    // SAFETY: each kernel writes a number for each of 64 threads.
    unsafe {
        kernels::plain(&mut y).launch(&device, 1, 64).unwrap();
        assert_eq!(y.to_vec().unwrap(), [2016; 64]);
        kernels::recursion(&mut y).launch(&device, 1, 32).unwrap();
        assert_eq!(y.to_vec().unwrap()[31..33], [496, 2016]);
        kernels::pointer(&mut y).launch(&device, 1, 16).unwrap();
        assert_eq!(y.to_vec().unwrap()[15..17], [120, 496]);
        kernels::array_of_any_size(&mut y).launch(&device, 1, 8).unwrap();
        assert_eq!(y.to_vec().unwrap()[7..9], [28, 120]);
    }
}
"#;

/// Kernels that cannot be cut must keep stacks and compute the same results. `ls` must show the
/// reason.
#[test(needs(&[Tool::Llvm22]))]
fn ls_shows_how_threads_wait() {
    let scenario = Scenario::without_sources("regions_planted");
    scenario
        .write("kernels/planted.cu", include_str!("planted.cu"))
        .write("src/main.rs", PLANTED)
        .pack("planted", r#".file("kernels/planted.cu").arch("cpu").opt_level(2)"#);
    let clang = tools::llvm_bin().join("clang++");
    let listed = |compiler: &Path, options: &[&str]| {
        scenario.run().env("CXX", compiler).passes();
        let program = scenario.program("debug", scenario.name());
        stdout(&succeed(own::offload(options).arg(program)))
    };
    let text = listed(&clang, &["ls", "--kernels"]);
    for line in [
        "plain  regions: 2",
        "recursion  stacks: it calls _Z6deeperiPi, which waits and cannot be inlined",
        "pointer  stacks: it calls a function pointer, and the function may wait",
        "array_of_any_size  stacks: it has arrays whose sizes are known only at run time",
    ] {
        assert!(text.contains(&format!("\n      {line}\n")), "{line}: {text}");
    }
    // Even with waits, the image must not need the C++ library, because dynamic musl lacks it.
    let image = fs::read(scenario.output("debug", "planted/cpu.so")).expect("there is an image");
    assert!(!String::from_utf8_lossy(&image).contains("libstdc++"));
    let json = listed(&clang, &["ls", "--json"]);
    assert!(json.contains("\"cpu_kernels\""), "{json}");
    // With g++, all kernels have stacks.
    let text = listed(Path::new("g++"), &["ls", "--kernels"]);
    assert!(!text.contains("  regions: "), "{text}");
}
