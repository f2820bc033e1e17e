//! The image properties that selection needs.

use offload_format::image::{CodeObjectHeader, ImageHeader};
use offload_format::inventory::{Image, ImageKind};
use offload_format::select::{Candidate, Refusal};
use offload_format::target::{ImageCode, Needs, PtxVersion};
use std::borrow::Cow;

/// An image as a candidate for `offload_format::select`. The image's header describes the code or,
/// if the header names no target, the image's names (target ID and triple). Creating a candidate
/// decompresses nothing.
#[derive(Debug, Clone)]
pub struct Named<'i> {
    /// The image; `None` if its file is closed.
    pub image: Option<&'i Image<'i>>,
    label: Cow<'i, str>,
    target_id: Option<Cow<'i, str>>,
    triple: Option<Cow<'i, str>>,
    ptx_version: Option<PtxVersion>,
    pub header: Option<ImageHeader>,
    /// The kind according to the image's bytes or its container, as far as it is known without
    /// decompression.
    pub known_kind: Option<ImageKind>,
    pub needs: Needs,
}

impl<'i> Named<'i> {
    /// Creates a candidate from an image; reads the image's header only if that needs no
    /// decompression.
    pub fn new(image: &'i Image<'i>) -> Self {
        Self::with_bytes(image, image.in_file())
    }

    /// Creates a candidate from an image and its bytes. Without bytes, only the image's names
    /// describe the candidate.
    pub fn with_bytes(image: &'i Image<'i>, bytes: Option<&[u8]>) -> Self {
        Self::with_header(image, bytes, bytes.and_then(|bytes| ImageHeader::parse(bytes).ok()))
    }

    /// Creates a candidate like [`Named::with_bytes`], with a header already read from the bytes.
    pub fn with_header(
        image: &'i Image<'i>,
        bytes: Option<&[u8]>,
        header: Option<ImageHeader>,
    ) -> Self {
        let known_kind = match image.in_file() {
            Some(bytes) => Some(image.kind(bytes, header)),
            None => image.known_kind(),
        };
        let is_code_object = header.is_some_and(|it| it.code_object_version().is_some());
        let lacks = bytes.filter(|_| is_code_object).and_then(CodeObjectHeader::lacks);
        Self {
            image: Some(image),
            label: Cow::Borrowed(image.label()),
            target_id: image.target_id.as_deref().map(Cow::Borrowed),
            triple: image.triple.as_deref().map(Cow::Borrowed),
            ptx_version: image.ptx_version,
            header,
            known_kind,
            needs: Needs { lacks, ..Needs::default() },
        }
    }

    /// Whether the image's container names a target.
    pub fn names_target(&self) -> bool {
        self.target_id.is_some()
    }

    /// Whether the kind in the header or the container satisfies `kind`.
    pub fn is(&self, kind: fn(ImageKind) -> bool) -> bool {
        self.header.map(|header| header.kind()).is_some_and(kind)
            || self.known_kind.is_some_and(kind)
    }

    /// Returns the device code that the image's names describe.
    pub fn by_name(&self) -> ImageCode<'_> {
        let (target_id, triple) = (self.target_id.as_deref(), self.triple.as_deref());
        ImageCode::named(target_id, triple, self.is(ImageKind::is_ptx))
            .or_ptx_version(self.ptx_version)
    }

    /// Detaches the candidate from its image, so that it can outlive the image's open file.
    pub fn detached<'d>(&self) -> Named<'d> {
        let owned = |text: &Option<Cow<'i, str>>| text.as_deref().map(|it| it.to_owned().into());
        let Self { ptx_version, header, known_kind, needs, .. } = *self;
        let (target_id, triple) = (owned(&self.target_id), owned(&self.triple));
        let label = self.label.clone().into_owned().into();
        Named { image: None, label, target_id, triple, ptx_version, header, known_kind, needs }
    }

    /// Returns a message about the image's processor, if this version does not know it.
    pub fn unknown_processor(&self) -> Option<String> {
        let ImageCode::UnknownProcessor(number) = self.code() else { return None };
        Some(Refusal::<String>::UnknownProcessor(number).to_string())
    }

    /// Returns the target in the image's header, if the image's names give a different target.
    pub fn contradiction(&self) -> Option<String> {
        let header = self.header.filter(|header| header.contradicts(&self.by_name()))?;
        Some(header.to_string())
    }
}

impl Candidate for Named<'_> {
    fn code(&self) -> ImageCode<'_> {
        let by_name = self.by_name();
        self.header.map_or(by_name, |header| header.code(by_name))
    }

    fn label(&self) -> &str {
        &self.label
    }
}
