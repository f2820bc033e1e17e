//! Compares our `clang-offload-bundler` with LLVM 22's: the time and memory of whole processes.

use crate::data;
use crate::measure;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The published library whose code objects fill the images.
const LIBRARY: &str = "onnxruntime-rocm/onnxruntime/capi/libonnxruntime_providers_rocm.so";

/// The size of each image in bytes. Together, the images make a bundle of 149 MB.
const IMAGE_SIZE: u64 = 16_600_000;

/// The processors of the images. The library has code for eight of them.
const PROCESSORS: [&str; 9] =
    ["gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201", "gfx950"];

const TOOL: &str = "clang-offload-bundler";

/// A command line for both tools, and the maximum time and memory of ours, as fractions of LLVM's.
struct Work {
    name: &'static str,
    arguments: Vec<String>,
    /// The command's output files. Both tools must write the same bytes, unless the output is
    /// compressed.
    outputs: Vec<String>,
    time: f64,
    memory: Option<f64>,
}

/// Runs each command line with both tools, and prints the times. On Linux, a process is reported to
/// use at least as much memory as its parent, so this process must stay small, and work that needs
/// much memory runs in separate processes.
pub fn bench() {
    println!("tools: {TOOL} on a bundle of nine images, 149 MB; fresh outputs");
    let Some(library) = std::env::var_os("OFFLOAD_TEST_PUBLISHED")
        .map(|folder| PathBuf::from(folder).join(LIBRARY))
    else {
        println!("  (OFFLOAD_TEST_PUBLISHED is not set: no code objects)");
        return;
    };
    let folder = data::folder().join("tools");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    std::env::set_current_dir(&folder).expect("it was just made");
    measure::succeed(&mut measure::child("images", library.as_os_str()));
    let Some(llvm) = measure::llvm_program(TOOL) else {
        println!("  (no LLVM 22 to compare with)");
        return;
    };
    let own = std::env::current_exe().expect("a program knows its path").with_file_name(TOOL);
    println!(
        "  {:<28} {:>34} {:>34} {:>14}",
        "", "LLVM: least median greatest, peak", "ours", "time memory"
    );
    for work in works() {
        let mut runs = [Vec::new(), Vec::new()];
        // Alternate between the tools, so that other work on the machine affects both equally.
        for count in 0..16 {
            for (program, runs) in [&llvm, &own].into_iter().zip(&mut runs) {
                work.outputs.iter().for_each(|output| drop(fs::remove_file(output)));
                // Write the previous run's output to the disk now, not during the timed run.
                measure::succeed(&mut Command::new("sync"));
                let run = measure::process(Command::new(program).args(&work.arguments));
                // The first run fills the system's caches, so do not measure it.
                if count > 0 {
                    runs.push(run);
                }
                for output in &work.outputs {
                    let kept =
                        format!("{}.{output}", if program == &own { "ours" } else { "llvm" });
                    fs::rename(output, kept).expect("it was written");
                }
            }
        }
        let [theirs, ours] = runs.map(measure::Summary::of);
        print!("  {:<28} {theirs} {ours}", work.name);
        print!(" {:>7.2}", ours.median.as_secs_f64() / theirs.median.as_secs_f64());
        print!(" {:>6.2}", ours.peak as f64 / theirs.peak as f64);
        match work.memory {
            Some(memory) => println!("   (at most {} and {memory})", work.time),
            None => println!("   (at most {})", work.time),
        }
        compare(&work);
    }
}

fn works() -> Vec<Work> {
    let prefix = "hipv4-amdgcn-amd-amdhsa--";
    let devices: Vec<String> =
        PROCESSORS.iter().map(|processor| format!("{prefix}{processor}")).collect();
    let targets = format!("-targets=host-x86_64-unknown-linux-gnu-,{}", devices.join(","));
    let names: Vec<String> =
        PROCESSORS.iter().map(|processor| format!("{processor}.image")).collect();
    let inputs = || names.iter().map(|name| format!("-input={name}"));
    let taken: Vec<String> =
        PROCESSORS.iter().map(|processor| format!("{processor}.taken")).collect();
    let outputs = || taken.iter().map(|name| format!("-output={name}"));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let bundle = |more: &[&str], output: &str| -> Vec<String> {
        let start = words(&["-type=o", "-bundle-align=4096", &targets, "-input=/dev/null"]);
        start
            .into_iter()
            .chain(inputs())
            .chain(words(more))
            .chain([format!("-output={output}")])
            .collect()
    };
    let unbundle = |input: &str| -> Vec<String> {
        let start = words(&[
            "-type=o",
            "-unbundle",
            &targets,
            "-output=/dev/null",
            &format!("-input={input}"),
        ]);
        start.into_iter().chain(outputs()).collect()
    };
    let one = format!("-targets={prefix}gfx1100");
    let work = |name, arguments, outputs: &[String], time, memory| Work {
        name,
        arguments,
        outputs: outputs.to_vec(),
        time,
        memory,
    };
    vec![
        work("bundle", bundle(&[], "plain"), &["plain".into()], 0.25, Some(0.05)),
        work("unbundle", unbundle("ours.plain"), &taken, 0.25, Some(0.05)),
        work("list", words(&["-type=o", "-list", "-input=ours.plain"]), &[], 0.05, Some(0.05)),
        work(
            "compress",
            bundle(&["-compress"], "compressed"),
            &["compressed".into()],
            0.6,
            Some(0.6),
        ),
        work(
            "list a compressed one",
            words(&["-type=o", "-list", "-input=llvm.compressed"]),
            &[],
            0.05,
            Some(0.1),
        ),
        work("unbundle a compressed one", unbundle("llvm.compressed"), &taken, 0.5, Some(0.9)),
        work(
            "one image of a compressed one",
            words(&[
                "-type=o",
                "-unbundle",
                &one,
                "-input=llvm.compressed",
                "-output=gfx1100.taken",
            ]),
            &["gfx1100.taken".into()],
            0.5,
            Some(0.5),
        ),
        work("--version", words(&["--version"]), &[], 0.2, None),
    ]
}

/// Checks that both tools wrote the same bytes. If the output is compressed, checks instead that
/// ours is not larger and that LLVM's tool extracts the last image from it unchanged.
fn compare(work: &Work) {
    for output in &work.outputs {
        let (theirs, ours) = (format!("llvm.{output}"), format!("ours.{output}"));
        if output == "compressed" {
            let size = |path: &str| fs::metadata(path).expect("it was written").len();
            println!(
                "  {:<28} {:>34} {:>34}",
                "",
                format!("{} bytes", size(&theirs)),
                format!("{} bytes", size(&ours))
            );
            assert!(size(&ours) <= size(&theirs), "ours is larger");
            let llvm = measure::llvm_program(TOOL).expect("it was there");
            let take = |input: &str, to: &str| {
                let target = "-targets=hipv4-amdgcn-amd-amdhsa--gfx950";
                let mut take = Command::new(&llvm);
                take.args([
                    "-type=o",
                    "-unbundle",
                    target,
                    &format!("-input={input}"),
                    &format!("-output={to}"),
                ]);
                measure::succeed(&mut take);
            };
            take(&ours, "last");
            assert!(same("last", "gfx950.image"), "the last image is another after compression");
        } else {
            assert!(same(&theirs, &ours), "{output}: ours is not LLVM's");
        }
    }
}

/// Whether two files are equal. Holds only a small part of each in memory.
fn same(a: &str, b: &str) -> bool {
    let open = |path: &str| File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut a, mut b) = (open(a), open(b));
    let (mut bytes, mut others) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = a.read(&mut bytes).expect("it can be read");
        if read == 0 {
            return b.read(&mut others).expect("it can be read") == 0;
        }
        if b.read_exact(&mut others[..read]).is_err() || bytes[..read] != others[..read] {
            return false;
        }
    }
}

/// Writes the images to the current folder. An image consists of one processor's code objects back
/// to back, cut to the size of an image. The library has no code for one of the processors, so that
/// processor's image continues the first processor's code where the first image ends.
pub fn make_images(library: &Path) -> io::Result<()> {
    let library = measure::map(library);
    let mut by_processor: BTreeMap<&str, Vec<&[u8]>> = BTreeMap::new();
    data::bundles(&library, |bundle| {
        for entry in bundle.entries() {
            let processor = entry.id_str.rsplit('-').next().unwrap_or_default();
            by_processor.entry(processor).or_default().push(entry.code_object);
        }
    });
    let first = by_processor[PROCESSORS[0]].clone();
    let mut skip = 0;
    for processor in PROCESSORS {
        let code = by_processor.get(processor).unwrap_or_else(|| {
            skip = IMAGE_SIZE;
            &first
        });
        let mut code = code
            .iter()
            .fold(Box::new(io::empty()) as Box<dyn Read>, |all, next| Box::new(all.chain(*next)));
        io::copy(&mut code.by_ref().take(skip), &mut io::sink())?;
        let mut file = File::create(format!("{processor}.image"))?;
        let written = io::copy(&mut code.take(IMAGE_SIZE), &mut file)?;
        assert_eq!(written, IMAGE_SIZE, "there is enough code for {processor}");
        file.flush()?;
    }
    Ok(())
}
