//! Runs checks only for Windows: exported functions, and Ctrl-C in consoles.

use super::builds::Builds;
use super::report::Row;
use crate::run::{self, Failure};
use crate::{files, tools};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the checks that only Windows has.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    row.check("the image for the CPU is listed, and exports its functions", image(builds));
    match console() {
        Ok(console) => {
            let mut test = builds.cargo("test");
            test.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", console)
                .args(["--package=offload-tools", "--features=offload-tools/drop-in", "--lib"])
                .args(["--", "--ignored", "ctrl_c"]);
            row.tests("Ctrl-C", test);
        }
        Err(why) => row.check("Ctrl-C", Err(why)),
    }
}

/// Functions that the image of examples/one-source exports: the kernel, and functions that launch
/// it.
const EXPORTS: [&str; 6] = [
    "block_sum",
    "offload_cpu_kernel_block_sum",
    "offload_cpu_launch",
    "offload_cpu_launch_blocks",
    "offload_cpu_launch_shared",
    "offload_cpu_launch_with",
];

fn image(builds: &Builds<'_>) -> Result<(), String> {
    let program = builds.programs("debug").join("one-source.exe");
    let folder = run::workspace().join("target/elsewhere/one-source");
    let _ = fs::remove_dir_all(&folder);
    let mut offload = Command::new(run::workspace().join("target/debug/cargo-offload"));
    let listed =
        run::output(offload.args(["ls", "--json"]).arg(&program)).map_err(Failure::text)?;
    if !listed.contains("\"pe\"") {
        return Err(format!("`cargo offload ls` finds no PE image:\n{listed}"));
    }
    let mut offload = Command::new(run::workspace().join("target/debug/cargo-offload"));
    let extract = offload.args(["extract", "--exact", builds.host.target, "--output"]).arg(&folder);
    let path = run::output(extract.arg(&program)).map_err(Failure::text)?;
    let path = Path::new(path.trim());
    if path.extension().is_none_or(|extension| extension != "dll") {
        return Err(format!("`cargo offload extract` calls it {}", path.display()));
    }
    let objdump = format!("{}objdump", builds.host.compilers);
    let text = run::output(Command::new(objdump).arg("-p").arg(path)).map_err(Failure::text)?;
    let names = text.split("[Ordinal/Name Pointer] Table").nth(1).unwrap_or_default();
    let exported: Vec<&str> = names
        .lines()
        .skip(1)
        .map_while(|line| line.split_once(']').filter(|(start, _)| start.contains('[')))
        .filter_map(|(_, name)| name.split_whitespace().last())
        .collect();
    if exported != EXPORTS {
        return Err(format!("it exports {exported:?}:\n{text}"));
    }
    let system = ["KERNEL32.dll", "msvcrt.dll"];
    let needed = text.lines().filter_map(|line| line.trim().strip_prefix("DLL Name: "));
    match needed.into_iter().find(|name| !system.contains(name)) {
        Some(other) => Err(format!("it needs {other}, which is no part of Windows")),
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

fn console() -> Result<std::path::PathBuf, String> {
    let script = tools::folder("elsewhere/console.sh");
    files::write_script(&script, &CONSOLE.replace("WINE", tools::WINE_PROGRAM))
        .map_err(Failure::text)?;
    Ok(script)
}
