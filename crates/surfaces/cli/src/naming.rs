//! What people type to name a thread, an approval, a run, a message or a key.
//!
//! An id, the beginning of an id in either case, or `@last` and `@last~1` for the newest and the one before it. A
//! thread is also named by its title, if no other has it. A name that fits several, or none, is answered with those
//! that it may mean.

use threadkeep::model::Code;
use threadkeep::{Invalid, MessageName, ThreadId, ThreadName, Uuid};
use threadkeep_calls::{
    Approval, Archived, At, ErrorCode, ListApprovals, ListKeys, ListMessages, ListThreads, ListedState, Order, Problem,
    Run, Status, Thread, ThreadSummary,
};
use threadkeep_client::Client;

use crate::failure::Failure;
use crate::pages::all;
use crate::refusal::cut;
use crate::text::{TITLE_SHOWN_MAX, brief, or_untitled, visible};

/// Fewest digits of the beginning of an id.
const PREFIX_DIGITS_MIN: usize = 4;
/// Things that are offered when a name fits several.
const OFFERED_MAX: usize = 10;
/// Threads, messages and approvals that are read at once.
const AT_ONCE: usize = 200;
/// Messages that are looked through for the beginning of an id.
const MESSAGES_MAX: usize = 10_000;
/// Threads with a title like the one that was not found, that are offered.
const NEAR_MAX: usize = 3;
/// How alike a title, or a word of it, has to be to what was typed, from 0 to 1.
const NEAR: f64 = 0.85;

/// The thread that `text` names.
pub(crate) async fn thread(client: &Client, text: &str) -> Result<Thread, Failure> {
    if let Some(back) = last(text)? {
        return newest(client, back).await;
    }
    let name = text.parse::<ThreadName>().or_else(|_| in_lower_case(text).parse());
    if let Ok(name) = name {
        return match client.thread(name).await {
            Err(error) if error.is_refused_as(ErrorCode::ThreadNotFound.as_str()) => {
                let titled = by_title(client, text).await;
                titled.map_err(|_| error.into())
            }
            read => Ok(read?),
        };
    }
    let prefix = in_lower_case(text);
    if !is_prefix(&prefix) {
        // What begins like an id, and is neither an id nor a title, breaks the rule of ids.
        return match by_title(client, text).await {
            Err(Failure::Problem(problem))
                if problem.code == ErrorCode::ThreadNotFound.as_str() && text.starts_with('@') =>
            {
                Err(no_place(text).into())
            }
            Err(Failure::Problem(problem))
                if problem.code == ErrorCode::ThreadNotFound.as_str()
                    && (prefix.starts_with("T-") || text.trim().is_empty()) =>
            {
                Err(text.parse::<ThreadId>().err().map_or_else(|| Failure::Problem(problem), Into::into))
            }
            other => other,
        };
    }
    if prefix.bytes().filter(u8::is_ascii_hexdigit).count() < PREFIX_DIGITS_MIN {
        return match by_title(client, text).await {
            Err(Failure::Problem(problem)) if problem.code == ErrorCode::ThreadNotFound.as_str() => {
                let rule = format!("'{text}' is too short: a prefix of an id has at least {PREFIX_DIGITS_MIN} digits");
                Err(Invalid::new(Code::InvalidThreadId, "threadId", rule).into())
            }
            other => other,
        };
    }
    let which = ListThreads { id_prefix: Some(prefix), limit: Some(OFFERED_MAX + 1), ..Default::default() };
    let found = client.call(At::none(), which).await?.items;
    match &found[..] {
        [] => by_title(client, text).await.map_err(|failure| match failure {
            Failure::Problem(problem) if problem.code == ErrorCode::ThreadNotFound.as_str() => {
                let detail = format!("there is no thread whose id begins with {}", cut(text));
                Problem::new(Status::NotFound, ErrorCode::ThreadNotFound, detail).into()
            }
            other => other,
        }),
        [one] => Ok(client.thread(one.id).await?),
        several => Err(ambiguous(&format!("several threads have an id that begins with {text}"), several)),
    }
}

/// How many before the newest, if `text` is `@last` or `@last~N`.
fn last(text: &str) -> Result<Option<usize>, Failure> {
    let Some(back) = text.strip_prefix("@last") else { return Ok(None) };
    let back = if back.is_empty() { Some(0) } else { back.strip_prefix('~').and_then(|back| back.parse().ok()) };
    Ok(Some(back.ok_or_else(|| no_place(text))?))
}

/// What begins like `@last` and is something else.
fn no_place(text: &str) -> Invalid {
    Invalid::parameter("thread", format!("'{}' is neither @last nor @last~N, such as @last~1", cut(text)))
}

/// The thread that was changed last, or the one `back` before it.
async fn newest(client: &Client, back: usize) -> Result<Thread, Failure> {
    let which = ListThreads { limit: Some(1), offset: Some(back), ..Default::default() };
    match client.call(At::none(), which).await?.items.first() {
        Some(thread) => Ok(client.thread(thread.id).await?),
        None => {
            let detail = match back {
                0 => "there is no thread yet; threadkeep new TITLE makes one".to_owned(),
                _ => format!("there are fewer than {} threads", back.saturating_add(1)),
            };
            Err(Problem::new(Status::NotFound, ErrorCode::ThreadNotFound, detail).into())
        }
    }
}

/// The only thread with this title, in any case.
async fn by_title(client: &Client, title: &str) -> Result<Thread, Failure> {
    let list = async |title: Option<String>| {
        let archived = Some(Archived::Any);
        let which = ListThreads { title, archived, limit: Some(AT_ONCE), ..Default::default() };
        client.call(At::none(), which).await.map(|page| page.items)
    };
    let is_blank = title.trim().is_empty();
    let containing = if is_blank { Vec::new() } else { list(Some(title.to_owned())).await? };
    let same = |thread: &&ThreadSummary| or_untitled(thread.title.as_deref()).to_lowercase() == title.to_lowercase();
    let exact: Vec<ThreadSummary> = containing.iter().filter(same).cloned().collect();
    match &exact[..] {
        [one] => return Ok(client.thread(one.id).await?),
        [] => {}
        several => return Err(ambiguous(&format!("several threads have the title '{}'", cut(title)), several)),
    }
    let mut near = containing;
    if near.is_empty() && !is_blank {
        let all = list(None).await?.into_iter();
        let mut alike: Vec<(f64, ThreadSummary)> =
            all.map(|thread| (alike(thread.title.as_deref().unwrap_or_default(), title), thread)).collect();
        alike.retain(|(alike, _)| *alike >= NEAR);
        alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        near = alike.into_iter().map(|(_, thread)| thread).collect();
    }
    let mut detail = format!("there is no thread '{}'", cut(title));
    if !near.is_empty() {
        near.truncate(NEAR_MAX);
        detail.push_str("; did you mean");
        detail.push_str(&lines(&near));
    }
    Err(Problem::new(Status::NotFound, ErrorCode::ThreadNotFound, detail).into())
}

/// How alike what was typed is to a title, or to the best of its words, from 0 to 1, without regard to case.
fn alike(title: &str, typed: &str) -> f64 {
    let (title, typed) = (title.to_lowercase(), typed.to_lowercase());
    let words = title.split_whitespace().chain([title.as_str()]);
    words.map(|word| strsim::jaro_winkler(word, &typed)).fold(0.0, f64::max)
}

fn ambiguous(what: &str, several: &[ThreadSummary]) -> Failure {
    let detail = format!("{}:{}", visible(what), lines(several));
    Problem::new(Status::BadRequest, ErrorCode::AmbiguousThreadId, detail).into()
}

/// A line for each thread.
fn lines(threads: &[ThreadSummary]) -> String {
    let line = |thread: &ThreadSummary| {
        let title = brief(or_untitled(thread.title.as_deref()), TITLE_SHOWN_MAX);
        format!("\n  {}  {title}", thread.id)
    };
    let more = if threads.len() > OFFERED_MAX { "\n  …" } else { "" };
    threads.iter().take(OFFERED_MAX).map(line).collect::<String>() + more
}

/// The approval that `text` names.
pub(crate) async fn approval(client: &Client, text: &str) -> Result<Uuid, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let read = async |cursor| {
        let state = Some(ListedState::All);
        client.call(At::none(), ListApprovals { state, thread_id: None, limit: Some(AT_ONCE), cursor }).await
    };
    let ids: Vec<String> = all(read).await?.iter().map(|approval: &Approval| approval.id.to_string()).collect();
    let id = among("approval", text, &ids, ErrorCode::ApprovalNotFound)?;
    id.parse().map_err(|_| Invalid::parameter("approval", "is no id").into())
}

/// The key that `text` names, by its id.
pub(crate) async fn key(client: &Client, text: &str) -> Result<String, Failure> {
    let read = async |cursor| client.call(At::none(), ListKeys { limit: Some(AT_ONCE), cursor }).await;
    let ids: Vec<String> = all(read).await?.into_iter().map(|key| key.id).collect();
    among("key", text, &ids, ErrorCode::KeyNotFound)
}

/// The run that `text` names: only the open one can.
pub(crate) fn run(thread: &Thread, text: &str) -> Result<Uuid, Failure> {
    let invalid = match text.parse() {
        Ok(id) => return Ok(id),
        Err(invalid) => invalid,
    };
    let open: Vec<String> = thread.run.iter().map(|open| open.id.to_string()).collect();
    let id = among("open run", text, &open, ErrorCode::RunOver).map_err(|failure| {
        // A text that has not even the shape of an id breaks a rule.
        let is_beginning = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let rule = format!("'{}' is not the id of a run", cut(text));
        if text.starts_with('@') || is_beginning {
            failure
        } else {
            Invalid { field: "run".to_owned(), rule, ..invalid }.into()
        }
    })?;
    id.parse().map_err(|_| Invalid::parameter("run", "is no id").into())
}

/// The run among `runs`, the newest first, that `text` names; the newest without a text.
pub(crate) fn among_runs(runs: &[Run], text: Option<&str>) -> Result<Uuid, Failure> {
    let ids: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    let id = among("run", text.unwrap_or("@last"), &ids, ErrorCode::RunNotFound)?;
    id.parse().map_err(|_| Invalid::parameter("run", "is no id").into())
}

/// The message of `thread` that `text` names.
pub(crate) async fn message(client: &Client, thread: ThreadId, text: &str) -> Result<MessageName, Failure> {
    let invalid = match text.parse() {
        Ok(name) => return Ok(name),
        Err(invalid) => invalid,
    };
    let (mut ids, mut cursor) = (Vec::new(), None);
    while ids.len() < MESSAGES_MAX {
        let order = Some(Order::Descending);
        let page = ListMessages { order, limit: Some(AT_ONCE), cursor, ..Default::default() };
        let page = client.call(thread, page).await?;
        ids.extend(page.items.iter().map(|message| message.id.to_string()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    // Digits that no id begins with are not found. Anything else breaks the rule of ids.
    let digits = text.strip_prefix("M-").or(text.strip_prefix("m-")).unwrap_or(text);
    let is_id = text.starts_with('@') || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match among("message", text, &ids, ErrorCode::MessageNotFound) {
        Ok(id) => Ok(id.parse()?),
        Err(Failure::Problem(problem)) if problem.status == Status::NotFound && !is_id => Err(Failure::from(invalid)),
        Err(failure) => Err(failure),
    }
}

/// The one of `ids`, the newest first, that `text` names.
fn among(what: &str, text: &str, ids: &[String], missing: ErrorCode) -> Result<String, Failure> {
    let not_found = |detail: String| Failure::from(Problem::new(missing.status(), missing, detail));
    if let Some(back) = last(text)? {
        return ids.get(back).cloned().ok_or_else(|| not_found(format!("there is no {what} '{text}'")));
    }
    let bare = |id: &str| id.to_lowercase().rsplit_once("m-").map_or(id.to_lowercase(), |(_, bare)| bare.to_owned());
    let wanted = bare(text);
    // A digit or two may be a slip of the hand, and would mean another one tomorrow.
    let digits_min = |id: &str| PREFIX_DIGITS_MIN.min(id.len() / 2).max(1);
    let fits = |id: &&String| bare(id).starts_with(&wanted) && wanted.len() >= digits_min(id);
    let fitting: Vec<&String> = ids.iter().filter(fits).collect();
    match &fitting[..] {
        [one] => Ok((*one).clone()),
        [] => Err(not_found(format!("there is no {what} '{}'", cut(text)))),
        several => {
            let offered: String = several.iter().take(OFFERED_MAX).map(|id| format!("\n  {id}")).collect();
            let detail = format!("the id of several begins with '{}':{offered}", cut(text));
            Err(Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail).into())
        }
    }
}

/// An id as it is spelled in full: `T-` and small digits.
fn in_lower_case(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    match lower.strip_prefix("t-") {
        Some(rest) => format!("T-{rest}"),
        None => lower,
    }
}

/// Whether `text` has the shape of the beginning of an id, in either spelling.
fn is_prefix(text: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    const UUID_LENGTH: usize = 36;
    match text.strip_prefix("T-") {
        Some(uuid) => {
            let fits =
                |(at, byte): (usize, u8)| if DASHES.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
            !uuid.is_empty() && uuid.len() < UUID_LENGTH && uuid.bytes().enumerate().all(fits)
        }
        None => !text.is_empty() && text.len() < 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_the_shape_of_an_id_in_either_case() {
        for text in ["4e36", "4E36", "4e36442142e", "T-5928a90d", "t-5928A90D-d53b-4", "T-59"] {
            assert!(is_prefix(&in_lower_case(text)), "{text}");
        }
        for text in ["", "T-", "4e36442142ee", "x", "-123", "T-5928a90dd", "T-5928a90d_d", "hello", "4e36 "] {
            assert!(!is_prefix(&in_lower_case(text)), "{text}");
        }
    }

    #[test]
    fn one_of_several_is_named_by_the_beginning_of_its_id_or_by_its_place() {
        let ids = ["aa11", "aa22", "bb33"].map(str::to_owned);
        let named = |text: &str| among("key", text, &ids, ErrorCode::KeyNotFound).ok();
        assert_eq!(named("BB").as_deref(), Some("bb33"));
        assert_eq!(named("@last").as_deref(), Some("aa11"));
        let messages = ["M-12ab", "M-34cd"].map(str::to_owned);
        let message = among("message", "m-12A", &messages, ErrorCode::MessageNotFound).ok();
        assert_eq!(message.as_deref(), Some("M-12ab"));
        assert_eq!(named("@last~2").as_deref(), Some("bb33"));
        for text in ["aa", "cc", "", "@last~3", "@last~x", "@lastly"] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
