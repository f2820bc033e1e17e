//! Finds flags that request relocatable device code, which must be linked before use.

/// nvcc's and clang's single-word flags for relocatable device code, either without a value or with
/// the value after `=`.
const FLAGS: [&str; 11] = [
    "-rdc=true",
    "--relocatable-device-code=true",
    "-dc",
    "--device-c",
    "-dw",
    "--device-w",
    "-dlink",
    "--device-link",
    "-fgpu-rdc",
    "-fcuda-rdc",
    "--hip-link",
];

/// nvcc's flags that request relocatable device code if the next word is `true`.
const WITH_VALUE: [&str; 2] = ["-rdc", "--relocatable-device-code"];

/// Returns the first of `flags` that requests relocatable device code, spelled as given.
#[inline]
pub(crate) fn relocatable_flag(flags: &[&str]) -> Option<String> {
    let mut before = "";
    for flag in flags {
        let flag = flag.trim();
        if FLAGS.contains(&flag) {
            return Some(flag.to_owned());
        }
        if WITH_VALUE.contains(&before) && flag == "true" {
            return Some(format!("{before} {flag}"));
        }
        before = flag;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let found = |flags: &str| relocatable_flag(&flags.split(' ').collect::<Vec<_>>());
        for flag in ["-rdc=true", "-rdc true", "-dc", "--relocatable-device-code=true", "-fgpu-rdc"]
        {
            assert_eq!(found(&format!("-O3 {flag} -g")).as_deref(), Some(flag));
        }
        assert_eq!(found("-rdc=false -rdc false -fno-gpu-rdc -DX=true"), None);
    }
}
