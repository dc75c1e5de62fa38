//! A veth pair with a packet socket at its far end (packet(7)), for where there is no TUN device.
//!
//! The host's end has the device's name; the other end, `NAME-link`, lies in the same namespace without addresses. What the
//! host sends comes out of the socket as it would be on the wire, since the host's end offers no segmentation or checksum
//! offload. Neither end asks for link-layer addresses (`NOARP`): what the host sends bears its own, which the other end's IP
//! therefore ignores, and what is sent to the host bears the host's.

use crate::EmuError;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use std::io::{self, Write as _};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

/// The far end of a veth pair.
#[derive(Debug)]
pub(crate) struct PacketSocket {
    socket: OwnedFd,
    index: libc::c_int,
    /// The link-layer address of the host's end.
    host: [u8; libc::ETH_ALEN as usize],
}

/// What the socket holds until the driver reads it: some 20,000 full packets with the kernel's own bytes, as TUN devices do.
const RECEIVE_BUFFER: usize = 64 << 20;

impl PacketSocket {
    /// Creates the pair in the calling thread's network namespace.
    pub(crate) fn create(name: &str) -> Result<Self, EmuError> {
        let peer = format!("{name}-link");
        create_pair(name, &peer)?;
        let failed = || format!("open a packet socket on {peer}");
        let socket =
            socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None)
                .map_err(EmuError::system(failed()))?;
        let host =
            link_layer_address(&socket, name).map_err(EmuError::system(format!("find the address of {name}")))?;
        for offload in [ETHTOOL_STXCSUM, ETHTOOL_STSO] {
            switch_off(&socket, name, offload).map_err(EmuError::system(format!("turn off the offloads of {name}")))?;
        }
        let index = if_nametoindex(&*peer).map_err(EmuError::system(failed()))?.cast_signed();
        let this = Self { socket, index, host };
        this.bind().map_err(EmuError::system(failed()))?;
        Ok(this)
    }

    /// Receives everything that comes in at the far end, nothing of what goes out.
    fn bind(&self) -> io::Result<()> {
        switch_on(&self.socket, libc::PACKET_IGNORE_OUTGOING)?;
        // A device that has just come up drops what passes its queue for up to a second; it has no queue worth having anyway.
        switch_on(&self.socket, libc::PACKET_QDISC_BYPASS)?;
        // Without the right to more than the system's limit it has the limit.
        if setsockopt(&self.socket, sockopt::RcvBufForce, &RECEIVE_BUFFER).is_err() {
            setsockopt(&self.socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
        }
        bind_to(&self.socket, &self.address(libc::ETH_P_ALL))
    }

    fn address(&self, protocol: libc::c_int) -> libc::sockaddr_ll {
        let mut sll_addr = [0; 8];
        sll_addr[..self.host.len()].copy_from_slice(&self.host);
        libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            // The protocol numbers have 16 bits.
            sll_protocol: (protocol as u16).to_be(),
            sll_ifindex: self.index,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: libc::ETH_ALEN as u8,
            sll_addr,
        }
    }

    /// The next IP packet, if one is waiting.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match nix::unistd::read(&self.socket, buffer) {
                Ok(length) if protocol_of(&buffer[..length]).is_some() => return Ok(Some(length)),
                Ok(_) => {}
                // That the far end is down is told once; when it is up again, packets come again.
                Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Hands a packet to the host.
    #[expect(unsafe_code, reason = "sendto with a packet socket's address is not in nix")]
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        let protocol = protocol_of(packet).ok_or(io::ErrorKind::InvalidInput)?;
        let address = self.address(protocol);
        // SAFETY: packet and address live through the call, their sizes are given with them.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        Errno::result(sent)?;
        Ok(())
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The link-layer protocol of an IP packet.
fn protocol_of(packet: &[u8]) -> Option<libc::c_int> {
    match packet.first()? >> 4 {
        4 => Some(libc::ETH_P_IP),
        6 => Some(libc::ETH_P_IPV6),
        _ => None,
    }
}

fn create_pair(name: &str, peer: &str) -> Result<(), EmuError> {
    let commands = format!(
        "link add {name} type veth peer name {peer}\n\
         link set {name} arp off\n\
         link set {peer} arp off addrgenmode none multicast off up\n"
    );
    let failed = |message: String| EmuError::Ip { host: format!("the devices {name} and {peer}"), message };
    let started = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(commands.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    let message = || String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    if output.status.success() { Ok(()) } else { Err(failed(message())) }
}

/// Transmit checksums, on which segmentation offload depends, and TCP segmentation (linux/ethtool.h).
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

#[expect(unsafe_code, reason = "SIOCETHTOOL has no safe wrapper")]
fn switch_off(socket: &OwnedFd, device: &str, command: u32) -> io::Result<()> {
    let mut value = EthtoolValue { command, data: 0 };
    let mut request = request_for(device);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads one `ifreq` and the `ethtool_value` that it points to; both live through the call.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    Errno::result(answer)?;
    Ok(())
}

#[expect(unsafe_code, reason = "SIOCGIFHWADDR has no safe wrapper")]
fn link_layer_address(socket: &OwnedFd, device: &str) -> io::Result<[u8; libc::ETH_ALEN as usize]> {
    let mut request = request_for(device);
    // SAFETY: SIOCGIFHWADDR reads and writes one `ifreq`, alive for the call.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) };
    Errno::result(answer)?;
    // SAFETY: the call has filled in this member of the union; every bit pattern is an address.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(core::array::from_fn(|place| address[place].cast_unsigned()))
}

#[expect(unsafe_code, reason = "a zeroed C structure")]
fn request_for(device: &str) -> libc::ifreq {
    // SAFETY: the structure is made of integers and a null pointer, for which zero is a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from.cast_signed();
    }
    request
}

#[expect(unsafe_code, reason = "options of packet sockets are not in nix")]
fn switch_on(socket: &OwnedFd, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the value lives through the call and has the size that is given.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    Errno::result(answer)?;
    Ok(())
}

#[expect(unsafe_code, reason = "addresses of packet sockets cannot be made in nix")]
fn bind_to(socket: &OwnedFd, address: &libc::sockaddr_ll) -> io::Result<()> {
    // SAFETY: the address lives through the call and has the size that is given.
    let answer = unsafe {
        libc::bind(socket.as_raw_fd(), std::ptr::from_ref(address).cast(), size_of_val(address) as libc::socklen_t)
    };
    Errno::result(answer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sched::{CloneFlags, unshare};
    use std::net::UdpSocket;
    use std::time::Duration;

    fn ip(arguments: &str) {
        let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip runs");
        assert!(status.success(), "ip {arguments}");
    }

    /// What is sent before the kernel has noticed that the other end is up again is dropped.
    fn wait_for_carrier() {
        let is_up = || {
            let shown = Command::new("ip").args(["-oneline", "link", "show", "far"]).output().expect("ip runs");
            String::from_utf8_lossy(&shown.stdout).contains("state UP")
        };
        // Some ten seconds.
        assert!((0..5000).any(|_| is_up()), "the device has no carrier");
    }

    /// The next packet of a protocol.
    fn next(device: &PacketSocket, protocol: u8) -> Vec<u8> {
        let mut buffer = vec![0; 2000];
        loop {
            let length = device.read(&mut buffer).expect("the device is up");
            match length.map(|length| &buffer[..length]) {
                Some(packet @ [0x45, ..]) if packet[9] == protocol => return packet.to_vec(),
                Some(_) => {}
                None => {
                    let mut event = [PollFd::new(device.as_fd(), PollFlags::POLLIN)];
                    assert_eq!(poll(&mut event, PollTimeout::from(5000_u16)), Ok(1), "nothing comes");
                }
            }
        }
    }

    /// Runs in a network namespace of its own, which ends with the thread; without the right to have one there is no test.
    fn inside(test: impl FnOnce(PacketSocket) + Send + 'static) {
        let tried = std::thread::spawn(|| {
            if unshare(CloneFlags::CLONE_NEWNET).is_err() {
                eprintln!("skipped: network namespaces need root");
                return;
            }
            let device = PacketSocket::create("far").expect("a pair of devices");
            ip("address add 10.9.9.1/24 dev far");
            ip("link set far up");
            test(device);
        });
        tried.join().expect("no panic");
    }

    #[test]
    fn packets_go_out_and_come_in() {
        inside(|device| {
            let host = UdpSocket::bind("10.9.9.1:7").expect("a port");
            host.send_to(b"question", "10.9.9.2:7").expect("a route");
            let mut packet = next(&device, 17);
            assert_eq!(&packet[28..], b"question");
            let (from, to) = ([10, 9, 9, 1], [10, 9, 9, 2]);
            assert_eq!((&packet[12..16], &packet[16..20]), (&from[..], &to[..]));
            // The sum over the header stays the same when its addresses change places, that of UDP too.
            packet[12..16].copy_from_slice(&to);
            packet[16..20].copy_from_slice(&from);
            device.write(&packet).expect("an IP packet");
            let mut answer = [0; 100];
            host.set_read_timeout(Some(Duration::from_secs(5))).expect("above zero");
            let (length, peer) = host.recv_from(&mut answer).expect("an answer, its checksum right");
            assert_eq!((&answer[..length], peer.to_string()), (&b"question"[..], "10.9.9.2:7".to_owned()));
        });
    }

    #[test]
    fn a_far_end_that_was_down_carries_packets_again() {
        inside(|device| {
            ip("link set far-link down");
            assert_eq!(device.read(&mut [0; 2000]).expect("no failure"), None);
            ip("link set far-link up");
            wait_for_carrier();
            UdpSocket::bind("10.9.9.1:7").expect("a port").send_to(b"again", "10.9.9.2:7").expect("a route");
            assert_eq!(&next(&device, 17)[28..], b"again");
        });
    }

    #[test]
    fn what_is_no_ip_packet_is_not_sent() {
        inside(|device| {
            assert!(device.write(&[]).is_err());
            assert!(device.write(&[0x15; 40]).is_err());
        });
    }
}
