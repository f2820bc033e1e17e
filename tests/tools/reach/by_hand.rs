//! A handwritten table states which of 12 images each of 40 GPUs runs. `reach` and `select` must
//! agree with the table. In `runtimes/agreement/`, nvJitLink checks `select`.

use crate::containers::binary;
use crate::{json, list, string};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_format::select::{Candidate, DeviceInfo, Fit, judge};
use offload_format::target::{ImageCode, NvidiaCode, OffloadArch};
use offload_tests::prelude::*;
use serde_json::Value;

/// The table: GPUs of products, and how each GPU runs each image.
const BY_HAND: &str = include_str!("../expected/gpus_by_hand.txt");

/// A row of the table: two names of a GPU, and a letter for each image.
type RowByHand = (&'static str, &'static str, Vec<char>);

/// Returns the images and GPUs of the table.
fn by_hand() -> (Vec<&'static str>, Vec<RowByHand>) {
    let mut lines = BY_HAND.lines().filter(|line| !line.starts_with('#'));
    let images = lines.next().expect("a line of names").split(" | ").skip(2).collect();
    let row = |line: &'static str| {
        let mut parts = line.split(" | ");
        let mut part = || parts.next().expect("a name, a number and letters");
        let (name, number) = (part(), part());
        (name, number, part().chars().filter(|letter| *letter != ' ').collect())
    };
    (images, lines.map(row).collect())
}

/// Each image is a separate module, so `reach` lists all images for each GPU.
#[test]
fn gpus_get_what_the_table_by_hand_says() {
    let (images, gpus) = by_hand();
    assert_eq!((images.len(), gpus.len()), (12, 40));
    let all: Vec<_> = images.iter().map(|image| image_for(image, image)).collect();
    let folder = scratch::folder("offload-reach-by-hand");
    scratch::write(folder.join("all.bin"), binary(Version::V2, &all));
    let names: Vec<&str> = gpus.iter().map(|(name, ..)| *name).collect();
    let ran = own::run(
        own::offload(&["reach", "--json", "all.bin", "--require", &names.join(",")])
            .current_dir(&folder),
    );
    let document = json(&ran);
    for (row, (name, number, letters)) in list(&document[0]["required"]).iter().zip(&gpus) {
        assert_eq!(string(&row["device"]), *name);
        let device = DeviceInfo::parse(name).expect("a product");
        let target = format!(
            "{}{}",
            if number.starts_with("gfx") { "" } else { "sm_" },
            number.replace('.', "")
        );
        assert!(device.to_string().contains(&format!("({target})")), "{device} is not {target}");
        for (image, letter) in images.iter().zip(letters) {
            let has = |gets: &&Value| list(&gets["names"]).iter().any(|name| name == image);
            let gets = list(&row["gets"]).iter().find(has).expect("each image is a module");
            let by_reach = match string(&gets["how"]) {
                "machine-code" => 'M',
                "compatible" => 'C',
                "compiled" => 'P',
                _ => '-',
            };
            // Treat images that only nvJitLink accepts as images that do not fit.
            let expected = if *letter == 'o' { '-' } else { *letter };
            assert_eq!(by_reach, expected, "reach: {name}, {image}");
            let code = OffloadArch::parse(image).expect("a target");
            let fit = judge(&Target(image, code), &device);
            let by_select = match fit {
                Ok(Fit::Ptx { .. }) => 'P',
                Ok(Fit::Cubin(arch)) if target != format!("sm_{}", arch.number()) => 'C',
                Ok(Fit::GenericTarget { .. }) => 'C',
                Ok(_) => 'M',
                Err(_) => '-',
            };
            assert_eq!(by_select, expected, "select: {name}, {image}: {fit:?}");
        }
    }
}

/// Returns an image for a target, without kernels. The image has a module if its name is not empty.
pub fn image_for<'a>(
    module: &'a str,
    target: &'a str,
) -> (StatedKind, OffloadKind, Vec<(&'a str, &'a str)>, String) {
    let mut strings = vec![("arch", target), ("module", module)];
    strings.retain(|(_, value)| !value.is_empty());
    let code = "machine code".to_owned();
    match &target[..2] {
        "co" => {
            let target = target.replace("compute", "sm");
            let text = format!(".version 9.0\n.target {target}\n.address_size 64\n");
            (StatedKind::PTX, OffloadKind::CUDA, strings, text)
        }
        "sm" => (StatedKind::CUBIN, OffloadKind::CUDA, strings, code),
        _ => (StatedKind::OBJECT, OffloadKind::HIP, strings, code),
    }
}

/// An image that has only a target.
#[derive(Debug)]
struct Target<'a>(&'a str, OffloadArch<'a>);

impl Candidate for Target<'_> {
    fn code(&self) -> ImageCode<'_> {
        match self.1 {
            OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx => {
                ImageCode::Ptx { arch, version: None }
            }
            OffloadArch::Nvidia(arch) => ImageCode::Cubin(arch),
            OffloadArch::Amdgpu(id) => ImageCode::Amdgpu { id, version: Some(6) },
            ref other => panic!("{other:?}"),
        }
    }

    fn label(&self) -> &str {
        self.0
    }
}
