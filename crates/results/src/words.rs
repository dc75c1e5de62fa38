//! The words that scenario files and results share.

use serde::{Deserialize, Serialize};

/// Defines an enum of words with one spelling for files, JSON and tables.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// All of them, in their usual order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The spelling in files, JSON and tables.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.word())
            }
        }

        impl core::str::FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|known| known.word() == text).ok_or(())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// What the far link carries.
    Architecture {
        /// The client's own TCP connections to the server.
        Direct = "direct",
        /// One TCP connection per client connection, between two proxies that answer locally.
        Split = "split",
        /// k persistent TCP connections between two proxies, replies interleaved (nz-us-2000).
        Multiplexed = "multiplexed",
        /// Split connections over RWBP (zhou-2004).
        Rwbp = "rwbp",
        /// A prefetching proxy at one point of the path (prefetch-2013).
        PrefetchConventional = "prefetch-conventional",
        /// Two boxes, prefetched content over paced UDP with NACK (prefetch-2013).
        Prefetch2013 = "prefetch-2013",
        /// farhop's QUIC tunnel, no prefetch: what HTTPS without interception gets.
        Tunnel = "tunnel",
        /// farhop's tunnel with announce, hold and push.
        Accelerated = "accelerated",
    }
}

words! {
    /// Which engine gave a number.
    Source {
        /// A closed formula.
        Predicted = "predicted",
        /// Packets in virtual time.
        Simulated = "simulated",
        /// Real programs, real TCP, real time.
        Measured = "measured",
    }
}

words! {
    /// What the accelerator knows before the load.
    CacheState {
        /// Tunnel up, nothing stored or learned.
        Cold = "cold",
        /// Loaded before, the terminal's store emptied.
        Warm = "warm",
        /// Loaded before, the store kept.
        Repeat = "repeat",
    }
}
