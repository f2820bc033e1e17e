//! `cargo xtask bench`: our readers beside the tools that people have, in one run on one machine.
//!
//! | bench | ours | peer |
//! |---|---|---|
//! | `list` | every entry of 95 bundles in a mapped section of 490 MB | `llvm-readobj --offloading` on an object with that section |
//! | `table` | the entry table of a compressed bundle of 149 MB | `clang-offload-bundler -list` |
//! | `find` | one image among 16, from the bundle's bytes | AMD's `amd_comgr_lookup_code_object` |
//! | `select` | one image among 16 of a pack, by the rules; an early image of a compressed pack of 149 MB | decompressing the whole pack |
//! | `tools` | `clang-offload-bundler`: bundle, unbundle, list, compress; time and memory of whole processes | LLVM's |
//! | `build` | a build script with 16 images, `-j2` beside `-j1`; run again with nothing changed beside one that does nothing; the cold compile of offload-build as a build dependency | bindgen_cuda, cudaforge, cc, cxx-build |
//! | `kernels` | the signatures of sources that are compiled; `include_kernels!` of 2,000 kernels | the same builds without them; `include_offload!` |
//! | `run` | `on()` and launches over a driver that does nothing; the cold compile of offload; grids on the CPU with two threads | `cuLaunchKernel` through its address; the same without `run`, cudarc; one thread |
//! | `candle` | the published candle-kernels: all, nothing to do, a header edited, what the program grows by, how many compilers run at once with `-j1`; minutes, so only if asked for | cudaforge |
//! | `embed` | `include_offload!` of a 256 MiB image: cold build, build after an edit, memory | `include_bytes!`; a plain link of an object |
//!
//! The benches make their files from the numbers of a seeded generator. Only the images of `tools`
//! are code objects of a published library. Parts repeat, as in code for several processors. The
//! sizes are those of a library of AMD. Times of whole processes come from starting this program
//! anew.

mod build;
mod candle;
mod comgr;
mod data;
mod embed;
mod find;
mod kernels;
mod list;
mod measure;
mod package;
mod run;
mod select;
mod table;
mod tools;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        // The part of a bench that runs in a separate process.
        ["child", "list", file] => list::child(Path::new(file)),
        ["child", "table", file] => table::child(Path::new(file)),
        ["child", "images", file] => {
            tools::make_images(Path::new(file)).expect("images can be made")
        }
        ["child", "tools", _] => tools::bench(),
        [] => {
            println!("each time is the least, the median and the greatest of its runs\n");
            list::bench();
            table::bench();
            find::bench();
            select::bench();
            measure::show(&mut measure::child("tools", "".as_ref()));
            build::bench();
            kernels::bench();
            run::bench(None);
            embed::bench(false);
        }
        ["list"] => list::bench(),
        ["table"] => table::bench(),
        ["find"] => find::bench(),
        ["select"] => select::bench(),
        ["tools"] => tools::bench(),
        ["build"] => build::bench(),
        ["kernels"] => kernels::bench(),
        ["run"] => run::bench(None),
        ["run", part @ ("calls" | "cpu" | "checks" | "cold")] => run::bench(Some(part)),
        ["candle"] => candle::bench(true),
        ["candle", "some"] => candle::bench(false),
        ["embed"] => embed::bench(false),
        ["embed", "--json"] => embed::bench(true),
        _ => {
            eprintln!(
                "usage: cargo xtask bench [list|table|find|select|tools|build|kernels|run [calls|cpu|checks|cold]|candle [some]|embed [--json]]"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
