//! A worker as a program of its own, for tests and for programs that cannot call `worker_if_asked` first.

fn main() {
    threadkeep_sandbox::worker_if_asked();
}
