//! The sync half: the async one, without its words.

use super::HEAD;

/// The words of `async` code, and what they are without it. The order counts.
const WORDS: [(&str, &str); 17] = [
    ("threadkeep.printed.aio", "threadkeep.printed.sync"),
    ("threadkeep.aio", "threadkeep.printed.sync"),
    ("Awaitable[Page[T]]", "Page[T]"),
    ("Awaitable, ", ""),
    ("await anyio.to_thread.run_sync(file.read, _CHUNK_BYTES)", "file.read(_CHUNK_BYTES)"),
    ("        import anyio.to_thread\n\n", ""),
    ("import anyio\n", "import time\n"),
    ("anyio.sleep", "time.sleep"),
    (".aiter_bytes", ".iter_bytes"),
    ("async def ", "def "),
    ("async for ", "for "),
    ("async with ", "with "),
    ("await ", ""),
    ("__aiter__", "__iter__"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aclose", "close"),
];

/// The sync half of a file.
pub fn sync(source: &str) -> String {
    let mut text = source.to_owned();
    for (from, to) in WORDS {
        text = text.replace(from, to);
    }
    // A class such as `AsyncPaged` is called `Paged` here.
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Async") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let after_word = &after["Async".len()..];
        let is_prefix = after_word.starts_with(|letter: char| letter.is_ascii_uppercase());
        out.push_str(if is_prefix { "" } else { "Async" });
        rest = after_word;
    }
    out.push_str(rest);
    let body = out.strip_prefix(HEAD).unwrap_or(&out);
    format!("{HEAD}{body}")
}
