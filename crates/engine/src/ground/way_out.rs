//! The ways by which text leaves the program, or reaches a thread from something that is no person.

/// A way out. Each has a redactor; the test `ways_out` walks them all, so a new one needs its case there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOut {
    /// A call by an agent, the system or sandboxed code: messages, values, keys, names, status.
    Call,
    /// A file or an attachment that an agent, the system or sandboxed code writes. It is refused.
    File,
    /// A custom event of a thread, by any actor.
    Event,
    /// Results, logs and reports of sandboxed code.
    Code,
    /// Results and errors of tools, and answers of thread endpoints.
    Tool,
    /// The server's log.
    Log,
    /// The stream of a run.
    Stream,
    /// The explanation of an error.
    Problem,
    /// An event that is sent to a webhook.
    Webhook,
    /// An export that a request or a command reads.
    Export,
    /// Spans and events of traces. They hold names of calls and ids, and nothing that a caller wrote.
    Trace,
    /// Metrics. Their labels are those of the table of routes.
    Metric,
    /// The command line: values come by stdin, and errors are problems.
    CommandLine,
    /// An answer that a model reads, over the Model Context Protocol.
    Mcp,
}

impl WayOut {
    /// Every way out, in order.
    pub const ALL: [Self; 14] = [
        Self::Call,
        Self::File,
        Self::Event,
        Self::Code,
        Self::Tool,
        Self::Log,
        Self::Problem,
        Self::Stream,
        Self::Webhook,
        Self::Export,
        Self::Trace,
        Self::Metric,
        Self::CommandLine,
        Self::Mcp,
    ];
}
