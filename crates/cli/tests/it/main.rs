//! The real binary, from outside: stories, hostile inputs, several processes at once, crashes, failing disks and servers.

mod amp;
mod concurrency;
mod copy;
mod crash;
mod disk;
mod docs;
mod doctor;
mod everyday;
mod follow;
mod hostile;
mod killed;
mod postgres;
mod power;
mod primitives;
mod serve;
mod served;
mod shapes;
mod stories;
mod support;
mod timeouts;
mod tls;
mod tour;
mod transfer;
mod watch;
mod work;
mod writer;
