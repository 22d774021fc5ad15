//! The caller of a request, as its key tells.

use threadkeep_calls::Me;

use crate::access::Access;
use crate::answer::{Answer, json};
use crate::table::{self, Gives, Routes};

pub(crate) fn routes() -> Routes {
    let me = table::get(
        ("getMe", "/v1/me"),
        "Shows the account, the actor and the scope of the key, and the version of the server.",
        me,
        Gives::json::<Me>("The caller."),
    );
    Routes::new("Keys", "", [me])
}

async fn me(access: Access) -> Answer {
    let Access { engine, opened } = access;
    Ok(json(&Me {
        account: opened.key.account.clone(),
        actor: engine.caller().actor.clone(),
        scope: opened.key.scope,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}
