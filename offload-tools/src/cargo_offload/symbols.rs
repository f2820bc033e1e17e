//! Finds the source lines of stack frames in images for the CPU.
//!
//! GCC's runtimes read line numbers only for images loaded before the first report, but frames also
//! name the image and the offset in it. The log folder has a copy of each image, in which
//! `addr2line` (binutils) finds the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The prefix of images' names in the log folder, from `OFFLOAD_CPU_LOG`: `kernels-HASH.so`.
const START: &str = "(kernels-";

/// The innermost function and line at an offset in an image, followed by those it was inlined into.
type Lines = BTreeMap<(String, u64), Vec<(String, String)>>;

/// Adds source lines to the frames in these texts, from the images in the folder. A frame whose
/// line is unknown stays unchanged.
pub fn resolve<'a>(folder: &Path, texts: impl Iterator<Item = &'a mut String>) {
    let texts: Vec<&mut String> = texts.collect();
    let mut places: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for frame in texts.iter().flat_map(|text| text.lines()).filter_map(frame) {
        places.entry(frame.image).or_default().insert(frame.offset);
    }
    let mut lines = Lines::new();
    for (image, offsets) in places {
        let mut command = Command::new("addr2line");
        command
            .args(["-a", "-f", "-i", "-C", "-e"])
            .arg(folder.join(format!("kernels-{image}.so")));
        command.args(offsets.iter().map(|offset| format!("{offset:#x}")));
        // Without addr2line, reports keep the lines that the runtimes printed.
        let Ok(output) = command.output() else { continue };
        read(&image, &String::from_utf8_lossy(&output.stdout), &mut lines);
    }
    for text in texts {
        *text = replaced(text, &lines);
    }
}

/// A stack frame in an image:
/// `    #0 0x7f89d81c4a52 in scale scale.cu:15 (kernels-HASH-2.so+0xea52)`.
struct ImageFrame<'a> {
    /// The hash in the image's name.
    image: String,
    offset: u64,
    /// The text before the function: `    #0 0x7f89d81c4a52 `.
    start: &'a str,
    /// The image and the offset, as in the report.
    end: &'a str,
}

fn frame(line: &str) -> Option<ImageFrame<'_>> {
    let number = line.trim_start().strip_prefix('#')?;
    let address = number.find("0x")?;
    let start = line.len() - number.len() + address;
    let start = start + line[start..].find(' ')? + 1;
    let end = line.rfind(START)?;
    // LLVM's runtimes add ` (BuildId: fe80d6d9411b3a96)`.
    let (image, offset) = line[end + START.len()..].split(')').next()?.split_once(".so+0x")?;
    Some(ImageFrame {
        image: image.split('-').next()?.to_owned(),
        offset: u64::from_str_radix(offset, 16).ok()?,
        start: &line[..start],
        end: &line[end..],
    })
}

/// Parses the output of addr2line, which prints each address and then pairs of lines: a function
/// and a place.
fn read(image: &str, output: &str, to: &mut Lines) {
    let (mut offset, mut function) = (None, None);
    for line in output.lines() {
        if let Some(number) = line.strip_prefix("0x") {
            (offset, function) = (u64::from_str_radix(number, 16).ok(), None);
        } else if let (Some(offset), Some(function)) = (offset, function.take()) {
            let place = line.split(" (discriminator").next().unwrap_or(line);
            if !place.starts_with("??") {
                let place = place.strip_prefix("./").unwrap_or(place);
                let known: &mut Vec<_> = to.entry((image.to_owned(), offset)).or_default();
                known.push((function, place.to_owned()));
            }
        } else {
            function = Some(line.to_owned());
        }
    }
}

fn replaced(text: &str, lines: &Lines) -> String {
    let mut result = String::with_capacity(text.len());
    let mut previous = None;
    for line in text.split_inclusive('\n') {
        let known = frame(line.trim_end()).and_then(|frame| {
            let key = (frame.image.clone(), frame.offset);
            Some((lines.get(&key)?, key, frame))
        });
        let Some((places, key, ImageFrame { start, end, .. })) = known else {
            previous = None;
            result += line;
            continue;
        };
        // The runtime prints a separate frame for each inlined function, with the same offset.
        if previous.as_ref() != Some(&key) {
            for (function, place) in places {
                result += &format!("{start}in {function} {place} {end}\n");
            }
        }
        previous = Some(key);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_get_the_lines_of_the_image() {
        let text = "\
READ of size 4 at 0x617000000300 thread T1
    #0 0x7f89d81c4a52  (kernels-00ab-77.so+0xea52)
    #1 0x7f89d81c4b00 in wrong old.cu:3 (kernels-00ab-77.so+0xeb00)
    #2 0x7f89d81c4b00 in wrong_too old.cu:4 (kernels-00ab-77.so+0xeb00)
    #3 0x7f89d81c4c00 in known known.cu:4 (kernels-00ab-77.so+0xec00)
    #4 0x55b067a9e669 in main main.rs:1 (corpus+0x126669)
    #5 0x7f89d81c4b00 in wrong old.cu:3 (kernels-00ab-77.so+0xeb00) (BuildId: fe80)

";
        let mut lines = Lines::new();
        let output = "0x000000000000ea52\nadd(float)\n./kernels/a.cu:15 (discriminator 2)\nscale\n./kernels/a.cu:19\n\
                      0x000000000000eb00\nscale\nkernels/a.cu:20\n0x000000000000ec00\n??\n??:0\n";
        read("00ab", output, &mut lines);
        let expected = "\
READ of size 4 at 0x617000000300 thread T1
    #0 0x7f89d81c4a52 in add(float) kernels/a.cu:15 (kernels-00ab-77.so+0xea52)
    #0 0x7f89d81c4a52 in scale kernels/a.cu:19 (kernels-00ab-77.so+0xea52)
    #1 0x7f89d81c4b00 in scale kernels/a.cu:20 (kernels-00ab-77.so+0xeb00)
    #3 0x7f89d81c4c00 in known known.cu:4 (kernels-00ab-77.so+0xec00)
    #4 0x55b067a9e669 in main main.rs:1 (corpus+0x126669)
    #5 0x7f89d81c4b00 in scale kernels/a.cu:20 (kernels-00ab-77.so+0xeb00) (BuildId: fe80)

";
        assert_eq!(replaced(text, &lines), expected);
    }
}
