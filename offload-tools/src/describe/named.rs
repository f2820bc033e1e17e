//! Facts about an image for the rules of selection.

use offload_format::image::{CodeObjectHeader, ImageHeader};
use offload_format::inventory::{Image, ImageKind};
use offload_format::select::{Candidate, Refusal};
use offload_format::target::{ImageCode, Needs, PtxVersion};
use std::borrow::Cow;

/// An image as a candidate of `offload_format::select`, described by its header or, if the header
/// has no target, by its names (target ID and triple). Nothing is decompressed to create it.
#[derive(Debug, Clone)]
pub struct Named<'i> {
    image: &'i Image<'i>,
    header: Option<ImageHeader>,
    is_ptx: bool,
    needs: Needs,
}

impl<'i> Named<'i> {
    /// Creates a candidate from an image; reads the image's header only if that needs no
    /// decompression.
    pub fn new(image: &'i Image<'i>) -> Self {
        Self::with_header(image, image.in_file())
    }

    /// Creates a candidate from an image and its bytes; without these bytes, only the image's names
    /// describe it.
    pub fn with_header(image: &'i Image<'i>, bytes: Option<&[u8]>) -> Self {
        let header = bytes.and_then(|bytes| ImageHeader::parse(bytes).ok());
        let kinds = [header.map(|header| header.kind()), image.known_kind()];
        let is_ptx = kinds.into_iter().flatten().any(ImageKind::is_ptx);
        let lacks = bytes.and_then(CodeObjectHeader::lacks);
        Self { image, header, is_ptx, needs: Needs { lacks, ..Needs::default() } }
    }

    /// Sets what the image needs of its loader.
    pub fn with_needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// Returns what the image needs of its loader.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns the image.
    pub fn image(&self) -> &'i Image<'i> {
        self.image
    }

    /// Whether the image is LLVM bitcode, which compilers link and no vendor's driver loads.
    pub fn is_bitcode(&self) -> bool {
        self.kinds().any(ImageKind::is_bitcode)
    }

    /// Whether the image is a cubin.
    pub fn is_cubin(&self) -> bool {
        self.kinds().any(ImageKind::is_cubin)
    }

    /// Whether the image is a fatbin, which contains images.
    pub fn is_fatbin(&self) -> bool {
        self.kinds().any(ImageKind::is_fatbin)
    }

    /// Returns the kinds that the header and the container record.
    fn kinds(&self) -> impl Iterator<Item = ImageKind> {
        [self.header.map(|header| header.kind()), self.image.known_kind()].into_iter().flatten()
    }

    /// Returns the code that the image's names describe.
    pub fn by_name(&self) -> ImageCode<'_> {
        let Image { target_id, triple, ptx_version, .. } = self.image;
        code_of_names(target_id, triple, self.is_ptx, *ptx_version)
    }

    /// Returns the candidate without its image.
    pub fn detached(&self) -> Detached {
        let Image { target_id, triple, ptx_version, .. } = self.image;
        Detached {
            label: self.label().to_owned(),
            target_id: target_id.as_deref().map(|it| it.to_owned().into()),
            triple: triple.as_deref().map(|it| it.to_owned().into()),
            ptx_version: *ptx_version,
            header: self.header,
            is_ptx: self.is_ptx,
            needs: self.needs,
        }
    }

    /// Returns the words for a processor that this version does not know, if the image is for one.
    pub fn unknown_processor(&self) -> Option<String> {
        let ImageCode::UnknownProcessor(number) = self.code() else { return None };
        Some(Refusal::<String>::UnknownProcessor(number).to_string())
    }

    /// Returns the target in the image's header, if its names describe another target.
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
        self.image.label()
    }
}

fn code_of_names<'n>(
    target_id: &'n Option<Cow<'_, str>>,
    triple: &'n Option<Cow<'_, str>>,
    is_ptx: bool,
    version: Option<PtxVersion>,
) -> ImageCode<'n> {
    ImageCode::named(target_id.as_deref(), triple.as_deref(), is_ptx).or_ptx_version(version)
}

/// A candidate that remains when the image's file is closed.
#[derive(Debug, Clone)]
pub struct Detached {
    label: String,
    target_id: Option<Cow<'static, str>>,
    triple: Option<Cow<'static, str>>,
    ptx_version: Option<PtxVersion>,
    header: Option<ImageHeader>,
    is_ptx: bool,
    needs: Needs,
}

impl Detached {
    /// Returns what the image needs of its loader.
    pub fn needs(&self) -> Needs {
        self.needs
    }
}

impl Candidate for Detached {
    fn code(&self) -> ImageCode<'_> {
        let by_name = code_of_names(&self.target_id, &self.triple, self.is_ptx, self.ptx_version);
        self.header.map_or(by_name, |header| header.code(by_name))
    }

    fn label(&self) -> &str {
        &self.label
    }
}
