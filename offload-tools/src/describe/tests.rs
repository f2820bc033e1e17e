//! Tests with truncated and modified corpus files: nothing panics, and everything that is found is
//! at its reported place.

use super::{ImageRecord, problem_text};
use offload_format::inventory::{Images, Inventory};
use std::fs;
use std::path::Path;

const LIMIT: u64 = 1 << 20;

/// Reads everything; returns the number of images.
fn read_all(file: &[u8]) -> usize {
    let inventory = Inventory::of(file, LIMIT);
    let mut images = Images::new(LIMIT);
    for image in &inventory.images {
        let container = inventory.container(image);
        assert!(container.place.offset + container.size <= file.len() as u64, "{container:?}");
        if let (Some(bytes), Some(offset)) = (image.in_file(), image.offset) {
            assert_eq!(file[offset as usize..][..bytes.len()].as_ptr(), bytes.as_ptr());
            assert_eq!(image.size, bytes.len() as u64);
        }
        let (record, error) = ImageRecord::new(&inventory, image, &mut images);
        assert!(record.sha256.is_some() || error.is_some());
        error.into_iter().for_each(|error| {
            assert!(!problem_text(&inventory.problem_of(image, error)).is_empty())
        });
    }
    assert!(inventory.problems.iter().all(|problem| !problem_text(problem).is_empty()));
    inventory.images.len()
}

#[test]
fn nothing_panics() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
    let folders =
        fs::read_dir(corpus).expect("the corpus is there").flatten().map(|folder| folder.path());
    let files = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let mut random = 1u64;
    let mut below = |end: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end.max(1)
    };
    let mut images = 0;
    for path in files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_none_or(|it| it != "txt"))
    {
        let file = fs::read(&path).expect("the corpus can be read");
        images += read_all(&file);
        for _ in 0..150 {
            let mut changed =
                file[..file.len() - if below(3) == 0 { below(file.len()) } else { 0 }].to_vec();
            // Half of the changes are in the first 200 bytes, where the headers and tables are.
            for _ in 0..1 + below(3) {
                let end = if below(2) == 0 { changed.len() } else { changed.len().min(200) };
                if let Some(byte) = changed.get_mut(below(end)) {
                    *byte = [0, 1, 0x7f, 0xff, below(256) as u8][below(5)];
                }
            }
            read_all(&changed);
        }
    }
    assert!(images > 100, "{images}");
}
