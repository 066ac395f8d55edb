//! The icons that a server gives, within bounds. Clients decide which of them
//! they show: an icon elsewhere tells its server who looks at it.

use innkeeper_protocol::newest::state::Icon;
use serde_json::Value;

/// The most icons of one server: a few sizes, for light and dark.
const MOST: usize = 8;

/// The longest address of an icon that is elsewhere.
const LONGEST_ADDRESS: usize = 2048;

/// The largest icon that is in its address itself, as text.
const LARGEST_DATA: usize = 32 * 1024;

/// The most sizes of one icon, and the longest word about one.
const MOST_SIZES: usize = 8;
const LONGEST_WORD: usize = 64;

/// Those that can be shown; what else is there is left out.
pub(super) fn read(icons: Value) -> Vec<Icon> {
    let Value::Array(icons) = icons else {
        return Vec::new();
    };
    icons.into_iter().filter_map(read_one).take(MOST).collect()
}

fn read_one(icon: Value) -> Option<Icon> {
    let src = icon["src"].as_str()?;
    if !is_shown(src) {
        return None;
    }
    let word = |value: &Value| {
        let word = value.as_str().filter(|it| it.len() <= LONGEST_WORD);
        word.map(str::to_owned)
    };
    let sizes = icon["sizes"].as_array();
    let sizes = sizes.map(|all| all.iter().filter_map(word).take(MOST_SIZES).collect());
    Some(Icon {
        src: src.to_owned(),
        content_type: word(&icon["mimeType"]),
        sizes,
        theme: word(&icon["theme"]).filter(|theme| theme == "light" || theme == "dark"),
    })
}

/// Whether an address is one of a picture that clients may show.
fn is_shown(src: &str) -> bool {
    let fits = (src.starts_with("https://") && src.len() <= LONGEST_ADDRESS)
        || (src.starts_with("data:image/") && src.len() <= LARGEST_DATA);
    fits && src.bytes().all(|it| it.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn icons_are_taken_as_they_are() {
        let icons = read(json!([{
            "src": "https://a.example/i.png", "mimeType": "image/png", "sizes": ["48x48"],
            "theme": "dark",
        }, {"src": "data:image/svg+xml;base64,PHN2Zy8+"}]));
        let icons = serde_json::to_value(icons).unwrap();
        let expected = json!([{
            "src": "https://a.example/i.png", "contentType": "image/png", "sizes": ["48x48"],
            "theme": "dark",
        }, {"src": "data:image/svg+xml;base64,PHN2Zy8+"}]);
        assert_eq!(icons, expected);
    }

    #[test]
    fn what_no_client_may_show_is_left_out() {
        for icon in [
            json!({"src": "http://a.example/i.png"}),
            json!({"src": "javascript:alert(1)"}),
            json!({"src": "file:///etc/passwd"}),
            json!({"src": "data:text/html,<p>"}),
            json!({"src": "https://a.example/i\n.png"}),
            json!({"src": format!("https://a.example/{}", "x".repeat(3000))}),
            json!({"src": format!("data:image/png;base64,{}", "A".repeat(64 * 1024))}),
            json!({"src": 7}),
            json!("https://a.example/i.png"),
        ] {
            assert_eq!(read(json!([icon])), [], "{icon}");
        }
        assert_eq!(read(json!({"src": "https://a.example/i.png"})), []);
    }

    #[test]
    fn a_server_has_a_few_icons_with_few_words() {
        let icon = json!({"src": "https://a.example/i.png", "mimeType": "m".repeat(65),
            "sizes": vec!["1x1"; 100], "theme": "neon"});
        let icons = read(Value::Array(vec![icon; 100]));
        assert_eq!(icons.len(), MOST);
        let first = &icons[0];
        assert_eq!(first.sizes.as_ref().map(Vec::len), Some(MOST_SIZES));
        assert_eq!((&first.content_type, &first.theme), (&None, &None));
    }
}
