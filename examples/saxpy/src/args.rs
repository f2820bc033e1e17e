//! Parses the command line.

use std::ffi::OsString;

use offload_gpu::DeviceInfo;

/// The short help text, printed after an error.
pub const USAGE: &str = "Usage: saxpy [--device NAME | --explain DEVICE]
Try --help.";

/// The full help text, printed for `--help`.
pub const HELP: &str = "\
Computes y = a * x + y on a GPU or the CPU, with the kernel images inside this program, and checks
the result.

Usage: saxpy [--device NAME | --explain DEVICE]

Options:
  --device NAME      Run on this device, as the table of devices names it: cuda:0, hip:0,
                     opencl:0, cpu. Without it: the first device that an image fits, in the order
                     of the table.
  --explain DEVICE   Tell which image a device would get and why, and why not the others. Nothing
                     runs, so any device will do: gfx90a:xnack-, sm_90, sm_121@driver13.0, cpu.
  -h, --help         Print this text.

Exit status: 0 if the result is right, or if an image fits the device to explain; 1 if not; 2 if
the command line is wrong.
";

/// The user's request.
#[derive(Debug)]
pub enum Command {
    /// Print [`HELP`].
    Help,
    /// Print which image this device would get.
    Explain(DeviceInfo),
    /// Run the kernel on the device of this name, or on the best device.
    Run { device: Option<String> },
}

/// Reads the command line, without the program's name.
///
/// Returns an error (one line of text) if an option is unknown, lacks its value or contradicts
/// another option.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let mut device = None;
    let mut explain = None;
    while let Some(argument) = arguments.next() {
        let argument = text(argument)?;
        let (option, mut value) = match argument.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        let slot = match option {
            "-h" | "--help" if value.is_none() => return Ok(Command::Help),
            "--device" => &mut device,
            "--explain" => &mut explain,
            _ => return Err(format!("unknown argument `{argument}`")),
        };
        if value.is_none() {
            value = arguments.next().map(text).transpose()?;
        }
        let value = value.ok_or_else(|| format!("{option} needs a value"))?;
        if slot.replace(value).is_some() {
            return Err(format!("{option} is given twice"));
        }
    }
    match (device, explain) {
        (Some(_), Some(_)) => {
            Err("--explain does not run anything, so --device cannot go with it".to_owned())
        }
        (device, None) => Ok(Command::Run { device }),
        (None, Some(explain)) => match DeviceInfo::parse(&explain) {
            Ok(device) => Ok(Command::Explain(device)),
            Err(error) => Err(format!("--explain: {error}")),
        },
    }
}

fn text(argument: OsString) -> Result<String, String> {
    argument.into_string().map_err(|argument| format!("argument {argument:?} is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        super::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn nothing_means_the_best_device() {
        assert!(matches!(parse(""), Ok(Command::Run { device: None })));
    }

    #[test]
    fn values_follow_a_space_or_an_equals_sign() {
        for line in ["--device hip:1", "--device=hip:1"] {
            let Ok(Command::Run { device: Some(name) }) = parse(line) else {
                panic!("{line} does not run on a device");
            };
            assert_eq!(name, "hip:1");
        }
        assert!(matches!(parse("--explain gfx90a:xnack-"), Ok(Command::Explain(_))));
    }

    #[test]
    fn help_wins_over_what_follows() {
        assert!(matches!(parse("-h --nonsense"), Ok(Command::Help)));
        assert!(matches!(parse("--device cpu --help"), Ok(Command::Help)));
    }

    #[test]
    fn wrong_lines_say_what_is_wrong() {
        for (line, message) in [
            ("--nonsense", "unknown argument `--nonsense`"),
            ("cpu", "unknown argument `cpu`"),
            ("--help=yes", "unknown argument `--help=yes`"),
            ("--device", "--device needs a value"),
            ("--device cpu --device cpu", "--device is given twice"),
            (
                "--device cpu --explain cpu",
                "--explain does not run anything, so --device cannot go with it",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err(), message, "{line}");
        }
    }
}
