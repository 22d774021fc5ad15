//! Bodies: streams of bytes in both directions, and how they are read with limits.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};

use crate::Failed;

/// An error of a body, of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body that is sent or received piece by piece.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;
/// A request. Its target is a path with a query.
pub type Request = http::Request<Body>;
/// An answer. Its body may go on for as long as a stream does.
pub type Response = http::Response<Body>;

/// `body` as a [`Body`].
pub fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A body without any bytes.
pub fn empty() -> Body {
    boxed(Empty::new())
}

/// A body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    boxed(Full::new(bytes.into()))
}

/// Reads a body to its end.
///
/// # Errors
/// If the connection breaks, or there are more than `bytes_max` bytes. The second failure is for good.
pub async fn whole(mut body: Body, bytes_max: usize) -> Result<Bytes, Failed> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failed::after(format!("the answer broke off: {error}")))?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        if bytes.len() > bytes_max {
            return Err(Failed::after(format!("the answer is larger than {bytes_max} bytes")).for_good());
        }
    }
    Ok(bytes.into())
}

/// The next bytes of a stream; none at its end.
///
/// # Errors
/// If the connection breaks, or no byte arrives for `silence_max`.
pub async fn piece(body: &mut Body, silence_max: Duration) -> Result<Option<Bytes>, Failed> {
    let next = async {
        while let Some(frame) = body.frame().await {
            // Frames without bytes are trailers.
            if let Ok(bytes) = frame.map_err(Failed::after)?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    };
    let silent = |_| Failed::after(format!("nothing came for {silence_max:?}"));
    tokio::time::timeout(silence_max, next).await.map_err(silent)?
}
