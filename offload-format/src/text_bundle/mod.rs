//! The text form of the offload bundle: payloads between comment lines. clang-offload-bundler
//! writes this form for source text, assembly and dependency files.
//!
//! There is no header. Each entry has this form (LLVM's ClangOffloadBundler page; bytes checked
//! against LLVM 22.1.8):
//!
//! | bytes | |
//! |---|---|
//! | LF, comment leader, ` __CLANG_OFFLOAD_BUNDLE____START__ `, bundle entry ID, LF | the START line, with the line end before it |
//! | the payload, unchanged | |
//! | LF, comment leader, ` __CLANG_OFFLOAD_BUNDLE____END__ `, bundle entry ID, LF | the END line; the LF before it is not part of the payload |
//!
//! A line end is LF; a CR before the LF is part of the line. Text outside entries, and the ID in an
//! END line, are ignored. A payload ends at the first END line; START lines before that are part of
//! the payload.
//!
//! ```
//! use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
//!
//! let payloads: [&[u8]; 2] = [b"int main(void);\n", b"__device__ int f();"];
//! let mut builder = TextBundleBuilder::new(CommentLeader::Slashes);
//! builder.entry("host-x86_64-unknown-linux-gnu-", 16).unwrap();
//! builder.entry("hip-amdgcn-amd-amdhsa--gfx90a", 19).unwrap();
//! let file = builder.layout().to_vec(&payloads);
//!
//! let leader = TextBundle::detect(&file).unwrap();
//! let bundle = TextBundle::parse(&file, leader).unwrap();
//! assert!(bundle.entries().map(|entry| entry.code_object).eq(payloads));
//! ```

mod leader;
mod marker;
mod read;
mod write;

pub use leader::CommentLeader;
pub use read::TextBundle;
pub use write::TextBundleBuilder;
