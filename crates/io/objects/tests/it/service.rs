//! The objects of a throwaway S3 service.

use threadkeep_objects::{Keys, Objects, ObjectsUrl};
use threadkeep_throwaway::s3::{BUCKET, KEY_ID, KEY_SECRET, S3};

pub trait ItsObjects {
    /// The URL of a place in it, with more parameters.
    fn url(&self, more: &str) -> ObjectsUrl;

    fn objects(&self, more: &str) -> Objects {
        Objects::open(self.url(more)).expect("a service")
    }
}

impl ItsObjects for S3 {
    fn url(&self, more: &str) -> ObjectsUrl {
        let url = format!("s3://{BUCKET}/a/b?endpoint={}{more}", self.endpoint());
        url.parse::<ObjectsUrl>().expect("a url").with_keys(Keys { id: KEY_ID.into(), secret: KEY_SECRET.into() })
    }
}
