//! A target filter: `amd`, `nvidia`, `intel`, `cpu`, an exact target, or `>=sm_80`.

use crate::targets::Target;
use offload_format::target::{NvidiaCode, Vendor};
use std::fmt;

/// A selector: its text, and its meaning.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    text: String,
    meaning: Result<Meaning, String>,
}

#[derive(Debug, Clone)]
enum Meaning {
    Vendor(Vendor),
    /// The target with this name. For AMD, also the same processor with more features.
    Exact(Target),
    /// NVIDIA targets (machine code and PTX) with at least this compute capability, times ten.
    AtLeast(u32),
}

impl Selector {
    /// Parses a selector without failing: a malformed selector selects nothing, and
    /// [`Selector::check`] returns the error.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { meaning: meaning(&text), text }
    }

    /// Returns an error if the selector is malformed.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.meaning
            .as_ref()
            .map(drop)
            .map_err(|why| format!("'{}' is not a valid selector: {why}", self.text))
    }

    /// Returns the vendor of the selected targets, or `None` if the selector is malformed.
    pub(crate) fn vendor(&self) -> Option<Vendor> {
        Some(match self.meaning.as_ref().ok()? {
            Meaning::Vendor(vendor) => *vendor,
            Meaning::Exact(target) => target.vendor(),
            Meaning::AtLeast(_) => Vendor::Nvidia,
        })
    }

    /// Returns an example of a selected target, or `None` if the selector is malformed.
    pub(crate) fn example(&self) -> Option<&str> {
        Some(match self.meaning.as_ref().ok()? {
            Meaning::Vendor(vendor) => vendor.examples()[0],
            Meaning::Exact(target) => target.as_str(),
            Meaning::AtLeast(_) => self.text.trim_start_matches(['>', '=', ' ']),
        })
    }

    pub(crate) fn selects(&self, target: &Target) -> bool {
        match &self.meaning {
            Ok(Meaning::Vendor(vendor)) => target.vendor() == *vendor,
            Ok(Meaning::AtLeast(number)) => {
                target.arch().nvidia().is_some_and(|arch| arch.number() >= *number)
            }
            Ok(Meaning::Exact(selected)) => {
                match (selected.arch().target_id(), target.arch().target_id()) {
                    (Some(selected), Some(id)) => selected.provides_for(&id),
                    _ => selected == target,
                }
            }
            Err(_) => false,
        }
    }
}

/// Whether a list of selectors allows a target. An empty list allows all targets.
pub(crate) fn allow(selectors: &[Selector], target: &Target) -> bool {
    selectors.is_empty() || selectors.iter().any(|selector| selector.selects(target))
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[inline]
fn meaning(text: &str) -> Result<Meaning, String> {
    if let Some(vendor) = Vendor::ALL.into_iter().find(|vendor| vendor.name() == text) {
        return Ok(Meaning::Vendor(vendor));
    }
    let target = |name| {
        Target::parse(name).map_err(|error| {
            format!("{error}; a selector can also be 'amd', 'nvidia' or '>=sm_80'")
        })
    };
    let Some(lowest) = text.strip_prefix(">=") else {
        return Ok(Meaning::Exact(target(text)?));
    };
    match target(lowest.trim_start())?.arch().nvidia() {
        Some(arch) if arch.code == NvidiaCode::Cubin && arch.suffix.is_none() => {
            Ok(Meaning::AtLeast(arch.number()))
        }
        _ => {
            Err("'>=' needs sm_ and a number: '>=sm_80' selects NVIDIA's machine code and PTX for \
             compute capability 8.0 and later. Other targets have no order"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: [&str; 8] = [
        "gfx90a",
        "gfx90a:sramecc+:xnack-",
        "gfx1100",
        "sm_75",
        "sm_90a",
        "compute_80",
        "compute_100f",
        "cpu",
    ];

    fn selected(selector: &str) -> Vec<&'static str> {
        let selector = Selector::new(selector);
        selector.check().unwrap();
        TARGETS
            .into_iter()
            .filter(|target| selector.selects(&Target::parse(target).unwrap()))
            .collect()
    }

    #[test]
    fn what_each_form_selects() {
        assert_eq!(selected("amd"), TARGETS[..3]);
        assert_eq!(selected("nvidia"), TARGETS[3..7]);
        assert_eq!(selected("cpu"), ["cpu"]);
        assert_eq!(selected("gfx90a"), TARGETS[..2]);
        assert_eq!(selected("gfx90a:xnack-"), ["gfx90a:sramecc+:xnack-"]);
        assert_eq!(selected("gfx90a:xnack-:sramecc+"), ["gfx90a:sramecc+:xnack-"]);
        assert_eq!(selected("sm_90a"), ["sm_90a"]);
        assert_eq!(selected("sm_90"), [""; 0]);
        assert_eq!(selected(">=sm_80"), ["sm_90a", "compute_80", "compute_100f"]);
    }

    #[test]
    fn what_is_malformed() {
        for text in
            ["", "AMD", ">=", ">=gfx90a", ">=sm_90a", ">=compute_80", "host", "gfx90a:xnack"]
        {
            let selector = Selector::new(text);
            assert!(
                selector
                    .check()
                    .unwrap_err()
                    .starts_with(&format!("'{text}' is not a valid selector: ")),
                "{text}"
            );
            assert!(
                !TARGETS.iter().any(|target| selector.selects(&Target::parse(target).unwrap())),
                "{text}"
            );
        }
    }
}
