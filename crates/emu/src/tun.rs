//! TUN devices: the file ends of the emulated links.
//!
//! Opened without a virtio header (`IFF_VNET_HDR`), so that the kernel cuts segmentation-offload packets and fills checksums
//! in before a packet comes here, and a read is one IP packet as it would be on the wire. A device lives as long as its file.

use crate::EmuError;
use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Where TUN devices come from.
pub(crate) const TUN_CONTROL: &str = "/dev/net/tun";

/// One TUN device, non-blocking.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

impl Tun {
    /// Creates the device `name` in the calling thread's network namespace.
    #[expect(unsafe_code, reason = "TUNSETIFF has no safe wrapper")]
    pub(crate) fn create(name: &str) -> Result<Self, EmuError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(TUN_CONTROL)
            .map_err(EmuError::system(format!("open {TUN_CONTROL}")))?;
        let request = interface_request(name);
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is, alive for the call.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw const request) };
        Errno::result(answer).map_err(EmuError::system(format!("create the TUN device {name}")))?;
        Ok(Self { file })
    }

    /// The next packet, if one is waiting.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match nix::unistd::read(&self.file, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands a packet to the host at this end.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        nix::unistd::write(&self.file, packet)?;
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn interface_request(name: &str) -> libc::ifreq {
    let mut ifr_name = [0; libc::IFNAMSIZ];
    for (to, from) in ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from.cast_signed();
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI;
    libc::ifreq { ifr_name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags as libc::c_short } }
}
