//! Tests of `cargo offload reach --for`: readers of package managers compare the metadata with
//! machines. A package is installed on those machines whose GPU gets an image of each module.

use super::by_hand::{Strings, image_for, ptx_for};
use crate::containers::binary;

use crate::{assert_fails, assert_transcript, corpus_path, json, list, offload};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::own::Ran;
use offload_tests::prelude::*;
use offload_tests::published::{self, PACKAGE_READERS};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

offload_tests::tests! {
    NOTHING => [what_people_see, nothing_follows],
    needs(&[Tool::PackageReaders]) => [
        readers_install_packages_where_images_run, drivers_that_are_too_old,
    ],
}

fn what_people_see() {
    let lines = "
        reach nv_fatbin/group.fatbin --for conda
        reach nv_fatbin/group.fatbin --for pep825
        reach image/saxpy.sm_90.cubin bundle/hip_dev.hipfb --for conda --require sm_90
        reach image/saxpy.sm_90.cubin bundle/hip_dev.hipfb --for pep825
        reach image/two.ll --for conda
        reach kpack/libk.so --for conda --json";
    assert_transcript(&corpus_path(""), "packages", lines);
}

/// Files of which each lacks the other's GPUs, and modules likewise.
fn nothing_follows() {
    let folder = scratch::folder("offload-packages-nothing");
    write(&folder, "modules.bin", &[("a", "sm_80"), ("b", "sm_90")]);
    write(&folder, "sm_80.bin", &[("", "sm_80")]);
    write(&folder, "sm_90.bin", &[("", "sm_90")]);
    for files in ["modules.bin", "sm_80.bin sm_90.bin"] {
        for kind in ["conda", "pep825"] {
            let ran = offload(&folder, &format!("reach {files} --for {kind}"));
            assert_fails(&ran, &["nothing follows for a package"]);
            assert_eq!(ran.stdout, "");
        }
    }
}

/// The images of files: modules with targets.
const FILES: [&[(&str, &str)]; 8] = [
    &[("", "sm_80")],
    &[("", "sm_75"), ("", "sm_90a"), ("", "compute_90")],
    &[("", "compute_52")],
    &[("", "compute_86")],
    &[("", "sm_100f"), ("", "sm_120")],
    &[("", "sm_86"), ("", "compute_80")],
    &[("a", "sm_80"), ("a", "sm_90"), ("b", "compute_80"), ("b", "sm_75")],
    &[("", "gfx90a"), ("", "gfx11-generic"), ("", "gfx906:xnack+"), ("", "sm_89")],
];

/// Compute capabilities of products, and of GPUs that are not there yet.
const CAPABILITIES: [&str; 20] = [
    "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9",
    "9.0", "10.0", "10.3", "11.0", "12.0", "12.1", "13.0",
];

/// Processors of AMD with the version of their instruction set.
const PROCESSORS: [(&str, &str); 8] = [
    ("gfx906", "9.0.6"),
    ("gfx90a", "9.0.10"),
    ("gfx90c", "9.0.12"),
    ("gfx942", "9.4.2"),
    ("gfx1030", "10.3.0"),
    ("gfx1100", "11.0.0"),
    ("gfx1103", "11.0.3"),
    ("gfx1201", "12.0.1"),
];

fn readers_install_packages_where_images_run() {
    for (number, images) in FILES.iter().enumerate() {
        let folder = scratch::folder(&format!("offload-packages-{number}"));
        write(&folder, "file.bin", images);
        let conda = offload(&folder, "reach file.bin --for conda");
        let wheel = offload(&folder, "reach file.bin --for pep825");
        assert_eq!((conda.code, wheel.code), (0, 0), "{conda:?} {wheel:?}");
        if images.iter().any(|(_, target)| !target.starts_with("gfx")) {
            let served =
                served(&folder, &CAPABILITIES.map(|it| format!("sm_{}", it.replace('.', ""))));
            let machines: Vec<Value> =
                CAPABILITIES.iter().map(|it| nvidia_machine(it, "13.5")).collect();
            assert_eq!(installs(&requirements(&conda, "__cuda"), &machines), served, "{conda:?}");
            let machines: Vec<Value> =
                CAPABILITIES.iter().map(|it| nvidia_plugin(it, "13.5")).collect();
            let served = served.iter().zip(CAPABILITIES);
            let expected: Vec<bool> =
                served.map(|(served, it)| *served != is_named_in_a_warning(&wheel, it)).collect();
            assert_eq!(installs(&variant(&wheel, "nvidia"), &machines), expected, "{wheel:?}");
        }
        if images.iter().any(|(_, target)| target.starts_with("gfx")) {
            let served = served(&folder, &PROCESSORS.map(|(name, _)| name.to_owned()));
            let machine = |(_, version): &(&str, &str)| json!({"CONDA_OVERRIDE_AMDGPU": "0", "CONDA_OVERRIDE_AMDGPU_ARCH": version});
            let machines: Vec<Value> = PROCESSORS.iter().map(machine).collect();
            assert_eq!(installs(&requirements(&conda, "__amdgpu"), &machines), served, "{conda:?}");
            let machines: Vec<Value> = PROCESSORS
                .iter()
                .map(|(name, _)| json!([format!("amd :: gfx_arch :: {name}")]))
                .collect();
            assert_eq!(installs(&variant(&wheel, "amd"), &machines), served, "{wheel:?}");
        }
        // Machines without a GPU.
        for (asked, machine) in
            [(requirements(&conda, "__"), json!({})), (json!({"wheel": json(&wheel)}), json!([]))]
        {
            let is_one = json(&wheel)["variants"].as_object().is_some_and(|all| all.len() == 1);
            assert!(!is_one || installs(&asked, &[machine]) == [false], "{asked}");
        }
    }
}

/// PTX 9.0 is of CUDA 13.0, which is newer than the first driver for 8.0 and 9.0.
fn drivers_that_are_too_old() {
    let folder = scratch::folder("offload-packages-drivers");
    write(&folder, "file.bin", &[("", "compute_80")]);
    let machines = [("8.0", "12.8"), ("9.0", "12.9"), ("8.0", "13.0"), ("7.5", "13.0")];
    let expected = [false, false, true, false];
    let devices = machines.map(|(it, driver)| format!("sm_{}@driver{driver}", it.replace('.', "")));
    assert_eq!(served(&folder, &devices), expected);
    let conda = offload(&folder, "reach file.bin --for conda");
    let own = machines.map(|(capability, driver)| nvidia_machine(capability, driver));
    assert_eq!(installs(&requirements(&conda, "__cuda"), &own), expected, "{conda:?}");
    let wheel = offload(&folder, "reach file.bin --for pep825");
    let own = machines.map(|(capability, driver)| nvidia_plugin(capability, driver));
    assert_eq!(installs(&variant(&wheel, "nvidia"), &own), expected, "{wheel:?}");
    // Each driver that knows the GPU loads machine code.
    write(&folder, "file.bin", &[("", "sm_80"), ("", "sm_90")]);
    let conda = offload(&folder, "reach file.bin --for conda");
    let own = [("8.0", "11.0"), ("9.0", "11.8"), ("8.0", "10.2")];
    let own = own.map(|(capability, driver)| nvidia_machine(capability, driver));
    assert_eq!(installs(&requirements(&conda, "__cuda"), &own), [true, true, false], "{conda:?}");
}

/// Writes an offload binary with an image for each target.
fn write(folder: &Path, name: &str, targets: &[(&str, &str)]) {
    let texts: Vec<String> = targets.iter().map(|(_, target)| ptx_for(target)).collect();
    let images: Vec<_> = targets
        .iter()
        .zip(&texts)
        .map(|((module, target), text)| {
            let (kind, owner, mut strings, bytes) = image_for(target, text);
            strings.retain(|(key, _)| *key != "module");
            if !module.is_empty() {
                strings.push(("module", module));
            }
            (kind, owner, strings, bytes)
        })
        .collect();
    let images: Vec<_> = images
        .iter()
        .map(|(kind, owner, strings, bytes): &(StatedKind, OffloadKind, Strings<'_>, &[u8])| {
            (*kind, *owner, &strings[..], *bytes)
        })
        .collect();
    scratch::write(folder.join(name), binary(Version::V2, &images));
}

/// Returns for each GPU whether it gets an image of each module of `file.bin`.
fn served(folder: &Path, devices: &[String]) -> Vec<bool> {
    let ran = offload(folder, &format!("reach file.bin --json --require {}", devices.join(",")));
    let document = json(&ran);
    // A GPU whose modes get different images has a row for each mode.
    let rows = list(&document[0]["required"]);
    let is_served = |device: &String| {
        let is_of = |row: &&Value| {
            let name = row["device"].as_str().expect("a text");
            name == device || name.split(':').next() == Some(device)
        };
        let mut gets = rows.iter().filter(is_of).flat_map(|row| list(&row["gets"]));
        gets.all(|gets| gets["how"] != "nothing")
    };
    devices.iter().map(is_served).collect()
}

/// Returns the variables that make conda's readers pretend this machine.
fn nvidia_machine(capability: &str, driver: &str) -> Value {
    json!({"CONDA_OVERRIDE_CUDA": driver, "CONDA_OVERRIDE_CUDA_ARCH": capability})
}

/// Returns the properties that nvidia-variant-provider 0.0.2 lists for a machine. It was run with
/// these capabilities.
fn nvidia_plugin(capability: &str, driver: &str) -> Value {
    let (major, minor) = capability.split_once('.').expect("two numbers");
    let minors = 0..=minor.parse::<u32>().expect("a number");
    let mut all: Vec<String> =
        minors.map(|minor| format!("nvidia :: sm_arch :: {major}{minor}_real")).collect();
    all.push(format!("nvidia :: sm_arch :: {major}0_virtual"));
    let (newest, newest_minor) = driver.split_once('.').expect("two numbers");
    let [newest, newest_minor] =
        [newest, newest_minor].map(|it| it.parse::<u32>().expect("a number"));
    for major in 11..=newest {
        let last = if major == newest { newest_minor } else { 20 };
        all.extend(
            (0..=last).map(|it| format!("nvidia :: cuda_version_lower_bound :: {major}.{it}")),
        );
    }
    json!(all)
}

/// Whether a warning says that the plugin decides otherwise than the images.
fn is_named_in_a_warning(ran: &Ran, capability: &str) -> bool {
    let lines = ran.stderr.lines().filter(|line| line.starts_with("warning: compute capabilities"));
    let mut lists = lines.filter_map(|line| line.rsplit_once(": "));
    lists.any(|(_, list)| list.split(", ").any(|it| it == capability))
}

/// Returns the requirements of a recipe that start with a text.
fn requirements(ran: &Ran, start: &str) -> Value {
    let lines = ran.stdout.lines().filter_map(|line| line.strip_prefix("- "));
    json!({"conda": lines.filter(|line| line.starts_with(start)).collect::<Vec<_>>()})
}

/// Returns the part of the metadata that is for a wheel of this vendor.
fn variant(ran: &Ran, name: &str) -> Value {
    let mut document = json(ran);
    document["default-priorities"]["namespace"] = json!([name]);
    document["variants"] = json!({name: document["variants"][name]});
    json!({"wheel": document})
}

/// Returns for each machine whether the package's reader installs it there.
fn installs(asked: &Value, machines: &[Value]) -> Vec<bool> {
    let mut asked = asked.clone();
    asked["machines"] = json!(machines);
    let mut command = Command::new("python3");
    command.arg(workspace().join("tests/tools/reach/packages.py"));
    let paths = PACKAGE_READERS.map(|(folder, _)| published::path(folder));
    command.env("PYTHONPATH", env::join_paths(paths).expect("a list of folders"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut python = command.spawn().expect("it starts");
    let mut input = python.stdin.take().expect("a pipe");
    input.write_all(asked.to_string().as_bytes()).expect("it reads");
    drop(input);
    let output = python.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{asked}\n{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("a list")
}
