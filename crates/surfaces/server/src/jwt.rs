//! JSON Web Tokens as keys: signed elsewhere, checked here, kept nowhere.
//!
//! The configured key decides the algorithm, never the token: HS256 for the shared secret, RS256 and ES256 for
//! the keys of a JWKS file. That file is read again when it changes, so that keys can be rotated.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{hmac, signature};
use serde::Deserialize;
use threadkeep::{Account, Actor, ActorKind, Key, Scope, Timestamp};
use threadkeep_calls::{ErrorCode, Problem, Status};

/// Longest token, in bytes.
const TOKEN_BYTES_MAX: usize = 8 << 10;
/// Shortest shared secret, in bytes: as long as an HS256 signature.
const SECRET_BYTES_MIN: usize = 32;
/// Largest JWKS file, in bytes.
const JWKS_BYTES_MAX: u64 = 1 << 20;
/// How far the clocks of others may be ahead.
const LEEWAY_S: f64 = 30.0;
/// How often the JWKS file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How tokens are checked. Without a secret and a file, there are none.
#[derive(Clone, Default)]
pub struct JwtSettings {
    /// The secret of HS256, shared with the signer.
    pub secret: Option<String>,
    /// A file with the public keys (JWKS) of RS256 and ES256.
    pub jwks: Option<PathBuf>,
    /// The issuer (`iss`) that a token must have.
    pub issuer: Option<String>,
    /// The required `aud`, or one of its items.
    pub audience: Option<String>,
}

impl fmt::Debug for JwtSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = self.secret.as_ref().map(|_| "…");
        let Self { jwks, issuer, audience, .. } = self;
        write!(f, "JwtSettings {{ secret: {secret:?}, jwks: {jwks:?}, issuer: {issuer:?}, audience: {audience:?} }}")
    }
}

/// The keys and claims that tokens are checked against.
pub(crate) struct Tokens {
    secret: Option<hmac::Key>,
    jwks: Option<Jwks>,
    issuer: Option<String>,
    audience: Option<String>,
}

impl Tokens {
    /// Reads the keys; none if no tokens are to be taken.
    ///
    /// # Errors
    /// A secret that is too short, a file that cannot be read or has no key that can be used.
    pub(crate) fn open(settings: JwtSettings) -> Result<Option<Self>, Problem> {
        let JwtSettings { secret, jwks, issuer, audience } = settings;
        if secret.is_none() && jwks.is_none() {
            return Ok(None);
        }
        if secret.as_ref().is_some_and(|secret| secret.len() < SECRET_BYTES_MIN) {
            let detail = format!("the secret for tokens has fewer than {SECRET_BYTES_MIN} bytes, and could be guessed");
            return Err(Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail));
        }
        let secret = secret.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()));
        Ok(Some(Self { secret, jwks: jwks.map(Jwks::open).transpose()?, issuer, audience }))
    }

    /// Whether `secret` has the shape of a token.
    pub(crate) fn is_token(secret: &str) -> bool {
        secret.starts_with("ey") && secret.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// The key that a token stands for, expired or not; none if its signature is invalid, or it is not for this
    /// server.
    pub(crate) fn read(&self, token: &str, now: Timestamp) -> Option<Key> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&decode(header)?).ok()?;
        let signature = decode(signature)?;
        let is_signed = match header.alg.as_str() {
            "HS256" => {
                let secret = self.secret.as_ref()?;
                hmac::verify(secret, signed.as_bytes(), &signature).is_ok()
            }
            alg @ ("RS256" | "ES256") => {
                let keys = self.jwks.as_ref()?.keys();
                let named = |key: &&PublicKey| {
                    key.alg() == alg && (header.kid.is_none() || key.kid.is_none() || key.kid == header.kid)
                };
                keys.iter().filter(named).any(|key| key.signed(signed.as_bytes(), &signature))
            }
            _ => false,
        };
        if !is_signed || header.crit.is_some() {
            return None;
        }
        let claims: Claims = serde_json::from_slice(&decode(claims)?).ok()?;
        self.admits(&claims, now).then(|| claims.key())?
    }

    fn admits(&self, claims: &Claims, now: Timestamp) -> bool {
        let is_ours = |wanted: &Option<String>, said: &[String]| {
            wanted.as_ref().is_none_or(|wanted| said.iter().any(|one| one == wanted))
        };
        let begun = claims.nbf.is_none_or(|begins| begins <= now.as_micros() as f64 / 1e6 + LEEWAY_S);
        let issuer = claims.iss.clone().map(|iss| vec![iss]).unwrap_or_default();
        begun && is_ours(&self.issuer, &issuer) && is_ours(&self.audience, &claims.aud.clone().list())
    }
}

fn decode(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood: there are none that we know.
    crit: Option<serde::de::IgnoredAny>,
}

/// The claims of a token. `exp` is required; unknown claims are ignored.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    iss: Option<String>,
    #[serde(default)]
    aud: Words,
    account: Option<String>,
    name: Option<String>,
    #[serde(default)]
    agent: bool,
    scope: Option<Words>,
}

/// One word, words with spaces between them, or a list.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Words {
    /// As they are: an audience may hold spaces.
    fn list(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Several(several) => several,
        }
    }
}

impl Claims {
    /// The key; none if a claim is no identity: a name that is mended could be that of another account.
    fn key(self) -> Option<Key> {
        Account::new(self.sub.as_str()).ok()?;
        let account = Account::new(self.account.unwrap_or_else(|| self.sub.clone())).ok()?;
        let kind = if self.agent { ActorKind::Agent } else { ActorKind::Human };
        let actor = Actor::new(kind, self.name.unwrap_or_else(|| self.sub.clone())).ok()?;
        let scope = match self.scope {
            None => Scope::Write,
            Some(words) => {
                let said = words.list();
                let known = said.iter().flat_map(|text| text.split_whitespace()).filter_map(|word| word.parse().ok());
                known.max().unwrap_or(Scope::Read)
            }
        };
        let micros = (self.exp * 1e6).clamp(0.0, i64::MAX as f64) as i64;
        let id = format!("{TOKEN_ID}{}", self.sub);
        let (created, expires) = (Timestamp::from_micros(0), Some(Timestamp::from_micros(micros)));
        Some(Key { id, account, actor, scope, created, expires, revoked: None })
    }
}

/// The prefix of the ids of keys made from tokens. No key in the registry has such an id.
pub(crate) const TOKEN_ID: &str = "jwt:";

/// The keys of a JWKS file.
struct Jwks {
    path: PathBuf,
    read: Mutex<Read>,
}

struct Read {
    keys: Arc<Vec<PublicKey>>,
    changed: Option<SystemTime>,
    looked: Instant,
}

struct PublicKey {
    kid: Option<String>,
    material: Material,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
}

impl Jwks {
    fn open(path: PathBuf) -> Result<Self, Problem> {
        let (keys, changed) = read_keys(&path).map_err(|what| {
            let detail = format!("the keys for tokens in {} cannot be used: {what}", path.display());
            let problem = Problem::new(Status::BadRequest, ErrorCode::InvalidParameter, detail);
            problem.hint("a JWKS file is {\"keys\":[…]} with public keys of kty RSA, or EC on the curve P-256")
        })?;
        Ok(Self { path, read: Mutex::new(Read { keys, changed, looked: Instant::now() }) })
    }

    /// The keys as they are now. A file that cannot be read at the moment changes nothing.
    fn keys(&self) -> Arc<Vec<PublicKey>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.looked.elapsed() >= LOOK_EVERY {
            read.looked = Instant::now();
            let changed = std::fs::metadata(&self.path).and_then(|about| about.modified()).ok();
            if changed != read.changed
                && let Ok((keys, changed)) = read_keys(&self.path)
            {
                (read.keys, read.changed) = (keys, changed);
            }
        }
        Arc::clone(&read.keys)
    }
}

type KeysAt = (Arc<Vec<PublicKey>>, Option<SystemTime>);

fn read_keys(path: &Path) -> Result<KeysAt, String> {
    #[derive(Deserialize)]
    struct File {
        keys: Vec<serde_json::Value>,
    }
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if about.len() > JWKS_BYTES_MAX {
        return Err(format!("it has more than {JWKS_BYTES_MAX} bytes"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let file: File = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    // The file may also hold keys for other uses and of other kinds.
    let keys: Vec<_> = file.keys.into_iter().filter_map(public_key).collect();
    if keys.is_empty() {
        return Err("it has no key for RS256 or ES256".to_owned());
    }
    Ok((Arc::new(keys), about.modified().ok()))
}

fn public_key(json: serde_json::Value) -> Option<PublicKey> {
    #[derive(Deserialize)]
    struct Jwk {
        kty: String,
        kid: Option<String>,
        alg: Option<String>,
        #[serde(rename = "use")]
        usage: Option<String>,
        crv: Option<String>,
        n: Option<String>,
        e: Option<String>,
        x: Option<String>,
        y: Option<String>,
    }
    let jwk: Jwk = serde_json::from_value(json).ok()?;
    if jwk.usage.as_deref().is_some_and(|usage| usage != "sig") {
        return None;
    }
    let part = |part: Option<String>| decode(&part?);
    let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => Material::Rsa { n: part(jwk.n)?, e: part(jwk.e)? },
        ("EC", Some("P-256")) => {
            let (x, y) = (part(jwk.x)?, part(jwk.y)?);
            let is_point = x.len() == 32 && y.len() == 32;
            is_point.then(|| Material::P256([&[4], &x[..], &y[..]].concat()))?
        }
        _ => return None,
    };
    let key = PublicKey { kid: jwk.kid, material };
    jwk.alg.is_none_or(|alg| alg == key.alg()).then_some(key)
}

impl PublicKey {
    fn alg(&self) -> &'static str {
        match self.material {
            Material::Rsa { .. } => "RS256",
            Material::P256(_) => "ES256",
        }
    }

    fn signed(&self, text: &[u8], by: &[u8]) -> bool {
        match &self.material {
            Material::Rsa { n, e } => {
                let key = signature::RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, text, by).is_ok()
            }
            Material::P256(point) => {
                let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                key.verify(text, by).is_ok()
            }
        }
    }
}
