//! No code: the package only names published crates that tests read, build or link.
