//! Any parameters have an answer or an error that names one of them, and time adds up.

use super::*;
use proptest::prelude::*;

fn parameters() -> impl Strategy<Value = (Parameters, Vec<WorkloadObject>)> {
    let rate = prop_oneof![
        Just(None),
        (1_u64..u64::MAX).prop_map(Rate::from_bits_per_second),
        (1000_u64..1 << 30).prop_map(Rate::from_bits_per_second)
    ];
    let delay = prop_oneof![Just(0_u64), 1_u64..2_000_000_000, any::<u64>()].prop_map(Duration::from_nanos);
    let size = prop_oneof![Just(0_u64), 1_u64..100_000, 1_u64..10_000_000_000_000];
    let network = (rate.clone(), rate, delay.clone(), delay);
    let tcp = (0_usize..3, 0_usize..4, 1_u32..2000, prop::option::of(1_u64..10_000_000), 1_u64..20_000, any::<bool>());
    let http = (0_usize..5, 0_usize..9, 1_u64..5000, 0_u64..5000, 0_usize..3, any::<[bool; 3]>());
    (network, tcp, http, prop::collection::vec((size, any::<u64>()), 1..6)).prop_map(|(network, tcp, http, objects)| {
        let mut parameters = Parameters::of(&scenario("demo", &[]));
        (parameters.down[1].rate, parameters.up[1].rate) = (network.0, network.1);
        (parameters.down[1].delay, parameters.up[1].delay) = (network.2, network.3);
        parameters.down[1].queue =
            [QueueLimit::Unlimited, QueueLimit::Packets(http.3 % 9), QueueLimit::Bytes(Bytes::new(http.2 * 7))][http.4];
        parameters.tcp = TcpConfig {
            profile: [Profile::Linux, Profile::Rfc, Profile::Bsd1997][tcp.0],
            congestion: [Congestion::Reno, Congestion::NewReno, Congestion::Cubic, Congestion::Bbr][tcp.1],
            initial_window: tcp.2,
            max_window: tcp.3.map(Bytes::new),
            receive_buffer: Bytes::new(http.2 * 1000),
            mss: Bytes::new(tcp.4),
            sack: http.5[0] || tcp.5,
            first_ack: if tcp.5 { FirstAck::Immediate } else { FirstAck::Delayed },
            ..TcpConfig::of(Profile::Linux)
        };
        parameters.http = [Http::Http10, Http::Http11, Http::Http11Pipelined, Http::Http2, Http::Http3][http.0];
        (parameters.connections, parameters.tls) = (http.1, [Tls::None, Tls::Tls12, Tls::Tls13][http.4]);
        parameters.tls_record = Bytes::new([0, http.2, 16 << 10][http.0 % 3]);
        (parameters.request_bytes, parameters.response_header_bytes) = (Bytes::new(http.2), Bytes::new(http.3));
        let [established, pushes, fixed] = http.5;
        (parameters.is_established, parameters.pushed) = (established, if pushes { http.1 % 4 } else { 0 });
        (parameters.carriers, parameters.delays.opening) =
            (http.1 % 4, Some(Duration::from_micros(http.2 % 3 * 700)).filter(|_| http.2 % 5 > 1));
        let behind = parameters.delays.opening.map(|round_trip| WayBehind { round_trip, mss: Bytes::new(http.2) });
        (parameters.delays.behind, parameters.delays.connection) = (behind, Duration::from_millis(http.3));
        let rate = parameters.down[1].rate.filter(|_| http.0 > 1);
        parameters.flow =
            (fixed && http.1 > 3).then(|| Flow { rate, window: Bytes::new(http.2), ack_every: 1 + http.1 as u32 });
        (parameters.fetches, parameters.asks_ahead, parameters.is_relayed) = (http.4, http.0 == 1, http.1 > 4);
        parameters.outstanding = if http.3 % 2 > 0 { usize::MAX } else { http.1 };
        parameters.control = if fixed { Control::FixedRate } else { Control::Tcp };
        parameters.lookup = Duration::from_nanos(http.3 * 1_000_000);
        let object = |(index, (size, at)): (usize, (u64, u64))| WorkloadObject {
            host: (at % 3) as usize,
            urgency: (at % 5) as u8,
            in_turns: at % 4 > 0,
            request: (at % 2 > 0).then_some(Bytes::new(1 + at % 3000)),
            header: (at % 7 > 3).then_some(Bytes::new(at % 2000)),
            is_document: at % 9 > 2,
            think: Duration::from_millis(at % 11 * 50),
            delay: Duration::from_millis(at % 13 * 20),
            ..WorkloadObject::new(Bytes::new(size), (index > 0).then_some((index / 2, Bytes::new(at))))
        };
        (parameters, objects.into_iter().enumerate().map(object).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn anything_has_an_answer_that_adds_up_or_an_error((parameters, objects) in parameters()) {
        let workload = Workload::new(&objects).unwrap();
        if let Ok(load) = Recursion::new().load(&parameters, &workload) {
            prop_assert!(adds_up(&load), "{load:?}");
            prop_assert!(load.first_byte <= load.last_byte, "{load:?}");
            let propagation = parameters.down[1].delay + parameters.up[1].delay;
            prop_assert!(load.last_byte + Duration::from_nanos(2) >= propagation, "{load:?}");
        }
    }

    /// The request fits into each of them, and the head into the first; what a short queue drops is another packet with each size.
    #[test]
    fn a_longer_record_is_never_read_earlier(
        (mut parameters, _) in parameters(),
        sizes in prop::array::uniform2(5000_u64..=16_384),
        tls in prop::sample::select(vec![Tls::Tls12, Tls::Tls13]),
    ) {
        parameters.tls = tls;
        let hops = parameters.down.iter_mut().chain(&mut parameters.up);
        hops.for_each(|hop| hop.queue = QueueLimit::Unlimited);
        let file = Workload::file(Bytes::kb(100));
        let mut first_byte = |size| {
            let parameters = Parameters { tls_record: Bytes::new(size), ..parameters.clone() };
            Recursion::new().load(&parameters, &file).map(|load| load.first_byte)
        };
        if let [Ok(shorter), Ok(longer)] = [sizes[0].min(sizes[1]), sizes[0].max(sizes[1])].map(&mut first_byte) {
            prop_assert!(shorter <= longer, "{shorter:?} {longer:?}");
        }
    }

    #[test]
    fn losses_of_any_kind_only_add((parameters, objects) in parameters(), kind in 0_usize..3, chances: [f64; 4]) {
        let chance = |at: usize| format!("{}", chances[at].abs().fract() * if kind == 0 { 0.01 } else { 1.0 });
        let model: LossModel = match kind {
            2 => format!("gilbert-elliott enter={} leave={} good={} bad={}", chance(0), chance(1), chance(2), chance(3)),
            _ => chance(0),
        }.parse().unwrap();
        let up: LossModel = chance(3).parse().unwrap();
        let workload = Workload::new(&objects).unwrap();
        let mut recursion = Recursion::new();
        if let Ok(without) = recursion.load(&parameters, &workload) {
            let losses = Losses::of([model], [up], Bytes::new(1500));
            let with = match recursion.load_with_losses(&parameters, &workload, &losses) {
                Ok(with) => with,
                Err(RecursionError::TooLossy { loss }) => {
                    prop_assert!(loss.get() > 0.5);
                    return Ok(());
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            prop_assert!(adds_up(&with), "{with:?}");
            prop_assert!(with.first_byte <= with.last_byte && without.last_byte <= with.last_byte, "{with:?}");
            prop_assert_eq!(recursion.load_with_losses(&parameters, &workload, &losses), Ok(with));
        }
    }
}

/// Loads one after the other. All but the first have objects of no more than 65,536 segments, some beyond what is reckoned one by one
/// together; so that a row has one load at most that is given up after millions of packets.
fn rows() -> impl Strategy<Value = Vec<(Parameters, Vec<WorkloadObject>)>> {
    prop::collection::vec(parameters(), 6).prop_map(|mut row| {
        for (parameters, objects) in row.iter_mut().skip(1) {
            let most = parameters.tcp.mss.get() << 16;
            objects.iter_mut().for_each(|object| object.size = Bytes::new(object.size.get() % most));
        }
        row
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn buffers_that_were_used_before_change_nothing(row in rows()) {
        let mut used = Recursion::new();
        for (place, (parameters, objects)) in row.iter().enumerate() {
            let workload = Workload::new(objects).unwrap();
            let load = used.load(parameters, &workload);
            prop_assert!(place == 0 || load == Recursion::new().load(parameters, &workload), "{place}");
        }
    }
}
