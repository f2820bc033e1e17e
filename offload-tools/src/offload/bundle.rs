//! `cargo offload bundle`: makes a bundle from files.

use super::pack::write;
use super::parts::{Part, PartTarget};
use super::progress::Busy;
use super::{Context, Error, Result};
use crate::compress::Compressed;
use crate::files::PayloadSource;
use crate::text;
use offload_format::bundle::{
    BundleBuilder, EntryId, HIP_ALIGN, HIP_HOST_ENTRY_ID, HIP_TABLE_LIMIT,
};
use offload_format::compressed::CompressOptions;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `cargo offload bundle`.
#[derive(Debug, clap::Args)]
#[command(after_help = "TARGET is gfx90a:xnack-, gfx11-generic, or a bundle entry ID such as \
    host-x86_64-unknown-linux-gnu-, openmp-nvptx64-nvidia-cuda--sm_80. The bundle has the form \
    that HIP's runtime needs: code objects at multiples of 4096 bytes and, unless an entry for the \
    host is given, first an empty one.")]
pub struct Args {
    /// An image and its target: gfx90a:xnack-=a.hsaco
    #[arg(required = true, value_name = "TARGET=FILE")]
    images: Vec<String>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Put images at multiples of this number of bytes
    #[arg(long, value_name = "BYTES", default_value_t = HIP_ALIGN, value_parser = clap::value_parser!(u64).range(1..))]
    align: u64,
    /// Compress the output
    #[arg(long)]
    compress: bool,
    /// Accept images whose headers contradict their targets, and more images than HIP's runtime can
    /// find
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args, context: &Context) -> Result {
    let parts = args.images.iter().map(|argument| Part::parse(argument, args.force, context));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let ids = parts.iter().map(entry_id).collect::<Result<Vec<_>>>()?;
    let is_host = |id: &String| EntryId::parse(id).is_ok_and(|id| id.is_host());
    let mut builder = BundleBuilder::new();
    builder.align(args.align);
    let mut sources: Vec<PayloadSource<'_>> = Vec::with_capacity(parts.len() + 1);
    if !ids.iter().any(is_host) {
        builder.entry(HIP_HOST_ENTRY_ID, 0).map_err(|error| Error::text(error.to_string()))?;
        sources.push(PayloadSource::Bytes(b""));
    }
    for (id, part) in ids.iter().zip(&parts) {
        let added = builder.entry(id, part.input.size());
        added.map_err(|error| Error::text(format!("{}: {error}", text::escaped_str(part.text))))?;
        sources.push(PayloadSource::file(&part.input));
    }
    let layout = builder.layout();
    let table = layout.pieces().first().map_or(0, |table| table.size());
    if table > HIP_TABLE_LIMIT && !args.compress && !args.force {
        return Err(Error::text(format!(
            "the entry table for {} images has {table} bytes, but HIP's runtime reads only the \
             first {HIP_TABLE_LIMIT}",
            parts.len()
        ))
        .advice("leave out some images, or add --force if no runtime will load the bundle"));
    }
    let written = if args.compress {
        let busy = Busy::new("compressing");
        let compressed = Compressed::new(&layout, &sources, &CompressOptions::default());
        drop(busy);
        let compressed = compressed.map_err(|why| Error::new("cannot compress", why))?;
        write(&args.output, |output| compressed.write_to(output))
    } else {
        write(&args.output, |output| output.layout(&layout, &sources))
    };
    written.map(|()| ExitCode::SUCCESS)
}

/// Returns the entry ID for an image.
fn entry_id(part: &Part<'_>) -> Result<String> {
    let shown = text::escaped_str(part.text);
    match &part.target {
        PartTarget::Arch(arch) => match (arch.triple(), arch.target_id()) {
            // Code objects of version 4 or later get the kind `hipv4`. Earlier ones get the kind
            // `hip`, which makes the runtime read the code object's header.
            (Some(triple), Some(id)) => {
                let version = part.header.and_then(|header| header.code_object_version());
                let kind = if version.is_some_and(|version| version < 4) { "hip" } else { "hipv4" };
                Ok(format!("{kind}-{triple}--{}", id.to_canonical()))
            }
            (triple, _) => {
                let other = format!(
                    "{shown}: HIP's bundles cannot contain images for {}",
                    arch.vendor().devices()
                );
                let write = match triple {
                    Some(triple) => format!(", for OpenMP, write openmp-{triple}--{arch}"),
                    None => {
                        " write a bundle entry ID such as host-x86_64-unknown-linux-gnu-".to_owned()
                    }
                };
                Err(Error::text(other).advice(format!("use 'cargo offload pack', or{write}")))
            }
        },
        PartTarget::Full { kind, triple, target } if kind.is_empty() => Err(Error::text(format!(
            "{shown}: the bundle entry ID has no offload kind before the triple"
        ))
        .advice(format!("write hip-{triple}--{target} or openmp-{triple}--{target}"))),
        PartTarget::Full { .. } => Ok(part.text.to_owned()),
    }
}
