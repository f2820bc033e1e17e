//! Runs README's program and the examples from this program's own folder.

use super::own_path;
use crate::child::{self, How};
use crate::driver::Driver;
use crate::report::{Result, Run, short, skip, step};
use offload_gpu::run::{Device, Vendor};
use std::process::Command;
use std::time::Duration;

use Vendor::{Amd, Cpu, Nvidia};

/// A program: its name, the vendors whose devices it can use, whether it always uses the first GPU
/// of its vendor, and parts of its output.
type Example = (&'static str, &'static [Vendor], bool, fn(&Device) -> Vec<String>);

const EXAMPLES: &[Example] = &[
    ("readme", &[Nvidia, Amd, Cpu], false, |device| vec![format!("{device}: y[999] = 5")]),
    ("saxpy", &[Nvidia, Amd, Cpu], false, |device| {
        vec![format!(" on {}: all 1048576 elements are right.", device.name())]
    }),
    ("one-source", &[Nvidia, Amd, Cpu], false, |_| {
        vec![" computed the sums of blocks of ".to_owned(), " elements, all right.".to_owned()]
    }),
    ("module-library", &[Nvidia, Amd, Cpu], false, |_| {
        vec!["limit to 10:  [-1.0, 2.0, 5.0, 8.0, 10.0, 10.0, 10.0, 10.0]".to_owned()]
    }),
    ("several-gpus", &[Nvidia, Amd], true, |device| {
        vec![format!("{device}: "), ", 10000 of 10000 sums are right".to_owned()]
    }),
    ("cuda-vector-add", &[Nvidia], true, |device| {
        vec![format!("{}: the ", device.product()), " computed 1048576 sums, all right.".to_owned()]
    }),
    ("rust-kernels", &[Nvidia, Amd], false, |device| {
        vec![
            format!("{}: the ", device.product()),
            " computed 10000 elements, all right.".to_owned(),
        ]
    }),
];

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let folder = own_path().with_file_name("");
    if !EXAMPLES.iter().any(|(name, ..)| folder.join(name).is_file()) {
        return skip(format!("no example is in {}", folder.display()));
    }
    let is_old = Driver::loaded(&device).transpose()?.is_some_and(|it| it.is_before_rocm_6_3());
    let mut right = 0;
    for (name, vendors, is_for_first, expected) in EXAMPLES {
        let program = folder.join(name);
        if !vendors.contains(&device.vendor()) || *is_for_first && device.ordinal() != 0 {
            continue;
        }
        if !program.is_file() {
            run.figure(*name, "not in the folder");
            continue;
        }
        step(name);
        let mut command = Command::new(&program);
        let ended =
            child::run(command.env("OFFLOAD_DEVICE", device.name()), Duration::from_secs(20));
        let lacks = expected(&device).into_iter().find(|text| !ended.stdout.contains(text));
        match (ended.how, lacks) {
            (How::Status(0), None) => {
                right += 1;
                run.figure(*name, short(ended.stdout.trim().lines().last().unwrap_or_default()));
            }
            (How::Status(1), _) if ended.stderr.contains("no image fits") => {
                run.figure(*name, "has no image for this device");
            }
            // The documentation states that this image needs a newer runtime.
            (How::Status(1), _) if is_old && ended.stderr.contains("hipModuleLoadData") => {
                run.figure(*name, "its images need ROCm 6.3");
            }
            (How::Status(0), Some(text)) => run
                .finding(format!("{name} does not print `{text}`: {}", child::tail(&ended.stdout))),
            (how, _) => {
                let printed = format!("{}{}", ended.stdout, ended.stderr);
                run.finding(format!("{name} {}: {}", how.words(), child::tail(&printed)));
            }
        }
    }
    Ok(format!("{right} programs print what they should"))
}
