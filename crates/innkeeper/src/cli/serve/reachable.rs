//! By which addresses other machines reach a host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The addresses for a server that is bound to this one; none if it is for
/// this machine only.
pub(crate) fn from_elsewhere(bound: SocketAddr) -> Vec<SocketAddr> {
    let ips = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => vec![towards(EXAMPLE_4)],
        IpAddr::V6(ip) if ip.is_unspecified() => vec![towards(EXAMPLE_4), towards(EXAMPLE_6)],
        ip => vec![Some(ip)],
    };
    let others = ips.into_iter().flatten().filter(|ip| !ip.is_loopback());
    others.map(|ip| SocketAddr::new(ip, bound.port())).collect()
}

/// Addresses for documentation, which are somewhere in the Internet.
const EXAMPLE_4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const EXAMPLE_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

/// The address that this machine would use towards another. Nothing is sent.
fn towards(other: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match other {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_for_this_machine_has_no_address_for_others() {
        for bound in ["127.0.0.1:1", "[::1]:1"] {
            assert!(from_elsewhere(bound.parse().unwrap()).is_empty(), "{bound}");
        }
        let there: SocketAddr = "192.0.2.7:8137".parse().unwrap();
        assert_eq!(from_elsewhere(there), [there]);
    }
}
