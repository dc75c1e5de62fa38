use super::host::Since;
use super::*;
use farhop_link::QueueLimit;
use farhop_scenario::sending_time;

const FULL: Bytes = Bytes::new(1500);
const SYN: u64 = 60;

fn at(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

type Record = (Vec<Input>, Vec<Output<Recorded>>);

/// What was heard and sent at a terminal: µs and bytes.
fn record(heard: &[(u64, u64)], sent: &[(u64, u64)]) -> Record {
    let (port, packet) = (Port::Terminal(0), |bytes: u64| Recorded::new(0, Bytes::new(bytes)));
    let heard = heard.iter().map(|(time, bytes)| Output::Deliver { at: at(*time), port, packet: packet(*bytes) });
    let sent = sent.iter().map(|(time, bytes)| Input::Arrival { at: at(*time), port, packet: packet(*bytes) });
    (sent.collect(), heard.collect())
}

fn of((inputs, outputs): &Record) -> HostAnswers {
    HostAnswers::of_packets((inputs, outputs), FULL - HEADER_BYTES)
}

fn answers(heard: &[(u64, u64)], sent: &[(u64, u64)]) -> Vec<(Duration, Duration)> {
    of(&record(heard, sent)).kernels.into_iter().map(|answer| (answer.pause, answer.takes)).collect()
}

#[test]
fn nothing_of_a_scenario_but_its_pace_is_listened_to() {
    for (name, change) in
        [("geo-consumer", "link.down.loss=3%"), ("demo", "link.up.queue=3 kB"), ("starlink", "tcp.mss=1000")]
    {
        let scenario = farhop_scenario::open(name, &[change.to_owned()]).expect(name);
        let quiet = undisturbed(&scenario);
        let pace = |scenario: &Scenario| {
            let way = |way: &DirectionConfig| (way.told_rate(), way.least_delay());
            (way(&scenario.link.down), way(&scenario.link.up), scenario.tcp.mss)
        };
        assert_eq!(pace(&quiet), pace(&scenario));
        assert!(quiet.link.down.loss.is_none() && quiet.link.up.queue == QueueLimit::Unlimited);
        assert!((LEAST_BYTES..=MOST_BYTES).contains(&quiet.page.total_bytes()));
    }
}

#[test]
fn programs_are_listened_to_where_nobody_thinks_and_nothing_is_on_the_way() {
    let set = ["wan.delay=3 ms", "lan.delay=1 ms", "http.tls=1.3", "run.architectures=tunnel, direct"];
    let mut scenario = farhop_scenario::open("demo", &set.map(str::to_owned)).expect("demo");
    scenario.page.objects[1].think = Duration::from_millis(5);
    let plain = with_plain_programs(&scenario);
    assert!(plain.wan.is_transparent() && plain.lan.is_transparent() && plain.http.tls == Tls::None);
    assert!(plain.page.objects.iter().all(|object| object.think.is_zero()));
    assert_eq!((plain.run.architectures, plain.link), (vec![Architecture::Direct], scenario.link));
}

#[test]
fn acknowledgements_of_data_and_data_let_go_are_answers_without_what_it_took_to_send() {
    let second_of_two = answers(&[(1000, 1500), (7000, 1500)], &[(7012, 52)]);
    assert_eq!(second_of_two, [(micros(6000), micros(12))]);
    let two_segments = answers(&[(1000, 52), (12_000, 52)], &[(12_015, 1500), (12_016, 1500)]);
    assert_eq!(two_segments, [(micros(11_000), micros(15) - sending_time(2))]);
}

#[test]
fn three_acknowledgements_tell_of_a_gap_at_once_and_others_may_wait() {
    let heard = [1000, 7000, 14_000, 21_000, 28_000, 35_000].map(|time| (time, 1500));
    let told = |sent: &[(u64, u64)]| -> Vec<_> {
        let kernels = of(&record(&heard, sent)).kernels;
        kernels.into_iter().map(|answer| (answer.takes.as_micros(), answer.says)).collect()
    };
    let gaps = [(7011, 64), (14_012, 72), (21_013, 80), (28_014, 80)];
    let three = [11, 12, 13].map(|takes| (takes, Says::Gap));
    assert_eq!(told(&gaps), three);
    assert_eq!(told(&[&gaps[..], &[(35_015, 64)]].concat()), three, "the same one");
    let filled = [(7011, 64), (14_012, 72), (21_013, 52), (28_014, 64), (35_015, 64)];
    let (first, next) = ([(11, Says::Gap), (12, Says::Gap), (13, Says::Read)], [(14, Says::Gap), (15, Says::Gap)]);
    assert_eq!(told(&filled), [&first[..], &next].concat(), "another one");
    let (mut inputs, outputs) = record(&heard, &gaps);
    if let Some(Input::Arrival { packet, .. }) = inputs.last_mut() {
        packet.flow = 1;
    }
    assert_eq!(of(&(inputs, outputs)).kernels.len(), 4, "over another connection");
}

#[test]
fn what_is_in_order_takes_longer_to_acknowledge_by_what_its_reader_takes() {
    let some =
        |count: usize, says, pause, takes| vec![Answer { pause: micros(pause), takes: micros(takes), says }; count];
    let lets_go = some(FEWEST_ONCE, Says::More, 4000, 30);
    let awake = some(FEWEST, Says::Read, 1000, 15);
    let [gaps, read] = [(Says::Gap, 20), (Says::Read, 50)].map(|(says, takes)| some(FEWEST_ONCE, says, 4000, takes));
    let times = |kernels: &[&[Answer]]| {
        let kernels = kernels.concat();
        let HostTimes { kernel, data, reading, .. } = HostAnswers { kernels, ..HostAnswers::default() }.host_times();
        let of = |times: PauseTimes| [900, 4000].map(|pause| times.after(Some(micros(pause))).at(500));
        [kernel, data, reading].map(of)
    };
    let [kernel, data, reading] = times(&[&lets_go, &gaps, &read]);
    assert_eq!([kernel[1], data[1], reading[1]], [30, 20, 50 - 20].map(micros));
    let [_, data, reading] = times(&[&lets_go, &read]);
    assert_eq!([data[1], reading[1]], [30, 50 - 30].map(micros), "without gaps as where data are let go");
    let [_, data, reading] = times(&[&lets_go, &some(FEWEST_ONCE, Says::Gap, 4000, 60), &read]);
    assert_eq!([data[1], reading[1]], [60, 0].map(micros));
    let soon = some(FEWEST, Says::Read, 999, 15);
    let [_, data, reading] = times(&[&lets_go, &soon, &gaps, &read]);
    assert_eq!(data[0], micros(15), "who is awake has read at once");
    assert_eq!(reading[0], HostTimes::quiet().reading.after(Some(micros(900))).at(500).min(reading[1]));
    let slept = some(FEWEST, Says::Read, 1001, 15);
    let of_transfers = |kernels: &[Answer]| kernels.iter().filter(|one| is_undisturbed(one)).count();
    assert_eq!([&awake, &slept, &read, &gaps, &lets_go].map(|all| of_transfers(all)), [FEWEST, 0, 0, 10, 10]);
}

#[test]
fn what_waits_for_something_else_is_no_answer() {
    let none: [(Duration, Duration); 0] = [];
    assert_eq!(answers(&[(1000, 1500), (7000, 1500)], &[(8100, 52)]), none, "a timer");
    assert_eq!(answers(&[(7000, 252)], &[(7030, 1500)]), none, "a request's answer waits for the program");
    assert_eq!(answers(&[(7000, 1500)], &[(7030, 252)]), none, "so does the next request");
    assert_eq!(answers(&[(7000, 1500)], &[(7030, 1500)]), none, "data are no answer to data");
    assert_eq!(answers(&[(1000, 52), (7000, 52)], &[(7001, 1500)]), none, "nobody sends a segment in a microsecond");
    let once = answers(&[(1000, 52), (7000, 52)], &[(7015, 1500), (7100, 1500)]);
    assert_eq!(once.len(), 1, "what leaves later is paced or written later: {once:?}");
}

#[test]
fn both_ends_and_all_terminals_are_hosts_of_their_own() {
    let mut both = record(&[(1000, 1500), (7000, 1500)], &[(7012, 52)]);
    let packet = Recorded::new(0, FULL);
    both.1.push(Output::Deliver { at: at(7005), port: Port::Gateway, packet });
    both.0.push(Input::Arrival { at: at(7006), port: Port::Terminal(1), packet });
    assert_eq!(of(&both), of(&record(&[(1000, 1500), (7000, 1500)], &[(7012, 52)])));
}

/// What was heard and sent: µs and bytes.
type Packets<'a> = (&'a [(u64, u64)], &'a [(u64, u64)]);

/// How long ago the clients' and the servers' programs had answered, if ever, and what they and their kernels took.
fn programs((heard, sent): Packets<'_>) -> [Vec<(Duration, Duration)>; 2] {
    let (mut inputs, mut outputs) = record(heard, sent);
    let clients = of(&(inputs.clone(), outputs.clone()));
    assert_eq!(clients.servers, []);
    for input in &mut inputs {
        if let Input::Arrival { port, .. } = input {
            *port = Port::Gateway;
        }
    }
    for output in &mut outputs {
        if let Output::Deliver { port, .. } = output {
            *port = Port::Gateway;
        }
    }
    let servers = of(&(inputs, outputs));
    assert_eq!(servers.clients, []);
    [spans(&clients.clients), spans(&servers.servers)]
}

fn spans(answers: &[ProgramAnswer]) -> Vec<(Duration, Duration)> {
    answers.iter().map(|one| (one.rested, one.takes)).collect()
}

fn one(rested: u64, takes: u64) -> Vec<(Duration, Duration)> {
    vec![(micros(rested), micros(takes))]
}

/// Nothing has been answered before.
fn first(takes: u64) -> Vec<(Duration, Duration)> {
    vec![(Duration::MAX, micros(takes))]
}

fn after_first(rested: u64, takes: u64) -> Vec<(Duration, Duration)> {
    [first(30), one(rested, takes)].concat()
}

#[test]
fn programs_that_have_slept_answer_requests_and_the_ends_of_objects() {
    let none = || [first(30), first(30)];
    let second = |rested, takes| [(); 2].map(|()| after_first(rested, takes));
    let asked = (&[(1000, 402), (31_000, 402)][..], &[(1030, 252), (31_050, 252)][..]);
    assert_eq!(programs(asked), second(29_970, 50));
    let acknowledged = (asked.0, &[(1030, 252), (31_012, 52), (31_050, 252)][..]);
    assert_eq!(
        programs(acknowledged),
        [after_first(29_970, 50), after_first(29_982, 38)],
        "servers' kernels do that by themselves"
    );
    let data = (&[(1000, 402), (31_000, 1500), (32_500, 302)][..], &[(1030, 252), (32_550, 1500)][..]);
    assert_eq!(programs(data), second(31_470, 50), "the last of several packets");
    let late = (&[(1000, 402), (31_000, 402)][..], &[(1030, 252), (41_001, 252)][..]);
    assert_eq!(programs(late), none(), "it waits for something else");
    let burst = (asked.0, &[(1030, 252), (31_050, 1500), (31_051, 1500)][..]);
    assert_eq!(programs(burst), second(29_970, 50), "one answer, several packets");
    let gap = (&[(1000, 402), (31_000, 72)][..], &[(1030, 252), (31_050, 1500)][..]);
    assert_eq!(programs(gap), none(), "an acknowledgement lets data go");
    let repeated = (&[(1000, 402), (31_000, 1500)][..], &[(1030, 252), (31_020, 64), (31_050, 252)][..]);
    assert_eq!(programs(repeated), second(29_970, 50), "a kernel tells of a gap");
    let both = (&[(1000, 402), (31_000, 402), (31_020, 402)][..], &[(1030, 252), (31_050, 252), (31_060, 252)][..]);
    assert_eq!(programs(both), second(29_970, 50), "the first of two");
    let sent = &[(1030, 252), (31_012, 52), (31_032, 52), (31_050, 252)][..];
    assert_eq!(programs((both.0, sent))[1], after_first(29_982, 38), "since the first of two acknowledgements");
    let last = (&[(1000, 402), (31_000, 402), (34_000, 52)][..], &[(1030, 252), (34_015, 1500)][..]);
    assert_eq!(programs(last), none(), "after the last answer an acknowledgement lets other data go");
    let streams = (&[(1000, 402), (31_000, 402)][..], &[(1030, 252), (25_000, 1500), (31_050, 252)][..]);
    assert_eq!(programs(streams), second(29_970, 50), "what a kernel sends wakes no program");
}

#[test]
fn programs_that_are_awake_answer_where_they_do_nothing_else() {
    let answers = |heard: &[u64], sent: &[u64]| {
        // All but the last are no requests' ends.
        let (last, others) = heard.split_last().expect("some");
        let heard = [(1000, 402)].into_iter().chain(others.iter().map(|time| (*time, 1500)));
        let heard: Vec<_> = heard.chain([(*last, 402)]).collect();
        let sent: Vec<_> = [1030].iter().chain(sent).map(|time| (*time, 252)).collect();
        programs((&heard, &sent))
    };
    let (none, second) = ([first(30), first(30)], |rested, takes| [(); 2].map(|()| after_first(rested, takes)));
    assert_eq!(answers(&[1900], &[1950]), second(870, 50));
    assert_eq!(answers(&[1900], &[2901]), none, "it waits for something else");
    assert_eq!(answers(&[31_000, 31_900], &[31_950]), none, "it may still be waking up");
    assert_eq!(answers(&[31_000, 32_100, 33_001], &[33_051]), none, "it was woken again");
    assert_eq!(answers(&[31_000, 31_900, 32_800], &[32_850]), second(31_770, 50));
    assert_eq!(answers(&[31_000, 31_900, 32_800], &[33_901]), second(31_770, 1101), "what it has not done for long");
}

#[test]
fn acknowledgements_over_other_connections_are_none_of_the_answers() {
    let packet = |flow: u64, bytes: u64| Recorded { flow, ..Recorded::new(0, Bytes::new(bytes)) };
    let heard = |&(time, flow, bytes): &(u64, u64, u64)| Output::Deliver {
        at: at(time),
        port: Port::Gateway,
        packet: packet(flow, bytes),
    };
    let sent = |&(time, flow, bytes): &(u64, u64, u64)| Input::Arrival {
        at: at(time),
        port: Port::Gateway,
        packet: packet(flow, bytes),
    };
    // Ways down are told from each other by the order in which connections were opened, of which one was asked for twice.
    let opened = [(100, 1, SYN), (150, 2, SYN), (400, 1, SYN)];
    let accepted = [(120, 8, SYN), (170, 9, SYN), (420, 8, SYN)];
    let servers = |heard_later: &[(u64, u64, u64)], sent_later: &[(u64, u64, u64)]| {
        let outputs = opened.iter().chain(heard_later).map(heard).collect();
        let inputs = accepted.iter().chain(sent_later).map(sent).collect();
        spans(&of(&(inputs, outputs)).servers)
    };
    let asked = [(31_000, 1, 402), (31_100, 2, 52), (31_200, 2, 52)];
    assert_eq!(servers(&asked, &[(31_110, 9, 1500), (31_300, 8, 1500)]), first(300));
    assert_eq!(servers(&asked, &[(31_110, 9, 1500), (31_300, 9, 1500)]), [], "all of that is the other one's");
    let both = [(31_000, 1, 402), (31_020, 2, 402)];
    assert_eq!(servers(&both, &[(31_050, 8, 1500), (31_060, 9, 1500)]), first(50), "it has answered before");
    let in_turn = [(31_000, 1, 402), (31_055, 2, 402)];
    let answered = [first(50), one(5, 30)].concat();
    assert_eq!(servers(&in_turn, &[(31_050, 8, 1500), (31_085, 9, 1500)]), answered);
    let third = [(31_000, 1, 402), (31_100, 3, SYN), (31_200, 2, 402)];
    let kernel_first = [(31_110, 10, SYN), (31_250, 9, 1500), (31_300, 8, 1500)];
    assert_eq!(servers(&third, &kernel_first), [], "it was a kernel that sent while the program woke up");
    let own = [(31_000, 1, 402), (31_100, 1, 52)];
    assert_eq!(servers(&own, &[(31_300, 8, 1500)]), [], "its own may let data go");
    let next = [&own[..], &[(61_000, 2, 402)]].concat();
    let rested = one(61_000 - 31_100, 40);
    assert_eq!(servers(&next, &[(31_300, 8, 1500), (61_040, 9, 1500)]), rested, "but an answer it may have been");
}

#[test]
fn clients_that_have_opened_a_connection_ask_over_it() {
    let client = (&[(31_000, SYN)][..], &[(1000, SYN), (31_020, 52), (31_060, 252)][..]);
    assert_eq!(programs(client), [first(40), Vec::new()], "from the handshake's end on");
    let two = (
        &[(31_000, SYN), (31_010, SYN)][..],
        &[(1000, SYN), (1010, SYN), (31_020, 52), (31_030, 52), (31_060, 252)][..],
    );
    assert_eq!(programs(two)[0], first(40), "the first of two");
    let server = (&[(1000, SYN), (31_000, 52), (31_030, 252)][..], &[(1020, SYN), (31_042, 52), (31_060, 1500)][..]);
    assert_eq!(programs(server)[1], first(18), "it has slept since the connection was opened");
    let others = (&[(1000, SYN), (31_000, SYN)][..], &[(1020, SYN), (31_020, SYN), (31_030, 1500)][..]);
    assert_eq!(programs(others)[1], [], "nobody has asked the server for anything");
}

#[test]
fn the_first_connection_for_what_is_named_is_opened_after_its_first_packet() {
    let openings = |heard: &[(u64, u64)], sent: &[(u64, u64)]| spans(&of(&record(heard, sent)).openings);
    let heard = [(1000, SYN), (31_000, 1500), (31_120, 1500), (31_240, 1500)];
    let sent = [(1100, 252), (31_012, 52), (31_200, SYN), (31_220, SYN)];
    assert_eq!(openings(&heard, &sent[..3]), first(200), "whatever follows that, and whatever its kernel says");
    assert_eq!(openings(&heard[..1], &[(500, SYN), (1100, SYN)]), [], "it was awake");
    assert_eq!(openings(&heard, &[(31_100, 252), (31_200, SYN)]), [], "it has done something since");
    assert_eq!(openings(&heard, &[(42_000, SYN)]), [], "it waited for something else");
    let again = [&heard[..], &[(61_000, 1500)]].concat();
    let twice = [first(200), one(61_000 - 31_200, 300)].concat();
    assert_eq!(openings(&again, &[&sent[..3], &[(61_300, SYN)]].concat()), twice, "by how long it has opened none");
    let train: Vec<_> = (0..30).map(|number| (31_000 + 120 * number, 1500)).collect();
    let after = |count: usize| openings(&[&heard[..1], &train[..count]].concat(), &[(34_500, SYN)]);
    assert_eq!([after(16), after(20)], [first(3500), Vec::new()], "what comes later may be what names it");
    let acknowledged = [(1000, SYN), (31_000, 1500), (31_100, 52)];
    assert_eq!(openings(&acknowledged, &sent[..3]), [], "nobody knows whether it was told more");
    let both = programs((&heard[..2], &[(1100, 252), (31_200, SYN), (31_300, 252)]));
    assert_eq!(both, [first(100), first(300)], "a server opens none, and who opens some asks afterwards");
}

#[test]
fn further_connections_are_opened_one_behind_the_other() {
    let openings = |between: &[(u64, u64)], opened: &[u64]| {
        let heard = [&[(1000, SYN), (31_000, 1500)], between].concat();
        let sent: Vec<_> = opened.iter().map(|micros| (*micros, SYN)).collect();
        spans(&of(&record(&heard, &sent)).openings)
    };
    let three = [first(200), one(35, 35), one(20, 20)].concat();
    assert_eq!(openings(&[], &[31_200, 31_235, 31_255]), three, "from when the one before has left");
    assert_eq!(openings(&[(31_210, 52)], &[31_200, 31_235, 31_255]), [first(200), one(20, 20)].concat());
    assert_eq!(openings(&[], &[31_200, 32_200, 33_201]), [first(200), one(1000, 1000)].concat(), "it may have waited");
    let asked = of(&record(&[(31_000, 1500)], &[(31_200, SYN), (31_220, 252), (31_240, SYN)]));
    assert_eq!(spans(&asked.openings), first(200), "it has done something else first");
}

#[test]
fn programs_take_what_their_kernels_do_not() {
    let pause = micros(40_000);
    let kernel = |number| if number % 2 == 0 { (Says::More, 35) } else { (Says::Gap, 20) };
    let kernels = (0..100).map(kernel).map(|(says, takes)| Answer { pause, takes: micros(takes), says }).collect();
    let program = |takes, since| ProgramAnswer { rested: micros(39_000), takes: micros(takes), since };
    let delivered = |takes| program(takes, Since::Delivery { pause });
    let enough = vec![delivered(50); FEWEST_ONCE];
    let mut answers = HostAnswers {
        kernels,
        servers: enough.clone(),
        openings: enough.clone(),
        clients: enough[1..].to_vec(),
        ..HostAnswers::default()
    };
    let (times, quiet) = (answers.host_times(), HostTimes::quiet());
    let after = |times: &PauseTimes, millis| times.after(Some(Duration::from_millis(millis))).at(500);
    assert_eq!(after(&times.server, 50), micros(50) - micros(20) - PROGRAM_WRITES);
    assert_eq!(after(&times.opening, 50), micros(50) - micros(20), "until it leaves");
    for millis in [2, 70] {
        assert_eq!(after(&times.server, millis), after(&quiet.server, millis), "{millis}");
    }
    assert!(after(&quiet.server, 20) > after(&times.server, 50));
    assert_eq!(after(&times.server, 20), after(&times.server, 50), "nobody takes more who has rested less");
    assert_eq!(times.client, quiet.client, "one fewer says nothing");
    answers.servers[0] = delivered(2);
    let ends = |answers: &HostAnswers| {
        let after = answers.host_times().server.after(Some(Duration::from_millis(50))).clone();
        [0, PauseTimes::ALL].map(|share| after.at(share))
    };
    assert_eq!(ends(&answers)[0], Duration::ZERO, "it took less than its kernel usually does");
    answers.servers[0] = program(60, Since::Acknowledgement);
    assert_eq!(ends(&answers)[1], micros(60) - PROGRAM_WRITES, "its kernel was done");
}

#[test]
fn in_loads_only_kernels_that_have_rested_are_listened_to() {
    let (heard, sent) = ([52, 52, 52, 64, 52, 1500, 1500], [1500, 1500, 1500, 1500, 1500, 52, 64]);
    let times = [1000, 3900, 7000, 11_000, 43_000, 100_000, 105_000];
    let heard: Vec<_> = times.into_iter().zip(heard).collect();
    let sent: Vec<_> = times.map(|time| time + 100).into_iter().zip(sent).collect();
    let (inputs, outputs) = record(&heard, &sent);
    let config = ChannelConfig::default();
    let link = LinkRecord { config, seed: 1, inputs, outputs, end: at(200_000) };
    let pauses = |congestion| {
        let tcp = TcpConfig { mss: FULL - HEADER_BYTES, congestion, ..TcpConfig::of(Profile::Linux) };
        HostAnswers::of_load(&link, &tcp).kernels.iter().map(|answer| answer.pause).collect::<Vec<_>>()
    };
    let long = [micros(32_000), micros(57_000), micros(5000)];
    assert_eq!(pauses(Congestion::Cubic), [&[Duration::MAX, micros(3100), micros(4000)][..], &long].concat());
    let paced = "it may have been time to send by its pace";
    assert_eq!(pauses(Congestion::Bbr), [&[Duration::MAX][..], &long].concat(), "{paced}");
    let some = |count: usize, pause| vec![Answer { pause, takes: micros(500), says: Says::More }; count];
    let (rested, quiet) = (micros(4000), HostTimes::quiet());
    let after = |count, pause| {
        let kernels = some(count, pause);
        HostAnswers { kernels, ..HostAnswers::default() }.host_times().kernel.after(Some(pause)).at(500)
    };
    assert_eq!(after(FEWEST_ONCE, rested), micros(500));
    assert_eq!(after(FEWEST_ONCE - 1, rested), quiet.kernel.after(Some(rested)).at(500));
    assert_eq!(after(FEWEST_ONCE, micros(2000)), quiet.kernel.after(Some(micros(2000))).at(500));
}

#[test]
fn many_answers_have_quantiles_and_few_say_nothing() {
    let one =
        |pause: u64, nanos: u64| Answer { pause: micros(pause), takes: Duration::from_nanos(nanos), says: Says::More };
    let heard = |kernels: Vec<Answer>| HostAnswers { kernels, ..HostAnswers::default() };
    let mut many = heard((0..=1000).map(|number| one(2000, 10_000 + number)).collect());
    many.extend([heard((1..FEWEST_ONCE).map(|_| one(20_000, 1)).collect())]);
    let (times, quiet) = (many.host_times(), HostTimes::quiet());
    let after = |times: &HostTimes, millis: u64| {
        let after = times.kernel.after(Some(Duration::from_micros(millis * 1000 + 1)));
        SHARES.map(|share| (share, after.at(share)))
    };
    for (share, time) in after(&times, 1) {
        assert_eq!(time, Duration::from_nanos(10_000 + u64::from(share)));
    }
    assert_eq!(heard(many.kernels[..FEWEST - 1].to_vec()).host_times(), quiet);
    for millis in [0, 3, 10, 30, 60, 120, 300] {
        let (quiet, heard) = (after(&quiet, millis), after(&times, 1));
        for ((told, quiet), heard) in after(&times, millis).into_iter().zip(quiet).zip(heard) {
            assert_eq!(told, if millis < 1 { quiet.min(heard) } else { quiet.max(heard) }, "{millis}");
        }
    }
}

#[test]
fn what_was_not_heard_is_between_what_was() {
    let micros = |times: [u64; 3]| {
        let times = times.map(Duration::from_micros);
        std::array::from_fn(|place| if place < 5 { times[0] } else { times[usize::from(place > 10) + 1] })
    };
    let told = |quiet, shorter: Option<[u64; 3]>, longer: Option<[u64; 3]>| {
        let [shorter, longer] = [shorter, longer].map(|heard| heard.map(micros));
        between(micros(quiet), shorter.as_ref(), longer.as_ref())
    };
    assert_eq!(told([10, 20, 30], None, None), micros([10, 20, 30]));
    assert_eq!(told([10, 20, 30], Some([15, 16, 40]), None), micros([15, 20, 40]));
    assert_eq!(told([10, 20, 30], None, Some([15, 16, 17])), micros([10, 16, 17]));
    assert_eq!(told([10, 20, 30], Some([1, 25, 40]), Some([5, 30, 50])), micros([5, 25, 40]));
    assert_eq!(told([10, 20, 30], Some([5, 30, 50]), Some([1, 25, 40])), micros([5, 25, 40]), "as chance has it");
}

#[test]
fn kernels_are_heard_that_accept_connections_and_were_not_at_another_one() {
    let packet = |flow: u64, bytes: u64| Recorded { flow, ..Recorded::new(0, Bytes::new(bytes)) };
    let of = |heard: &[(u64, Port, u64, u64)], sent: &[(u64, Port, u64, u64)]| {
        let heard = heard.iter().map(|&(time, port, flow, bytes)| {
            let (at, packet) = (at(time), packet(flow, bytes));
            Output::Deliver { at, port, packet }
        });
        let sent = sent.iter().map(|&(time, port, flow, bytes)| {
            let (at, packet) = (at(time), packet(flow, bytes));
            Input::Arrival { at, port, packet }
        });
        let answers = of(&(sent.collect(), heard.collect()));
        let spans = |answers: Vec<Answer>| answers.into_iter().map(|one| (one.pause, one.takes)).collect::<Vec<_>>();
        (spans(answers.syns), spans(answers.syn_acks))
    };
    let (client, server) = (Port::Terminal(0), Port::Gateway);
    let asked = [(1000, server, 1, SYN), (1030, server, 2, SYN), (2000, server, 3, SYN), (2050, server, 3, SYN)];
    let accepted = [(1060, server, 8, SYN), (1064, server, 9, SYN), (2040, server, 10, SYN)];
    let first_and_last = vec![(Duration::MAX, micros(60)), (micros(970), micros(40))];
    assert_eq!(of(&asked, &accepted), (first_and_last.clone(), vec![]), "the second came while the first waited");
    assert_eq!(of(&asked[..2], &[(1060, server, 7, 52), (2001, server, 8, SYN)]).0, [], "it waits for something else");
    let back = [(11_060, client, 8, SYN), (11_064, client, 9, SYN), (12_100, client, 10, SYN)];
    let opened = [(11_090, client, 1, 52), (11_093, client, 2, 52), (12_120, client, 3, 52), (12_130, client, 3, 52)];
    let both = [[&asked[..], &back].concat(), [&accepted[..], &opened].concat()];
    assert_eq!(of(&both[0], &both[1]), (first_and_last, vec![(Duration::MAX, micros(30)), (micros(1036), micros(20))]));
    let later = [&both[0][..], &[(13_000, client, 8, SYN)]].concat();
    let answered = [&both[1][..], &[(13_100, client, 1, 52)]].concat();
    assert_eq!(of(&later, &answered), of(&both[0], &both[1]), "data of eight bytes are as large as a SYN");
    let data = [&accepted[..], &[(11_090, client, 1, 252)]].concat();
    assert_eq!(of(&both[0], &data).1, [], "a program asks");
    let some = |pause| vec![Answer { pause: micros(pause), takes: micros(500), says: Says::More }; FEWEST_ONCE];
    let answers = HostAnswers { syns: some(500), syn_acks: some(40_000), ..HostAnswers::default() };
    let (times, quiet) = (answers.host_times(), HostTimes::quiet());
    let after = |times: &PauseTimes, micros| times.after(Some(Duration::from_micros(micros))).at(500);
    assert_eq!([after(&times.syn, 500), after(&times.syn_ack, 40_000)], [micros(500); 2]);
    assert_eq!(after(&times.syn_ack, 500), after(&quiet.syn_ack, 500));
    assert_eq!(after(&times.syn, 50), after(&quiet.syn, 50), "right after another one");
    assert_eq!(times.kernel, quiet.kernel);
}
