//! The server's counters, in the format of Prometheus.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use threadkeep::IndexStatus;

/// Upper bounds of the latency buckets, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<String, Answered>>,
    streams: Arc<AtomicI64>,
}

/// The counters of one route.
#[derive(Debug, Default)]
struct Answered {
    /// By method and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    latency: Latency,
}

#[derive(Debug, Default)]
struct Latency {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// A stream that is open.
pub(crate) struct OpenStream(Arc<AtomicI64>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// A request to `route`, a pattern and never a path, so that the number of routes is bounded.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Answered::default());
        }
        let Some(Answered { requests, latency }) = routes.get_mut(route) else { return };
        *requests.entry((method, status)).or_default() += 1;
        let seconds = took.as_secs_f64();
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            latency.buckets[bucket] += 1;
        }
        latency.count += 1;
        latency.seconds += seconds;
    }

    /// A stream is open for as long as the returned value lives.
    pub(crate) fn open_stream(&self) -> OpenStream {
        self.streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(&self.streams))
    }

    /// Everything, in the text format of Prometheus.
    pub(crate) fn text(&self, log_lines_dropped: u64) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            text.push_str(&line.to_string());
            text.push('\n');
        };
        line(format_args!("# HELP threadkeep_http_requests_total Requests that were answered."));
        line(format_args!("# TYPE threadkeep_http_requests_total counter"));
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        for (route, answered) in routes.iter() {
            for ((method, status), count) in &answered.requests {
                let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
                line(format_args!("threadkeep_http_requests_total{{{labels}}} {count}"));
            }
        }
        line(format_args!("# HELP threadkeep_http_request_seconds How long answers took to begin."));
        line(format_args!("# TYPE threadkeep_http_request_seconds histogram"));
        for (route, Answered { latency, .. }) in routes.iter() {
            let mut so_far = 0;
            for (bound, count) in BUCKETS.iter().zip(latency.buckets) {
                so_far += count;
                let labels = format!("route=\"{route}\",le=\"{bound}\"");
                line(format_args!("threadkeep_http_request_seconds_bucket{{{labels}}} {so_far}"));
            }
            let (count, seconds) = (latency.count, latency.seconds);
            line(format_args!("threadkeep_http_request_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}"));
            line(format_args!("threadkeep_http_request_seconds_sum{{route=\"{route}\"}} {seconds}"));
            line(format_args!("threadkeep_http_request_seconds_count{{route=\"{route}\"}} {count}"));
        }
        drop(routes);
        line(format_args!("# HELP threadkeep_open_streams Streams that are open."));
        line(format_args!("# TYPE threadkeep_open_streams gauge"));
        line(format_args!("threadkeep_open_streams {}", self.streams.load(Ordering::Relaxed)));
        line(format_args!("# HELP threadkeep_log_lines_dropped_total Lines that nobody read in time."));
        line(format_args!("# TYPE threadkeep_log_lines_dropped_total counter"));
        line(format_args!("threadkeep_log_lines_dropped_total {log_lines_dropped}"));
        if let Some(bytes) = resident_bytes() {
            line(format_args!("# HELP process_resident_memory_bytes Memory that the process holds."));
            line(format_args!("# TYPE process_resident_memory_bytes gauge"));
            line(format_args!("process_resident_memory_bytes {bytes}"));
        }
        text
    }
}

/// The state of the search index, for all accounts together.
pub(crate) fn index(index: &IndexStatus) -> String {
    let gauges = [
        ("behind_entries", "Entries of the log that the index did not look at yet, counted up to 1,000.", index.behind),
        ("lag_seconds", "Age of the oldest entry that the index did not look at yet.", index.lag_seconds),
        ("messages", "Messages in the index.", index.messages),
        ("embedded_messages", "Messages in the index with vectors of the present embedder.", index.embedded),
        ("bytes", "Bytes of the index.", index.bytes),
        ("volumes", "Volumes in which the index lies.", index.volumes),
    ];
    gauges.map(|(name, help, value)| gauge(&format!("search_index_{name}"), help, value)).concat()
}

/// How far the delivery to observers is behind the log.
pub(crate) fn observers((entries, seconds): (u64, u64)) -> String {
    let behind = "Entries of the log that were not delivered to observers yet, counted up to 1,000.";
    let lag = "Age of the oldest entry that was not delivered to observers yet.";
    [gauge("observers_behind_entries", behind, entries), gauge("observers_lag_seconds", lag, seconds)].concat()
}

fn gauge(name: &str, help: &str, value: u64) -> String {
    let name = format!("threadkeep_{name}");
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n")
}

/// Memory that the process holds, where the system says so.
fn resident_bytes() -> Option<u64> {
    const KIB: u64 = 1_024;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * KIB)
}
