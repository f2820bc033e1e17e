//! One argument of a kernel.

/// An argument of a kernel.
///
/// The format and its references are on the [module's page](crate::image).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument<'data> {
    /// Its number, counted from 0 in the order of the source. Texture, sampler and surface
    /// references of PTX and of cubins count too.
    pub ordinal: u64,
    /// Offset in bytes from the start of the arguments. PTX: the offset is for the architecture
    /// that the text names. On another architecture, the offset may differ if an alignment is more
    /// than 16 bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// AMD: the kind of the argument, in the metadata's words (`by_value`, `global_buffer`,
    /// `hidden_block_count_x`).
    pub value_kind: Option<&'data str>,
    /// Its name, if the image has it: the parameter's name in PTX, or the name in the metadata of
    /// AMD's code objects of OpenCL C.
    pub name: Option<&'data str>,
    /// Its type, where the image has it. PTX: the type of a parameter that is no array, `f32`. AMD:
    /// the type in OpenCL C, `float*`.
    pub type_name: Option<&'data str>,
}

impl Argument<'_> {
    /// Whether the runtime fills in the argument. The source does not name it, and a launch does
    /// not pass it.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.is_some_and(|kind| kind.starts_with("hidden_"))
    }
}
