//! Plans from sessions to threads.

use std::collections::HashMap;

use threadkeep_transcripts::plan::{Known, Placed, Step, ThreadName, plan};
use threadkeep_transcripts::shape::{Message, Origin, OriginKind, Role, Session, Source};

/// Messages as `id`, or `id<parent`, with a star at the active one.
fn session(text: &str) -> Session {
    let mut session = Session::new(Source::Pi, "S");
    for word in text.split_whitespace() {
        let (word, is_active) = word.strip_suffix('*').map_or((word, false), |word| (word, true));
        let (id, parent) = word.split_once('<').map_or((word, None), |(id, parent)| (id, Some(parent)));
        let mut message = Message::new(id, Role::User);
        message.parent = parent.map(str::to_owned);
        if is_active {
            session.active = Some(id.to_owned());
        }
        session.messages.push(message);
    }
    session
}

fn shown(steps: &[Step<'_>]) -> String {
    let name = |thread: &ThreadName| match thread {
        ThreadName::Stored(id) => id.clone(),
        ThreadName::Made(step) => format!("#{step}"),
    };
    let main = |is_main: bool| if is_main { "main" } else { "branch" };
    let lines = steps.iter().enumerate().map(|(at, step)| match step {
        Step::Create { is_main, parent } => {
            let parent = parent.as_ref().map(|parent| format!(" under {}", name(parent))).unwrap_or_default();
            format!("#{at} {}{parent}", main(*is_main))
        }
        Step::Fork { is_main, from, after } => format!("#{at} {} fork of {} after {after}", main(*is_main), name(from)),
        Step::Keep { from } => format!("keep {}", name(from)),
        Step::Truncate { thread, after } => format!("cut {} after {after}", name(thread)),
        Step::Append { thread, message } => format!("{} += {}", name(thread), message.id),
        Step::Edit { thread, message } => format!("{} ~ {}", name(thread), message.id),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(session: &Session, known: &Known<'_>, expected: &str) {
    let lines = |text: &str| text.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let found = shown(&plan(session, known));
    assert!(lines(&found) == lines(expected), "found:\n{found}\n\nexpected:\n{}", lines(expected));
}

#[test]
fn the_active_branch_is_the_thread_and_the_others_are_forks() {
    check(
        &session("a b<a c<b d<b e<d* f<c g<a"),
        &Known::nothing(),
        "#0 main
         #0 += a
         #0 += b
         #0 += d
         #0 += e
         #5 branch fork of #0 after b
         #5 += c
         #5 += f
         #8 branch fork of #0 after a
         #8 += g",
    );
}

#[test]
fn what_follows_the_active_message_is_a_fork() {
    check(&session("a* b<a"), &Known::nothing(), "#0 main\n#0 += a\n#2 branch fork of #0 after a\n#2 += b");
}

#[test]
fn a_branch_of_a_branch_forks_from_it() {
    check(
        &session("a b<a* c<a d<c e<c"),
        &Known::nothing(),
        "#0 main
         #0 += a
         #0 += b
         #3 branch fork of #0 after a
         #3 += c
         #3 += d
         #6 branch fork of #3 after c
         #6 += e",
    );
}

#[test]
fn a_second_root_and_a_lost_parent_share_nothing() {
    check(&session("a* x y<lost"), &Known::nothing(), "#0 main\n#0 += a\n#2 branch\n#2 += x\n#4 branch\n#4 += y");
}

/// A store in which T holds messages of the session.
fn stored(messages: &'static [&'static str]) -> impl Fn(&str, &str) -> Option<Placed> {
    let last = messages.len() - 1;
    let places: HashMap<&str, usize> = messages.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    move |_, id| Some(Placed { thread: "T".to_owned(), is_last: *places.get(id)? == last, is_main: true })
}

#[test]
fn a_second_import_adds_only_what_is_new() {
    let placed = stored(&["a", "b"]);
    let known = Known { placed: &placed, is_same: &|_| true, thread: &|_| None };
    check(&session("a b<a*"), &known, "");
    check(&session("a b<a c<b*"), &known, "T += c");
    // A reading that began after the messages.
    check(&session("c<b d<c*"), &known, "T += c\nT += d");
    let known = Known { placed: &placed, is_same: &|message| message.id != "b", thread: &|_| None };
    check(&session("a b<a c<b*"), &known, "T ~ b\nT += c");
}

#[test]
fn a_rewind_after_an_import_keeps_the_old_way() {
    let placed = stored(&["a", "b", "c"]);
    let known = Known { placed: &placed, is_same: &|_| true, thread: &|_| None };
    check(&session("a b<a c<b d<a*"), &known, "keep T\ncut T after a\nT += d");
    // What the old way got meanwhile is added to it.
    check(&session("a b<a c<b e<c d<a*"), &known, "keep T\ncut T after a\nT += d\n#0 += e");
    check(&session("e<c d<a*"), &known, "keep T\ncut T after a\nT += d\n#0 += e");
    check(&session("e<b d<a*"), &known, "keep T\ncut T after a\nT += d\n#3 branch fork of #0 after b\n#3 += e");
    check(&session("a b<a c<b* d<a"), &known, "#0 branch fork of T after a\n#0 += d");
}

#[test]
fn history_of_another_session_is_shared() {
    let placed = |session: &str, id: &str| {
        let is_there = (session == "S" && ["a", "b"].contains(&id)) || (session == "P" && id == "9");
        is_there.then(|| Placed { thread: "P".to_owned(), is_last: false, is_main: false })
    };
    let known = Known { placed: &placed, is_same: &|_| true, thread: &|_| None };
    check(&session("a b<a c<b*"), &known, "#0 main fork of P after b\n#0 += c");
    let mut fork = session("1 2<1*");
    let origin = |kind| Some(Origin { kind, session: "P".to_owned(), message: Some("9".to_owned()), call: None });
    fork.origin = origin(OriginKind::Fork);
    check(&fork, &known, "#0 main fork of P after 9\n#0 += 1\n#0 += 2");
    fork.origin = origin(OriginKind::Subagent);
    check(&fork, &known, "#0 main under P\n#0 += 1\n#0 += 2");
    // The session is known, and not the message.
    fork.origin = Some(Origin { kind: OriginKind::Subagent, session: "Q".to_owned(), message: None, call: None });
    let thread = |session: &str| (session == "Q").then(|| "TQ".to_owned());
    let known = Known { placed: &placed, is_same: &|_| true, thread: &thread };
    check(&fork, &known, "#0 main under TQ\n#0 += 1\n#0 += 2");
}
