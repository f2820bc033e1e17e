//! LLVM IR as text: functions, blocks, and the types of instructions.
//!
//! Some values and labels of clang have names. Here all are numbers; the parameter is number 0.

/// A function of the module, with the places of its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function<'a> {
    /// The text from `define` to the end of the line.
    pub(super) head: &'a str,
    /// The lines between the braces.
    pub(super) body: &'a str,
    pub(super) name: &'a str,
}

/// Instructions up to a branch or a wait.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) label: usize,
    /// The instructions, each in one line; the last one leaves the block or is a wait.
    pub(super) lines: Vec<String>,
    /// The number of the wait that the last line is; 0 if it is none.
    pub(super) wait: usize,
}

/// Returns the functions that a module defines.
pub(super) fn functions(ir: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let mut rest = ir;
    while let Some(start) = rest.find("\ndefine ") {
        let text = &rest[start + 1..];
        let Some(end) = text.find("\n}") else { break };
        let head = text.lines().next().unwrap_or_default();
        let body = text.get(head.len() + 1..end + 1).unwrap_or_default();
        found.push(Function { head, body, name: name_after_at(head).unwrap_or_default() });
        rest = &text[end..];
    }
    found
}

/// Returns the first global name of a text, with quotation marks if it has them.
pub(super) fn name_after_at(text: &str) -> Option<&str> {
    global_names(text).first().copied()
}

/// Returns the global names of a text, without those in strings.
pub(super) fn global_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'@' => {
                let end = end_of_name(bytes, at + 1);
                names.push(&text[at + 1..end]);
                at = end;
            }
            _ => at += 1,
        }
    }
    names
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += 1;
    }
    (at + 1).min(bytes.len())
}

fn end_of_name(bytes: &[u8], start: usize) -> usize {
    if bytes.get(start) == Some(&b'"') {
        return end_of_string(bytes, start);
    }
    let mut at = start;
    while bytes.get(at).is_some_and(|it| it.is_ascii_alphanumeric() || b"-$._".contains(it)) {
        at += 1;
    }
    at
}

/// Returns the numbered locals of a line and where each begins and ends: values and labels.
pub(super) fn locals(line: &str) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'%' => {
                let end = end_of_name(bytes, at + 1);
                if let Ok(number) = line[at + 1..end].parse() {
                    found.push((at, end, number));
                }
                at = end.max(at + 1);
            }
            _ => at += 1,
        }
    }
    found
}

/// Returns the value that an instruction defines.
pub(super) fn defined(line: &str) -> Option<usize> {
    let (name, _) = line.strip_prefix('%')?.split_once(" = ")?;
    name.parse().ok()
}

/// Returns an instruction without the value that it defines.
pub(super) fn operation(line: &str) -> &str {
    match line.split_once(" = ") {
        Some((name, rest)) if name.starts_with('%') => rest,
        _ => line,
    }
}

/// Returns the first word of an instruction, without what precedes `call`.
pub(super) fn opcode(line: &str) -> &str {
    let words = operation(line);
    let first = words.split(' ').next().unwrap_or_default();
    if ["tail", "musttail", "notail"].contains(&first) { "call" } else { first }
}

/// Returns the values that an instruction uses, without labels.
pub(super) fn uses(line: &str) -> Vec<usize> {
    let own = line.len() - operation(line).len();
    let mut found = Vec::new();
    for (start, _, number) in locals(line) {
        let is_label = line[..start].ends_with("label ")
            || line[..start].ends_with(", ") && opcode(line) == "phi";
        if start >= own && !is_label {
            found.push(number);
        }
    }
    found
}

/// Returns the labels to which the last instruction of a block leads.
pub(super) fn targets(line: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (start, _, number) in locals(line) {
        if line[..start].ends_with("label ") {
            found.push(number);
        }
    }
    found
}

/// Returns the pairs of value and label of a `phi`: the value's number if it has one.
pub(super) fn incoming(line: &str) -> Vec<(Option<usize>, usize)> {
    let mut found = Vec::new();
    let mut value = None;
    for (start, _, number) in locals(operation(line)) {
        if operation(line)[..start].ends_with(", ") {
            found.push((value.take(), number));
        } else {
            value = Some(number);
        }
    }
    found
}

/// Replaces numbered locals of a line.
pub(super) fn replaced(line: &str, by: &dyn Fn(usize, bool) -> Option<String>) -> String {
    let mut text = String::with_capacity(line.len() + 16);
    let mut last = 0;
    let is_phi = opcode(line) == "phi";
    for (start, end, number) in locals(line) {
        let before = &line[..start];
        let is_label = before.ends_with("label ") || is_phi && before.ends_with(", ");
        if let Some(new) = by(number, is_label) {
            text.push_str(&line[last..start]);
            text.push_str(&new);
            last = end;
        }
    }
    text.push_str(&line[last..]);
    text
}

/// Returns the label with which a line begins.
fn label(line: &str) -> Option<&str> {
    let end = end_of_name(line.as_bytes(), 0);
    (end != 0 && line[end..].starts_with(':')).then(|| &line[..end])
}

/// Returns the text of a function with numbers for the names of values and labels.
fn numbered(function: &Function<'_>) -> String {
    // The first block has no label in the text, but a number.
    let first = if label(function.body).is_none() { "1:\n" } else { "" };
    let body = format!("{first}{}", function.body);
    let mut names = Vec::new();
    for line in body.lines() {
        let value = line.trim_start().strip_prefix('%').and_then(|it| it.split_once(" = "));
        names.extend(label(line).or(value.map(|it| it.0)));
    }
    names.sort_unstable();
    let bytes = body.as_bytes();
    let mut text = String::with_capacity(body.len());
    let (mut at, mut last) = (0, 0);
    while at < bytes.len() {
        let is_label = at == 0 || bytes[at - 1] == b'\n';
        let start = at + usize::from(!is_label);
        let end = match bytes[at] {
            b'%' => end_of_name(bytes, start),
            _ if is_label && label(&body[at..]).is_some() => end_of_name(bytes, start),
            b'"' => {
                at = end_of_string(bytes, at);
                continue;
            }
            _ => {
                at += 1;
                continue;
            }
        };
        if let Ok(number) = names.binary_search(&&body[start..end]) {
            text.push_str(&body[last..start]);
            text.push_str(&(number + 1).to_string());
            last = end;
        }
        at = end.max(at + 1);
    }
    text.push_str(&body[last..]);
    text
}

/// Returns the blocks of a function, without debug information.
pub(super) fn blocks(function: &Function<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for raw in numbered(function).lines() {
        let line = raw.trim();
        if let Some(Ok(label)) = label(raw).map(str::parse) {
            blocks.push(Block { label, lines: Vec::new(), wait: 0 });
            continue;
        }
        if line.is_empty() || line.starts_with("#dbg_") || line.contains("@llvm.dbg.") {
            continue;
        }
        let mut line = line.to_owned();
        while let Some(start) = line.find(", !dbg !") {
            let digits = line[start + 8..].bytes().take_while(u8::is_ascii_digit).count();
            line.replace_range(start..start + 8 + digits, "");
        }
        let Some(block) = blocks.last_mut() else { continue };
        match block.lines.last_mut() {
            Some(last) if raw.starts_with("    ") || line.starts_with(']') => {
                last.push(' ');
                last.push_str(&line);
            }
            _ => block.lines.push(line),
        }
    }
    blocks
}

/// Splits a text at the commas that are in no brackets.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut depth, mut last, mut at) = (0, 0, 0);
    let mut found = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at) - 1,
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 0 => {
                found.push(text[last..at].trim());
                last = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    found.push(text[last..].trim());
    found
}

/// Returns the length of the text in brackets with which a text begins.
pub(super) fn bracketed(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at) - 1,
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the first type of a text; words before it are those of an instruction.
pub(super) fn first_type(text: &str) -> Option<&str> {
    const NAMES: [&str; 8] =
        ["ptr", "float", "double", "half", "bfloat", "void", "x86_fp80", "fp128"];
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if rest.starts_with(['{', '[', '<']) {
            return Some(&rest[..bracketed(rest)]);
        }
        if let Some(name) = rest.strip_prefix('%') {
            return Some(&rest[..1 + end_of_name(name.as_bytes(), 0)]);
        }
        let bytes = rest.as_bytes();
        let end = end_of_name(bytes, 0);
        let word = &rest[..end];
        let bits = word.strip_prefix('i').unwrap_or_default();
        let is_integer = !bits.is_empty() && bits.bytes().all(|it| it.is_ascii_digit());
        if is_integer || NAMES.contains(&word) {
            return Some(word);
        }
        // Attributes may have brackets.
        rest = &rest[end..];
        let skipped = if rest.starts_with('(') { bracketed(rest) } else { usize::from(end == 0) };
        rest = rest.get(skipped..).unwrap_or_default().trim_start();
    }
    None
}

/// Returns the type of a member of a structure or an array.
fn member(ty: &str, index: usize, module: &str) -> Option<String> {
    let ty = match ty.strip_prefix('%') {
        Some(_) => {
            let definition = format!("\n{ty} = type ");
            let text = &module[module.find(&definition)? + definition.len()..];
            text.lines().next()?
        }
        None => ty,
    };
    if let Some(array) = ty.strip_prefix('[') {
        return Some(array.split_once(" x ")?.1.strip_suffix(']')?.to_owned());
    }
    let ty = ty.trim_start_matches('<').trim_end_matches('>');
    let inner = ty.strip_prefix('{')?.strip_suffix('}')?;
    Some((*parts(inner).get(index)?).to_owned())
}

/// Returns the type of the value that an instruction defines.
pub(super) fn result_type(line: &str, module: &str) -> Option<String> {
    let text = operation(line);
    let code = opcode(line);
    let rest = text.strip_prefix(code).unwrap_or(text);
    let parts = parts(rest);
    let of = |part: usize| parts.get(part).and_then(|it| first_type(it));
    let element = |ty: &str| Some(ty.strip_suffix('>')?.split_once(" x ")?.1.to_owned());
    let count = |ty: &str| Some(ty.split_once(" x ")?.0.to_owned());
    Some(match code {
        "alloca" => "ptr".to_owned(),
        "getelementptr" => {
            if (1..parts.len()).any(|part| of(part).is_some_and(|it| it.starts_with('<'))) {
                return None;
            }
            "ptr".to_owned()
        }
        "icmp" | "fcmp" => match of(0)? {
            vector if vector.starts_with('<') => format!("{} x i1>", count(vector)?),
            _ => "i1".to_owned(),
        },
        "select" | "atomicrmw" => of(1)?.to_owned(),
        "cmpxchg" => format!("{{ {}, i1 }}", of(1)?),
        "extractelement" => element(of(0)?)?,
        "shufflevector" => format!("{} x {}>", count(of(2)?)?, element(of(0)?)?),
        "extractvalue" => {
            let mut ty = of(0)?.to_owned();
            for index in &parts[1..] {
                let Ok(index) = index.parse() else { break };
                ty = member(&ty, index, module)?;
            }
            ty
        }
        "va_arg" => of(1)?.to_owned(),
        "trunc" | "zext" | "sext" | "fptrunc" | "fpext" | "fptoui" | "fptosi" | "uitofp"
        | "sitofp" | "ptrtoint" | "inttoptr" | "bitcast" | "addrspacecast" => {
            first_type(parts[0].rsplit_once(" to ")?.1)?.to_owned()
        }
        _ => first_type(rest)?.to_owned(),
    })
}
