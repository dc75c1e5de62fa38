//! What the two boxes do about a page's parts.
//!
//! [`prefetch`] is what both agree on: the request the gateway makes for a part, which the terminal derives again from the same page
//! request, so that nothing but the URL need cross the link, and which of a client's requests that response may answer.
//! [`gateway`] turns references into announcements and fetches, [`terminal`] holds, answers and forwards, [`priority`] orders bytes, and
//! [`turns`] those who write them.

pub mod gateway;
mod interest;
pub mod prefetch;
pub mod priority;
pub mod terminal;
pub mod turns;
