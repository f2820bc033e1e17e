//! Assigns every byte of an archive, or of any other FILE, to an image, a container or the rest.

use super::account::Account;
use super::claims::Split;
use super::part::Share;

/// Combines the accounts of an archive's files. The archive has `size` bytes, and its files have
/// `unpacked` bytes after unpacking. Each file also has its size in the archive; `None` if the
/// archive is compressed as a whole. A FILE that is not an archive has one account.
pub(super) fn together(size: u64, unpacked: u64, files: Vec<(Account, Option<u64>)>) -> Account {
    let mut whole = Account { size, rest: size, ..Account::default() };
    let mut proportion = Split::new(size, unpacked.into());
    for (mut account, stored) in files {
        // Sizes in an archive's list may be wrong, so a file gets at most the remaining bytes.
        let stored = stored.unwrap_or_else(|| proportion.next(account.size)).min(whole.rest);
        whole.rest -= stored;
        whole.is_compressed |= account.is_compressed || stored != account.size;
        account.scale(stored);
        whole.parts.append(&mut account.parts);
        whole.containers.append(&mut account.containers);
        whole.rest += account.rest;
        whole.host.append(&mut account.host);
        whole.unread += account.unread;
    }
    whole
}

impl Account {
    /// Records in all images and containers that they come from `file` in an archive.
    pub(super) fn belongs_to(&mut self, file: &str) {
        for part in &mut self.parts {
            part.file = Some(file.to_owned());
            part.place = format!("{} in {file}", part.place);
            part.module = Some(match part.module.take() {
                Some(module) => format!("{file}: {module}"),
                None => file.to_owned(),
            });
        }
        self.containers.iter_mut().for_each(|container| container.file = Some(file.to_owned()));
    }

    /// Divides the file's size in the archive, `stored`, in proportion to the sizes of its parts.
    fn scale(&mut self, stored: u64) {
        let mut split = Split::new(stored, self.size.into());
        // Scales each share to the stored bytes; returns the sum of the unscaled shares.
        let scale = |split: &mut Split, shares: &mut dyn Iterator<Item = &mut Share>| {
            let mut before = 0;
            for share in shares {
                before += share.bytes;
                share.bytes = split.next(share.bytes);
            }
            before
        };
        for part in &mut self.parts {
            let known =
                scale(&mut split, &mut part.kernels.iter_mut().flatten().chain(&mut part.sections));
            let other = split.next(part.bytes - known);
            let shares = part.kernels.iter().flatten().chain(&part.sections);
            part.bytes = shares.map(|share| share.bytes).sum::<u64>() + other;
        }
        for container in &mut self.containers {
            container.bytes = split.next(container.bytes);
        }
        let known = scale(&mut split, &mut self.host.iter_mut());
        let other = split.next(self.rest - known);
        self.rest = self.host.iter().map(|share| share.bytes).sum::<u64>() + other;
        self.size = stored;
    }
}
