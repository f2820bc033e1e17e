//! The program's types that replace records.

use super::Override;
use crate::signature::Record;
use alloc::vec::Vec;

/// The records that the program replaces with its own types.
#[derive(Debug)]
pub(super) struct Overrides<'a> {
    overrides: &'a [Override],
    /// The names of the replaced records, and of the records that contain them.
    all: Vec<&'a str>,
}

impl<'a> Overrides<'a> {
    pub(super) fn new(overrides: &'a [Override], records: &'a [Record]) -> Self {
        let is_replaced = |record: &&Record| overrides.iter().any(|it| it.record == record.name);
        let mut all: Vec<&str> = records.iter().filter(is_replaced).map(|it| &*it.name).collect();
        loop {
            let contains = |record: &&Record| {
                let mut names = record.content.fields().unwrap_or_default().iter();
                names.any(|field| field.ty.record_name().is_some_and(|name| all.contains(&name)))
            };
            let is_new = |record: &&Record| !all.contains(&&*record.name) && contains(record);
            let Some(record) = records.iter().find(is_new) else { break };
            all.push(&record.name);
        }
        Self { overrides, all }
    }

    /// Whether the program has a type for this record, or for a part of it.
    pub(super) fn has_another_form(&self, name: &str) -> bool {
        self.all.contains(&name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.overrides.is_empty()
    }

    pub(super) fn of(&self, name: &str) -> Option<&Override> {
        self.overrides.iter().find(|it| it.record == name)
    }
}
