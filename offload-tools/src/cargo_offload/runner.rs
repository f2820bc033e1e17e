//! The command that Cargo runs instead of a test program: `cargo-offload run PROGRAM ARGUMENTS`.

use super::interrupt;
use super::log::{Log, Program};
use super::passes::variables;
use crate::files::{Input, MEMORY_LIMIT};
use offload_format::inventory::{Images, Inventory};
use offload_pack::checks::{self, Check, CheckedImage, Order};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode, ExitStatus, Stdio};

/// Runs a test program.
///
/// Returns a message if the program cannot be started.
pub fn run(words: &[OsString]) -> Result<ExitCode, String> {
    let usage = "only Cargo may start this command; see 'cargo offload test --help'";
    let (program, arguments) = words.split_first().ok_or(usage)?;
    let log = Log { folder: env::var_os(variables::LOG).ok_or(usage)?.into() };
    let program = Path::new(program);
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    // A program that runs only once replaces this process and so keeps its process ID, which is
    // logged.
    log.add(None, &Program { process: process::id(), package, path: program.to_owned() })?;
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(count) = number(variables::ORDERS) {
        return in_orders(program, arguments, count, number(variables::SEED).unwrap_or(1), &log);
    }
    let mut command = plain(program, arguments);
    let check = env::var(variables::CHECK).ok().and_then(|name| Check::named(&name));
    if let Some(check) = check
        && let Some(image) = checked_image(program, check.of_image())?
    {
        put_before(&image, &log, &mut command);
        if check != check.of_image() {
            command.env(checks::variables::CHECK_ONLY, check.name());
        }
    }
    become_program(command)
}

fn plain(program: &Path, arguments: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    for name in [variables::LOG, variables::CHECK, variables::ORDERS, variables::SEED] {
        command.env_remove(name);
    }
    command
}

/// Returns the description from a program's first image that performs this check, or `None` if no
/// image does.
///
/// Returns a message if the program cannot be read.
fn checked_image(program: &Path, check: Check) -> Result<Option<CheckedImage>, String> {
    let input = Input::open(program)
        .map_err(|error| format!("cannot read {}: {error}", program.display()))?;
    let inventory = Inventory::of(input.bytes(), MEMORY_LIMIT);
    let mut images = Images::new(MEMORY_LIMIT);
    Ok(inventory.images.iter().find_map(|image| {
        let bytes = images.read(image).ok()?;
        let mut all = CheckedImage::all(&bytes).into_iter().map(|(checked, _)| checked);
        all.find(|checked| checked.check == check)
    }))
}

/// Preloads the sanitizer into the program, but not into its child processes.
fn put_before(image: &CheckedImage, log: &Log, command: &mut Command) {
    let mut libraries: Vec<PathBuf> = image.libraries.split(':').map(PathBuf::from).collect();
    libraries.extend(for_one_process(&log.folder));
    preload(&libraries, command);
    let symbolizer = match &*image.symbolizer {
        "" => String::new(),
        path => format!(":external_symbolizer_path='{path}'"),
    };
    // Let the program continue after a finding, because its tests determine the exit status.
    for (check, own) in
        [(Check::Memory, ":halt_on_error=0"), (Check::Races, ":exitcode=0"), (Check::Undefined, "")]
    {
        let (name, options) = check.sanitizer_options();
        // The user's options come last, because the last of repeated options wins.
        let of_user =
            env::var(name).map_or_else(|_| String::new(), |options| format!(":{options}"));
        // Two sanitizer runtimes in one program need separate files.
        let report = log.reports(&name[..1]).display().to_string();
        // `%M` prints the image and the offset in it, which `symbols` parses.
        let frames = "stack_trace_format='    #%n %p %F %L %M'";
        command
            .env(name, format!("{options}{own}:{frames}:log_path='{report}'{symbolizer}{of_user}"));
    }
}

/// Preloads libraries into the program, before the user's libraries. The loader splits `LD_PRELOAD`
/// at spaces but `LD_LIBRARY_PATH` only at colons, so a library whose path contains a space goes
/// into `LD_PRELOAD` by file name, and its folder into `LD_LIBRARY_PATH`.
fn preload(libraries: &[PathBuf], command: &mut Command) {
    let (mut names, mut folders) = (Vec::new(), Vec::new());
    for library in libraries {
        match (library.to_string_lossy().contains(' '), library.file_name(), library.parent()) {
            (true, Some(name), Some(folder)) => {
                names.push(name.to_owned());
                folders.push(folder.as_os_str().to_owned());
            }
            _ => names.push(library.clone().into_os_string()),
        }
    }
    names.extend(env::var_os("LD_PRELOAD"));
    command.env("LD_PRELOAD", names.join(OsStr::new(":")));
    if !folders.is_empty() {
        let of_user = env::var_os("LD_LIBRARY_PATH");
        folders.splice(0..0, of_user.filter(|of_user| !of_user.is_empty()));
        command.env("LD_LIBRARY_PATH", folders.join(OsStr::new(":")));
    }
}

/// Compiles a library whose constructor removes `LD_PRELOAD` from the environment, so that child
/// processes of the program do not load the sanitizer. Returns `None` if no C compiler works.
fn for_one_process(folder: &Path) -> Option<PathBuf> {
    const SOURCE: &str = "#include <stdlib.h>\n\
        __attribute__((constructor)) static void offload_for_one_process(void) { unsetenv(\"LD_PRELOAD\"); }\n";
    let library = folder.join("for_one_process.so");
    if library.exists() {
        return Some(library);
    }
    // Programs of several packages may start at the same time, so the file names contain the
    // process ID.
    let (source, own) = (
        folder.join(format!("{}-source.c", process::id())),
        folder.join(format!("{}-own.so", process::id())),
    );
    fs::write(&source, SOURCE).ok()?;
    let compiles = |compiler: &str| {
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&own).arg(&source);
        command.output().is_ok_and(|output| output.status.success())
    };
    let found =
        ["cc", "gcc", "clang"].into_iter().any(compiles) && fs::rename(&own, &library).is_ok();
    let _ = fs::remove_file(&source);
    found.then_some(library)
}

#[cfg(unix)]
fn become_program(mut command: Command) -> Result<ExitCode, String> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    Err(format!("cannot start {}: {error}", command.get_program().display()))
}

#[cfg(not(unix))]
fn become_program(mut command: Command) -> Result<ExitCode, String> {
    let status = command
        .status()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    Ok(status_of(status).into())
}

/// Runs a program several times, in a different order of blocks and threads each time, until it
/// fails. Shows the output of the first run and of a failing run.
fn in_orders(
    program: &Path,
    arguments: &[OsString],
    count: u64,
    seed: u64,
    log: &Log,
) -> Result<ExitCode, String> {
    let failed = |error| format!("cannot start {}: {error}", program.display());
    // An interrupt ends the test program, but not this process, which then reports the order.
    interrupt::ignore();
    for (number, order) in orders(count, seed).enumerate() {
        let mut command = plain(program, arguments);
        command.env(checks::variables::ORDER, order.to_string());
        if number > 0 {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let child = command.spawn().map_err(failed)?;
        let output = child.wait_with_output().map_err(failed)?;
        let (status, printed) = (output.status, (number > 0).then_some(output));
        if status.success() {
            continue;
        }
        if let Some(output) = printed {
            anstream::eprintln!(
                "offload: the tests failed with {}={order}, after passing in {number} other \
                 orders:",
                checks::variables::ORDER
            );
            anstream::print!("{}", String::from_utf8_lossy(&output.stdout));
            anstream::eprint!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
        log.add(Some(order), &Program { process: 0, package, path: program.to_owned() })?;
        return Ok(status_of(status).into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the first `count` orders: forward and reverse, which find most errors, followed by
/// random ones.
fn orders(count: u64, seed: u64) -> impl Iterator<Item = Order> {
    let random = (0..).map(move |more: u64| Order::Random(seed.wrapping_add(more)));
    let first = [Order::Forward, Order::Reverse].into_iter();
    first.chain(random).take(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Converts a test program's exit status to the status of this program: 1 if a signal ended the
/// test program.
pub fn status_of(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_orders_follow_the_two_plain_ones() {
        let list = |count, seed| orders(count, seed).collect::<Vec<_>>();
        assert_eq!(list(1, 1), [Order::Forward]);
        let expected = [Order::Forward, Order::Reverse, Order::Random(7), Order::Random(8)];
        assert_eq!(list(4, 7), expected);
    }
}
