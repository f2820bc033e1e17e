//! The text form of the offload bundle: payloads between comment lines.
