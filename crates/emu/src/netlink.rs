//! Messages to and from the kernel's netfilter over netlink (netlink(7), linux/netfilter/nfnetlink.h): made, sent, taken apart.

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A netlink message under construction: header, then attributes, each padded to four bytes.
#[derive(Debug)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// Bytes of `nlmsghdr`, of `nfgenmsg`, of `nlattr`.
const HEADER: usize = 16;
pub(crate) const GENERAL: usize = 4;
const ATTRIBUTE: usize = 4;

impl Message {
    /// A message to nf_tables about something of a protocol family; `kind` is one of its own among all of netfilter's.
    pub(crate) fn new(kind: u16, family: u8, flags: libc::c_int) -> Self {
        Self::start((libc::NFNL_SUBSYS_NFTABLES as u16) << 8 | kind, flags, family, 0)
    }

    /// One of the two messages around a transaction.
    fn around(kind: libc::c_int) -> Self {
        Self::start(kind as u16, 0, 0, libc::NFNL_SUBSYS_NFTABLES as u16)
    }

    /// `nlmsghdr` (its length comes last) and `nfgenmsg`.
    fn start(kind: u16, flags: libc::c_int, family: u8, resource: u16) -> Self {
        let flags = (libc::NLM_F_REQUEST | flags) as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend([family, 0]);
        bytes.extend(resource.to_be_bytes());
        Self { bytes }
    }

    /// An attribute that is plain bytes.
    pub(crate) fn attribute(&mut self, kind: u16, payload: &[u8]) {
        let length = u16::try_from(4 + payload.len()).expect("attributes here are short");
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(payload);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// An attribute that is a text with its end.
    pub(crate) fn text(&mut self, kind: u16, text: &str) {
        self.attribute(kind, &[text.as_bytes(), &[0]].concat());
    }

    /// An attribute that is a number, in netfilter's byte order.
    pub(crate) fn number(&mut self, kind: u16, number: u32) {
        self.attribute(kind, &number.to_be_bytes());
    }

    /// An attribute made of attributes.
    pub(crate) fn nested(&mut self, kind: u16, write: impl FnOnce(&mut Self)) {
        let mut inner = Self { bytes: Vec::new() };
        write(&mut inner);
        self.attribute(kind | libc::NLA_F_NESTED as u16, &inner.bytes);
    }

    fn finished(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}
/// A socket to the netfilter of the calling thread's network.
pub(crate) fn open() -> io::Result<OwnedFd> {
    Ok(socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkNetFilter)?)
}

/// Sends messages that take effect together or not at all.
pub(crate) fn transact(socket: &OwnedFd, messages: &[Message]) -> io::Result<()> {
    let mut batch = Message::around(libc::NFNL_MSG_BATCH_BEGIN).finished();
    messages.iter().for_each(|message| batch.extend(message.finished()));
    batch.extend(Message::around(libc::NFNL_MSG_BATCH_END).finished());
    send(socket.as_raw_fd(), &batch, MsgFlags::empty())?;
    let mut answers = [0; 16 << 10];
    // The kernel has answered before `send` returns.
    loop {
        match recv(socket.as_raw_fd(), &mut answers, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => first_error(&answers[..length])?,
            Err(Errno::EAGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks a question that has many answers; their payloads are given to `each`.
pub(crate) fn ask(socket: &OwnedFd, question: &Message, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    send(socket.as_raw_fd(), &question.finished(), MsgFlags::empty())?;
    let mut answers = vec![0; 64 << 10];
    loop {
        let length = recv(socket.as_raw_fd(), &mut answers, MsgFlags::empty())?;
        first_error(&answers[..length])?;
        for (kind, payload) in messages(&answers[..length]) {
            match libc::c_int::from(kind) {
                libc::NLMSG_DONE | libc::NLMSG_ERROR => return Ok(()),
                _ => each(payload),
            }
        }
    }
}

/// The first of the answers that is not a plain acknowledgement.
fn first_error(answers: &[u8]) -> io::Result<()> {
    for (kind, payload) in messages(answers) {
        let error = payload.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_ne_bytes);
        if libc::c_int::from(kind) == libc::NLMSG_ERROR && error != 0 {
            return Err(io::Error::from_raw_os_error(-error));
        }
    }
    Ok(())
}

/// Kinds and payloads of the messages in a buffer.
fn messages(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let length = |head: &[u8]| Some(u32::from_ne_bytes(head.get(..4)?.try_into().ok()?) as usize);
    pieces(bytes, HEADER, length).map(|(head, payload)| (u16::from_ne_bytes([head[4], head[5]]), payload))
}

/// Kinds and payloads of the attributes in a message or another attribute.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const KIND: u16 = !(libc::NLA_F_NESTED as u16);
    let length = |head: &[u8]| Some(usize::from(u16::from_ne_bytes(head.get(..2)?.try_into().ok()?)));
    pieces(bytes, ATTRIBUTE, length).map(|(head, payload)| (u16::from_ne_bytes([head[2], head[3]]) & KIND, payload))
}

/// Cuts a buffer into pieces, each with a head that tells its length; ends where that cannot be.
fn pieces(
    mut bytes: &[u8],
    head: usize,
    length: impl Fn(&[u8]) -> Option<usize>,
) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let length = length(bytes).filter(|length| *length >= head)?;
        let piece = bytes.get(..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(piece.split_at(head))
    })
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_nested() {
        let mut message = Message::new(0, 1, libc::NLM_F_CREATE);
        message.text(1, "ab");
        message.nested(4, |list| list.number(1, 7));
        let bytes = message.finished();
        assert_eq!(bytes.len(), 16 + 4 + 8 + 12);
        assert_eq!(bytes[..4], 40_u32.to_ne_bytes());
        assert_eq!(bytes[20..28], [7, 0, 1, 0, b'a', b'b', 0, 0]);
        assert_eq!(bytes[28..], [12, 0, 4, 0x80, 8, 0, 1, 0, 0, 0, 0, 7]);
    }

    #[test]
    fn errors_are_found_behind_acknowledgements() {
        let answer = |error: i32| {
            let mut bytes = Message::start(libc::NLMSG_ERROR as u16, 0, 0, 0).finished();
            bytes.truncate(HEADER);
            bytes.extend(error.to_ne_bytes());
            bytes[..4].copy_from_slice(&20_u32.to_ne_bytes());
            bytes
        };
        assert!(first_error(&[answer(0), answer(0)].concat()).is_ok());
        let error = first_error(&[answer(0), answer(-libc::ENOENT)].concat()).expect_err("the second failed");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        assert!(first_error(&[0; 16]).is_ok() && first_error(&[1; 3]).is_ok());
    }

    #[test]
    fn buffers_that_are_cut_off_end() {
        let mut message = Message::new(0, 1, 0);
        message.number(1, 7);
        let buffer = message.finished();
        assert!((0..buffer.len()).all(|length| messages(&buffer[..length]).count() == 0));
        let (_, payload) = messages(&buffer).next().expect("the whole of it");
        let attribute = &payload[GENERAL..];
        assert!((0..attribute.len()).all(|length| attributes(&attribute[..length]).count() == 0));
        assert_eq!(attributes(attribute).collect::<Vec<_>>(), [(1, &7_u32.to_be_bytes()[..])]);
    }
}
