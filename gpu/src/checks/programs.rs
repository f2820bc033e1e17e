//! The examples beside this program, as a user runs them: they compare their results themselves.

use super::Outcome;
use crate::suite::own_path;
use offload_gpu::run::Device;
use std::path::Path;
use std::process::Command;

/// The programs, and the end of what each prints if its results are right.
const PROGRAMS: [(&str, &str); 2] =
    [("saxpy", ": all 1048576 elements are right.\n"), ("one-source", ", all right.\n")];

pub fn run(device: &Device) -> Result<Outcome, String> {
    let own = own_path()?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let (mut figures, mut findings) = (Vec::new(), Vec::new());
    for (name, end) in PROGRAMS {
        let program = folder.join(name);
        if !program.is_file() {
            figures.push((name, "not in this folder".to_owned()));
            continue;
        }
        let output = Command::new(&program).env("OFFLOAD_DEVICE", device.name()).output();
        let output = output.map_err(|error| format!("{name} does not start: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && text.ends_with(end) {
            figures.push((name, text.lines().last().unwrap_or_default().to_owned()));
        } else {
            let error = String::from_utf8_lossy(&output.stderr);
            findings.push(format!("{name}: {}: {text} {error}", output.status));
        }
    }
    if findings.is_empty() { Ok(Outcome::ok(figures)) } else { Err(findings.join("; ")) }
}
