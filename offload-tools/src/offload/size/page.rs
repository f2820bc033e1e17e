//! The page.
use super::account::Account;
use crate::inventory::Inventory;
use std::io::{self, Write};
use std::path::Path;
pub(super) fn write(
    _out: &mut impl Write,
    _path: &Path,
    _inventory: &Inventory<'_>,
    _account: &Account,
) -> io::Result<()> {
    Ok(())
}
