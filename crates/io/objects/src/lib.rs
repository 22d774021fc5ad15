//! Large contents in an object store: an S3-compatible service, or a folder.
//!
//! [`Objects::beside`] puts an object store beside the stores of an engine. Contents above a size then become objects, and
//! the store has a row for each: its hash, its size, and the number that is the object's name. Smaller contents and the
//! bodies of entries stay in the store, so the log is whole without the objects.
//!
//! - An object is written before the commit that names it. Its number is that of an upload, which the store gives once:
//!   an object is never written twice, and one that was freed never comes back.
//! - The row of the upload protects the object until the commit is done. [`Blobs::sweep_objects`] lists the objects and
//!   frees those that neither a blob nor an upload names. An object that is listed has had its row before.
//! - Each store has a folder of its own, named by chance when it is first needed, so stores may share a bucket.
//! - An upload has one part in memory. A read asks for the bytes that are wanted.
//! - Requests run on a thread of their own, so that the library works in any runtime. Each has a time limit.
//!
//! [`Blobs::sweep_objects`]: threadkeep_store::Blobs::sweep_objects

mod blobs;
mod bucket;
mod http_client;
mod url;

pub use bucket::Objects;
pub use url::{Keys, ObjectsUrl};
