//! Tests of the table of GPUs in docs/gpus.md, and of outputs from GPUs in documents.

use crate::sources::{documents, read};

/// Checks that each row of the table either states that nothing ran, or links to a JSON file that
/// contains the row's device and driver.
#[test]
fn rows_of_gpus_have_their_files() {
    let page = read("docs/gpus.md");
    let table = page.lines().skip_while(|line| !line.starts_with("| device")).skip(2);
    for row in table.take_while(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let &[device, driver, date, result, json] = &cells[..] else { panic!("5 cells: {row}") };
        if result == "never run" {
            assert_eq!([driver, date, json], ["–"; 3], "{row}");
            continue;
        }
        let link = json.split_once("](gpus/").and_then(|(_, rest)| rest.strip_suffix(')'));
        let file = read(&format!("docs/gpus/{}", link.unwrap_or_else(|| panic!("no link: {row}"))));
        assert!(file.contains(device) && file.contains(driver), "{row}");
    }
}

/// Checks that the section's text before a GPU's output calls the output expected. This is required
/// until a GPU of this kind has run the kernels.
#[test]
fn outputs_of_gpus_are_called_expected() {
    let mut found = 0;
    for (path, text) in documents() {
        let mut section = String::new();
        for line in text.lines() {
            section = if line.starts_with("#") { String::new() } else { section + line + "\n" };
            let is_gpu = ["cuda:", "hip:", "NVIDIA H100"].iter().any(|name| line.starts_with(name));
            if is_gpu && line.contains(": ") {
                assert!(section.contains("xpected "), "{}: {line}", path.display());
                found += 1;
            }
        }
    }
    assert!(found > 7, "{found} outputs");
}
