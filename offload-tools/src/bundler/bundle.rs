//! Writes bundles.

use super::options::Work;
use super::settings::Settings;
use super::{Failure, FileType, Options, objcopy, open, targets, verbose, write};
use crate::compress::Compressed;
use crate::files::{Input, PayloadSource};
use offload_format::bundle::{BundleBuilder, EntryId};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_format::text_bundle::TextBundleBuilder;

/// Writes one input per target into one bundle.
pub(super) fn bundle(options: &Options) -> Result<(), Failure> {
    let ids = targets::check(options, Work::Bundle)?;
    let settings = Settings::read(options);
    let inputs = options.inputs.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let file_type = FileType::parse(&options.file_type)?;
    let output = &options.outputs[0];
    // The index of the host's input, or of the first input if none is for the host. If this input
    // is an object, the output is a copy of it, with the other inputs in additional sections.
    let host = ids.iter().position(EntryId::is_host).unwrap_or(0);
    let is_object =
        file_type == FileType::Object && ObjectBundle::parse(inputs[host].bytes()).is_ok();
    if is_object && options.print_commands {
        objcopy::print_bundle(options, &ids, host, output);
        return write(output, |_| Ok(()));
    }
    let layout = match file_type {
        FileType::Text(leader) => {
            let mut builder = TextBundleBuilder::new(leader);
            for (target, input) in options.targets.iter().zip(&inputs) {
                builder
                    .entry(target, input.size())
                    .map_err(|error| Failure::new(error.to_string()))?;
            }
            builder.layout()
        }
        FileType::Object if is_object => {
            let layout = object_bundle::bundle(inputs[host].bytes(), &builder(options, &inputs)?);
            layout.map_err(|error| {
                let failure = Failure::of_content(&options.inputs[host], &error);
                if ids[host].is_host() { failure } else { failure.hint(NO_HOST) }
            })?
        }
        FileType::Binary | FileType::Object => builder(options, &inputs)?.layout(),
    };
    let sources: Vec<PayloadSource<'_>> = inputs.iter().map(PayloadSource::file).collect();
    match &settings.compress {
        // A bundle in a host object is not compressed, because linkers must be able to read the
        // object.
        Some(compression) if !is_object => {
            let compressed =
                Compressed::new(&layout, &sources, compression).map_err(Failure::new)?;
            if settings.verbose {
                verbose::compressed(compression, &compressed);
            }
            write(output, |file| {
                compressed.write_to(file).map_err(|error| Failure::of_file(output, &error))
            })
        }
        _ => write(output, |file| {
            file.layout(&layout, &sources).map_err(|error| Failure::of_file(output, &error))
        }),
    }
}

/// The advice if no target is for the host. The first input is then used as the host object, so it
/// must not be a linked code object.
const NO_HOST: &str = "no target is for the host, so the first input must be an object file, to \
                       which the other inputs are added. To bundle code objects, begin with \
                       -targets=host-x86_64-unknown-linux-gnu-,... -input=/dev/null \
                       -bundle-align=4096, or use 'cargo offload bundle'";

fn builder(options: &Options, inputs: &[Input]) -> Result<BundleBuilder, Failure> {
    let mut builder = BundleBuilder::new();
    builder.align(options.bundle_align);
    for (target, input) in options.targets.iter().zip(inputs) {
        builder.entry(target, input.size()).map_err(|error| Failure::new(error.to_string()))?;
    }
    Ok(builder)
}
