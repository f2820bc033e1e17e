//! Runs the checks that are only for Windows: exported functions, and Ctrl-C in consoles.

use super::checks::TOOLS;
use super::host::Builds;
use super::report::Row;
use crate::run::{self, Result, fail};
use crate::{files, tools};
use std::path::Path;
use std::process::Command;

/// Runs the checks that are only for Windows.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    row.check("the image for the CPU is listed, and exports its functions", image(builds));
    let console = tools::folder("elsewhere/console.sh");
    if let Err(why) = files::write_script(&console, &CONSOLE.replace("WINE", tools::WINE_PROGRAM)) {
        return row.check("Ctrl-C", Err(why));
    }
    let mut test = builds.cargo(&format!("test {TOOLS} --lib -- --ignored ctrl_c"));
    test.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", console);
    row.tests("Ctrl-C", test);
}

/// Functions that the image of examples/one-source exports: the kernel, and functions that launch
/// it.
const EXPORTS: &str = "block_sum offload_cpu_kernel_block_sum offload_cpu_launch \
    offload_cpu_launch_shared offload_cpu_launch_with";

fn image(builds: &Builds<'_>) -> Result {
    let program = builds.programs().join("one-source.exe");
    let folder = run::workspace().join("target/elsewhere/one-source");
    files::remove(&folder)?;
    let offload = || Command::new(run::workspace().join("target/debug/cargo-offload"));
    let listed = run::output(offload().args(["ls", "--json"]).arg(&program))?;
    if !listed.contains("\"pe\"") {
        return fail(format!("`cargo offload ls` finds no PE image:\n{listed}"));
    }
    let mut extract = offload();
    extract.args(["extract", "--exact", builds.host.target, "--output"]).arg(&folder);
    let path = run::output(extract.arg(&program))?;
    let path = Path::new(path.trim());
    if path.extension().is_none_or(|extension| extension != "dll") {
        return fail(format!("`cargo offload extract` calls it {}", path.display()));
    }
    let objdump = format!("{}-objdump", builds.host.gnu());
    let text = run::output(Command::new(objdump).arg("-p").arg(path))?;
    let names = text.split("[Ordinal/Name Pointer] Table").nth(1).unwrap_or_default();
    let exported: Vec<&str> = names
        .lines()
        .skip(1)
        .map_while(|line| line.split_once(']').filter(|(start, _)| start.contains('[')))
        .filter_map(|(_, name)| name.split_whitespace().last())
        .collect();
    if exported.join(" ") != EXPORTS {
        return fail(format!("it exports {exported:?}:\n{text}"));
    }
    let system = ["KERNEL32.dll", "msvcrt.dll"];
    let mut needed = text.lines().filter_map(|line| line.trim().strip_prefix("DLL Name: "));
    match needed.find(|name| !system.contains(name)) {
        Some(other) => fail(format!("it needs {other}, which is no part of Windows")),
        None => Ok(()),
    }
}

/// A script that starts a Windows program in a terminal, because only there does Wine provide a
/// console. It prints the program's output without the terminal's control sequences.
const CONSOLE: &str = "\
out=$(mktemp)
script -qec \"WINE $* > $out 2>&1\" /dev/null < /dev/null > /dev/null
status=$?
cat \"$out\"
rm \"$out\"
exit $status
";
