//! The real binary, from outside: stories, hostile inputs, several processes at once, crashes, failing disks and
//! servers.

mod agents;
#[cfg(target_os = "linux")]
mod agents_run;
mod amp;
mod cells;
#[cfg(target_os = "linux")]
mod code;
mod concurrency;
mod copy;
mod crash;
mod danger;
#[cfg(target_os = "linux")]
mod defined;
mod disk;
mod docs;
mod doctor;
mod everyday;
mod failover;
mod faults;
mod files;
mod follow;
mod hostile;
mod import;
mod killed;
mod load;
mod mcp;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod memory;
mod merge;
mod mistakes;
mod names;
mod newcomer;
#[cfg(target_os = "linux")]
mod notify;
#[cfg(unix)]
mod packaging;
mod postgres;
mod power;
mod primitives;
#[cfg(unix)]
mod private;
mod scale;
mod screen;
mod search;
mod serve;
mod served;
mod shapes;
mod stories;
mod support;
mod timeouts;
mod tls;
#[cfg(target_os = "linux")]
mod tools;
mod tour;
mod transfer;
mod uploads;
mod walk;
mod watch;
mod ways_out;
mod work;
mod writer;
mod writing;
