//! A command line, built as one expression that reads like a recipe from first word to last.

use std::ffi::OsString;

#[derive(Debug, Clone, Default)]
pub(super) struct Line(Vec<OsString>);

impl Line {
    pub(super) fn of(words: &[&str]) -> Self {
        Self::default().words(words)
    }

    pub(super) fn words(mut self, words: &[&str]) -> Self {
        for word in words {
            self.0.push(word.into());
        }
        self
    }

    pub(super) fn when(self, is_so: bool, words: &[&str]) -> Self {
        if is_so { self.words(words) } else { self }
    }

    pub(super) fn one(mut self, word: impl Into<OsString>) -> Self {
        self.0.push(word.into());
        self
    }

    pub(super) fn all(mut self, others: impl IntoIterator<Item = OsString>) -> Self {
        for other in others {
            self.0.push(other);
        }
        self
    }

    pub(super) fn line(mut self, other: &Self) -> Self {
        self.0.extend_from_slice(&other.0);
        self
    }

    pub(super) fn done(self) -> Vec<OsString> {
        self.0
    }
}
