//! Commands that are one call on a thread: the fields of the call are its arguments, and the answer is printed.
//!
//! `plain!` makes such a command of its help and the call's fields. [`Face`] prints an answer for people;
//! programs get its JSON.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use serde::de::DeserializeOwned;
use threadkeep_calls::{Page, Thread};

use crate::context::{Conditions, Context};
use crate::failure::Failure;

/// Makes commands of calls: `Command: Call under CONDITIONS { fields }`. A block after `=>` prints the answer in
/// another way; it is given the context, the thread as it was before, the call and the answer.
macro_rules! plain {
    ($(
        $(#[$meta:meta])*
        $name:ident: $call:ident under $conditions:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty),* $(,)? }
        $(=> ($($given:pat_param),*) $print:block)?
    )*) => {$(
        #[derive(Debug, clap::Args)]
        $(#[$meta])*
        pub(crate) struct $name {
            /// The thread: its id, the beginning of it, its title, or @last
            thread: String,
            $($(#[$field_meta])* $field: $type,)*
            #[command(flatten)]
            conditions: $crate::plain::$conditions,
        }

        impl $name {
            pub(crate) async fn run(
                self,
                context: &mut $crate::context::Context,
            ) -> Result<(), $crate::failure::Failure> {
                let thread = context.thread(&self.thread).await?;
                let call = threadkeep_calls::$call { $($field: self.$field),* };
                let answer = context.client.call(self.conditions.at(thread.id), call.clone()).await?;
                $crate::plain::plain!(@print (context, &thread, &call, &answer) $(($($given),*) $print)?)
            }
        }
    )*};
    (@print ($context:expr, $thread:expr, $call:expr, $answer:expr)) => {
        $crate::plain::Face::print($answer, $context)
    };
    (@print ($($all:expr),*) ($($given:pat_param),*) $print:block) => {{
        let ($($given),*) = ($($all),*);
        $print
    }};
}
pub(crate) use plain;

/// The conditions of a change.
pub(crate) type Change = Conditions;

/// What is read has no conditions.
#[derive(Debug, Args)]
pub(crate) struct Read {}

impl Read {
    pub(crate) fn at(&self, thread: threadkeep::ThreadId) -> threadkeep_calls::At {
        thread.into()
    }
}

/// How an answer is printed.
pub(crate) trait Face {
    /// Prints it: JSON for programs, words for people.
    fn print(&self, context: &mut Context) -> Result<(), Failure>;
}

/// An answer that people see as one line.
pub(crate) trait Line: Serialize {
    /// The line for an empty list.
    const NONE: &'static str;

    fn line(&self) -> String;
}

impl<T: Line> Face for T {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json { context.out.json(self) } else { context.out.line(self.line()) }
    }
}

impl<T: Line> Face for [T] {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        if context.json {
            return context.out.json(&self);
        }
        if self.is_empty() {
            context.note(T::NONE);
        }
        self.iter().try_for_each(|item| context.out.row(item.line()))
    }
}

impl<T: Line> Face for Page<T> {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        self.items.print(context)
    }
}

impl Face for Option<Thread> {
    fn print(&self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Some(thread) => thread.print(context),
            None if context.json => context.out.json(&()),
            None => {
                context.note("it works for no other thread");
                Ok(())
            }
        }
    }
}

/// A parser for the words of an enum, each with its meaning.
pub(crate) fn words<T>(words: &'static [(&'static str, &'static str)]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let values = words.iter().map(|(word, help)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(values).try_map(|word| serde_json::from_value(word.into()))
}
