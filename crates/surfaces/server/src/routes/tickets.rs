//! Tickets, for browsers that cannot send a key.

use std::time::Instant;

use axum::extract::State;
use threadkeep::Invalid;
use threadkeep_calls::{NewTicket, Ticket};

use crate::access::{Access, is_stream};
use crate::answer::{Answer, created};
use crate::app::App;
use crate::input::Body;
use crate::table::{self, Gives, Routes};
use crate::tickets::TICKET_TTL;

pub(crate) fn routes() -> Routes {
    let draw = table::post(
        ("createTicket", "/v1/tickets"),
        "Makes a ticket, which opens one stream once, within a minute, in place of a key.",
        draw,
        Gives::created::<Ticket>("The ticket, to be sent as `?ticket=`."),
    );
    let example = r#"{"path":"/v1/threads/T-5928a90d-d53b-488f-a829-4e36442142ee/stream"}"#;
    Routes::new("Keys", "", [draw.example(example)])
}

async fn draw(State(app): State<App>, access: Access, Body(asked): Body<NewTicket>) -> Answer {
    let path = asked.path;
    if !is_stream(&path) || path.contains('?') {
        let rule = "is not the path of a stream, such as /v1/threads/ID/stream, without a query";
        return Err(Invalid::body("path", rule).into());
    }
    let ttl = i64::try_from(TICKET_TTL.as_micros()).unwrap_or(i64::MAX);
    let expires_at = app.engine.now().plus_micros(ttl);
    let ticket = app.tickets.draw(path.clone(), access.opened.key, Instant::now());
    Ok(created(&Ticket { ticket, path, expires_at }))
}
