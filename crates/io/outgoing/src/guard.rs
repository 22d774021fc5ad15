//! The address guard: all addresses may be reached, or only those of the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses that requests may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Any address; for URLs that the operator configured.
    Anywhere,
    /// Public addresses only; for URLs that others chose. This machine, private and link-local networks (where clouds
    /// keep their metadata) and reserved addresses are refused, also behind a public name.
    Public,
}

impl Reach {
    /// Whether `address` may be reached.
    pub fn allows(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Anywhere, _) => true,
            (Self::Public, IpAddr::V4(address)) => is_public_v4(address),
            (Self::Public, IpAddr::V6(address)) => is_public_v6(address),
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = address.is_unspecified()
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation();
    // This network, shared networks of providers, protocol assignments, 6to4 relays, benchmarks, and the future.
    let special =
        matches!((a, b, c), (0, ..) | (100, 64..=127, _) | (192, 0, 0) | (192, 88, 99) | (198, 18..=19, _)) || a >= 240;
    !reserved && !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        // IPv4 addresses inside IPv6 ones: mapped, compatible, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => is_public_v4(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Teredo, documentation, and other protocols.
        [0x2001, 0..=0x1ff | 0xdb8, ..] => false,
        [0x3fff, ..] => false,
        // The public range. Local, private, multicast and reserved addresses are outside of it.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for public in ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert!(Reach::Public.allows(public.parse().expect("an address")), "{public}");
        }
        for hidden in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!Reach::Public.allows(hidden.parse().expect("an address")), "{hidden}");
        }
    }
}
