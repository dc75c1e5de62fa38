//! Which bytes go first: the transport sends streams of higher priority first and shares evenly among equals.
//!
//! Least attained service: a flow starts high and falls behind once it has sent much, so that pages overtake downloads and a download
//! never starves (only pages in progress pass it, and they end). Within a page, parts go in the order in which the page names them,
//! because that is the order in which it can be shown, and after the page itself.

use farhop_units::Bytes;

/// What a flow carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The answer to a request or a tunnelled connection: somebody waits for it.
    Requested,
    /// A part of a page, and its place in the order of the page's references.
    Pushed {
        /// Place in the order of the page's references, from 0.
        order: u32,
    },
    /// A part of a page that the gateway left to the client, which has asked for it, and its place as if it were pushed. The client may wait for
    /// what was pushed before it, too; where such requests went first, and there are always more of them, it would wait until they end.
    Left {
        /// Place in the order of the page's references, from 0.
        order: u32,
    },
}

/// From here on a flow counts as a download. Design point: ten times the median image, more than nearly every script.
const DOWNLOAD: Bytes = Bytes::kib(1024);

/// The priority of a flow that has sent `sent`; higher goes first.
pub fn priority(content: Content, sent: Bytes) -> i32 {
    match content {
        _ if sent >= DOWNLOAD => i32::MIN,
        Content::Requested => 0,
        Content::Pushed { order } | Content::Left { order } => -1 - i32::try_from(order).unwrap_or(i32::MAX - 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_goes_before_its_parts_and_they_in_order() {
        let pushed = |order| priority(Content::Pushed { order }, Bytes::ZERO);
        assert!(priority(Content::Requested, Bytes::ZERO) > pushed(0));
        assert!(pushed(0) > pushed(1) && pushed(1) > pushed(u32::MAX));
        let left = priority(Content::Left { order: 2 }, Bytes::ZERO);
        assert!(pushed(1) > left && left > pushed(3), "whoever sends them");
    }

    #[test]
    fn a_download_falls_behind_every_page() {
        let download = priority(Content::Requested, DOWNLOAD);
        assert!(download < priority(Content::Pushed { order: u32::MAX }, Bytes::ZERO));
        assert_eq!(download, priority(Content::Pushed { order: 0 }, DOWNLOAD), "downloads share evenly");
    }
}
