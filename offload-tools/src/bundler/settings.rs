//! Settings from the environment.

use super::Options;
use offload_format::compressed::{CompressOptions, Version};
use std::env;
use std::str::FromStr;

/// Settings for writing a bundle, from the options and the environment.
#[derive(Debug)]
pub(super) struct Settings {
    /// Whether to print the sizes and times of compression and decompression on standard error.
    pub(super) verbose: bool,
    /// The compression options; `None` for no compression.
    pub(super) compress: Option<CompressOptions>,
}

impl Settings {
    /// Reads the settings; options take precedence over the environment. Warns about invalid
    /// variables and ignores them.
    pub(super) fn read(options: &Options) -> Self {
        let ignored = var("OFFLOAD_BUNDLER_IGNORE_ENV_VAR").is_some_and(|value| value == "1");
        let var = |name: &str| var(name).filter(|_| !ignored);
        let is_on = |name| var(name).is_some_and(|value| value == "1");

        let mut compress = CompressOptions::default();
        const LEVEL: &str = "OFFLOAD_BUNDLER_COMPRESSION_LEVEL";
        compress.level = var(LEVEL).and_then(|value| {
            let level = number(&value);
            if level.is_none() {
                eprintln!("Warning: Invalid value for {LEVEL}: {value}. Ignoring it.");
            }
            level
        });
        compress.level = options.compression_level.or(compress.level);

        const VERSION: &str = "COMPRESSED_BUNDLE_FORMAT_VERSION";
        if let Some(value) = var(VERSION) {
            match number::<u16>(&value).map(|number| Version::from_number(number.into())) {
                Some(Some(version)) => compress.version = version,
                Some(None) => eprintln!(
                    "Warning: Invalid value for {VERSION}: {value}. Valid values are 2 or 3. Using default version 3."
                ),
                None => eprintln!(
                    "Warning: Invalid value for {VERSION}: {value}. Using default version 3."
                ),
            }
        }
        Self {
            verbose: options.verbose || is_on("OFFLOAD_BUNDLER_VERBOSE"),
            compress: options
                .compress
                .unwrap_or_else(|| is_on("OFFLOAD_BUNDLER_COMPRESS"))
                .then_some(compress),
        }
    }
}

/// Parses a number as LLVM does, which refuses a plus sign.
fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

fn var(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
