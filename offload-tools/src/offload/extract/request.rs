//! Selects the requested images.

use crate::describe::Named;
use crate::offload::{Error, Result};
use crate::text;
use offload_format::bundle::EntryId;
use offload_format::inventory::Image;
use offload_format::select::{Candidate, DeviceInfo, judge};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, TargetTriple, amdgpu};

/// The values of `--target` and `--exact`.
#[derive(Debug)]
pub(super) struct Request<'a> {
    targets: Vec<(&'a str, RequestedTarget<'a>)>,
    names: &'a [String],
}

/// A parsed value of `--target`.
#[derive(Debug)]
enum RequestedTarget<'a> {
    /// A bundle entry ID.
    Entry(EntryId<'a>),
    /// A GPU or this machine's CPU.
    Device(DeviceInfo),
    /// A GPU given as `compute_*`, which selects only PTX.
    Ptx(DeviceInfo),
    /// A generic target of AMD, or `amdgcnspirv`, AMD's target for SPIR-V.
    Generic(TargetId<'a>),
    /// The target triple of a host.
    Triple(TargetTriple<'a>),
}

impl<'a> RequestedTarget<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if let Ok(arch) = NvidiaArch::parse(text) {
            let device = DeviceInfo::parse(&format!("sm_{}", arch.number())).ok()?;
            return Some(if arch.code == NvidiaCode::Ptx {
                RequestedTarget::Ptx(device)
            } else {
                RequestedTarget::Device(device)
            });
        }
        if let Ok(device) = DeviceInfo::parse(text) {
            return Some(RequestedTarget::Device(device));
        }
        if let Ok(id) = TargetId::parse(text)
            && (amdgpu::is_generic(id.processor()) || id.processor() == amdgpu::SPIRV)
        {
            return Some(RequestedTarget::Generic(id));
        }
        if let Ok(id) = EntryId::parse(text)
            && id.is_known_kind()
        {
            return Some(RequestedTarget::Entry(id));
        }
        TargetTriple::parse(text).ok().filter(TargetTriple::is_known).map(RequestedTarget::Triple)
    }

    fn can_use(&self, image: &Image<'_>) -> bool {
        let named = Named::new(image);
        match self {
            RequestedTarget::Device(device) => judge(&named, device).is_ok(),
            RequestedTarget::Ptx(device) => named.code().is_ptx() && judge(&named, device).is_ok(),
            RequestedTarget::Generic(target) => {
                named.code().target_id().is_some_and(|id| id.provides_for(target))
            }
            RequestedTarget::Triple(target) => named
                .code()
                .cpu_triple()
                .and_then(|triple| TargetTriple::parse(triple).ok())
                .is_some_and(|it| it.is_compatible_with(target)),
            RequestedTarget::Entry(target) => image
                .parsed_entry_id()
                .is_some_and(|id| id.provides_for(target, false).is_compatible()),
        }
    }
}

impl<'a> Request<'a> {
    /// Parses the values of both options. Returns an error for a target whose form is unknown.
    pub(super) fn parse(targets: &'a [String], names: &'a [String]) -> Result<Self> {
        let parse = |text: &'a String| match RequestedTarget::parse(text) {
            Some(target) => Ok((text.as_str(), target)),
            None => Err(Error::text(format!(
                "--target {}: unknown target",
                text::escaped_str(text)
            ))
            .advice(
                "expected a target such as gfx90a:xnack-, sm_90, compute_80 or cpu, a target \
                 triple, or a bundle entry ID; --exact accepts any name that 'cargo offload ls' \
                 shows",
            )),
        };
        Ok(Self { targets: targets.iter().map(parse).collect::<Result<_>>()?, names })
    }

    /// Whether `--exact` requests the image by one of its names.
    pub(super) fn by_name(&self, image: &Image<'_>) -> bool {
        self.names.iter().any(|name| is_called(image, name))
    }

    /// Whether the image fits a target of `--target`. Returns `true` if neither option is given.
    pub(super) fn by_target(&self, image: &Image<'_>) -> bool {
        if self.targets.is_empty() {
            self.names.is_empty()
        } else {
            self.targets.iter().any(|(_, target)| target.can_use(image))
        }
    }

    /// Returns all values of `--target` and `--exact`.
    pub(super) fn all(&self) -> impl Iterator<Item = &'a str> {
        self.targets.iter().map(|(text, _)| *text).chain(self.names.iter().map(String::as_str))
    }

    /// Returns the values of both options that match none of `images`.
    pub(super) fn without_image(&self, images: &[&Image<'_>]) -> impl Iterator<Item = &'a str> {
        let targets = self
            .targets
            .iter()
            .filter(|(_, target)| !images.iter().any(|image| target.can_use(image)));
        let names =
            self.names.iter().filter(|name| !images.iter().any(|image| is_called(image, name)));
        targets.map(|(text, _)| *text).chain(names.map(String::as_str))
    }

    /// Returns the values of both options as text for messages.
    pub(super) fn names(&self) -> String {
        let names: Vec<String> = self.all().map(text::escaped_str).collect();
        match &names[..] {
            // With neither option given, the cause is a file with only empty images.
            [] => "any target".to_owned(),
            names => names.join(" or "),
        }
    }
}

/// Whether the name is the image's target ID, triple or bundle entry ID.
fn is_called(image: &Image<'_>, name: &str) -> bool {
    [&image.target_id, &image.entry_id, &image.triple]
        .into_iter()
        .any(|it| it.as_deref() == Some(name))
}
