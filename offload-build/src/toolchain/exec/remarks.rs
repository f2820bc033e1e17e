//! Splits the output of successful tools into warnings for users and the output of `-v` and similar
//! options.

/// The lines of a tool's output, in order: warnings, and all other lines (`remarks`).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sorted<'a> {
    /// The lines of each warning.
    pub warnings: Vec<Vec<&'a str>>,
    pub remarks: Vec<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// The first line of a warning.
    Warning,
    /// A one-line message that is not a warning: a remark, or a command that nvcc prints.
    Remark,
    /// A line before a message, such as `In file included from a.h:1:` or `a.cu: In function 'f':`.
    Before,
    /// A continuation of the preceding message, such as quoted source or a note.
    More,
}

/// Sorts the lines of a tool's output into warnings and other lines. Lines keep their colours.
pub fn sort(text: &str) -> Sorted<'_> {
    let lines: Vec<&str> = text.lines().collect();
    let kinds: Vec<Line> =
        lines.iter().enumerate().map(|(at, line)| kind(line, lines.get(at + 1))).collect();
    // For each line, whether the next message from there on is a warning.
    let mut comes_warning = vec![false; kinds.len()];
    let mut is_warning = false;
    for (at, kind) in kinds.iter().enumerate().rev() {
        is_warning = *kind == Line::Warning || is_warning && *kind != Line::Remark;
        comes_warning[at] = is_warning;
    }
    let mut sorted = Sorted::default();
    let (mut is_warning, mut is_open) = (false, false);
    for (at, (line, kind)) in lines.iter().zip(&kinds).enumerate() {
        is_warning = match kind {
            // The line belongs to the message that follows.
            Line::Warning | Line::Remark | Line::Before => comes_warning[at],
            Line::More => is_warning,
        };
        let starts = matches!(kind, Line::Warning | Line::Before) && !is_open;
        // If this line only introduces a message, or contains a position but no severity, the next
        // line belongs to the same message.
        is_open = *kind == Line::Before
            || *kind == Line::Warning && !says_severity(&without_colours(line));
        // Omit clang's summary lines, such as `1 warning generated.`
        if line.contains(" generated when compiling for ") || line.ends_with(" generated.") {
            continue;
        }
        match sorted.warnings.last_mut().filter(|_| !starts) {
            _ if !is_warning => sorted.remarks.push(line),
            Some(warning) => warning.push(line),
            None => sorted.warnings.push(vec![line]),
        }
    }
    sorted
}

/// Returns the text without the warnings for which `hides` is true. If a warning is removed, all
/// remaining warnings come before the other lines.
pub(super) fn without(text: String, hides: fn(&str) -> bool) -> String {
    let Sorted { mut warnings, remarks } = sort(&text);
    warnings.push(remarks);
    let (mut left, mut is_whole) = (String::new(), true);
    for lines in &warnings {
        if hides(&without_colours(&lines.join("\n"))) {
            is_whole = false;
            continue;
        }
        for line in lines {
            left.push_str(line);
            left.push('\n');
        }
    }
    if is_whole { text } else { left }
}

/// Returns the line of a warning that is the same for every inclusion of a header and every
/// template instance. If the compiler does not print English, returns all lines.
pub fn message(warning: &[&str]) -> String {
    let mut all = String::new();
    for line in warning {
        if says_severity(&without_colours(line)) {
            return (*line).to_owned();
        }
        all.push_str(line);
    }
    all
}

fn kind(line: &str, next: Option<&&str>) -> Line {
    let plain = without_colours(line);
    if says_severity(&plain) {
        return Line::Warning;
    }
    if has_severity(&plain, "remark")
        || ["#$ ", "ptxas info", "nvlink info"].iter().any(|start| plain.starts_with(start))
    {
        return Line::Remark;
    }
    let is_more =
        plain.is_empty() || plain.starts_with([' ', '\t']) || plain.starts_with("Remark: ");
    // Older clangs do not indent quoted source. A line is quoted if a line of marks follows it.
    let is_quoted = next.is_some_and(|next| is_underline(&without_colours(next)));
    if is_more || is_quoted || has_severity(&plain, "note") {
        return Line::More;
    }
    // Compilers that do not print English still print the position.
    if has_position(&plain) {
        return Line::Warning;
    }
    if plain.ends_with([':', ',']) { Line::Before } else { Line::Remark }
}

/// Whether a line contains the English word `warning` or `error` as its severity.
fn says_severity(line: &str) -> bool {
    has_severity(line, "warning") || has_severity(line, "error")
}

/// Whether a line is a message with this severity, such as `a.cu:1:2: warning: …`, `nvcc warning :
/// …`, `a.cu(1): warning #177-D: …` or `a.cu(1): warning C4996: …`.
fn has_severity(line: &str, severity: &str) -> bool {
    line.match_indices(severity).any(|(at, _)| {
        let is_word = at == 0 || line[..at].ends_with([' ', ':']);
        let rest = line[at + severity.len()..].trim_start();
        let is_number = rest
            .strip_prefix('C')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        is_word && (rest.starts_with([':', '#']) || is_number)
    })
}

/// Whether a line starts with a file and a position in the file, as in `a.cu:1:2: `.
fn has_position(line: &str) -> bool {
    let mut parts = line.splitn(4, ':').skip(1);
    let is_number = |part: Option<&str>| {
        part.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
    };
    is_number(parts.next())
        && is_number(parts.next())
        && parts.next().is_some_and(|rest| rest.starts_with(' '))
}

/// Whether a line contains only `^`, `~` and spaces, with which compilers mark a position in the
/// line above.
fn is_underline(line: &str) -> bool {
    line.contains('^') && line.chars().all(|c| " \t^~".contains(c))
}

/// Returns the text without escape sequences such as `ESC [ 0 m`.
fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, sequence)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = sequence
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .get(1..)
            .unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts the lines, and checks the result. In `marked`, lines that start with `!` must belong
    /// to a warning.
    #[track_caller]
    fn check(marked: &str) {
        let text: Vec<&str> =
            marked.lines().map(|line| line.strip_prefix('!').unwrap_or(line)).collect();
        let text = text.join("\n");
        let (mut warnings, mut remarks) = (Vec::new(), Vec::new());
        for line in marked.lines() {
            match line.strip_prefix('!') {
                Some(line) => warnings.push(line),
                None => remarks.push(line),
            }
        }
        let sorted = sort(&text);
        assert_eq!((sorted.warnings.concat(), sorted.remarks), (warnings, remarks));
    }

    #[test]
    fn a_warning_has_what_comes_before_and_behind_it() {
        let text = "In file included from a.cu:1:\n./a.h:1:2: warning: one\n    1 | x\na.cu:8:7:   required from here\n\
                    a.cu:3:7: warning: two\nCOLLECT_GCC=gcc\nptxas warning : three\n";
        let counts: Vec<usize> = sort(text).warnings.iter().map(Vec::len).collect();
        assert_eq!(counts, [3, 2, 1]);
    }

    #[test]
    fn a_hidden_warning_goes_with_its_lines() {
        let text = "In file included from a.cu:1:\na.h:1:2: warning: one\n    1 | x\na.cu:2:2: error: two\nCOLLECT_GCC=gcc\n\
                    1 warning and 1 error generated.\n";
        let without = |hides| without(text.to_owned(), hides);
        assert_eq!(without(|_| false), text);
        let left = without(|warning| warning.contains("one"));
        assert_eq!(left, "a.cu:2:2: error: two\nCOLLECT_GCC=gcc\n");
    }

    #[test]
    fn warnings_of_instances_have_one_message() {
        let of = |instance| {
            ["a.h: In instantiation of 'f':", instance, "a.h:1:2: warning: one", "    1 | x"]
        };
        assert_eq!(message(&of("a.cu:1:1:   required from here")), "a.h:1:2: warning: one");
        let other = |instance| ["a.h: In Instanz 'f':", instance, "a.h:1:2: Warnung: eins"];
        assert_ne!(message(&other("a.cu:1:1:")), message(&other("a.cu:2:1:")));
    }

    #[test]
    fn nvcc_with_its_ptxas_verbose() {
        check(
            "#$ _SPACE_= \n\
             #$ cicc --c++17 \"-Werror: x\"\n\
             !a.cu(2): warning #177-D: variable \"y\" was declared but never referenced\n\
             !  __attribute__((global)) void k(float*x){ int y; x[0]=1; }\n\
             !                                               ^\n\
             !\n\
             !Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\
             !\n\
             ptxas info    : 0 bytes gmem\n\
             ptxas info    : Function properties for k3\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             !nvcc warning : incompatible redefinition for option 'gpu-architecture', the last value was used\n\
             !ptxas /tmp/a.ptx, line 12; warning : Instruction 'x' is deprecated\n\
             ptxas info    : Used 10 registers, used 0 barriers, 360 bytes cmem[0]\n\
             a.cu",
        );
    }

    #[test]
    fn clang_and_gcc_with_v() {
        check(
            "Debian clang version 22.1.8\n\
             Target: x86_64-pc-linux-gnu\n \"/usr/lib/llvm-22/bin/clang\" -cc1 -ferror-limit 19\n\
             #include <...> search starts here:\n /usr/include\n\
             End of search list.\n\
             !In file included from a.cu:1:\n\
             !./a.h:1:2: warning: \"look here\" [-W#warnings]\n\
             !#warning \"look here\"\n\
             ! ^\n\
             !a.h:2:3: note: because of this\n\
             !    2 | x\n\
             a.cu:1:1: remark:     VGPRs: 2 [-Rpass-analysis=kernel-resource-usage]\n    1 | void k()\n      | ^\n\
             COLLECT_GCC=gcc\n /usr/lib/cc1plus -v\n\
             !a.cu: In function 'int f()':\n\
             !a.cu:3:7: Warnung: unbenutzte Variable\n\
             !    3 |   int x;\n\
             !/usr/bin/ld: warning: a.o: missing .note.GNU-stack section",
        );
    }

    #[test]
    fn colours_and_counts() {
        let coloured =
            "\x1b[1ma.cu:6:2: \x1b[0m\x1b[0;1;35mwarning: \x1b[0m\x1b[1m\"look here\"\x1b[0m";
        let text = format!(
            "{coloured}\n1 warning generated when compiling for gfx90a.\n1 warning generated."
        );
        assert_eq!(sort(&text), Sorted { warnings: vec![vec![coloured]], remarks: Vec::new() });
        assert_eq!(without_colours(coloured), "a.cu:6:2: warning: \"look here\"");
    }
}
