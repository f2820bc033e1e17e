//! Tests of the example's command line: `--device`, `--explain`, and invalid arguments.

use super::{
    PREBUILT, TARGETS, Target, assert_lists_the_cpu_first, assert_runs_on_cpu, rows_below,
};
use offload_tests::registry::GCC;

#[test(GCC)]
fn devices_are_taken_by_name() {
    for args in [&["--device", "cpu"][..], &["--device=cpu"]] {
        assert_runs_on_cpu(&PREBUILT.start(args).ends());
    }
    for (absent, why) in [
        ("cuda:0", ""),
        ("hip:0", ""),
        ("cuda:1", ""),
        ("cpu:1", "this machine has cpu, but no cpu:1\n"),
        ("gfx90a", "expected a name such as cuda:0, cuda:1, hip:0, opencl:0, cpu\n"),
    ] {
        let printed = PREBUILT.start(&["--device", absent]).exits(1);
        let first = format!("error: could not use the device \"{absent}\": {why}");
        assert!(printed.stderr.starts_with(&first), "{printed}");
        // The program must print the table of devices, but run nothing.
        assert_lists_the_cpu_first(&printed);
        assert!(!printed.stdout.contains("Ran "), "{printed}");
    }
}

/// Devices, each with the image that is chosen for it, and the reason for the choice. If no image
/// fits, the text is the reason why one of the images does not fit. The tests of
/// `offload_format::select` cover all reasons.
const EXPLAINED: [(&str, Option<&str>, &str); 5] = [
    ("gfx90a:xnack-", Some("gfx90a"), "made for this processor, in any mode"),
    ("sm_100@driver11.0", Some("compute_80"), "PTX for 8.0 and up, compiled by the driver"),
    ("cpu", Some("cpu"), "made for this CPU"),
    ("gfx1030", None, "gfx12-generic code for another family of processors"),
    ("sm_75", None, "compute_80 needs compute capability 8.0"),
];

#[test(GCC)]
fn explain_tells_which_image_and_why_not_the_others() {
    for (device, image, reason) in EXPLAINED {
        let printed = PREBUILT.start(&["--explain", device]).ends();
        // The device's name as the program prints it.
        let called = match device.split_once("@driver") {
            Some((name, driver)) => format!("{name} (CUDA driver {driver})"),
            None if device == "cpu" => "the CPU".to_owned(),
            None => device.to_owned(),
        };
        match image {
            Some(image) => {
                assert_eq!((printed.status.code(), &*printed.stderr), (Some(0), ""), "{printed}");
                let target =
                    TARGETS.iter().find(|target| target.name == image).expect("it is there");
                let first = format!("{called} gets the {image} {} ({reason}).", target.kind);
                assert_eq!(printed.stdout.lines().next(), Some(&*first));
                let rows = rows_below(&printed.stdout, "not chosen kind reason");
                assert_names(&rows, |target| target.name != image);
            }
            None => {
                assert_eq!((printed.status.code(), &*printed.stdout), (Some(1), ""), "{printed}");
                let rows = rows_below(&printed.stderr, &format!("error: no image for {called}"));
                let (advice, rows) = rows.split_last().expect("there are lines");
                assert_names(rows, |_| true);
                assert!(rows.iter().any(|row| row == reason), "{printed}");
                assert!(advice.starts_with("to run on this device, add \""), "{printed}");
            }
        }
    }
}

/// Asserts that the rows begin with the names of the matching targets, in order.
#[track_caller]
fn assert_names(rows: &[String], meant: impl Fn(&Target) -> bool) {
    let named: Vec<&str> = rows.iter().filter_map(|row| row.split(' ').next()).collect();
    let meant = TARGETS.iter().filter(|target| meant(target));
    assert_eq!(named, meant.map(|target| target.name).collect::<Vec<_>>());
}

#[test(GCC)]
fn wrong_command_lines_end_with_2() {
    for (args, error) in [
        (&["--nonsense"][..], "error: unknown argument `--nonsense`\n"),
        (&["saxpy.cu"], "error: unknown argument `saxpy.cu`\n"),
        (&["--device"], "error: --device needs a value\n"),
        (&["--explain", "no gpu"], "error: --explain: "),
        (&["--explain", "sm_90a"], "error: --explain: "),
        (&["--explain", "sm_90@driver"], "error: --explain: "),
    ] {
        let printed = PREBUILT.start(args).exits(2);
        assert_eq!(printed.stdout, "", "{printed}");
        let usage = "\n\nUsage: saxpy [--device NAME | --explain DEVICE]\nTry --help.\n";
        printed.starts_with(error).ends_with(usage);
    }
    let help = PREBUILT.start(&["--help"]).exits(0);
    assert!(help.stdout.contains("\nUsage: saxpy "), "{help}");
}
