//! Heterogeneous device archives, and the device-specific archives taken from them.
