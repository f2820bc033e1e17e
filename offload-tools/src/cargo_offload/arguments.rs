//! The command line of `cargo offload test`. Unknown options are passed to Cargo.

use offload_pack::checks::Check;
use std::ffi::OsString;

/// The text of `--help`.
pub const HELP: &str = "\
Runs tests on the CPU, and checks the kernels that they launch

Usage: cargo offload test [OPTIONS] [ARGUMENTS OF CARGO TEST] [-- ARGUMENTS OF THE TESTS]

Options:
      --check <KIND>      What to check: memory, races, undefined, or all [default: all, unless
                          --orders is given]. Separate kinds with commas, or repeat --check
      --orders <COUNT>    Run each test program in this many orders of blocks and threads, without
                          a sanitizer, and stop at the first order in which it fails
      --lanes <COUNT>     Build images for the CPU with this many lanes in each warp: 32, or 64 as
                          on AMD's gfx9 [default: OFFLOAD_CPU_LANES or 32]. With 32,64, all
                          tests run with 32 lanes, and again with 64
      --seed <SEED>       The seed of the first random order [default: 1]
      --time-limit <SECONDS>
                          End each kernel that runs longer than this [default: 300]
  -h, --help              Print help

All checks share the target folder target/offload-check.

Exit status: 0 if nothing was found; 1 if a kernel is wrong; 2 if nothing was checked because no
kernel was launched on the CPU, or if the arguments are wrong; 3 if findings may be missing because
a sanitizer failed, reports are missing or a test program ended early; Cargo's exit status if a
test failed but no kernel is to blame.
";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// `--help`.
    Help,
    /// `test`.
    Test(Asked),
    /// `run PROGRAM ARGUMENTS`, which starts a test program. Not meant for users: `cargo offload`
    /// configures Cargo to run this command.
    Run(Vec<OsString>),
}

/// The options and arguments of `cargo offload test`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The kinds of checks, without duplicates.
    pub checks: Vec<Check>,
    /// In how many orders of blocks and threads to run each test program; 0 to skip these runs.
    pub orders: u32,
    /// Numbers of lanes in a warp, each with separate runs. If the list is empty, the environment
    /// decides.
    pub lanes: Vec<u32>,
    /// The seed of the first random order.
    pub seed: u64,
    /// The time limit for a kernel, in seconds.
    pub time_limit: u32,
    /// Cargo's arguments after `test`.
    pub cargo: Vec<OsString>,
    /// The test programs' arguments, after `--`.
    pub program: Vec<OsString>,
}

impl Command {
    /// Parses the arguments after `cargo offload`.
    ///
    /// Returns an error if an option of this program has a missing or invalid value.
    pub fn parse(words: Vec<OsString>) -> Result<Self, String> {
        let mut words = words.into_iter();
        if words.next().is_some_and(|command| command == "run") {
            return Ok(Self::Run(words.collect()));
        }
        let mut asked = Asked { seed: 1, time_limit: 300, ..Asked::default() };
        let mut kinds: Vec<String> = Vec::new();
        while let Some(word) = words.next() {
            if word == "--" {
                asked.program = words.collect();
                break;
            }
            let text = word.to_string_lossy().into_owned();
            if let "-h" | "--help" = &*text {
                return Ok(Self::Help);
            }
            let (name, value) =
                text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
            if !matches!(name, "--check" | "--orders" | "--lanes" | "--seed" | "--time-limit") {
                asked.cargo.push(word);
                continue;
            }
            let value = value.map(str::to_owned).or_else(|| words.next()?.into_string().ok());
            let value = value.ok_or_else(|| format!("{name} needs a value"))?;
            let wrong = |valid| format!("invalid value '{value}' for {name}: expected {valid}");
            let count = || value.parse().ok().filter(|count| *count > 0);
            let least_1 = "a whole number of at least 1";
            match name {
                "--check" => kinds.extend(value.split(',').map(str::to_owned)),
                "--orders" => asked.orders = count().ok_or_else(|| wrong(least_1))?,
                "--lanes" => {
                    for word in value.split(',') {
                        let lanes = word.parse().ok().filter(|lanes| [32, 64].contains(lanes));
                        let lanes = lanes.ok_or_else(|| wrong("32, 64, or 32,64"))?;
                        if !asked.lanes.contains(&lanes) {
                            asked.lanes.push(lanes);
                        }
                    }
                }
                "--seed" => asked.seed = value.parse().map_err(|_| wrong("a whole number"))?,
                _ => asked.time_limit = count().ok_or_else(|| wrong(least_1))?,
            }
        }
        if kinds.is_empty() && asked.orders == 0 {
            kinds.push("all".to_owned());
        }
        asked.checks = checks(&kinds)?;
        Ok(Self::Test(asked))
    }
}

/// Returns the checks for these values of `--check`. Memory and undefined behaviour need only one
/// run, because one image checks both.
fn checks(kinds: &[String]) -> Result<Vec<Check>, String> {
    let mut parts = Vec::new();
    for kind in kinds {
        let requested = Check::requested(kind).ok_or_else(|| {
            format!("invalid value '{kind}' for --check: expected memory, races, undefined, or all")
        })?;
        parts.extend(requested.iter().flat_map(|check| check.parts()));
    }
    let has = |check: Check| parts.contains(&check);
    let of_memory = match (has(Check::Memory), has(Check::Undefined)) {
        (true, true) => Some(Check::MemoryAndUndefined),
        (true, false) => Some(Check::Memory),
        (false, true) => Some(Check::Undefined),
        (false, false) => None,
    };
    Ok(of_memory.into_iter().chain(has(Check::Races).then_some(Check::Races)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(line.split_whitespace().map(OsString::from).collect())
    }

    fn asked(line: &str) -> Asked {
        match parse(line) {
            Ok(Command::Test(asked)) => asked,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_is_not_known_is_cargos() {
        let found =
            asked("test -p sums --check races --features=x sums --orders=3 -- --check --nocapture");
        assert_eq!(found.checks, [Check::Races]);
        assert_eq!((found.orders, found.seed, found.time_limit), (3, 1, 300));
        assert_eq!(found.cargo, ["-p", "sums", "--features=x", "sums"]);
        assert_eq!(found.program, ["--check", "--nocapture"]);
    }

    #[test]
    fn kinds_are_runs() {
        assert_eq!(asked("test").checks, [Check::MemoryAndUndefined, Check::Races]);
        assert_eq!(asked("test --check all").checks, [Check::MemoryAndUndefined, Check::Races]);
        assert_eq!(
            asked("test --check races,memory --check memory").checks,
            [Check::Memory, Check::Races]
        );
        assert_eq!(asked("test --orders 5").checks, []);
        assert_eq!(asked("test --lanes 32,64 --lanes=64").lanes, [32, 64]);
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, message) in [
            ("test --check", "--check needs a value"),
            (
                "test --check race",
                "invalid value 'race' for --check: expected memory, races, undefined, or all",
            ),
            (
                "test --orders 0",
                "invalid value '0' for --orders: expected a whole number of at least 1",
            ),
            ("test --lanes 64,48", "invalid value '64,48' for --lanes: expected 32, 64, or 32,64"),
            ("test --seed=x", "invalid value 'x' for --seed: expected a whole number"),
        ] {
            assert_eq!(parse(line).unwrap_err(), message);
        }
    }
}
