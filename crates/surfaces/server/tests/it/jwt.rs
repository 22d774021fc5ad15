//! Tokens signed by another party: the callers they stand for, and the tokens that are refused.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use ring::{hmac, rand};
use serde_json::{Value, json};
use threadkeep_server::{JwtSettings, Start};

use crate::support::{Server, store};

const SECRET: &str = "a secret that is long enough to be one";

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn in_seconds(more: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    i64::try_from(now).expect("a time") + more
}

fn unsigned(header: Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string()), encode(claims.to_string()))
}

fn hs256(secret: &str, claims: &Value) -> String {
    let signed = unsigned(json!({ "alg": "HS256", "typ": "JWT" }), claims);
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), signed.as_bytes());
    format!("{signed}.{}", encode(signature))
}

/// A key of an issuer, on the curve P-256.
struct Issuer {
    kid: &'static str,
    pair: EcdsaKeyPair,
}

impl Issuer {
    fn new(kid: &'static str) -> Self {
        let chance = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &chance).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &chance).expect("a pair");
        Self { kid, pair }
    }

    fn jwk(&self) -> Value {
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(32);
        json!({ "kty": "EC", "crv": "P-256", "kid": self.kid, "alg": "ES256", "x": encode(x), "y": encode(y) })
    }

    fn token(&self, claims: &Value) -> String {
        let signed = unsigned(json!({ "alg": "ES256", "kid": self.kid }), claims);
        let signature = self.pair.sign(&rand::SystemRandom::new(), signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", encode(signature))
    }
}

/// A token of the algorithm RS256, signed by a key that is gone, and the public key to check it with.
fn rs256() -> (Value, String) {
    let kept: Value = serde_json::from_str(include_str!("rs256.json")).expect("json");
    (kept["jwk"].clone(), kept["token"].as_str().expect("a token").to_owned())
}

fn jwks(folder: &tempfile::TempDir, keys: &[Value]) -> PathBuf {
    let path = folder.path().join("jwks.json");
    std::fs::write(&path, json!({ "keys": keys }).to_string()).expect("a file");
    path
}

#[test]
fn a_token_speaks_for_its_subject_as_far_as_its_scope_goes() {
    let server = Server::with_tokens(JwtSettings { secret: Some(SECRET.into()), ..JwtSettings::default() });
    let token = |more: Value| {
        let mut claims = json!({ "sub": "ann", "exp": in_seconds(60) });
        claims.as_object_mut().expect("claims").extend(more.as_object().expect("claims").clone());
        hs256(SECRET, &claims)
    };
    let ann = server.with_key(&token(json!({ "agent": true, "name": "nightly" })));
    let thread = ann.thread(&["hi"]);
    let said = ann.get(&format!("/v1/threads/{thread}/messages")).ok(200);
    assert_eq!(said["items"][0]["actor"], json!({ "type": "agent", "name": "nightly" }));
    ann.get("/v1/keys").refused(403, "forbidden");
    let path = format!("/v1/threads/{thread}");
    let reader = server.with_key(&token(json!({ "scope": "openid profile" })));
    reader.get(&path).ok(200);
    reader.delete(&path).refused(403, "forbidden");
    server.with_key(&token(json!({ "scope": ["read", "admin"] }))).get("/v1/keys").ok(200);
    server.with_key(&token(json!({ "account": "bob" }))).get(&path).refused(404, "thread_not_found");
}

#[test]
fn a_token_that_is_expired_not_yet_good_forged_or_unsigned_opens_nothing() {
    let server = Server::with_tokens(JwtSettings { secret: Some(SECRET.into()), ..JwtSettings::default() });
    let good = json!({ "sub": "ann", "exp": in_seconds(60) });
    server.with_key(&hs256(SECRET, &good)).get("/v1/threads").ok(200);
    let none = unsigned(json!({ "alg": "none" }), &good);
    let critical = unsigned(json!({ "alg": "HS256", "crit": ["b64"] }), &good);
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let critical = format!("{critical}.{}", encode(hmac::sign(&key, critical.as_bytes())));
    let tokens = [
        hs256(SECRET, &json!({ "sub": "ann", "exp": in_seconds(-1) })),
        hs256(SECRET, &json!({ "sub": "ann", "exp": in_seconds(600), "nbf": in_seconds(300) })),
        hs256(SECRET, &json!({ "sub": "ann" })),
        hs256(SECRET, &json!({ "sub": "ann", "exp": "tomorrow" })),
        hs256(SECRET, &json!({ "sub": "", "exp": in_seconds(60) })),
        hs256("another secret that is long enough too", &good),
        format!("{none}."),
        critical,
        Issuer::new("k").token(&good),
        format!("{}.x", hs256(SECRET, &good)),
        "ey..".to_owned(),
        format!("ey{}", "x.".repeat(2)),
    ];
    for token in tokens {
        server.with_key(&token).get("/v1/threads").refused(401, "unauthorized");
    }
}

#[test]
fn a_claim_with_another_spelling_opens_no_account() {
    let server = Server::with_tokens(JwtSettings { secret: Some(SECRET.into()), ..JwtSettings::default() });
    for odd in ["a\0", "\0a", " a", "a ", "a\n", "a\u{200b}", "e\u{301}", "a\u{a0}"] {
        for claim in ["sub", "account", "name"] {
            let mut claims = json!({ "sub": "a", "exp": in_seconds(60) });
            claims[claim] = json!(odd);
            server.with_key(&hs256(SECRET, &claims)).get("/v1/threads").refused(401, "unauthorized");
        }
        // A subject counts also where another claim names the account.
        let claims = json!({ "sub": odd, "account": "a", "name": "a", "exp": in_seconds(60) });
        server.with_key(&hs256(SECRET, &claims)).get("/v1/threads").refused(401, "unauthorized");
    }
}

#[test]
fn public_keys_come_from_a_file_and_can_be_rotated() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (Issuer::new("a"), Issuer::new("b"));
    let (rsa, signed_by_rsa) = rs256();
    let path = jwks(&folder, &[rsa.clone(), first.jwk(), json!({ "kty": "OKP" })]);
    let settings = JwtSettings {
        jwks: Some(path),
        issuer: Some("https://id.example".into()),
        audience: Some("threadkeep".into()),
        ..JwtSettings::default()
    };
    let server = Server::with_tokens(settings);
    let claims = json!({ "sub": "ann", "exp": in_seconds(600), "iss": "https://id.example", "aud": "threadkeep" });
    server.with_key(&signed_by_rsa).get("/v1/threads").ok(200);
    server.with_key(&first.token(&claims)).thread(&["hi"]);
    server.with_key(&second.token(&claims)).get("/v1/threads").refused(401, "unauthorized");
    for (claim, other) in [("iss", "https://other.example"), ("aud", "elsewhere")] {
        let mut claims = claims.clone();
        claims[claim] = json!(other);
        server.with_key(&first.token(&claims)).get("/v1/threads").refused(401, "unauthorized");
    }
    // The public half of a key is no secret: it must not be taken for one.
    let as_secret = hs256(rsa["n"].as_str().expect("a number"), &claims);
    server.with_key(&as_secret).get("/v1/threads").refused(401, "unauthorized");
    jwks(&folder, &[second.jwk()]);
    let rotated = || server.with_key(&second.token(&claims)).get("/v1/threads").status == 200;
    let begun = std::time::Instant::now();
    while !rotated() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "the file is read again");
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    server.with_key(&first.token(&claims)).get("/v1/threads").refused(401, "unauthorized");
}

#[tokio::test]
async fn what_tokens_are_checked_with_has_to_be_good() {
    let folder = tempfile::tempdir().expect("a folder");
    let short = JwtSettings { secret: Some("short".into()), ..JwtSettings::default() };
    let missing = JwtSettings { jwks: Some(folder.path().join("none.json")), ..JwtSettings::default() };
    let unusable = jwks(&folder, &[json!({ "kty": "oct", "k": "AAAA" })]);
    let unusable = JwtSettings { jwks: Some(unusable), ..JwtSettings::default() };
    for (jwt, said) in [(short, "fewer than 32 bytes"), (missing, "none.json"), (unusable, "no key for RS256 or ES256")]
    {
        assert!(!format!("{jwt:?}").contains("short"), "a secret is never shown");
        let mut start = Start::new(threadkeep::open(&store(folder.path())).expect("a store"), folder.path());
        (start.jwt, start.listen) = (jwt, Some(([127, 0, 0, 1], 0).into()));
        let refused = start.begin().await.err().expect("a refusal");
        assert!(refused.detail.contains(said) && !refused.detail.contains("'short'"), "{}", refused.detail);
    }
}
