//! Registers and runs tests. A test has a name, the tools that it needs, and a duration.
//! `#[test(NEEDS)]` registers a function as a test. [`run`] is the `main` of an executable, and
//! runs its tests.
//!
//! A test's name is the path of its function in the executable: `cargo xtask test --test builds --
//! modules::modules_are_taken_by_name` runs that function. The attribute's argument is the test's
//! [needs](Needs), such as `LLVM` or `CLANG.slow()`. `#[test]` alone needs no tools.
//!
//! With the standard library's attribute, a test cannot report at run time that it is ignored
//! because a tool is missing. The standard harness also starts slow tests late, and measures no
//! processor time. Each `main.rs` imports our attribute with `#[macro_use]`, which hides the
//! standard attribute in all modules.

use crate::processes;
use crate::tools::Tool;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{self, ExitCode};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Registers tests that code generates, for example in a loop. The argument is a list or an
/// iterator of tests.
///
/// ```ignore
/// tests!(corpus_files().into_iter().map(|file| {
///     Test::new(module_path!(), &file.clone(), NOTHING, move || is_as_its_dump(&file))
/// }));
/// ```
#[macro_export]
macro_rules! tests {
    ($tests:expr) => {
        $crate::registry::inventory::submit! {
            $crate::registry::Registered(|| $tests.into_iter().collect())
        }
    };
}

pub use inventory;

/// A function that returns tests.
#[derive(Debug)]
pub struct Registered(pub fn() -> Vec<Test>);

inventory::collect!(Registered);

/// The tools and time that a test needs.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    tools: &'static [Tool],
    time: Time,
    ignored_if: fn() -> Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Time {
    Short,
    /// The test is slow, so the short run omits it.
    Slow,
    /// The test is slow, but the short run includes it, because it tests a claim in README.
    Claimed,
    /// The test runs only on request, for this reason.
    OnRequest(&'static str),
}

/// The needs of tests that use no tools.
pub const NOTHING: Needs = needs(&[]);
/// The needs of tests that use gcc, g++ and GNU ld.
pub const GCC: Needs = needs(&[Tool::Gcc]);
/// The needs of tests that use LLVM 22: clang, lld, and the tools that read binaries.
pub const LLVM: Needs = needs(&[Tool::Llvm22]);
/// The needs of tests that build for AMD GPUs, PTX and the CPU.
pub const CLANG: Needs = needs(&[Tool::Llvm22, Tool::Gcc]);
/// The needs of tests that build for all targets: [`CLANG`], ptxas and cuobjdump.
pub const COMPILERS: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda]);
/// The needs of tests that use nvcc with its host compiler, and cuobjdump.
pub const NVCC: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc]);

/// Returns the needs of a test that uses these tools and less than about a second of processor
/// time.
pub const fn needs(tools: &'static [Tool]) -> Needs {
    Needs { tools, time: Time::Short, ignored_if: || None }
}

impl Needs {
    /// Marks tests that use about a second of processor time or more. Without a filter or `--all`,
    /// `cargo xtask test` omits these tests.
    pub const fn slow(self) -> Self {
        Self { time: Time::Slow, ..self }
    }

    /// Marks slow tests that check a claim in README. The short run includes them.
    pub const fn claimed(self) -> Self {
        Self { time: Time::Claimed, ..self }
    }

    /// Marks tests that run only with `--ignored` or `--include-ignored`. The reason states how
    /// long they take, and which command runs them.
    pub const fn on_request(self, reason: &'static str) -> Self {
        Self { time: Time::OnRequest(reason), ..self }
    }

    /// Ignores tests if this function returns a reason. The function is called only if all tools
    /// are present.
    pub const fn ignored_if(self, reason: fn() -> Option<String>) -> Self {
        Self { ignored_if: reason, ..self }
    }

    /// Returns the reason why the tests cannot run on this machine, and whether this counts as a
    /// failure. Returns `None` if no tool is missing.
    fn missing(self) -> Option<(String, bool)> {
        self.tools.iter().find_map(|tool| {
            let why = tool.check().err()?;
            let hint = tool.required_by().map(|it| format!(" ({it} requires it)"));
            let text = format!("needs {tool:?}: {why}{}", hint.as_deref().unwrap_or_default());
            Some((text, hint.is_some()))
        })
    }
}

/// A test, which fails by panicking.
pub struct Test {
    name: String,
    needs: Needs,
    run: Box<dyn FnOnce() + Send>,
}

impl std::fmt::Debug for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Test")
            .field("name", &self.name)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

impl Test {
    /// Returns the test `name` of a module, whose path is `module_path!()`.
    pub fn new(
        module: &str,
        name: &str,
        needs: Needs,
        run: impl FnOnce() + Send + 'static,
    ) -> Self {
        // `module_path!()` begins with the executable's name, but a test's name does not contain
        // the executable's name.
        let module =
            module.split_once("::").map_or(String::new(), |(_, module)| format!("{module}::"));
        Self { name: module + name, needs, run: Box::new(run) }
    }

    fn into_trial(self, arguments: &Arguments) -> Trial {
        let Self { name, needs, run } = self;
        let is_flagged = matches!(needs.time, Time::OnRequest(_)) && arguments.ignored;
        let left_out = match needs.time {
            Time::Slow if env::var_os("OFFLOAD_TEST_SHORT").is_some() => {
                Some("slow, and this is the short run".to_owned())
            }
            Time::OnRequest(reason) if !arguments.ignored && !arguments.include_ignored => {
                Some(reason.to_owned())
            }
            _ => None,
        };
        let own_name = name.clone();
        let trial = Trial::ignorable_test(name, move || {
            if let Some(reason) = left_out {
                record(&own_name, &format!("left out\t{reason}"));
                return Ok(Completion::ignored_with(reason));
            }
            match needs.missing().or_else(|| Some(((needs.ignored_if)()?, false))) {
                Some((why, true)) => return Err(Failed::from(why)),
                Some((why, false)) => {
                    record(&own_name, &format!("ignored\t{why}"));
                    return Ok(Completion::ignored_with(why));
                }
                None => {}
            }
            let (start, processor) = (Instant::now(), processes::processor_seconds());
            let _running = Running::new(&own_name);
            run();
            let (wall, processor) =
                (start.elapsed().as_secs_f64(), processes::processor_seconds() - processor);
            record(&own_name, &format!("{wall:.2}\t{processor:.2}"));
            Ok(Completion::Completed)
        });
        trial.with_ignored_flag(is_flagged)
    }
}

/// Writes a line to the file that `cargo xtask test` reads. The line contains the name of a test or
/// of shared work, and either the seconds or the reason why the test did not run.
pub(crate) fn record(name: &str, what: &str) {
    let Some(path) = env::var_os("OFFLOAD_TEST_RECORD") else { return };
    let file = OpenOptions::new().append(true).create(true).open(path);
    // A single write keeps lines from several threads whole.
    let written = file.and_then(|mut file| file.write_all(format!("{name}\t{what}\n").as_bytes()));
    written.expect("the record can be written");
}

/// The running tests, each with its start time.
static RUNNING: Mutex<Vec<(String, Instant)>> = Mutex::new(Vec::new());

/// A test's entry in [`RUNNING`], until the test ends or panics.
struct Running(String);

impl Running {
    fn new(name: &str) -> Self {
        lock_running().push((name.to_owned(), Instant::now()));
        Self(name.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock_running().retain(|(name, _)| *name != self.0);
    }
}

fn lock_running() -> MutexGuard<'static, Vec<(String, Instant)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A test that runs longer than this is not just slow. It waits for something that never happens.
const HANGS_AFTER: Duration = Duration::from_secs(20 * 60);

/// Ends the program with an error when a test hangs. Otherwise CI would end the run at its time
/// limit, without the test's name.
fn end_if_a_test_hangs() {
    loop {
        thread::sleep(Duration::from_secs(5));
        let hangs = |(_, start): &&(String, Instant)| start.elapsed() > HANGS_AFTER;
        if let Some((name, _)) = lock_running().iter().find(hangs) {
            eprintln!(
                "the test {name} did not end within {} minutes, so this program ends here, with an \
                 error: its results are not known",
                HANGS_AFTER.as_secs() / 60
            );
            process::exit(1);
        }
    }
}

/// Runs the tests that the command line selects. Slow tests start first. If a slow test started
/// last, the other processors would be idle until its end.
pub fn run() -> ExitCode {
    let arguments = Arguments::from_args();
    let registered = inventory::iter::<Registered>.into_iter();
    let mut tests: Vec<Test> = registered.flat_map(|Registered(tests)| tests()).collect();
    tests.sort_by(|a, b| order(a).cmp(&order(b)));
    let trials = tests.into_iter().map(|test| test.into_trial(&arguments)).collect();
    thread::spawn(end_if_a_test_hangs);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn order(test: &Test) -> (bool, &str) {
    (test.needs.time == Time::Short, &test.name)
}
