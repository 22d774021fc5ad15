//! A connection without a task of its own: the work that waits for an answer reads it from the socket itself. That saves
//! two switches between tasks for each statement.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use threadkeep_store::BoxFuture;

/// The reading and writing end of a connection.
pub(crate) struct Driven {
    /// None once the connection has ended. Its client then fails at once.
    socket: Option<BoxFuture<'static, Result<(), tokio_postgres::Error>>>,
}

impl Driven {
    pub(crate) fn new(socket: impl Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static) -> Self {
        Self { socket: Some(Box::pin(socket)) }
    }

    /// Does `work` on the client of the connection, and moves what it sends and gets.
    pub(crate) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(done);
            }
            // Statements that were just made go out, and answers that came in reach the work.
            self.move_on(context);
            work.as_mut().poll(context)
        })
        .await
    }

    /// Whether the server has not hung up while nothing was under way.
    pub(crate) fn is_open(&mut self) -> bool {
        self.move_on(&mut Context::from_waker(Waker::noop()));
        self.socket.is_some()
    }

    fn move_on(&mut self, context: &mut Context<'_>) {
        let socket: Option<Pin<&mut _>> = self.socket.as_mut().map(|socket| socket.as_mut());
        if socket.is_some_and(|socket| socket.poll(context).is_ready()) {
            self.socket = None;
        }
    }
}
