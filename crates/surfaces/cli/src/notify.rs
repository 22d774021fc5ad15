//! Messages to the service manager that started the server. systemd asks for them with `Type=notify` and `WatchdogSec=`:
//! it names a datagram socket in `NOTIFY_SOCKET`, and the time between two signs of life in `WATCHDOG_USEC`.

use std::time::Duration;

#[cfg(unix)]
use std::os::unix::net::UnixDatagram;

use crate::failure;

/// How long a message may wait until the manager has room for it.
#[cfg(unix)]
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The service manager; without `NOTIFY_SOCKET` there is none, and every message goes nowhere.
pub(crate) struct Manager {
    #[cfg(unix)]
    socket: Option<UnixDatagram>,
    /// The longest time between two signs of life.
    watchdog: Option<Duration>,
}

impl Manager {
    /// The manager that the environment names. A socket that cannot be reached is reported, and the server runs without.
    pub(crate) fn find() -> Self {
        let watchdog = is_for_us().then(watchdog_time).flatten();
        #[cfg(unix)]
        let socket = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()).and_then(|name| {
            connect(&name)
                .inspect_err(|error| {
                    failure::note(&format!("cannot reach the service manager at {}: {error}", name.display()));
                })
                .ok()
        });
        Self {
            #[cfg(unix)]
            socket,
            watchdog,
        }
    }

    /// Sends lines of `NAME=value`, such as `READY=1`.
    pub(crate) fn tell(&self, state: &str) {
        #[cfg(unix)]
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(state.as_bytes())
        {
            let what = state.lines().next().unwrap_or_default();
            failure::note(&format!("cannot send {what} to the service manager: {error}"));
        }
    }

    /// Sends signs of life for as long as it is polled, twice in each period that the manager allows.
    pub(crate) async fn show_life(&self) {
        let Some(period) = self.watchdog else { return std::future::pending().await };
        let mut beats = tokio::time::interval(period / 2);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            beats.tick().await;
            self.tell("WATCHDOG=1");
        }
    }
}

/// Whether the watchdog watches this process, and not the one that started it.
fn is_for_us() -> bool {
    std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()))
}

fn watchdog_time() -> Option<Duration> {
    let text = std::env::var("WATCHDOG_USEC").ok()?;
    let time = text.parse().ok().map(Duration::from_micros).filter(|time| *time >= Duration::from_micros(2));
    if time.is_none() {
        failure::note(&format!("WATCHDOG_USEC is {text:?}, not a number of microseconds: no signs of life are sent"));
    }
    time
}

#[cfg(unix)]
fn connect(name: &std::ffi::OsStr) -> std::io::Result<UnixDatagram> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::SocketAddr;

    let address = match name.as_bytes().split_first() {
        #[cfg(target_os = "linux")]
        Some((b'@', name)) => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(name)?
        }
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(SEND_TIMEOUT))?;
    socket.connect_addr(&address)?;
    Ok(socket)
}
