//! Device code wherever it lies in a file.
