//! Brings up the loopback interface of a new network namespace, by a message to the kernel.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
/// Protocol 0 of the netlink family is routing, so none has to be named.
///
/// The kernel gives the first interface of every network namespace this number.
const LOOPBACK_INDEX: i32 = 1;

pub(super) fn bring_up() -> Result<(), String> {
    let failed = |why: &dyn std::fmt::Display| format!("`sandbox.network: loopback` cannot be set up: {why}");
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .map_err(|error| failed(&error))?;
    send(&socket, &request(), SendFlags::empty()).map_err(|error| failed(&error))?;
    let mut answer = [0_u8; 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).map_err(|error| failed(&error))?;
    match answer_code(&answer[..length]) {
        Some(0) => Ok(()),
        Some(code) => Err(failed(&std::io::Error::from_raw_os_error(-code))),
        None => Err(failed(&"the kernel gave no answer")),
    }
}

/// A netlink header (16 bytes) and an interface message (16 bytes) that sets one flag.
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32);
    bytes.extend(32_u32.to_ne_bytes());
    bytes.extend(RTM_NEWLINK.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    bytes.extend(1_u32.to_ne_bytes()); // sequence number
    bytes.extend(0_u32.to_ne_bytes()); // to the kernel
    bytes.extend([0_u8, 0]); // family, padding
    bytes.extend(0_u16.to_ne_bytes()); // type of device
    bytes.extend(LOOPBACK_INDEX.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes());
    bytes.extend(IFF_UP.to_ne_bytes()); // the flags that change
    bytes
}

/// The error code of an acknowledgement: 0 for success, else a negated error number.
fn answer_code(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == NLMSG_ERROR).then_some(code)
}
