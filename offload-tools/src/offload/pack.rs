//! `cargo offload pack`: makes an offload binary from files.

use super::parts::{Part, PartTarget};
use super::progress::Busy;
use super::{Context, Error, Result, out};
use crate::files::{Output, PayloadSource};
use crate::text;
use offload_format::compression::Method;
use offload_format::image::ImageKind;
use offload_format::layout::{Layout, Piece};
use offload_format::offload_binary::{
    ALIGN, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_format::target::TargetTriple;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo offload pack`.
#[derive(Debug, clap::Args)]
#[command(after_help = "TARGET is gfx90a:xnack-, sm_80, compute_80, cpu, or a full name: \
    x86_64-unknown-linux-gnu, openmp-amdgcn-amd-amdhsa--gfx90a. LLVM 22 reads only version 1. \
    Drivers read PTX up to a NUL. If none would follow, one is added: in version 1, by a line feed \
    and padding.")]
pub struct Args {
    /// An image and its target: gfx90a=a.hsaco, sm_80=a.cubin
    #[arg(required = true, value_name = "TARGET=FILE")]
    images: Vec<String>,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The name of the module that all images belong to
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// The format's version: 1, 2 or 3 [default: 1; compressed 3]
    #[arg(long = "version", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    format: Option<u8>,
    /// Compress the output
    #[arg(long)]
    compress: bool,
    /// Accept images whose headers contradict their targets
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args, context: &Context) -> Result {
    let version = match (args.format, args.compress) {
        (None | Some(3), true) | (Some(3), false) => Version::V3,
        (None | Some(1), false) => Version::V1,
        (Some(2), false) => Version::V2,
        (Some(other), _) => {
            return Err(Error::text(format!(
                "--compress: version {other} of the format cannot be compressed"
            ))
            .advice("leave out --version, or use --version 3"));
        }
    };
    if version == Version::V1 && args.module.as_deref().is_some_and(|name| name.contains('\0')) {
        return Err(Error::text(
            "--module: the name contains a NUL, which version 1 of the format does not allow",
        ));
    }
    let parts = args.images.iter().map(|argument| Part::parse(argument, args.force, context));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    if !args.force {
        check_together(&parts)?;
    }

    let mut builder = OffloadBinaryBuilder::new();
    let mut tails = Vec::with_capacity(parts.len());
    for part in &parts {
        let described = described(part)?;
        let tail = tail(part, version);
        let size = part.input.size() + tail.len() as u64;
        let image = builder.image(image_kind(part), described.kind, size);
        image.string("triple", &described.triple);
        if !described.arch.is_empty() {
            image.string("arch", &described.arch);
        }
        if let Some(module) = &args.module {
            image.string("module", module);
        }
        tails.push(tail);
    }
    let written = if args.compress {
        let whole: Vec<Vec<u8>> =
            parts.iter().zip(&tails).map(|(it, tail)| [it.input.bytes(), tail].concat()).collect();
        let images: Vec<&[u8]> = whole.iter().map(Vec::as_slice).collect();
        let busy = Busy::new("compressing");
        let compressed = builder.compressed(Method::Zstd, None, &images);
        drop(busy);
        let compressed = compressed.map_err(|error| Error::new("cannot compress", error))?;
        write(&args.output, |output| output.copy(&PayloadSource::Bytes(&compressed)))
    } else {
        let layout = builder.layout(version).nest(|number| {
            let mut image = Layout::payload(number, parts[number].input.size());
            image.push(Piece::Bytes(tails[number].to_vec()));
            image
        });
        let sources: Vec<PayloadSource<'_>> =
            parts.iter().map(|part| PayloadSource::file(&part.input)).collect();
        write(&args.output, |output| output.layout(&layout, &sources))
    };
    written.map(|()| ExitCode::SUCCESS)
}

/// Writes a file, or standard output if the name is `-`.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut Output) -> std::io::Result<()>,
) -> Result<()> {
    let written = Output::named(path.as_os_str()).and_then(|mut output| {
        fill(&mut output)?;
        output.commit()
    });
    // `into` detects a closed standard output, which is not reported as an error.
    written.map_err(
        |error| if path == Path::new("-") { error.into() } else { Error::write(path, &error) },
    )
}

/// An image's description in an offload binary.
struct Described {
    kind: OffloadKind,
    triple: String,
    arch: String,
}

fn described(part: &Part<'_>) -> Result<Described> {
    let described =
        |kind, triple: &str, arch: String| Described { kind, triple: triple.to_owned(), arch };
    Ok(match &part.target {
        PartTarget::Arch(arch) => match arch.triple() {
            Some(triple) => described(
                OffloadKind::named(arch.vendor().offload_kind()),
                triple,
                arch.to_canonical(),
            ),
            None => described(OffloadKind::NONE, &host_triple()?, String::new()),
        },
        PartTarget::Full { kind, triple, target } => {
            let parsed = TargetTriple::parse(triple).ok();
            let amd = parsed.is_some_and(|it| it.is_amdgpu());
            let nvidia = parsed.is_some_and(|it| matches!(it.arch, "nvptx64" | "nvptx"));
            let kind = match kind.as_str() {
                "" if amd => OffloadKind::HIP,
                "" if nvidia => OffloadKind::CUDA,
                "hipv4" => OffloadKind::HIP,
                kind => OffloadKind::named(kind),
            };
            if target.is_empty() && (amd || nvidia) {
                let example = if amd { "-gfx90a" } else { "-sm_80" };
                return Err(Error::text(format!(
                    "{}: the target names no GPU",
                    text::escaped_str(part.text)
                ))
                .advice(format!("write the GPU after the triple, as in {triple}-{example}")));
            }
            described(kind, triple, target.clone())
        }
    })
}

/// Returns the target triple of the machine on which this program runs.
fn host_triple() -> Result<String> {
    let arch = match std::env::consts::ARCH {
        "x86" => "i686",
        "powerpc64" if cfg!(target_endian = "little") => "powerpc64le",
        arch => arch,
    };
    let system = match (std::env::consts::OS, cfg!(target_env = "musl")) {
        ("linux", false) => "unknown-linux-gnu",
        ("linux", true) => "unknown-linux-musl",
        ("windows", _) if cfg!(target_env = "gnu") => "pc-windows-gnu",
        ("windows", _) => "pc-windows-msvc",
        ("macos", _) => "apple-darwin",
        (other, _) => {
            return Err(Error::text(format!(
                "cpu: no target triple is known for {arch} on {other}"
            ))
            .advice("write the full triple instead of 'cpu'"));
        }
    };
    Ok(format!("{arch}-{system}"))
}

/// Returns the kind of an image file. Detects the kind from the file's bytes or, if that fails,
/// from its extension, as LLVM's tool does.
fn image_kind(part: &Part<'_>) -> StatedKind {
    part.kind().and_then(ImageKind::stated).unwrap_or_else(|| {
        let extension = part.path.extension().and_then(|it| it.to_str()).unwrap_or("");
        let kind = StatedKind::from_extension(extension);
        out::note(&format!("{}: unknown kind of image; packed as kind '{kind}'", part.name()));
        kind
    })
}

/// Returns the bytes to add after an image. Drivers read PTX up to a NUL, so one must follow the
/// text. Version 1 pads images with zeros to a multiple of 8 bytes, so PTX needs a line feed, which
/// the zeros follow, only if its size is already a multiple of 8. Later versions do not pad images,
/// so PTX needs a NUL of its own.
fn tail(part: &Part<'_>, version: Version) -> &'static [u8] {
    if !part.kind().is_some_and(ImageKind::is_ptx) {
        return b"";
    }
    match version {
        Version::V1 if part.input.size().is_multiple_of(ALIGN) => b"\n",
        Version::V1 => b"",
        _ if part.input.bytes().ends_with(b"\0") => b"",
        _ => b"\0",
    }
}

/// Returns an error if two images have the same target, or if a device fits both targets.
fn check_together(parts: &[Part<'_>]) -> Result<()> {
    for (number, part) in parts.iter().enumerate() {
        for earlier in &parts[..number] {
            let same = match (described(part), described(earlier)) {
                (Ok(a), Ok(b)) => (a.kind, a.triple, a.arch) == (b.kind, b.triple, b.arch),
                _ => false,
            };
            if same {
                return Err(Error::text(format!(
                    "{} and {} are both for {}",
                    earlier.name(),
                    part.name(),
                    text::escaped_str(part.text)
                ))
                .advice("leave one out, or add --force to include both"));
            }
            if let (PartTarget::Arch(a), PartTarget::Arch(b)) = (&earlier.target, &part.target)
                && a.conflicts_with(b)
            {
                return Err(Error::text(format!(
                    "{a} and {b} cannot be combined: some devices fit both"
                ))
                .advice("name the same features in both, or add --force"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use offload_format::select::{Candidate, DeviceInfo, Fit, judge};
    use offload_format::target::ImageCode;

    struct Host(String);

    impl Candidate for Host {
        fn code(&self) -> ImageCode<'_> {
            ImageCode::Cpu(&self.0)
        }

        fn label(&self) -> &str {
            &self.0
        }
    }

    #[test]
    fn the_host_runs_code_for_its_triple() {
        let host = Host(host_triple().unwrap());
        assert_eq!(judge(&host, &DeviceInfo::cpu()), Ok(Fit::Cpu), "{}", host.0);
    }
}
