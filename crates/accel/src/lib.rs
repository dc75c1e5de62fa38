//! What the accelerator's two boxes decide, without a socket, a clock or a task of its own.
//!
//! The *terminal* stands at the slow end and is the clients' HTTP proxy; the *gateway* stands at the fast end and fetches from the
//! servers. One long-lived connection joins them and carries [`wire`]'s frames, each flow within its [`credit`] and in [`order`], at the pace that
//! [`rate`] sets; what the gateway sends to all its terminals [`share`]s one rate. [`discovery`] reads references out of a page's HTML as
//! it streams through the gateway; [`planning`] decides which of them to announce, fetch and push, and at the terminal which requests to
//! hold, answer or forward. [`policy`] says where the gateway may connect to.

mod content;
pub mod credit;
pub mod discovery;
pub mod head;
mod markup;
pub mod order;
pub mod planning;
pub mod policy;
pub mod rate;
pub mod share;
pub mod tunnel;
pub mod wire;
