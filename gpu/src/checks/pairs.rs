//! Runs the pairs of right and wrong kernels in the corpus of `cargo offload test`. Each right
//! kernel must compute the expected values. Each wrong kernel runs in a separate process.

use super::{part_of, this};
use crate::child::{self, How};
use crate::report::{Result, Run, compare, short};
use offload_gpu::DeviceBuffer;
use offload_gpu::run::{Device, Launch, Vendor};
use serde_json::json;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub mod kernels {
    offload_gpu::include_kernels!("pairs");
}

include!(concat!(env!("OUT_DIR"), "/pairs.rs"));

/// The number of values in each of a kernel's two buffers.
const SIZE: usize = 128;

/// The values that a right kernel leaves in `x` and in `n`, as functions of the index of the
/// element and of its thread in the block. `x` starts with ones, and `n` with zeros.
struct Expected {
    x: fn(usize, usize) -> f32,
    n: fn(usize, usize) -> u32,
}

/// Returns the values that a kernel must leave in its buffers, for warps of this many lanes.
fn expected<const LANES: usize>(name: &str) -> Option<Expected> {
    let x = |x| Some(Expected { x, n: |_, _| 0 });
    let n = |n| Some(Expected { x: |_, _| 1.0, n });
    let both = |x, n| Some(Expected { x, n });
    match name {
        "global_read" => n(|i, _| u32::from(i < 127)),
        "global_before" => n(|i, _| u32::from(i > 0)),
        "global_write" | "freed" | "negated" | "votes_of_32" => n(|_, _| 1),
        "shared_pointer" | "shuffle_order" | "sums_of_32" => x(|_, _| 2.0),
        "local_array" => n(|_, _| 28),
        "shared_row" | "dynamic_shared" | "extern_shared" | "unwritten_sum" | "barrier"
        | "active_32" => x(|_, _| 1.0),
        "aligned" => n(|_, _| 0),
        "other_block" => n(|i, t| ((i - t) / 64) as u32),
        "signed_sum" => n(|i, _| 2_147_483_647 + i as u32),
        "shift" => n(|i, _| 1 << (i % 32)),
        "unwritten_flag" => n(|_, _| 2),
        "second_barrier" => x(|_, _| 6.0),
        "warp" => x(|_, t| if t < 32 { 64.0 } else { 1.0 }),
        "blocks" => x(|i, _| if i < 64 { 3.0 } else { 1.0 }),
        "counter" => n(|i, _| if i == 0 { 128 } else { 0 }),
        "histogram" => n(|i, _| if i < 8 { 16 } else { 0 }),
        "fence" | "system_fence" => x(|i, _| match i {
            0 | 1 => 2.0,
            64 => 4.0,
            _ => 1.0,
        }),
        "volatile_flag" => both(
            |i, _| if i < 2 { 2.0 } else { 1.0 },
            |i, _| match i {
                0 => 2,
                1 => 1,
                _ => 0,
            },
        ),
        "volatile_shared" | "half_sum" => x(|_, _| 64.0),
        // The first thread may read any value that the maximum has during the launch.
        "atomic_read" => n(|i, _| if i == 0 { 127 } else { 0 }),
        "early_return" => x(|i, t| if (64..118).contains(&i) && t < 10 { 0.0 } else { 1.0 }),
        "divergent" => x(|_, t| if t < 20 { 2.0 } else { 3.0 }),
        "barrier_in_loop" => x(|_, _| 5.0),
        "mask" => both(|i, _| if i % LANES == 0 { LANES as f32 } else { 1.0 }, |_, _| 1),
        "other_function" => x(|i, _| if i % LANES < LANES / 2 { 2.0 } else { 1.0 }),
        "other_vote" => n(|i, _| u32::from(i % LANES < 20)),
        "other_place" => n(|i, _| (((i % LANES) ^ (LANES / 2)) + LANES * (LANES - 1) / 2) as u32),
        "own_mask" => n(|i, _| if i == 0 { 44 } else { 0 }),
        "outside_mask" => x(|i, _| if i % LANES < 4 { 64.0 } else { 1.0 }),
        "returned_lane" => n(|i, _| if i % LANES < 20 { ((i % LANES + 1) % 20) as u32 } else { 0 }),
        "rank_of_32" => n(|i, _| (i % LANES).div_ceil(3) as u32),
        "vote_order" => n(|i, _| if i == 0 { 128 } else { 0 }),
        "ballot_order" => both(|_, t| (t ^ 1) as f32, |_, t| t as u32),
        "half_warp" => n(|_, t| t as u32 ^ 15),
        _ => None,
    }
}

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let mut right = 0;
    let has_64_lanes = kernels::PACK.on(&device)?.image().target().starts_with("gfx9");
    let expected = if has_64_lanes { expected::<64> } else { expected::<32> };
    for name in NAMES.iter().filter_map(|name| name.strip_suffix("_right")) {
        let Some(expected) = expected(name) else {
            run.finding(format!("{name}: the program does not know what is right"));
            continue;
        };
        right += 1;
        run.attempt(&format!("{name}_right"), || right_one(&device, name, &expected));
    }
    // Skip the wrong kernels if a driver compiles SPIR-V, because it would take seconds to compile
    // the module again in each process.
    if device.vendor() == Vendor::Intel {
        return Ok(format!("{right} right kernels are right"));
    }
    let wrong: Vec<&str> = NAMES.iter().copied().filter(|name| name.ends_with("_wrong")).collect();
    let tool = sanitizer(&device);
    run.figure("tool", tool.as_ref().map_or_else(String::as_str, |path| *path));
    let told = wrong_ones(&device, &wrong, tool.as_ref().ok().copied());
    let found = told.values().filter(|fate| fate.starts_with("found")).count();
    let found =
        tool.map_or_else(|_| String::new(), |tool| format!(", of which {tool} found {found}"));
    run.figure("wrong ones", json!(told));
    // After the wrong kernels, a right kernel must work in a new process.
    let after = part_of("saxpy", &device, &[], Duration::from_secs(30));
    if after.how != How::Status(0) {
        run.finding(format!(
            "after the wrong kernels, a process {}: {}",
            after.how.words(),
            after.stderr
        ));
    }
    Ok(format!("{right} right kernels are right; {} wrong ones ran{found}", wrong.len()))
}

/// Returns how many bytes of dynamic shared memory to launch a kernel with.
fn shared_memory(name: &str) -> usize {
    match name {
        "dynamic_shared_right" | "extern_shared_right" => 4 * 64,
        "dynamic_shared_wrong" | "extern_shared_wrong" => 4 * 60,
        _ => 0,
    }
}

/// Launches a kernel, and returns the contents of its buffers.
fn one(device: &Device, name: &str) -> Result<(Vec<f32>, Vec<u32>)> {
    let x = device.buffer(&[1_f32; SIZE])?;
    let n = device.zeros::<u32>(SIZE)?;
    let (to_x, to_n) = (x.device_address().cast_mut(), n.device_address().cast_mut());
    let x = if name == "freed_wrong" {
        drop(x);
        None
    } else {
        Some(x)
    };
    let shape = Launch::new(2, 64).shared_memory(shared_memory(name));
    // SAFETY: the buffers have 128 elements. Wrong kernels break the rules, in a separate process.
    unsafe { launch(name, device, &shape, to_x, to_n)? };
    device.synchronize()?;
    Ok((x.map_or(Ok(Vec::new()), |x| x.to_vec())?, n.to_vec()?))
}

fn right_one(device: &Device, name: &str, expected: &Expected) -> Result {
    let (x, mut n) = one(device, &format!("{name}_right"))?;
    if name == "atomic_read" {
        n[1] = 0;
    }
    let all = 0..SIZE;
    compare("x", &x, &all.clone().map(|i| (expected.x)(i, i % 64)).collect::<Vec<_>>())?;
    compare("n", &n, &all.map(|i| (expected.n)(i, i % 64)).collect::<Vec<_>>())
}

/// Runs a wrong kernel in this process. Any outcome is fine.
pub fn part(name: &str, device: &Device) -> Result {
    one(device, name).map(drop)
}

/// Returns the path of compute-sanitizer, or the reason if the tool is missing or fails even for a
/// right kernel.
fn sanitizer(device: &Device) -> std::result::Result<&'static str, String> {
    if device.vendor() != Vendor::Nvidia {
        return Err("none".to_owned());
    }
    let mut why = String::new();
    for path in ["compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"] {
        let mut command = under(path, "memcheck", device, "barrier_right");
        let ended = child::run(&mut command, Duration::from_secs(20));
        match ended.how {
            How::Status(0) if ended.stdout.contains("ERROR SUMMARY: 0") => return Ok(path),
            How::NotStarted => {}
            how => {
                let printed = child::tail(&format!("{}{}", ended.stdout, ended.stderr));
                why = format!(": {path} {}: {printed}", how.words());
            }
        }
    }
    Err(format!("none{why}"))
}

/// The argument that marks a process started by a tool.
pub const IN_TOOL: &str = "--in-tool";

/// Returns the command that runs a kernel under one of compute-sanitizer's tools.
fn under(sanitizer: &str, tool: &str, device: &Device, name: &str) -> Command {
    let this = this(&["part", "pair", "--device", &device.name(), IN_TOOL, name]);
    let mut command = Command::new(sanitizer);
    command.args(["--tool", tool]).arg(this.get_program()).args(this.get_args());
    command
}

/// No more processes with wrong kernels are started after this time.
const WRONG_ONES: Duration = Duration::from_secs(45);

/// Runs the wrong kernels, a few at a time; returns the outcome of each.
fn wrong_ones<'a>(
    device: &Device,
    names: &[&'a str],
    tool: Option<&str>,
) -> BTreeMap<&'a str, String> {
    let (next, told) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let end = Instant::now() + WRONG_ONES;
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let fate = wrong_one(device, name, tool, end);
            if let Ok(mut told) = told.lock() {
                told.insert(*name, fate);
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    told.into_inner().unwrap_or_default()
}

fn wrong_one(device: &Device, name: &str, sanitizer: Option<&str>, end: Instant) -> String {
    const OVER: &str = "no time was left";
    if Instant::now() > end {
        return OVER.to_owned();
    }
    let Some(sanitizer) = sanitizer else {
        let ended = part_of("pair", device, &[name], Duration::from_secs(5));
        return match ended.how {
            How::Status(0) => "ran".to_owned(),
            how => short(&format!("{}: {}", how.words(), first_line(&ended.stderr))),
        };
    };
    let mut fates = Vec::new();
    for tool in ["memcheck", "racecheck", "synccheck", "initcheck"] {
        if Instant::now() > end {
            fates.push(OVER.to_owned());
            break;
        }
        let mut command = under(sanitizer, tool, device, name);
        let ended = child::run(&mut command, Duration::from_secs(10));
        let summary = ended.stdout.lines().find_map(|line| Some(line.split_once("SUMMARY: ")?.1));
        match (summary, ended.how) {
            (Some(summary), _) if !summary.starts_with("0 ") => {
                return short(&format!("found by {tool}: {summary}"));
            }
            (Some(_), _) => {}
            // The sanitizer's other tools would wait just as long for a kernel that hangs.
            (None, How::TooLong(_)) => return format!("{tool} {}", ended.how.words()),
            (None, how) => {
                fates.push(format!("{tool} {}: {}", how.words(), first_line(&ended.stdout)));
            }
        }
    }
    fates.insert(0, "not found".to_owned());
    short(&fates.join("; "))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
