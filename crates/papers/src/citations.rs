//! The papers: who wrote them, how they must be read, what their figures show.

use farhop_results::reproduction::{Caption, Citation, Figure};

/// A caption, in our words.
const fn shows(figure: Figure, text: &'static str) -> Caption {
    Caption { figure, text }
}

pub(crate) const NZ_US_2000: Citation = Citation {
    name: "nz-us-2000",
    authors: "authors not in the text at hand",
    title: "a trace-driven simulation of satellite and terrestrial links between New Zealand and the USA",
    published: "2000",
    mistakes: &[
        "The log is not public: ours is generated, and all but its 421 requests in ten minutes is assumed.",
        "With a proxy the time is \"55 % of the base\" in one place, \"a 50 % improvement\" in another.",
        "HTTP/1.1 saves \"between 18 % and 40 %\", and \"a maximum of 41 %\" further down.",
        "Neither the connections between the proxies nor the server's think time are given: 128 connections, and one factor fitted to 2.8 s.",
        "421 requests in ten minutes use less than 1 % of an E3 link: load becomes visible from some hundred times that.",
        "The figures are lost: only what the text says of them is here as published.",
    ],
};

pub(crate) const NZ_US_2000_CAPTIONS: &[Caption] = &[
    shows(Figure::Fig(4), "mean latency of the sample requests over load"),
    shows(Figure::Fig(5), "peak buffer of the link towards New Zealand over load"),
    shows(Figure::Fig(6), "most sessions to servers at once over load"),
];

pub(crate) const OBATA_2001: Citation = Citation {
    name: "obata-2001",
    authors: "H. Obata, K. Ishida, J. Funasaka, K. Amano",
    title: "Evaluation of TCP Performance on Asymmetric Networks Using Satellite and Terrestrial Links",
    published: "IEICE Trans. Commun. E84-B(6), 1480–1487, June 2001",
    mistakes: &[
        "Bytes are divided by bit/s; the factor 8 is never written.",
        "MWS/d_seg is a real number, where TCP sends whole segments: up to +41 % in throughput. As published here, mended beside it.",
        "Eq 9 and 11 put the payload alone on the wire, Eq 5 counts its headers and α too: 0.04 % of a file's time, 1.8 % where most of a large \
         window is left (Fig 10, 128 kByte).",
        "Eq 10 is not monotonic: without a remainder it ends when the next window would be sent, else with the last byte.",
        "Every odd segment of a window waits for the next one or the timer, which Eq 1 and 6 leave out (+8 to +23 %); so do ACKs behind \
         earlier ACKs (−8 to +6 % at 4 to 16 kbit/s).",
        "q(−1) is undefined: it counts as no time.",
        "Nothing is sent again (§3), though a window of 192 kByte is more than the link holds: queues here never drop, but for Fig 9's.",
        "Table 1 has 25 ms for the uplink delay that text and Fig 5 have as 30 ms: both are here.",
        "α = 16/15 and 1448/1500 allow 90.5 % utilization, which the text's 94.4 % exceeds.",
        "The figures are lost: only what the text says of them is here as published.",
    ],
};

pub(crate) const OBATA_2001_CAPTIONS: &[Caption] = &[
    shows(Figure::Fig(2), "how the window grows"),
    shows(Figure::Fig(5), "throughput over the maximum window, by the uplink's delay"),
    shows(Figure::Fig(6), "throughput over the maximum window, by the uplink's rate"),
    shows(Figure::Fig(7), "satellite both ways, 64 kbit/s"),
    shows(Figure::Fig(8), "satellite down with 64 kbit/s, Internet up"),
    shows(Figure::Fig(9), "a measured transfer's sequence numbers"),
    shows(Figure::Fig(10), "as Fig 8, with other computers"),
    shows(Figure::Fig(11), "satellite down with 2048 kbit/s, Internet up"),
    shows(Figure::Eq(13), "the window from which throughput saturates in Fig 5"),
];

pub(crate) const OBATA_2002: Citation = Citation {
    name: "obata-2002",
    authors: "H. Obata, K. Ishida, J. Funasaka, K. Amano",
    title: "Data Transfer Time by HTTP 1.0/1.1 on Asymmetric Networks Composed of Satellite and Terrestrial Links",
    published: "IEICE Trans. Commun. E85-B(12), 2895–2903, December 2002",
    mistakes: &[
        "The maximum window is never given: 16 KiB reproduces the text's numbers.",
        "A request is a bare header of 52 B.",
        "Eq 2 compares segments with MWS in bytes; read as MWS/d_seg segments.",
        "Eq 8, 12 and 14 add one d_ack to the remainder, however many packets it fills.",
        "Eq 8 without a remainder still adds d_ack/Q + τ_sat, the opposite of the 2001 paper; no first ACK is delayed.",
        "Eq 12 and 14 take the window as full from the second data set on, though after 5 kB it is about 4 segments: up to −42 % with \
         pipelining. Mended beside it.",
        "[12] is G. Hasegawa, M. Murata, H. Miyahara, Int. J. Commun. Syst. 12(4), 281–296, 1999, as this paper quotes it.",
        "The figures are lost: only what the text says of them is here as published.",
    ],
};

pub(crate) const OBATA_2002_CAPTIONS: &[Caption] = &[
    shows(Figure::Fig(3), "how the window grows"),
    shows(Figure::Fig(4), "initial formulas over the number of data sets"),
    shows(Figure::Fig(5), "initial formulas over the size of data sets"),
    shows(Figure::Fig(6), "what the server has sent by when, data sets of 10 kB"),
    shows(Figure::Fig(7), "revised formula over the number of data sets"),
    shows(Figure::Fig(8), "revised formula over the size of data sets"),
    shows(Figure::Fig(9), "HTTP/1.0 beside the older formula"),
    shows(Figure::Fig(10), "HTTP/1.1 beside the older formula"),
    shows(Figure::Fig(12), "pipelining, data sets of 5 kB"),
    shows(Figure::Section("4.3"), "setting up a connection"),
];

pub(crate) const PREFETCH_2013: Citation = Citation {
    name: "prefetch-2013",
    authors: "F. Nagase, T. Hiraguri, K. Nishimori, H. Makino",
    title: "Web Acceleration by Prefetching in Extremely Large Latency Network",
    published: "American Journal of Operations Research 2(3), doi:10.4236/ajor.2012.23041",
    mistakes: &[
        "Images of equations and Table 1 are lost: every equation is a reconstruction from the sentences around it.",
        "10 kB need k = 3 round trips, which gives 53.3 kbit/s; \"less than 50\" needs k = 4.",
        "37.6 s and 212 kbit/s are k = 3, though Eq 1 and 2 with that window of 4 kB give k = 4 (50.0 s, 160 kbit/s).",
        "89.2 s for 28 contents cannot be reproduced, as their sizes are missing: Eq 7 gives 42 s.",
        "\"21 times\" compares two theories; measured are 47.4 s and 4.3 s, 11 times.",
        "The text's 14 Mbit/s are above what 1414 B every 1 ms give (11.3 Mbit/s): they are the client's, who gets what has been stored at \
         the speed of Ethernet.",
    ],
};

pub(crate) const PREFETCH_2013_CAPTIONS: &[Caption] = &[
    shows(Figure::Fig(3), "throughput of one content over its size, by the receive window"),
    shows(Figure::Fig(4), "throughput of a page over the receive window"),
    shows(Figure::Fig(9), "load time over the number of contents"),
    shows(Figure::Fig(14), "load time of the test's 28 contents, as they come in"),
    shows(Figure::Fig(15), "throughput over time"),
    shows(Figure::Table(1), "parameters of Fig 9"),
    shows(Figure::Fig(16), "recovery after a cut"),
    shows(Figure::Eq(3), "the most that a window allows"),
    shows(Figure::Section("4"), "rate of paced UDP"),
];

pub(crate) const ZHOU_2004: Citation = Citation {
    name: "zhou-2004",
    authors: "X. Zhou, N. Liu, J. S. Baras",
    title: "Web Access over a Multiple Access Channel: Evaluations and Improvements",
    published: "CSHCN TR 2004-10 (ISR TR 2004-19), University of Maryland, 2004",
    mistakes: &[
        "Table I counts 5.55 objects in all, though the model of §III has a document and 5.55 more.",
        "61 KB make 122 packets of 512 B only with KB of 1024 B.",
        "Requests of 250 B and 1 kB with a mean of 390 B need shares of about 82 and 18 %, which the text does not give.",
        "Replies (Pareto, α = 1.1) have an infinite variance: their mean of 11 kB is that of the distribution; the median mean of 27,000 \
         samples is 7.2 kB.",
    ],
};

pub(crate) const ZHOU_2004_CAPTIONS: &[Caption] = &[
    shows(Figure::Table(1), "reverse traffic of a page by the frequency of ACKs"),
    shows(Figure::Fig(5), "response times by the distribution of file sizes"),
    shows(Figure::Fig(6), "response times by transport and medium access"),
    shows(Figure::Fig(7), "response times by the frequency of ACKs"),
    shows(Figure::Section("3"), "the user model's means"),
    shows(Figure::Section("6"), "what the paper does not give of its network, and what is taken for it here"),
];
