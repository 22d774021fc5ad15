//! The real binary, from outside: stories, hostile inputs, several processes at once, crashes, failing disks and servers.

mod amp;
mod concurrency;
mod copy;
mod crash;
mod disk;
mod docs;
mod doctor;
mod everyday;
mod files;
mod follow;
mod hostile;
mod killed;
mod postgres;
mod power;
mod serve;
mod served;
mod shapes;
mod stories;
mod support;
mod tls;
mod tour;
mod transfer;
mod watch;
mod work;
mod writer;
