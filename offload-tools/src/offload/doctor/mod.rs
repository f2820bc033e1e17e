//! `cargo offload doctor`: lists the compilers and runtimes on this machine, and the targets that
//! can be built.

mod opencl;
mod runtime;

use super::grouped::grouped;
use super::{Result, out};
use crate::text::{BAD, FAINT, GOOD, HEADING, TARGET, escaped_str, styled};
use offload_build::doctor::{self, Report, Tool, Verdict};
use runtime::{Loader, Runtime};
use serde::Serialize;
use std::io::Write;
use std::process::{Command, ExitCode};

/// Arguments of `cargo offload doctor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The listed compilers are those that a build script uses if it names none. The \
                  exit status is 1 if one of the TARGETs cannot be built or, without TARGETs, if \
                  no GPU target can be built."
)]
pub struct Args {
    /// Targets to try: gfx1100, sm_90a, compute_90, cpu, native
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints this machine's compilers, runtimes and targets.
pub fn run(args: &Args) -> Result {
    let report = doctor::examine(&host(), &args.targets);
    let loader = Loader::new();
    let mut runtimes = Vec::from(runtime::of_libraries(&loader));
    runtimes.extend(opencl::all(&loader));
    let mut out = out::stdout();
    if args.json {
        let (tools, native) = (&report.tools, report.native.as_deref().ok());
        let (runtimes, targets) = (&runtimes, &report.verdicts);
        super::ls::print_json(&mut out, &Record { tools, runtimes, native, targets })?
    } else {
        print(&mut out, &report, &runtimes)?
    }
    out.flush()?;
    let is_well = if report.verdicts.is_empty() {
        report.tools.iter().flat_map(|tool| &tool.targets).any(|target| target != "cpu")
    } else {
        report.verdicts.iter().all(|verdict| verdict.refusal.is_none())
    };
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the host's target triple, as rustc reports it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.unwrap_or_else(|| match std::env::consts::OS {
        "windows" => format!("{}-pc-windows-msvc", std::env::consts::ARCH),
        "macos" => format!("{}-apple-darwin", std::env::consts::ARCH),
        os => format!("{}-unknown-{os}-gnu", std::env::consts::ARCH),
    })
}

/// The width of the left column, which holds names and headings.
const INDENT: usize = 20;

fn print(out: &mut out::Out, report: &Report, runtimes: &[Runtime]) -> Result<()> {
    if !report.verdicts.is_empty() {
        print_verdicts(out, &report.verdicts)?;
    }
    writeln!(out, "{}", styled(HEADING, "Compilers"))?;
    for tool in &report.tools {
        print_tool(out, tool)?;
    }
    writeln!(out, "\n{}", styled(HEADING, "Runtimes, needed to run programs"))?;
    for runtime in runtimes {
        match &runtime.path {
            Some(path) => entry(out, runtime.name, &styled(GOOD, &escaped_str(path)))?,
            None => entry(out, runtime.name, &styled(BAD, "not found"))?,
        }
        paragraph(out, "description", &runtime.what)?;
        paragraph(out, "looked for", &runtime.looked)?;
        if let Some(install) = &runtime.install {
            paragraph(out, "to install", install)?;
        }
    }
    writeln!(out, "\n{}", styled(HEADING, "GPUs of this machine (the target 'native')"))?;
    match &report.native {
        Ok(targets) => {
            targets.iter().try_for_each(|target| writeln!(out, "  {}", styled(TARGET, target)))?
        }
        Err(trail) => {
            entry(out, "none", "")?;
            trail.iter().try_for_each(|line| writeln!(out, "    {}", escaped_str(line)))?;
        }
    }
    Ok(())
}

/// Prints whether the requested targets can be built. This comes first in the output, because the
/// user asked for it.
fn print_verdicts(out: &mut out::Out, verdicts: &[Verdict]) -> Result<()> {
    writeln!(out, "{}", styled(HEADING, "Targets"))?;
    let results = grouped(verdicts.iter(), |verdict| (&verdict.refusal, &verdict.unoptimized));
    for ((refusal, unoptimized), group) in results {
        let targets: Vec<&str> = group.iter().map(|verdict| &*verdict.target).collect();
        let targets = escaped_str(&targets.join(" "));
        let (state, why) = match (refusal, unoptimized) {
            (Some(why), _) => (styled(BAD, "cannot be built"), Some(why)),
            (None, Some(why)) => {
                (styled(BAD, "can be built, but not in the dev profile"), Some(why))
            }
            (None, None) => (styled(GOOD, "can be built"), None),
        };
        // Print the result for a long list of targets on a separate line.
        if targets.chars().count() < INDENT - 2 {
            entry(out, &targets, &state)?
        } else {
            for line in wrapped(&targets, 2) {
                writeln!(out, "  {line}")?;
            }
            entry(out, "", &state)?;
        }
        why.iter()
            .flat_map(|why| why.lines())
            .try_for_each(|line| writeln!(out, "    {}", escaped_str(line)))?;
    }
    writeln!(out)?;
    Ok(())
}

fn print_tool(out: &mut out::Out, tool: &Tool) -> Result<()> {
    let state = match (&tool.path, &tool.problem) {
        (Some(path), _) => styled(GOOD, &escaped_str(&path.display().to_string())),
        (None, Some(_)) => styled(BAD, "cannot be used"),
        (None, None) => styled(FAINT, "not found"),
    };
    entry(out, tool.name, &state)?;
    if let Some(version) = &tool.version {
        paragraph(out, "version", version)?;
    }
    paragraph(out, "makes", tool.makes)?;
    paragraph(out, "looked for", &tool.looked)?;
    if let Some(problem) = &tool.problem {
        paragraph(out, "problem", problem)?;
    }
    if let Some(install) = &tool.install {
        paragraph(out, "to install", install)?;
    }
    if !tool.targets.is_empty() {
        paragraph(out, "builds for", &tool.targets.join(" "))?;
    }
    Ok(())
}

fn entry(out: &mut out::Out, name: &str, state: &str) -> Result<()> {
    let line = format!("  {name:<width$}{state}", width = INDENT - 2);
    writeln!(out, "{}", line.trim_end())?;
    Ok(())
}

/// Prints a heading in the left column, and a text in the right column, wrapped to the terminal's
/// width. Lines that start with two spaces are commands to copy, so they are not wrapped.
fn paragraph(out: &mut out::Out, heading: &str, text: &str) -> Result<()> {
    let mut heading = heading;
    for line in text.lines() {
        if line.starts_with("  ") {
            writeln!(out, "      {}", escaped_str(line.trim_start()))?;
            continue;
        }
        for words in wrapped(&escaped_str(line), INDENT) {
            writeln!(out, "    {heading:<indent$}{words}", indent = INDENT - 4)?;
            heading = "";
        }
    }
    Ok(())
}

/// Wraps a line at spaces, to the terminal's width after `indent` columns. Keeps an empty line.
fn wrapped(line: &str, indent: usize) -> Vec<String> {
    let width = out::width().unwrap_or(100).saturating_sub(indent).max(40);
    let mut lines = vec![String::new()];
    for word in line.split_whitespace() {
        let last = lines.last_mut().expect("`lines` is never empty");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            last.push(' ');
            last.push_str(word);
        }
    }
    lines
}

/// The report in JSON.
#[derive(Debug, Serialize)]
struct Record<'a> {
    /// The compilers, and the tools that they need.
    tools: &'a [Tool],
    /// Libraries that programs need at run time.
    runtimes: &'a [Runtime],
    /// The targets of the machine's GPUs; null if no GPU was found.
    native: Option<&'a [String]>,
    /// The targets of the command line.
    targets: &'a [Verdict],
}
