//! Reads and events between threads: references and observers.

use threadkeep::model::Deliver;
use threadkeep::{Reference, ThreadName, Unobserve, Uuid, Verb};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::messages::{Which, shown};
use super::threads::named;
use crate::access::{Access, Writing};
use crate::answer::{Answer, at, created, json};
use crate::input::{Body, Path, Query};
use crate::table::{self, Gives, Routes};
use crate::webhooks;

pub(crate) fn routes() -> Routes {
    Routes::new(
        "References and observers",
        "What threads read of each other, and what they are told of each other.",
        [
            table::post(
                ("referThread", "/v1/threads/{thread}/reference"),
                "Makes a reference to another thread: to read it as it is now, or to follow it.",
                refer,
                Gives::created::<api::Reference>("The reference."),
            )
            .example(r#"{"target":"T-5928a90d-d53b-488f-a829-4e36442142ee","scope":["messages"],"binding":"frozen"}"#),
            table::get(
                ("listReferences", "/v1/threads/{thread}/references"),
                "Lists what a thread reads, and what reads it.",
                references,
                Gives::json::<api::References>("Those that hold."),
            ),
            table::get(
                ("getReference", "/v1/references/{reference}"),
                "Shows a reference.",
                reference,
                Gives::json::<api::Reference>("The reference."),
            ),
            table::get(
                ("listReferredMessages", "/v1/references/{reference}/messages"),
                "Reads the messages that a reference shows.",
                messages,
                Gives::json::<api::Page<api::Message<'static>>>("A page of them.").versioned(),
            )
            .fails([
                ErrorCode::ReferenceGone,
                ErrorCode::InvalidCursor,
                ErrorCode::IndexOutOfRange,
                ErrorCode::VersionInFuture,
            ]),
            table::post(
                ("observeThread", "/v1/threads/{thread}/observe"),
                "Has a thread told of what happens to another one.",
                observe,
                Gives::created::<api::Observer>("The observer, with the secret of its webhook."),
            )
            .example(
                r#"{"target":"T-5928a90d-d53b-488f-a829-4e36442142ee","events":["done"],"deliver":{"thread":true}}"#,
            )
            .fails([ErrorCode::ThreadClosed]),
            table::get(
                ("listObservers", "/v1/threads/{thread}/observers"),
                "Lists what a thread is told of others.",
                observers,
                Gives::json::<api::Page<api::Observer>>("Those that hold."),
            ),
            table::get(
                ("getObserver", "/v1/threads/{thread}/observers/{observer}"),
                "Shows what a thread is told of another one.",
                observer,
                Gives::json::<api::Observer>("The observer."),
            ),
            table::delete(
                ("unobserveThread", "/v1/threads/{thread}/observers/{observer}"),
                "Has a thread told no more.",
                unobserve,
                Gives::json::<api::Deleted>("Whether there was such an observer."),
            )
            .never(ErrorCode::ObserverNotFound),
        ],
    )
}

async fn refer(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::NewReference>) -> Answer {
    let thread = named(&access, &name).await?;
    let target: ThreadName = asked.target.parse()?;
    let reference = Reference { target, scope: asked.scope, binding: asked.binding };
    Ok(created(&api::Reference::from(&access.engine.reference(thread.id, reference).await?)))
}

async fn references(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    Ok(json(&api::References::from(&access.engine.references(thread.id).await?)))
}

async fn reference(access: Access, Path(id): Path<String>) -> Answer {
    Ok(json(&api::Reference::from(&access.engine.reference_by_id(id.parse()?).await?)))
}

async fn messages(access: Access, Path(id): Path<String>, Query(which): Query<Which>) -> Answer {
    let id: Uuid = id.parse()?;
    let target = access.engine.reference_by_id(id).await?.referenced.target;
    let (counted, wanted) = which.counts();
    let page = access.engine.reference_messages(id, which.page()?).await?;
    let standing = access.engine.standing(target, Verb::Reference).await?;
    let items = page.items.iter().map(|message| shown(message, standing)).collect::<Result<Vec<_>, _>>()?;
    let total = counted.then_some(page.total).filter(|_| wanted);
    Ok(at(page.version, json(&api::Page { items, next_cursor: page.next.clone(), total })))
}

async fn observe(Writing(access): Writing, Path(name): Path<String>, Body(asked): Body<api::NewObserver>) -> Answer {
    let thread = named(&access, &name).await?;
    let observer = access.engine.observe_thread(thread.id, asked.try_into()?).await?;
    let secret = match &observer.added.deliver {
        Deliver::Thread => None,
        Deliver::Webhook(_) => Some(webhooks::secret(&access.engine, observer.added.id).await?),
    };
    Ok(created(&api::Observer { secret, ..api::Observer::from(&observer) }))
}

async fn observers(access: Access, Path(name): Path<String>) -> Answer {
    let thread = named(&access, &name).await?;
    let found = access.engine.observers(thread.id).await?;
    let items: Vec<_> = found.iter().map(api::Observer::from).collect();
    let total = Some(items.len() as u64);
    Ok(json(&api::Page { items, next_cursor: None, total }))
}

async fn observer(access: Access, Path((name, id)): Path<(String, String)>) -> Answer {
    let thread = named(&access, &name).await?;
    Ok(json(&api::Observer::from(&access.engine.observer(thread.id, id.parse()?).await?)))
}

async fn unobserve(Writing(access): Writing, Path((name, id)): Path<(String, String)>) -> Answer {
    let thread = named(&access, &name).await?;
    let deleted = access.engine.unobserve(thread.id, Unobserve { id: id.parse()? }).await?;
    Ok(json(&api::Deleted { deleted }))
}
