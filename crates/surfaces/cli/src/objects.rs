//! The object store of a store: `--objects`.

use threadkeep::{Engine, Invalid};

use crate::failure::Failure;

/// An object store, by its URL.
#[cfg(feature = "objects")]
pub(crate) use threadkeep::ObjectsUrl;

/// Without the feature there is none.
#[cfg(not(feature = "objects"))]
#[derive(Debug, Clone)]
pub(crate) enum ObjectsUrl {}

#[cfg(feature = "objects")]
pub(crate) fn parse(url: &str) -> Result<ObjectsUrl, Invalid> {
    let path = url.strip_prefix("file:").map(|path| path.split('?').next().unwrap_or_default());
    if path.is_some_and(|path| std::path::Path::new(path).is_file()) {
        return Err(Invalid::parameter("objects", "names a file; objects need a folder: file:DIR"));
    }
    url.parse()
}

#[cfg(not(feature = "objects"))]
pub(crate) fn parse(_: &str) -> Result<ObjectsUrl, Invalid> {
    Err(Invalid::parameter("objects", "needs a program that was built with object stores (feature `objects`)"))
}

/// Opens a store, with its object store if it has one.
pub(crate) fn open(store: &str, objects: Option<&ObjectsUrl>) -> Result<Engine, Failure> {
    match objects {
        None => Ok(threadkeep::open(store)?),
        #[cfg(feature = "objects")]
        Some(objects) => Ok(threadkeep::open_with_objects(store, objects.clone())?),
        #[cfg(not(feature = "objects"))]
        Some(none) => match *none {},
    }
}

/// Asks the object store whether it answers, so that a server does not start without it.
pub(crate) async fn check(objects: Option<&ObjectsUrl>) -> Result<(), Failure> {
    match objects {
        None => Ok(()),
        #[cfg(feature = "objects")]
        Some(objects) => Ok(threadkeep::Objects::open(objects.clone())
            .map_err(threadkeep::Error::from)?
            .check()
            .await
            .map_err(threadkeep::Error::from)?),
        #[cfg(not(feature = "objects"))]
        Some(none) => match *none {},
    }
}
