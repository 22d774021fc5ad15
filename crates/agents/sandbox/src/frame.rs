//! Frames between host and worker: u32 length of the rest, u8 kind, u32 call, then CBOR.

/// Bytes before the payload: length, kind, call.
pub(crate) const HEAD_BYTES: usize = 9;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $byte:literal;)*) => {
        /// The kind of a frame.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            fn byte(self) -> u8 {
                match self {
                    $(Self::$name => $byte,)*
                }
            }

            pub(crate) fn of(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// To the worker: the limits, before it gets code.
    Limits = 1;
    /// To the worker: the code.
    Run = 2;
    /// To the worker: the value that a call gave.
    Answer = 3;
    /// To the worker: the error that a call gave, as name and message.
    Refusal = 4;
    /// To the worker, first of all: the modules to compile before it gets code.
    Library = 5;
    /// To the host: the worker waits for limits.
    Ready = 17;
    /// To the host: the limits hold, or why they do not.
    Caged = 18;
    /// To the host: the modules are compiled, and run from now on.
    Started = 19;
    /// To the host: a line of the console.
    Log = 20;
    /// To the host: a reported value.
    Report = 21;
    /// To the host: a call of a host function, as its number and its arguments.
    Call = 22;
    /// To the host: the outcome.
    Done = 23;
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) call: u32,
    /// Bytes of the payload.
    pub(crate) bytes: usize,
}

impl Head {
    /// Reads a head; none if its kind is unknown or its length is too small.
    pub(crate) fn read(head: [u8; HEAD_BYTES]) -> Option<Self> {
        let [a, b, c, d, kind, e, f, g, h] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let bytes = length.checked_sub(HEAD_BYTES - 4)?;
        Some(Self { kind: Kind::of(kind)?, call: u32::from_le_bytes([e, f, g, h]), bytes })
    }
}

/// A frame, ready to be sent.
pub(crate) fn frame(kind: Kind, call: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len() + HEAD_BYTES - 4).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(payload.len() + HEAD_BYTES);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.push(kind.byte());
    bytes.extend_from_slice(&call.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}
