//! What stands between two lines of `---` at the top of a Markdown file.
//!
//! It is meant to be YAML, and much of what people have is not: rules for
//! Cursor say `globs: *.ts`, descriptions hold colons. What is no YAML is read
//! line by line as `key: value`, as the tools do that these files are for.

use serde_json::{Map, Value};

#[derive(Debug, Default, PartialEq)]
pub(super) struct FrontMatter {
    fields: Map<String, Value>,
}

impl FrontMatter {
    /// Reads the top of a file. What has no front matter has no fields; what
    /// begins and does not make sense is an error.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines();
        if lines.next().map(str::trim_end) != Some("---") {
            return Ok(Self::default());
        }
        let mut inside = Vec::new();
        for line in lines {
            if matches!(line.trim_end(), "---" | "...") {
                return Self::parse(&inside.join("\n"));
            }
            inside.push(line);
        }
        Err("its front matter has no end".to_owned())
    }

    fn parse(yaml: &str) -> Result<Self, String> {
        if yaml.trim().is_empty() {
            return Ok(Self::default());
        }
        let parsed = match serde_saphyr::from_str::<Value>(yaml) {
            Ok(parsed) => parsed,
            Err(error) => {
                let why = error.to_string();
                let why = why.lines().next().unwrap_or_default();
                return by_line(yaml)
                    .map(|fields| Self { fields })
                    .ok_or_else(|| format!("its front matter is not YAML: {why}"));
            }
        };
        match parsed {
            Value::Object(fields) => Ok(Self { fields }),
            Value::Null => Ok(Self::default()),
            _ => Err("its front matter is not a mapping".to_owned()),
        }
    }

    fn get(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.fields.get(*name))
    }

    /// The first of these that is a text with something in it.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        let value = match self.get(names)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            // Some fields may be lists, the first being preferred.
            Value::Array(items) => items.first()?.as_str()?.trim().to_owned(),
            _ => return None,
        };
        Some(value).filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&self, names: &[&str]) -> Option<bool> {
        match self.get(names)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A list, or a text with commas.
    pub(super) fn list(&self, names: &[&str]) -> Option<Vec<String>> {
        let items: Vec<String> = match self.get(names)? {
            Value::Array(items) => items.iter().filter_map(as_text).collect(),
            Value::String(text) => split(text),
            _ => return None,
        };
        Some(items).filter(|items| !items.is_empty())
    }
}

fn as_text(item: &Value) -> Option<String> {
    item.as_str().map(|text| text.trim().to_owned())
}

/// At commas, but not within braces: `*.{ts,tsx}` is one pattern.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    let parts = parts.map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// `key: value` in each line, with lines that are indented belonging to the
/// one before. Nothing, if a line is something else.
fn by_line(text: &str) -> Option<Map<String, Value>> {
    let mut fields: Map<String, Value> = Map::new();
    let mut last: Option<String> = None;
    for line in text.lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t', '-']) {
            let more = line.trim();
            let value = fields.get_mut(last.as_ref()?)?;
            match more.strip_prefix("- ") {
                Some(item) => match value {
                    Value::Array(items) => items.push(unquoted(item).into()),
                    Value::String(text) if text.is_empty() => {
                        *value = vec![unquoted(item)].into();
                    }
                    _ => return None,
                },
                None => {
                    let Value::String(text) = value else {
                        return None;
                    };
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(more);
                }
            }
            continue;
        }
        let (key, value) = line.split_once(':')?;
        let key = key.trim();
        let is_key = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        if key.is_empty() || !key.chars().all(is_key) {
            return None;
        }
        let value = value.trim();
        // A list that is none.
        if value.starts_with('[') {
            return None;
        }
        let value = match value {
            ">" | "|" | ">-" | "|-" => "",
            other => other,
        };
        let value = match value {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Value::String(unquoted(text)),
        };
        fields.insert(key.to_owned(), value);
        last = Some(key.to_owned());
    }
    Some(fields)
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(inside: &str) -> FrontMatter {
        FrontMatter::of(&format!("---\n{inside}\n---\nbody")).unwrap()
    }

    #[test]
    fn yaml_and_what_people_take_for_it_are_read() {
        let cases = [
            ("globs: [\"*.ts\", '*.tsx']", vec!["*.ts", "*.tsx"]),
            ("globs:\n  - '*.ts'\n  - '*.tsx'", vec!["*.ts", "*.tsx"]),
            ("globs: src/**, lib/**", vec!["src/**", "lib/**"]),
            ("globs: *.ts,*.{js,jsx}", vec!["*.ts", "*.{js,jsx}"]),
            ("globs: **/*.rs", vec!["**/*.rs"]),
            ("alwaysApply: true\nglobs: *.md", vec!["*.md"]),
        ];
        for (inside, expected) in cases {
            assert_eq!(read(inside).list(&["globs"]).unwrap(), expected, "{inside}");
        }
        let sloppy = read("description: Use it when: always\nmodel: x\ndisabled: true");
        assert_eq!(
            sloppy.text(&["description"]).unwrap(),
            "Use it when: always"
        );
        assert_eq!(sloppy.flag(&["disabled"]), Some(true));
        let folded = read("description: >-\n  two\n  lines\nname: n");
        assert_eq!(folded.text(&["description"]).unwrap(), "two lines");
        let both = read("description: >\n  when: it\n  rains\nglobs: *.ts");
        assert_eq!(both.text(&["description"]).unwrap(), "when: it rains");
    }

    #[test]
    fn a_file_without_front_matter_has_no_fields() {
        for text in [
            "",
            "# Title",
            "----\nname: x\n----",
            "---\n---\n",
            "\u{feff}---\n---\n",
        ] {
            assert_eq!(FrontMatter::of(text), Ok(FrontMatter::default()), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error_with_a_reason() {
        let cases = [
            ("---\nname: x", "no end"),
            ("---\n- a\n- b\n---", "not a mapping"),
            ("---\n{ name: [\n---", "not YAML"),
            ("---\nname: [\n---", "not YAML"),
            ("---\nno key here\n: x\n---", "not YAML"),
        ];
        for (text, expected) in cases {
            let error = FrontMatter::of(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
