//! Rules for targets in the same bundle.

use super::{EntryId, WriteError};
use crate::target::TargetId;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The entry IDs of a new bundle. Each ID is checked on its own and against the earlier IDs.
///
/// Entries with the same processor, offload kind and target triple must name the same features;
/// otherwise several entries would fit the same device. A bundle can contain each ID only once,
/// regardless of the spelling.
#[derive(Debug, Clone, Default)]
pub struct Composition {
    /// All IDs, sorted, in canonical form and with their features in canonical order.
    ids: Vec<String>,
    processors: Processors,
}

/// Each combination of kind, triple and processor, sorted, with the features and ID of its first
/// entry.
type Processors = Vec<(String, String, String)>;

impl Composition {
    /// Adds an ID, and returns its canonical form.
    ///
    /// Returns an error if the ID or its target ID is malformed, or if current LLVM and HIP do not
    /// read the offload kind. Also returns an error if the bundle already contains the ID, or if an
    /// earlier ID for the same processor names different features.
    pub fn add(&mut self, id: &str) -> Result<String, WriteError> {
        let id = EntryId::parse(id).map_err(WriteError::Id)?;
        if !id.is_known_kind() {
            return Err(WriteError::Kind(id.kind().to_owned()));
        }
        let target = match id.target() {
            "" => None,
            text => Some(TargetId::parse(text).map_err(WriteError::Id)?),
        };
        let canonical = id.to_canonical();
        let to_the_last = match target {
            Some(target) => format!("{}-{}-{}", id.kind(), id.triple(), target.to_canonical()),
            None => canonical.clone(),
        };
        let Err(place) = self.ids.binary_search(&to_the_last) else {
            return Err(WriteError::Duplicate(canonical));
        };
        if let Some(other) = conflict(&mut self.processors, &id, &canonical) {
            return Err(WriteError::Conflict(other, canonical));
        }
        self.ids.insert(place, to_the_last);
        Ok(canonical)
    }

    /// Returns two bundle entry IDs, as spelled, that must not share a bundle because they name
    /// different features for the same processor. If several pairs conflict, returns the pair whose
    /// second ID comes first in alphabetical order. Other tools may have written the bundle, so
    /// unknown offload kinds, duplicate IDs and malformed IDs do not count as conflicts.
    pub fn find_conflict<'a>(ids: impl IntoIterator<Item = &'a str>) -> Option<(String, String)> {
        let mut ids: Vec<(String, &str, String)> = ids
            .into_iter()
            .filter_map(|text| {
                let (processor, features) = processor_and_features(&EntryId::parse(text).ok()?)?;
                Some((processor, text, features))
            })
            .collect();
        // A file may contain any number of IDs, so do not compare all pairs: sorting makes the IDs
        // for the same processor adjacent.
        ids.sort_unstable();
        let of_each = ids.chunk_by(|(a, ..), (b, ..)| a == b).filter_map(|same| {
            let (_, first, features) = same.first()?;
            let (_, other, _) = same.iter().find(|(.., other)| other != features)?;
            Some((*first, *other))
        });
        let (first, other) = of_each.min_by_key(|(_, other)| *other)?;
        Some((first.to_owned(), other.to_owned()))
    }

    /// Returns the first two target IDs, in alphabetical order, that name different features for
    /// the same AMD processor. Unlike [`Composition::find_conflict`], ignores the entries' offload
    /// kinds and triples, as `-check-input-archive` does in LLVM's main branch.
    pub fn find_conflict_across_kinds<'a>(
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Option<(String, String)> {
        let of_amd = |text: &'a str| EntryId::parse(text).ok().filter(|id| id.triple().is_amdgpu());
        // Give all IDs the same kind and triple, so that only their target IDs are compared.
        let targets: Vec<String> = ids
            .into_iter()
            .filter_map(of_amd)
            .map(|id| format!("hip-amdgcn-amd-amdhsa--{}", id.target()))
            .collect();
        let (a, b) = Self::find_conflict(targets.iter().map(String::as_str))?;
        let target = |id: &str| {
            EntryId::parse(id).map_or_else(|_| String::new(), |id| id.target().to_owned())
        };
        Some((target(&a), target(&b)))
    }
}

/// Returns an entry's kind, triple and processor in one string, and its sorted features. Returns
/// `None` if the target ID is missing or malformed.
fn processor_and_features(id: &EntryId<'_>) -> Option<(String, String)> {
    let target = id.target_id()?;
    let mut features: Vec<&str> = target.features().map(|(name, _)| name).collect();
    features.sort_unstable();
    let processor = format!("{}-{}-{}", id.kind(), id.triple(), target.primary_processor());
    Some((processor, features.join(":")))
}

/// Returns the canonical ID of the first entry for the same processor as `id`, if that entry names
/// different features. If the processor is new, stores its features and `spelling` (the canonical
/// form of `id`), and returns `None`.
fn conflict(processors: &mut Processors, id: &EntryId<'_>, spelling: &str) -> Option<String> {
    let (processor, features) = processor_and_features(id)?;
    match processors.binary_search_by(|(other, ..)| other.cmp(&processor)) {
        Ok(at) => {
            let (_, first_features, first) = &processors[at];
            (*first_features != features).then(|| first.clone())
        }
        Err(place) => {
            processors.insert(place, (processor, features, spelling.to_owned()));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_in_a_list() {
        const GFX906: &str = "hip-amdgcn-amd-amdhsa--gfx906";
        let find = |ids: &[&str]| Composition::find_conflict(ids.iter().copied());
        let found = find(&[
            "hip-amdgcn-amd-amdhsa--gfx906:xnack+",
            "hip-amdgcn-amd-amdhsa--gfx908",
            GFX906,
        ]);
        assert_eq!(found, Some((GFX906.into(), "hip-amdgcn-amd-amdhsa--gfx906:xnack+".into())));
        // Of several conflicting pairs, the one whose second ID comes first is returned, whatever
        // its processor.
        let several = [
            "hip-amdgcn-amd-amdhsa--gfx90a:xnack-",
            "hip-amdgcn-amd-amdhsa--gfx90a",
            "hip-amdgcn-amd-amdhsa--gfx900:xnack+",
            "hip-amdgcn-amd-amdhsa--gfx900",
            "hip-amdgcn-amd-amdhsa--gfx900:xnack-",
        ];
        let pair = |a: &str, b: &str| {
            Some((format!("hip-amdgcn-amd-amdhsa--{a}"), format!("hip-amdgcn-amd-amdhsa--{b}")))
        };
        assert_eq!(find(&several), pair("gfx900", "gfx900:xnack+"));
        assert_eq!(find(&several[..4]), pair("gfx900", "gfx900:xnack+"));
        assert_eq!(find(&several[..2]), pair("gfx90a", "gfx90a:xnack-"));
        // These IDs do not conflict, because they differ in kind, triple or processor, or are
        // malformed.
        let fine = [
            GFX906,
            "hipv4-amdgcn-amd-amdhsa--gfx906:xnack+",
            "hip-amdgcn-amd-amdpal--gfx906:xnack+",
            "hip-amdgcn-amd-amdhsa--gfx908:xnack+",
            "hip-amdgcn-amd-amdhsa--gfx908:xnack-",
            "hip-amdgcn-amd-amdhsa--gfx906:xnack",
            "hip-amdgcn-amd-amdhsa-gfx906",
            GFX906,
            "foo",
            "",
        ];
        assert_eq!(find(&fine), None);
        // If kinds and triples are ignored, some of these IDs conflict.
        let across = Composition::find_conflict_across_kinds(fine);
        assert_eq!(across, Some(("gfx906".into(), "gfx906:xnack+".into())));
        let apart = [
            "hip-amdgpu9.06-amd-amdhsa--gfx906",
            "host-x86_64-unknown-linux-gnu-",
            "hip-amdgcn-amd-amdhsa--gfx908:xnack+",
        ];
        assert_eq!(Composition::find_conflict_across_kinds(apart), None);
    }

    #[test]
    fn what_a_writer_refuses() {
        let mut composition = Composition::default();
        for id in [
            "hcc-amdgcn-amd-amdhsa--gfx906",
            "cuda-nvptx64-nvidia-cuda--sm_70",
            "HIP-amdgcn-amd-amdhsa--gfx906",
        ] {
            assert!(matches!(composition.add(id).unwrap_err(), WriteError::Kind(_)), "{id}");
        }
        for target in
            ["gfx906:xnack", "gfx906:", "gfx906::xnack+", "gfx906:xnack+:xnack-", "gfx906:+"]
        {
            let error = composition.add(&format!("hip-amdgcn-amd-amdhsa--{target}")).unwrap_err();
            assert!(matches!(error, WriteError::Id(_)), "{target}");
        }
        assert_eq!(
            composition.add("host-x86_64-unknown-linux-gnu").as_deref(),
            Ok("host-x86_64-unknown-linux-gnu-")
        );
    }
}
