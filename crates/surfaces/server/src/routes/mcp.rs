//! `/mcp`: the Model Context Protocol over HTTP. Its dispatcher asks the routes of this server, as any client does.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header;
use axum::routing::any;
use threadkeep::Invalid;
use threadkeep_calls::Problem;
use threadkeep_client::{Client, Exchange, Key, Retry, Settings, Transport};
use threadkeep_mcp::{Chosen, Dispatcher};
use threadkeep_outgoing::boxed;
use tower::ServiceExt;

use crate::access::{Access, unauthorized};
use crate::answer::Answer;
use crate::app::App;
use crate::input;

/// The server, and its routes.
#[derive(Clone)]
struct Mcp {
    app: App,
    api: Router,
}

/// The route, on top of the routes of the server.
pub(crate) fn route(app: App, api: Router) -> Router {
    Router::new().route("/mcp", any(answer)).with_state(Mcp { app, api })
}

/// How requests of the dispatcher travel: to the routes, in this process.
struct Inside(Router);

impl Transport for Inside {
    fn exchange(&self, request: threadkeep_client::Request) -> Exchange<'_> {
        Box::pin(async {
            match self.0.clone().oneshot(request.map(Body::new)).await {
                Ok(response) => Ok(response.map(boxed)),
                Err(never) => match never {},
            }
        })
    }

    fn apart(&self) -> Arc<dyn Transport> {
        Arc::new(Self(self.0.clone()))
    }
}

async fn answer(State(mcp): State<Mcp>, request: Request) -> Answer {
    let (mut parts, body) = request.into_parts();
    // A session of a browser opens no tools: a page could use them.
    let authorization = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let secret = authorization.and_then(|value| value.split_once(' ')).map(|(_, secret)| secret.trim().to_owned());
    let secret = secret.ok_or_else(unauthorized)?;
    Access::from_request_parts(&mut parts, &mcp.app).await?;
    let chosen = match parts.uri.query().and_then(|query| query.strip_prefix("tools=")) {
        Some(words) => {
            let words = words.replace("%2C", ",").replace("%2c", ",");
            words.parse::<Chosen>().map_err(|unknown| Invalid::parameter("tools", unknown.to_string()))?
        }
        None => Chosen::default(),
    };
    let settings = Settings { retry: Retry::never(), ..Settings::default() };
    let client = Client::over(Arc::new(Inside(mcp.api)), "this server", Key::new(secret), settings);
    let client = client.map_err(Problem::from)?;
    let dispatcher = Dispatcher::http(&client, chosen, mcp.app.stopping.clone());
    let text = input::text(Request::from_parts(parts.clone(), body), &mcp.app.settings).await?;
    let request = axum::http::Request::from_parts(parts, text);
    Ok(dispatcher.answer(request).await.map(Body::new))
}
