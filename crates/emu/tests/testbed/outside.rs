//! A small world for testbeds with a way out: a host with one network card, and an internet behind it that answers.
//!
//! The whole of it is in namespaces of a thread's own, so that nothing on the machine is touched or in the way.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Addresses of the internet and of the host in it (RFC 5737, RFC 3849).
pub(crate) const INTERNET: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
pub(crate) const INTERNET6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 2);
pub(crate) const HOST6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const WHO: u16 = 7;
const DISCARD: u16 = 9;

/// Runs `test` on the host of such a world.
pub(crate) fn with_internet(test: impl FnOnce() + Send + 'static) {
    let world = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect("permitted");
        have_own_state();
        let internet = File::open("/proc/thread-self/ns/net").expect("the internet");
        unshare(CloneFlags::CLONE_NEWNET).expect("permitted");
        let host = File::open("/proc/thread-self/ns/net").expect("the host");
        let path = format!("/proc/{}/fd/{}", std::process::id(), internet.as_raw_fd());
        ip(&format!(
            "link set lo up\nlink add eth0 type veth peer name eth0 netns {path}\nlink set eth0 up\n\
             link set eth0 mtu 1300\naddress add {HOST}/24 dev eth0\naddress add {HOST6}/64 dev eth0 nodad\n"
        ));
        setns(&internet, CloneFlags::CLONE_NEWNET).expect("permitted");
        ip(&format!(
            "link set lo up\nlink set eth0 up\naddress add {INTERNET}/24 dev eth0\naddress add {INTERNET6}/64 dev eth0 nodad\n"
        ));
        answer();
        setns(&host, CloneFlags::CLONE_NEWNET).expect("permitted");
        ip(&format!("route add default via {INTERNET}\nroute add ::/0 via {INTERNET6}\n"));
        // What is mounted over must have a name.
        let _names = use_resolver();
        test();
    });
    world.join().expect("no panic in the test");
}

pub(crate) fn ip(commands: &str) {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().expect("ip runs");
    child.stdin.take().expect("piped").write_all(commands.as_bytes()).expect("ip reads");
    assert!(child.wait().expect("a child").success(), "{commands}");
}

/// Settings that a way out needs.
pub(crate) fn forwarding() -> Vec<(String, String)> {
    let settings = ["ipv4/conf/eth0/forwarding", "ipv6/conf/all/forwarding", "ipv6/conf/eth0/force_forwarding"];
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default();
    settings.iter().map(|name| (name.to_string(), read(name).trim().to_owned())).collect()
}

/// Names of the calling thread's network devices.
pub(crate) fn devices() -> Vec<String> {
    // `/sys` shows the network in which it was mounted.
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").expect("devices");
    text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

/// The internet tells everybody who connects what address they have there, counts what it is sent, and answers questions for
/// names with "yes".
fn answer() {
    let unspecified = SocketAddr::from((Ipv6Addr::UNSPECIFIED, WHO));
    let listener = TcpListener::bind(unspecified).expect("a port");
    thread::spawn(move || {
        while let Ok((mut stream, peer)) = listener.accept() {
            let _ = write!(stream, "{}", peer.ip().to_canonical());
        }
    });
    let sink = TcpListener::bind((Ipv6Addr::UNSPECIFIED, DISCARD)).expect("a port");
    thread::spawn(move || {
        while let Ok((mut stream, _)) = sink.accept() {
            let count = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0);
            let _ = stream.write_all(&count.to_be_bytes());
        }
    });
    let names = UdpSocket::bind((INTERNET, 53)).expect("a port");
    let more_names = TcpListener::bind((INTERNET, 53)).expect("a port");
    thread::spawn(move || {
        let mut question = [0; 512];
        while let Ok((length, client)) = names.recv_from(&mut question) {
            let _ = names.send_to(&[&question[..length], b" yes"].concat(), client);
        }
    });
    thread::spawn(move || {
        while let Ok((mut stream, _)) = more_names.accept() {
            let mut question = [0; 3];
            let _ =
                stream.read_exact(&mut question).and_then(|()| stream.write_all(&[&question[..], b" yes"].concat()));
        }
    });
}

/// Makes the thread's mounts its own, and hides the machine's other emulators.
fn have_own_state() {
    let (none, own) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    mount(none, "/", none, own, none).expect("mounts of its own");
    for folder in ["/run/farhop", "/run/netns"] {
        std::fs::create_dir_all(folder).expect("a folder");
        mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::empty(), none).expect("permitted");
    }
}

/// Puts the internet's resolver into `/etc/resolv.conf`, for this thread and its children.
fn use_resolver() -> tempfile::NamedTempFile {
    let none = None::<&str>;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "nameserver {INTERNET}").expect("written");
    mount(Some(file.path()), "/etc/resolv.conf", none, MsFlags::MS_BIND, none).expect("a file to cover");
    file
}

/// The address that the calling thread has in the internet.
pub(crate) fn who_am_i(internet: impl Into<IpAddr>) -> IpAddr {
    let address = SocketAddr::new(internet.into(), WHO);
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).expect("the internet answers");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an address");
    text.parse().expect("an address")
}

/// How much of so many bytes arrives in the internet, on a way whose packets are smaller there than inside.
pub(crate) fn upload(internet: impl Into<IpAddr>, length: usize) -> u64 {
    let address = SocketAddr::new(internet.into(), DISCARD);
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).expect("the internet answers");
    stream.set_write_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream.write_all(&vec![7; length]).expect("it is read");
    stream.shutdown(Shutdown::Write).expect("connected");
    let mut count = [0; 8];
    stream.read_exact(&mut count).expect("a count");
    u64::from_be_bytes(count)
}

/// What the resolver at `address` answers over UDP and TCP.
pub(crate) fn resolve(address: SocketAddr) -> [Vec<u8>; 2] {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    socket.send_to(b"id?", address).expect("sent");
    let mut datagram = [0; 64];
    let length = socket.recv(&mut datagram).expect("an answer");
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).expect("a connection");
    let mut text = Vec::new();
    stream.write_all(b"id?").expect("sent");
    stream.read_to_end(&mut text).expect("an answer");
    [datagram[..length].to_vec(), text]
}
