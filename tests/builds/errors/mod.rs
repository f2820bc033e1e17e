//! Errors that end a build. Each error must be one message that contains the fault and its
//! solution. No incomplete files may remain.

mod cases;
mod compilers;
mod machine;
mod mistakes;
mod prebuilt_set;

use offload_tests::scenario::Printed;

/// Returns the message: the build script's standard error without the headline.
fn message(printed: &Printed, pack: &str) -> Result<String, String> {
    if printed.status.success() {
        return Err("the build succeeded".to_owned());
    }
    let (_, script) = printed
        .stderr
        .split_once("\n  --- stderr\n")
        .ok_or("no standard error of a build script")?;
    // Cargo indents each line by two spaces.
    let script: Vec<&str> =
        script.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let script = script.join("\n").trim().to_owned();
    let headline = format!("error: offload-build could not make the pack \"{pack}\"\n");
    let message =
        script.strip_prefix(&headline).ok_or("the message does not start with its headline")?;
    if printed.stderr.contains("rerun-if-env-changed=DOCS_RS") {
        return Err("lines for Cargo come before the message".to_owned());
    }
    if printed.stderr.matches("could not make the pack").count() != 1 {
        return Err("more than one message".to_owned());
    }
    if printed.stderr.contains("panicked") {
        return Err("the build script panicked".to_owned());
    }
    Ok(message.to_owned())
}

/// Checks that each sentence appears once in the text.
fn each_once<S: AsRef<str>>(
    text: &str,
    sentences: impl IntoIterator<Item = S>,
) -> Result<(), String> {
    sentences.into_iter().try_for_each(|sentence| match text.matches(sentence.as_ref()).count() {
        1 => Ok(()),
        count => Err(format!("{count} times in the message: {}", sentence.as_ref())),
    })
}

/// The failed cases of a table. A test reports all failed cases, not only the first.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    /// Adds a case if its check failed.
    fn check(&mut self, case: &str, checked: Result<(), String>, printed: &Printed) {
        if let Err(problem) = checked {
            self.0.push(format!("==== {case}: {problem}\n{printed}"));
        }
    }

    #[track_caller]
    fn assert_none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}
