//! What a unified diff says about a file: the lines around and in a change,
//! before it and after it.

/// The part of a file that a patch is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change<'a> {
    pub(super) path: &'a str,
    pub(super) before: String,
    pub(super) after: String,
}

/// A patch of one file.
pub(super) fn change(patch: &str) -> Option<Change<'_>> {
    let mut path = None;
    let (mut before, mut after) = (String::new(), String::new());
    let mut in_hunk = false;
    for line in patch.split_inclusive('\n') {
        if !in_hunk {
            // Some tools put a time behind the name.
            let name = line.strip_prefix("+++ ").map(str::trim_end);
            path = name
                .map(|name| name.split('\t').next().unwrap_or(name))
                .or(path);
        }
        if line.starts_with("@@") {
            in_hunk = true;
            continue;
        }
        if !in_hunk {
            continue;
        }
        match line.split_at_checked(1) {
            Some((" ", rest)) => {
                before.push_str(rest);
                after.push_str(rest);
            }
            Some(("-", rest)) => before.push_str(rest),
            Some(("+", rest)) => after.push_str(rest),
            // An empty line whose space was lost, or a remark about the end.
            _ => {}
        }
    }
    let path = path.filter(|_| in_hunk)?;
    Some(Change {
        path,
        before,
        after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_says_what_was_there_and_what_is() {
        let patch = "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n--- two\n+++ 2\n three\n";
        let expected = Change {
            path: "a.txt",
            before: "one\n-- two\nthree\n".to_owned(),
            after: "one\n++ 2\nthree\n".to_owned(),
        };
        assert_eq!(change(patch), Some(expected));
        assert_eq!(change("no patch"), None);
        assert_eq!(change("+++ name only\n"), None);
    }
}
