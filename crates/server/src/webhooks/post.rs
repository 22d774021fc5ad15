//! One post to an address outside, and on where that redirects it.

use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{Request, header};
use threadkeep_outgoing::{Address, Failed, Limits, Outgoing, Reach, Response, full};

use super::{SIGNATURE, WebhookSettings};

/// How many redirects a post follows.
const REDIRECTS_MAX: usize = 3;

/// Sends posts.
pub(super) struct Post {
    outgoing: Outgoing,
    settings: WebhookSettings,
}

impl Post {
    pub(super) fn new(settings: WebhookSettings) -> Self {
        let reach = if settings.allow_private { Reach::Anywhere } else { Reach::Public };
        let limits = Limits { connect: settings.timeout, answer: settings.timeout, ..Limits::default() };
        Self { outgoing: Outgoing::new(reach, limits), settings }
    }

    /// Sends `body` to `url`, within the time of the settings.
    pub(super) async fn send(&self, url: &str, body: &str, signature: &str) -> Result<(), Failed> {
        let too_slow = |_| Failed::after(format!("no answer within {} s", self.settings.timeout.as_secs_f32()));
        tokio::time::timeout(self.settings.timeout, self.follow(url, body, signature)).await.map_err(too_slow)?
    }

    async fn follow(&self, url: &str, body: &str, signature: &str) -> Result<(), Failed> {
        let mut uri: Uri = url.parse().map_err(|_| Failed::before("the address is no URL").for_good())?;
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.once(&uri, body, signature).await?;
            let status = answer.status();
            if status.is_success() {
                return Ok(());
            }
            // Others than these would make it another request.
            if !matches!(status.as_u16(), 307 | 308) {
                return Err(Failed::after(format!("the answer was {status}")));
            }
            let to = answer.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            uri = next(&uri, to).ok_or_else(|| Failed::after("the answer redirects to no URL"))?;
        }
        Err(Failed::after(format!("there were more than {REDIRECTS_MAX} redirects")))
    }

    /// The answer of one address. Only its head is read.
    async fn once(&self, uri: &Uri, body: &str, signature: &str) -> Result<Response, Failed> {
        let address = Address::of(uri).map_err(|wrong| Failed::before(wrong).for_good())?;
        let request = Request::post(uri.path_and_query().map_or("/", PathAndQuery::as_str))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("threadkeep/", env!("CARGO_PKG_VERSION")))
            .header(SIGNATURE, signature)
            .body(full(body.to_owned()))
            .map_err(|error| Failed::before(error).for_good())?;
        let named = |failed: Failed| Failed { what: format!("{}: {}", address.host(), failed.what), ..failed };
        self.outgoing.send(&address, request).await.map_err(named)
    }
}

/// Where `to` leads from `from`.
fn next(from: &Uri, to: &str) -> Option<Uri> {
    let next: Uri = to.parse().ok()?;
    if next.scheme().is_some() {
        return Some(next);
    }
    // Only paths from the root: everything else would have to be put together, for no use.
    let path = next.path_and_query().filter(|path| path.as_str().starts_with('/') && next.authority().is_none())?;
    Uri::builder()
        .scheme(from.scheme()?.clone())
        .authority(from.authority()?.clone())
        .path_and_query(path.clone())
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_names_an_address_or_a_path() {
        let from: Uri = "http://example.com:81/hook".parse().expect("a uri");
        let to = |to: &str| next(&from, to).map(|uri| uri.to_string());
        assert_eq!(to("/other?x=1").as_deref(), Some("http://example.com:81/other?x=1"));
        assert_eq!(to("https://elsewhere/").as_deref(), Some("https://elsewhere/"));
        assert_eq!((to(""), to("other")), (None, None));
    }
}
