//! Differences of files, line by line.

use maud::{Markup, PreEscaped};
use threadkeep_merge::Names;

use crate::highlight::difference;

/// Lines around a change.
const CONTEXT: usize = 3;

/// How to come from `old` to `new`, as a unified difference without the names of files.
pub fn unified(old: &str, new: &str) -> String {
    let names = Names { old: "", new: "" };
    let told = threadkeep_merge::unified(old.as_bytes(), new.as_bytes(), &names, CONTEXT);
    let text = String::from_utf8_lossy(&told);
    text.splitn(3, '\n').nth(2).unwrap_or_default().to_owned()
}

/// A unified difference, with what comes and goes in colour.
pub(crate) fn diff(text: &str) -> Markup {
    let mut html = String::from("<div class=\"code diff\"><pre tabindex=\"0\" aria-label=\"Difference\"><code>");
    difference(text, &mut html);
    html.push_str("</code></pre></div>");
    PreEscaped(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_tells_lines_and_no_names() {
        assert_eq!(unified("a\nb\n", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(unified("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("a\n", "a\n"), "");
    }
}
