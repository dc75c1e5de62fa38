//! TUN devices whose packets are taken by a kernel thread (NAPI; kernel documentation, `networking/napi.rst`).
//!
//! Without it, who writes a packet runs the receiving host's network stack up to its TCP's answer: 10 to 20 µs for an ACK that
//! lets more be sent, while a fast link delivers one every 4 µs. With it, a write is a copy (some 2 µs), as with a network card,
//! and what has come in meanwhile is taken together; where the link is not dense the thread goes before the link's, as an interrupt would
//! ([`Priority`]). The kernel thread has to be real-time, or any program that computes would
//! delay every packet by milliseconds; so this is done only where both can be had, which takes root.

use crate::real_time::{self, Priority};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// A name that no other device of any farhop on this machine has now, short enough that its thread's name is not cut off.
pub(super) fn temporary_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) % (36 * 36);
    // Process numbers have at most 22 bits (`PID_MAX_LIMIT`).
    format!("f{}{}", base_36(std::process::id(), 5), base_36(count, 2))
}

fn base_36(number: u32, digits: u32) -> String {
    let digit = |place| char::from_digit(number / 36_u32.pow(place) % 36, 36).expect("a digit below 36");
    (0..digits).rev().map(digit).collect()
}

/// Gives a device with a [`temporary_name`] in the calling thread's network namespace its real-time kernel thread, and gives its number.
pub(super) fn make_threaded(device: &str) -> io::Result<Pid> {
    let sys = mount_sys()?;
    let setting = format!("/proc/self/fd/{}/class/net/{device}/threaded", sys.as_raw_fd());
    fs::write(setting, "1")?;
    // There is one receive queue, whose number is no secret but always 0.
    let thread = find_thread(&format!("napi/{device}-0")).ok_or(io::ErrorKind::NotFound)?;
    let thread = Pid::from_raw(thread);
    real_time::give(thread, Priority::DenseHost)?;
    Ok(thread)
}

/// The newest processes come last.
fn find_thread(name: &str) -> Option<libc::pid_t> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers: Vec<libc::pid_t> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let is_it =
        |number: &libc::pid_t| fs::read_to_string(format!("/proc/{number}/comm")).is_ok_and(|comm| comm.trim() == name);
    numbers.into_iter().rev().find(is_it)
}

/// The kernel's view of the calling thread's network namespace, mounted nowhere.
#[expect(unsafe_code, reason = "fsopen, fsconfig and fsmount are not in nix")]
fn mount_sys() -> io::Result<OwnedFd> {
    const FSCONFIG_CMD_CREATE: libc::c_int = 6;
    let owned = |answer: libc::c_long| -> io::Result<OwnedFd> {
        let descriptor = libc::c_int::try_from(Errno::result(answer)?).map_err(io::Error::other)?;
        // SAFETY: the kernel has just given this descriptor to us alone.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    };
    let none: *const libc::c_char = std::ptr::null();
    // SAFETY: the name ends with a zero byte; the flags are plain integers.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), 1) })?;
    // SAFETY: this command takes neither key nor value.
    let created = unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) };
    Errno::result(created)?;
    // SAFETY: plain integers.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, 0) })
}

/// Renames a device that is not up.
#[expect(unsafe_code, reason = "SIOCSIFNAME has no safe wrapper")]
pub(super) fn rename(from: &str, to: &str) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let mut request = super::interface_request(from, 0);
    request.ifr_ifru.ifru_newname = super::interface_request(to, 0).ifr_name;
    // SAFETY: SIOCSIFNAME reads one `ifreq`, alive for the call, with the new name in the union.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFNAME as _, &raw const request) };
    Errno::result(answer)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_differ_and_leave_their_threads_name_whole() {
        let names: std::collections::BTreeSet<String> = (0..100).map(|_| temporary_name()).collect();
        assert_eq!(names.len(), 100);
        // TASK_COMM_LEN is 16 with the zero byte.
        assert!(names.iter().all(|name| format!("napi/{name}-0").len() <= 15), "{names:?}");
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(
            (base_36(35, 2), base_36(36 * 36 - 1, 2), base_36(1 << 22, 5)),
            ("0z".into(), "zz".into(), "2hwcg".into())
        );
    }
}
