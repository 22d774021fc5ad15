//! Where a server is.

use http::Uri;
use http::uri::Authority;

/// Where a server is: a URL such as `https://keep.example:8473/team`, without a name, a password or a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) encrypted: bool,
    authority: Authority,
    /// The path, without a slash at its end.
    pub path: String,
}

/// The rule that a URL breaks. The URL is not repeated, since it may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address {0}")]
pub struct WrongAddress(pub &'static str);

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    /// If it is no http:// or https:// URL with a host, or has a name, a password or a query.
    pub fn parse(url: &str) -> Result<Self, WrongAddress> {
        let wrong = WrongAddress("is not a URL such as http://127.0.0.1:8473 or https://keep.example");
        let uri: Uri = url.parse().map_err(|_| wrong)?;
        match uri.query() {
            Some(_) => Err(WrongAddress("has a query; name the server alone")),
            None => Self::of(&uri),
        }
    }

    /// The address that a whole URL leads to. Its query is no part of it.
    ///
    /// # Errors
    /// If it is no http:// or https:// URL with a host, or has a name or a password.
    pub fn of(uri: &Uri) -> Result<Self, WrongAddress> {
        let encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") if cfg!(feature = "tls") => true,
            Some("https") => return Err(WrongAddress("is an https:// URL; this program was built without TLS")),
            _ => return Err(WrongAddress("does not begin with http:// or https://")),
        };
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or(WrongAddress("names no host"))?.clone();
        if authority.as_str().contains('@') {
            return Err(WrongAddress("contains a name or a password; keys are given apart"));
        }
        // `http` reads a port that is too large as none.
        let after_host = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !after_host.trim_start_matches(':').is_empty() && authority.port_u16().is_none() {
            return Err(WrongAddress("has a port that is no number from 0 to 65535"));
        }
        Ok(Self { encrypted, authority, path: uri.path().trim_end_matches('/').to_owned() })
    }

    /// The host, and the port if it is not the usual one, as `Host` has them.
    pub fn authority(&self) -> String {
        let (host, port) = (self.authority.host(), self.port());
        if port == self.usual_port() { host.to_owned() } else { format!("{host}:{port}") }
    }

    /// The URL, for people.
    pub fn url(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.path)
    }

    /// The host without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    pub(crate) fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(self.usual_port())
    }

    /// Whether a connection to one is a connection to the other.
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.encrypted == other.encrypted && self.authority == other.authority
    }

    fn usual_port(&self) -> u16 {
        if self.encrypted { 443 } else { 80 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_without_secrets() {
        let shown = |url: &str| Address::parse(url).map(|address| (address.url(), address.authority()));
        for (url, authority) in [
            ("http://127.0.0.1:8473", "127.0.0.1:8473"),
            #[cfg(feature = "tls")]
            ("https://keep.example", "keep.example"),
            ("http://[::1]:80", "[::1]"),
            #[cfg(feature = "tls")]
            ("https://keep.example:8443/team", "keep.example:8443"),
        ] {
            let (shown, said) = shown(url).expect(url);
            assert!(url.starts_with(&shown) && said == authority, "{shown} {said}");
        }
        assert_eq!(Address::parse("http://keep.example/team/").expect("a URL").path, "/team");
        for url in
            ["", "keep.example", "ftp://x", "http://", "http://ann:secret@x", "http://x?key=secret", "http://x:99999"]
        {
            let refused = shown(url).expect_err(url);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }
}
