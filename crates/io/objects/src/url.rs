//! Which object store: `s3://bucket/prefix?endpoint=…` or `file:PATH`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use threadkeep_model::Invalid;

/// Contents with more bytes than this become objects, unless the URL says otherwise.
const OVER_BYTES: usize = 1 << 20;
/// Bytes of a part of an upload, unless the URL says otherwise. Services take 10,000 parts.
const PART_BYTES: usize = 8 << 20;
/// Longest time for an answer, in seconds, unless the URL says otherwise.
const TIMEOUT_SECONDS: u64 = 10;
/// The smallest part that services take.
const PART_BYTES_MIN: usize = 5 << 20;
/// The largest part: it is in memory.
const PART_BYTES_MAX: usize = 64 << 20;

const KNOWN: &str = "use s3://bucket/prefix, with ?endpoint=https://… for a service other than AWS, or file:PATH";

/// Which object store, and what goes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectsUrl {
    pub(crate) place: Place,
    /// Contents with more bytes than this go there.
    pub(crate) over: usize,
    /// Bytes of a part of an upload.
    pub(crate) part: usize,
    /// Longest time for an answer.
    pub(crate) timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Folder(PathBuf),
    S3(S3),
}

/// A bucket of an S3-compatible service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct S3 {
    pub(crate) bucket: String,
    pub(crate) prefix: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    /// Whether the bucket is part of the host's name, and not of the path.
    pub(crate) in_host: bool,
    pub(crate) keys: Option<Keys>,
}

/// The keys of a service, where they do not come from the environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// As AWS_ACCESS_KEY_ID.
    pub id: String,
    /// As AWS_SECRET_ACCESS_KEY.
    pub secret: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("id", &self.id).finish_non_exhaustive()
    }
}

impl ObjectsUrl {
    /// The same with these keys, in place of those in the environment. A folder needs none.
    #[must_use]
    pub fn with_keys(mut self, keys: Keys) -> Self {
        if let Place::S3(s3) = &mut self.place {
            s3.keys = Some(keys);
        }
        self
    }
}

fn wrong(rule: impl Into<String>) -> Invalid {
    Invalid::parameter("objects", rule)
}

impl FromStr for ObjectsUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let mut parsed = match (place.strip_prefix("s3://"), place.strip_prefix("file:")) {
            (Some(bucket), _) => Self::new(Place::S3(S3::parse(bucket)?)),
            (None, Some(path)) => Self::new(Place::Folder(folder(path)?)),
            // The URL is not repeated: an unknown one may hold a secret.
            (None, None) => return Err(wrong(format!("is not known; {KNOWN}"))),
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match (&*name, &mut parsed.place) {
                ("over", _) => parsed.over = bytes("over", &value)?,
                ("part", _) => parsed.part = bytes("part", &value)?,
                ("timeout", _) => {
                    let seconds = value.parse().ok().filter(|seconds| (1..=600).contains(seconds));
                    let rule = "has a timeout that is not a number of seconds from 1 to 600";
                    parsed.timeout = seconds.map(Duration::from_secs).ok_or_else(|| wrong(rule))?;
                }
                ("endpoint", Place::S3(s3)) => s3.endpoint = Some(endpoint(&value)?),
                ("region", Place::S3(s3)) => s3.region = Some(value.into_owned()),
                ("style", Place::S3(s3)) => {
                    s3.in_host = match &*value {
                        "path" => false,
                        "host" => true,
                        _ => return Err(wrong("has a style other than path or host")),
                    };
                }
                _ => {
                    return Err(wrong("has an unknown parameter; known: endpoint, region, style, over, part, timeout"));
                }
            }
        }
        let least = if matches!(parsed.place, Place::S3(_)) { PART_BYTES_MIN } else { 1 };
        if !(least..=PART_BYTES_MAX).contains(&parsed.part) {
            return Err(wrong(format!("has a part that is not between {least} and {PART_BYTES_MAX} bytes")));
        }
        if parsed.over > parsed.part {
            return Err(wrong(format!("keeps contents of more bytes than a part has ({})", parsed.part)));
        }
        Ok(parsed)
    }
}

impl ObjectsUrl {
    fn new(place: Place) -> Self {
        Self { place, over: OVER_BYTES, part: PART_BYTES, timeout: Duration::from_secs(TIMEOUT_SECONDS) }
    }
}

impl S3 {
    fn parse(text: &str) -> Result<Self, Invalid> {
        if text.contains('@') {
            return Err(wrong("has a key in it; keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
        }
        let (bucket, prefix) = text.split_once('/').unwrap_or((text, ""));
        if bucket.is_empty() {
            return Err(wrong(format!("names no bucket; {KNOWN}")));
        }
        let prefix = prefix.trim_matches('/').to_owned();
        Ok(Self { bucket: bucket.to_owned(), prefix, endpoint: None, region: None, in_host: false, keys: None })
    }
}

fn folder(path: &str) -> Result<PathBuf, Invalid> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() { Err(wrong(format!("names no folder; {KNOWN}"))) } else { Ok(path.into()) }
}

fn endpoint(text: &str) -> Result<String, Invalid> {
    let host = ["http://", "https://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['@', '?', '#']) => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(wrong("has an endpoint that is not an address such as https://objects.example")),
    }
}

fn bytes(name: &str, text: &str) -> Result<usize, Invalid> {
    text.parse().map_err(|_| wrong(format!("has '{name}', which is not a number of bytes")))
}

/// Without keys.
impl fmt::Display for ObjectsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Folder(path) => write!(f, "file:{}", path.display()),
            Place::S3(S3 { bucket, prefix, endpoint, .. }) => {
                write!(f, "s3://{bucket}")?;
                if !prefix.is_empty() {
                    write!(f, "/{prefix}")?;
                }
                endpoint.as_ref().map_or(Ok(()), |endpoint| write!(f, "?endpoint={endpoint}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_or_a_folder_and_shows_no_keys() {
        for (url, shown) in [
            ("s3://keep", "s3://keep"),
            ("s3://keep/a/b/?region=eu-west-1&style=host", "s3://keep/a/b"),
            ("s3://keep?endpoint=http://127.0.0.1:9000/&over=0", "s3://keep?endpoint=http://127.0.0.1:9000"),
            ("s3://keep?endpoint=http%3A%2F%2F127.0.0.1%3A9000", "s3://keep?endpoint=http://127.0.0.1:9000"),
            ("file:objects", "file:objects"),
            ("file:///var/lib/objects?part=100&over=50", "file:/var/lib/objects"),
        ] {
            let parsed: ObjectsUrl = url.parse().expect(url);
            let keyed = parsed.with_keys(Keys { id: "id".into(), secret: "hush".into() });
            assert_eq!(keyed.to_string(), shown);
            assert!(!format!("{keyed:?}").contains("hush"));
        }
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_rule_and_not_repeated() {
        for url in [
            "",
            "secret",
            "https://bucket",
            "s3://",
            "s3://key:secret@bucket",
            "file:",
            "s3://b?endpoint=secret",
            "s3://b?endpoint=http://u:secret@h",
            "s3://b?style=secret",
            "s3://b?part=100",
            "s3://b?over=99999999999",
            "s3://b?over=-1",
            "s3://b?timeout=0",
            "file:a?endpoint=http://h",
            "s3://b?colour=secret",
        ] {
            let refused = url.parse::<ObjectsUrl>().expect_err(url).to_string();
            assert!(refused.contains("objects") && !refused.contains("secret"), "{url}: {refused}");
        }
    }
}
