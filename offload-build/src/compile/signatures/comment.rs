//! Finds the comment above a definition.

/// Returns the lines of the comment directly above the declaration that contains line `line`,
/// counted from 1, without comment markers.
pub(super) fn above(source: &str, line: usize) -> Vec<String> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let Some(before) = lines.get(..line.saturating_sub(1)) else { return Vec::new() };
    // A declaration starts after the end of another declaration, after a comment, or after an empty
    // line.
    let is_other = |line: &&str| {
        line.is_empty()
            || line.starts_with('#')
            || line.ends_with([';', '}', '{'])
            || line.ends_with("*/")
            || line.starts_with("//")
    };
    let above = &before[..before.iter().rposition(is_other).map_or(0, |at| at + 1)];
    let mut comment: Vec<String> = Vec::new();
    match above.last() {
        Some(last) if last.starts_with("//") => {
            let first = above.iter().rposition(|line| !line.starts_with("//"));
            for line in &above[first.map_or(0, |at| at + 1)..] {
                comment.push(without_space(line.trim_start_matches(['/', '!'])));
            }
        }
        Some(last) if last.ends_with("*/") => {
            let Some(start) = above.iter().rposition(|line| line.starts_with("/*")) else {
                return Vec::new();
            };
            let text = above[start..].join("\n");
            let Some(text) = text.strip_prefix("/*").and_then(|text| text.strip_suffix("*/"))
            else {
                return Vec::new();
            };
            // If a comment ends inside this text, the text contains several comments, so return
            // none.
            if text.contains("*/") {
                return Vec::new();
            }
            for line in text.lines() {
                comment.push(without_space(line.trim_start_matches(['*', '!'])));
            }
        }
        _ => {}
    }
    let is_rule = |line: &String| line.chars().all(|c| !c.is_alphanumeric());
    while comment.last().is_some_and(is_rule) {
        comment.pop();
    }
    let text = comment.iter().position(|line| !is_rule(line)).unwrap_or(comment.len());
    comment.split_off(text)
}

/// Removes the space after a comment marker.
fn without_space(line: &str) -> String {
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_all_kinds() {
        let source = "/// Adds.\n///   Twice.\nextern \"C\" __global__\nvoid a() {\n}\n\
                      // ----\n// One line.\n// ----\ntemplate <class T>\n__global__ void b(T t)
                      // {}\n\
                      /**\n * A block\n *\n * of lines.\n */\n__global__ void c();\n\
                      /* one */ int x;\n__global__ void d();\n\
                      // Not this one.\n\n__global__ void e();\n\
                      #define X\n__global__ void f();";
        let at = |what: &str| source.lines().position(|line| line.contains(what)).unwrap() + 1;
        assert_eq!(above(source, at("void a")), ["Adds.", "  Twice."]);
        assert_eq!(above(source, at("void b")), ["One line."]);
        assert_eq!(above(source, at("void c")), ["A block", "", "of lines."]);
        for none in ["void d", "void e", "void f"] {
            assert!(above(source, at(none)).is_empty(), "{none}");
        }
        assert!(
            above(source, 0).is_empty()
                && above(source, 1).is_empty()
                && above(source, 1000).is_empty()
        );
    }
}
