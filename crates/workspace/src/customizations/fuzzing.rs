//! What fuzzers reach of customizations: the files of a plugin that a client
//! gave, which need no disk.

use innkeeper_protocol::workspace::customization::GivenFiles;

use super::front_matter::FrontMatter;
use super::layout;
use super::plugin::{self, Published};
use super::servers::Variables;
use super::tree::Given;

pub(crate) fn read(files: &[(&str, &str)]) {
    let given: GivenFiles = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), Ok((*text).to_owned())))
        .collect();
    let tree = Given {
        uri: "virtual://client/plugin",
        files: &given,
    };
    let published = Published {
        id: "plugin".to_owned(),
        uri: tree.uri.to_owned(),
        name: "plugin",
        client_id: None,
    };
    let mut variables = Variables::new();
    variables.insert("HOME".to_owned(), "/home".to_owned());
    plugin::read(&tree, published, &variables);
    for layout in [layout::PROJECT, layout::USER] {
        layout.read(&tree, &variables);
    }
    for (_, text) in files {
        if let Ok(fields) = FrontMatter::of(text) {
            fields.text(&["description"]);
            fields.flag(&["enabled"]);
            fields.list(&["tools"]);
        }
    }
}
