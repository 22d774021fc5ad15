//! One post to an address outside, and on where that redirects it.

use axum::http::uri::{PathAndQuery, Uri};
use axum::http::{Request, header};
use threadkeep_outgoing::{Address, Failed, Outgoing, Response, full};

use super::SIGNATURE;

/// How many redirects a post follows.
const REDIRECTS_MAX: usize = 3;

/// Sends `body` to `url`.
pub(super) async fn post(outgoing: &Outgoing, url: &str, body: &str, signature: &str) -> Result<(), Failed> {
    let mut uri: Uri = url.parse().map_err(|_| Failed::before("the address is no URL").for_good())?;
    for _ in 0..=REDIRECTS_MAX {
        let answer = once(outgoing, &uri, body, signature).await?;
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
async fn once(outgoing: &Outgoing, uri: &Uri, body: &str, signature: &str) -> Result<Response, Failed> {
    let address = Address::of(uri).map_err(|wrong| Failed::before(wrong).for_good())?;
    let request = Request::post(uri.path_and_query().map_or("/", PathAndQuery::as_str))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, concat!("threadkeep/", env!("CARGO_PKG_VERSION")))
        .header(SIGNATURE, signature)
        .body(full(body.to_owned()))
        .map_err(|error| Failed::before(error).for_good())?;
    let named = |failed: Failed| Failed { what: format!("{}: {}", address.host(), failed.what), ..failed };
    outgoing.send(&address, request).await.map_err(named)
}

/// Where `to` leads from `from`, if it is a whole URL or a path from the root.
fn next(from: &Uri, to: &str) -> Option<Uri> {
    let mut to = to.parse::<Uri>().ok()?.into_parts();
    if to.scheme.is_none() {
        if to.authority.is_some() {
            return None;
        }
        (to.scheme, to.authority) = (from.scheme().cloned(), from.authority().cloned());
    }
    Uri::from_parts(to).ok()
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
