//! TUN devices: the file ends of the emulated links.
//!
//! Usually opened without a virtio header (`IFF_VNET_HDR`), so that the kernel cuts segmentation-offload packets and fills
//! checksums in before a packet comes here, and a read is one IP packet as it would be on the wire. A device lives as long as its namespace.

mod napi;

use crate::EmuError;
use nix::errno::Errno;
use nix::unistd::Pid;
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
    taker: Option<Pid>,
    bundles: bool,
}

/// `struct virtio_net_hdr`, before every packet of a device that bundles them: how to cut it and what its checksum lacks.
pub(crate) const BUNDLE_HEADER: usize = 10;

impl Tun {
    /// Creates the device `name` in the calling thread's network namespace, with a kernel thread that takes its packets where
    /// that can be had.
    pub(crate) fn create(name: &str) -> Result<Self, EmuError> {
        Self::create_with(name, false)
    }

    /// As [`Tun::create`]; TCP passes in bundles of packets, as it would between network cards that cut and join them
    /// (segmentation offload), and every packet has a [`BUNDLE_HEADER`].
    pub(crate) fn create_bundling(name: &str) -> Result<Self, EmuError> {
        let tun = Self::create_with(name, true)?;
        tun.offer_offload().map_err(EmuError::system(format!("turn on segmentation offload of {name}")))?;
        Ok(tun)
    }

    fn create_with(name: &str, bundles: bool) -> Result<Self, EmuError> {
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | if bundles { libc::IFF_VNET_HDR } else { 0 };
        let threaded = Self::threaded(name, flags);
        if let Err(error) = &threaded {
            tracing::debug!(%error, name, "no kernel thread for a device");
        }
        let (file, taker) = match threaded {
            Ok((file, taker)) => (file, Some(taker)),
            Err(_) => (Self::open(name, flags)?, None),
        };
        outlive_file(&file).map_err(EmuError::system(format!("keep the TUN device {name}")))?;
        Ok(Self { file, taker, bundles })
    }

    /// Tells the host that this device cuts bundles and fills in checksums.
    #[expect(unsafe_code, reason = "TUNSETOFFLOAD has no safe wrapper")]
    fn offer_offload(&self) -> io::Result<()> {
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        // SAFETY: TUNSETOFFLOAD takes a number.
        let answer = unsafe { libc::ioctl(self.file.as_raw_fd(), libc::TUNSETOFFLOAD as _, offloads) };
        Errno::result(answer)?;
        Ok(())
    }

    /// Bytes before every packet that are not its own.
    pub(crate) fn header(&self) -> usize {
        if self.bundles { BUNDLE_HEADER } else { 0 }
    }

    /// The kernel's thread that takes what is written, so that writing takes hardly longer than copying.
    pub(crate) fn taker(&self) -> Option<Pid> {
        self.taker
    }

    fn threaded(name: &str, flags: libc::c_int) -> Result<(File, Pid), EmuError> {
        let temporary = napi::temporary_name();
        let file = Self::open(&temporary, flags | libc::IFF_NAPI)?;
        let taker = napi::make_threaded(&temporary).and_then(|taker| napi::rename(&temporary, name).map(|()| taker));
        let taker = taker.map_err(EmuError::system(format!("give the TUN device {name} a kernel thread")))?;
        Ok((file, taker))
    }

    #[expect(unsafe_code, reason = "TUNSETIFF has no safe wrapper")]
    fn open(name: &str, flags: libc::c_int) -> Result<File, EmuError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(TUN_CONTROL)
            .map_err(EmuError::system(format!("open {TUN_CONTROL}")))?;
        let request = interface_request(name, flags);
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which `request` is, alive for the call.
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw const request) };
        Errno::result(answer).map_err(EmuError::system(format!("create the TUN device {name}")))?;
        Ok(file)
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

/// Leaves the device to its namespace, which removes all its devices at once and in the background. Closing their files
/// would remove them one by one: 35 ms each, 4.5 s for 128 terminals.
#[expect(unsafe_code, reason = "TUNSETPERSIST has no safe wrapper")]
fn outlive_file(file: &File) -> nix::Result<()> {
    // SAFETY: TUNSETPERSIST takes a number.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST as _, 1) };
    Errno::result(answer).map(drop)
}

fn interface_request(name: &str, flags: libc::c_int) -> libc::ifreq {
    let mut ifr_name = [0; libc::IFNAMSIZ];
    for (to, from) in ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from.cast_signed();
    }
    libc::ifreq { ifr_name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags as libc::c_short } }
}
