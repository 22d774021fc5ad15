//! Scripts, styles and the icon. They are part of the program, and are compressed once.
//!
//! The path of an asset holds a hash of all of them, so browsers keep it for ever, and relative imports between modules work
//! as written. Debug builds read the folder anew: edit, then reload.

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use threadkeep_model::BlobId;

macro_rules! assets {
    ($($name:literal $media:literal;)*) => {
        /// The names of all assets, with their media types and texts.
        const ALL: &[(&str, &str, &str)] = &[$(($name, $media, include_str!(concat!("../assets/", $name)))),*];
    };
}

assets! {
    "app.css" "text/css; charset=utf-8";
    "app.js" "text/javascript; charset=utf-8";
    "call.js" "text/javascript; charset=utf-8";
    "dom.js" "text/javascript; charset=utf-8";
    "import.js" "text/javascript; charset=utf-8";
    "keys.js" "text/javascript; charset=utf-8";
    "live.js" "text/javascript; charset=utf-8";
    "map.js" "text/javascript; charset=utf-8";
    "merge.js" "text/javascript; charset=utf-8";
    "palette.js" "text/javascript; charset=utf-8";
    "run.js" "text/javascript; charset=utf-8";
    "thread.js" "text/javascript; charset=utf-8";
    "threads.js" "text/javascript; charset=utf-8";
    "icon.svg" "image/svg+xml";
}

/// A file that the page needs.
pub struct Asset {
    /// Its media type.
    pub media: &'static str,
    /// Its text.
    pub plain: Vec<u8>,
    /// The same, compressed with gzip.
    pub gzip: Vec<u8>,
}

/// All assets under the hash that names them.
struct Shipped {
    hash: String,
    assets: Vec<(&'static str, Asset)>,
}

fn ship(read: impl Fn(&str, &'static str) -> String) -> Shipped {
    let texts: Vec<_> = ALL.iter().map(|(name, media, text)| (*name, *media, read(name, text))).collect();
    let whole: String = texts.iter().flat_map(|(name, _, text)| [name, "\0", text.as_str(), "\0"]).collect();
    let hash = BlobId::of(whole.as_bytes()).to_string().chars().take(16).collect();
    let assets = texts.into_iter().map(|(name, media, text)| {
        let gzip = compressed(text.as_bytes());
        (name, Asset { media, plain: text.into_bytes(), gzip })
    });
    Shipped { hash, assets: assets.collect() }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn shipped() -> &'static Shipped {
    static SHIPPED: OnceLock<Shipped> = OnceLock::new();
    SHIPPED.get_or_init(|| ship(|_, text| text.to_owned()))
}

/// The folder's present text of an asset, in debug builds on the machine that built them.
#[cfg(debug_assertions)]
fn edited() -> Option<Shipped> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let changed = ALL.iter().any(|(name, _, text)| read(name).is_some_and(|now| now != *text));
    changed.then(|| ship(|name, text| read(name).unwrap_or_else(|| text.to_owned())))
}

#[cfg(not(debug_assertions))]
fn edited() -> Option<Shipped> {
    None
}

/// The path of an asset.
pub(crate) fn path(name: &str) -> String {
    let hash = edited().map_or_else(|| shipped().hash.clone(), |edited| edited.hash);
    format!("/web/{hash}/{name}")
}

/// The asset with this name, if `hash` is the hash of these assets.
pub fn asset(hash: &str, name: &str) -> Option<Asset> {
    let find = |shipped: &Shipped| {
        let (_, asset) = shipped.assets.iter().find(|(known, _)| *known == name && shipped.hash == hash)?;
        Some(Asset { media: asset.media, plain: asset.plain.clone(), gzip: asset.gzip.clone() })
    };
    find(shipped()).or_else(|| find(&edited()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let size = |ending: &str| -> usize {
            let of = shipped().assets.iter().filter(|(name, _)| name.ends_with(ending));
            of.map(|(_, asset)| asset.gzip.len()).sum()
        };
        assert!(size(".js") <= 40_000, "modules have {} bytes", size(".js"));
        assert!(size(".css") <= 12_000, "styles have {} bytes", size(".css"));
    }

    #[test]
    fn an_asset_is_found_under_its_own_hash_alone() {
        let path = path("app.js");
        let hash = path.split('/').nth(2).expect("a hash");
        assert!(asset(hash, "app.js").is_some());
        assert!(asset("0000000000000000", "app.js").is_none());
        assert!(asset(hash, "../Cargo.toml").is_none());
    }
}
