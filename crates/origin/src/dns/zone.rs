//! What the name server says: the site's names have addresses, other names do not exist or are somebody else's to know.
//!
//! RFC 1035 with the negative answers of RFC 2308, EDNS (RFC 6891) and small answers to ANY (RFC 8482). Without anybody else to ask, the
//! server is authoritative for everything. Pure: messages in, messages out. Left out: zone transfers, updates, DNSSEC, cookies.

use hickory_proto::op::{Edns, Message, MessageType, Metadata, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, SOA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// How long an answer may be kept, in seconds: as long as a run, for all that a client can tell.
const TIME_TO_LIVE: u32 = 300;
/// What fits into any UDP message (RFC 1035 §4.2.1).
const SMALLEST_UDP: u16 = 512;
/// What we send and are ready to receive by UDP (RFC 9715: no fragments on any path).
const LARGEST_UDP: u16 = 1232;

/// The names that have addresses.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    /// By name in lower case, without the dot at the end.
    names: BTreeMap<String, Vec<IpAddr>>,
    /// Whether there is somebody to ask for other names.
    has_upstream: bool,
}

/// How a message came, which bounds the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
}

/// What to do about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Send this.
    Answer(Vec<u8>),
    /// Ask upstream; if that fails, send this.
    Forward { failure: Vec<u8> },
    /// Nothing: it was no question.
    Ignore,
}

impl Zone {
    pub(crate) fn new(names: impl IntoIterator<Item = (String, Vec<IpAddr>)>, has_upstream: bool) -> Self {
        Self { names: names.into_iter().collect(), has_upstream }
    }

    /// What to do about a message, whatever it is.
    pub(crate) fn judge(&self, message: &[u8], transport: Transport) -> Verdict {
        let Ok(query) = Message::from_vec(message) else { return refuse_malformed(message) };
        if query.metadata.message_type != MessageType::Query {
            return Verdict::Ignore;
        }
        let mut answer = empty_answer(&query);
        match self.fill(&query, &mut answer) {
            Ok(()) => Verdict::Answer(encode(&answer, &query, transport)),
            Err(NotOurs) => {
                answer.metadata.response_code = ResponseCode::ServFail;
                Verdict::Forward { failure: encode(&answer, &query, transport) }
            }
        }
    }

    fn fill(&self, query: &Message, answer: &mut Message) -> Result<(), NotOurs> {
        let [question] = &query.queries[..] else {
            answer.metadata.response_code = ResponseCode::FormErr;
            return Ok(());
        };
        match refusal(query, question) {
            Some(code) => answer.metadata.response_code = code,
            None => self.look_up(question, answer)?,
        }
        Ok(())
    }

    fn look_up(&self, question: &Query, answer: &mut Message) -> Result<(), NotOurs> {
        let name = question.name.to_ascii().to_ascii_lowercase();
        let Some(addresses) = self.names.get(name.strip_suffix('.').unwrap_or(&name)) else {
            if self.has_upstream {
                return Err(NotOurs);
            }
            answer.metadata.authoritative = true;
            answer.metadata.response_code = ResponseCode::NXDomain;
            answer.authorities.push(start_of_authority());
            return Ok(());
        };
        answer.metadata.authoritative = true;
        let data = addresses.iter().map(|&address| match address {
            IpAddr::V4(address) => RData::A(A(address)),
            IpAddr::V6(address) => RData::AAAA(AAAA(address)),
        });
        let wanted = |data: &RData| [data.record_type(), RecordType::ANY].contains(&question.query_type);
        let records = data.filter(wanted).map(|data| Record::from_rdata(question.name.clone(), TIME_TO_LIVE, data));
        answer.answers.extend(records);
        if answer.answers.is_empty() {
            answer.authorities.push(start_of_authority());
        }
        Ok(())
    }
}

/// A name that another server may know.
struct NotOurs;

/// Why a question is not answered at all.
fn refusal(query: &Message, question: &Query) -> Option<ResponseCode> {
    match () {
        () if query.version() > 0 => Some(ResponseCode::BADVERS),
        () if query.metadata.op_code != OpCode::Query => Some(ResponseCode::NotImp),
        () if question.query_class != DNSClass::IN => Some(ResponseCode::Refused),
        () if [RecordType::AXFR, RecordType::IXFR].contains(&question.query_type) => Some(ResponseCode::Refused),
        () => None,
    }
}

fn empty_answer(query: &Message) -> Message {
    let mut answer = Message::response(query.metadata.id, query.metadata.op_code);
    answer.metadata = Metadata::response_from_request(&query.metadata);
    // Stubs ask for it, and all there is to recurse to is here.
    answer.metadata.recursion_available = true;
    answer.queries = query.queries.iter().take(1).cloned().collect();
    if query.edns.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(LARGEST_UDP);
        answer.edns = Some(edns);
    }
    answer
}

/// The root's: this server answers for all names.
fn start_of_authority() -> Record {
    const DAY: i32 = 86_400;
    let soa = SOA::new(Name::root(), Name::root(), 1, DAY, DAY, DAY, TIME_TO_LIVE);
    Record::from_rdata(Name::root(), TIME_TO_LIVE, RData::SOA(soa))
}

/// The message, without its records where it would not fit into what the client takes: it asks again by TCP then.
fn encode(answer: &Message, query: &Message, transport: Transport) -> Vec<u8> {
    let most = match transport {
        Transport::Udp => usize::from(query.max_payload().clamp(SMALLEST_UDP, LARGEST_UDP)),
        Transport::Tcp => usize::from(u16::MAX),
    };
    let fitting = answer.to_vec().ok().filter(|message| message.len() <= most);
    fitting.or_else(|| answer.truncate().to_vec().ok()).unwrap_or_default()
}

/// RFC 1035 §4.1.1: what begins like a question but is none gets format error, with nothing but its identifier repeated.
fn refuse_malformed(message: &[u8]) -> Verdict {
    const HEADER: usize = 12;
    const IS_RESPONSE: u8 = 0x80;
    match message {
        [high, low, flags, ..] if message.len() >= HEADER && flags & IS_RESPONSE == 0 => {
            let id = u16::from_be_bytes([*high, *low]);
            let answer = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
            answer.to_vec().map_or(Verdict::Ignore, Verdict::Answer)
        }
        _ => Verdict::Ignore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn zone(has_upstream: bool) -> Zone {
        let addresses = vec!["10.79.0.1".parse().unwrap(), "fd79::1".parse().unwrap()];
        let many = (0..60).map(|number| IpAddr::from([10, 79, 1, number])).collect();
        Zone::new([("www.a.test".to_owned(), addresses), ("many.test".to_owned(), many)], has_upstream)
    }

    fn query(name: &str, query_type: RecordType) -> Message {
        let mut query = Message::new(7, MessageType::Query, OpCode::Query);
        query.metadata.recursion_desired = true;
        query.add_query(Query::query(Name::from_ascii(name).unwrap(), query_type));
        query
    }

    fn answer_to(query: &Message) -> Message {
        match zone(false).judge(&query.to_vec().unwrap(), Transport::Udp) {
            Verdict::Answer(answer) => Message::from_vec(&answer).unwrap(),
            verdict => panic!("{verdict:?}"),
        }
    }

    fn addresses(answer: &Message) -> Vec<String> {
        answer.answers.iter().map(|record| record.data.to_string()).collect()
    }

    #[test]
    fn names_have_their_addresses_in_any_case() {
        let answer = answer_to(&query("WWW.a.TEST.", RecordType::A));
        assert_eq!(addresses(&answer), ["10.79.0.1"]);
        assert_eq!(answer.answers[0].name, Name::from_ascii("WWW.a.TEST.").unwrap());
        let metadata = answer.metadata;
        assert!(metadata.authoritative && metadata.recursion_desired && metadata.recursion_available);
        assert_eq!((metadata.id, answer.queries.len(), answer.edns.is_some()), (7, 1, false));
        assert_eq!(addresses(&answer_to(&query("www.a.test", RecordType::AAAA))), ["fd79::1"]);
        assert_eq!(addresses(&answer_to(&query("www.a.test", RecordType::ANY))).len(), 2);
    }

    #[test]
    fn what_is_not_there_is_denied_with_the_time_to_remember_it() {
        let nothing = answer_to(&query("www.a.test", RecordType::HTTPS));
        assert_eq!((nothing.metadata.response_code, nothing.answers.len()), (ResponseCode::NoError, 0));
        assert_eq!(nothing.authorities[0].record_type(), RecordType::SOA);
        let unknown = answer_to(&query("a.test", RecordType::A));
        assert_eq!(unknown.metadata.response_code, ResponseCode::NXDomain);
        assert_eq!(unknown.authorities[0].record_type(), RecordType::SOA);
    }

    #[test]
    fn other_names_are_asked_upstream_where_there_is_one() {
        let other = query("elsewhere.test", RecordType::A).to_vec().unwrap();
        let Verdict::Forward { failure } = zone(true).judge(&other, Transport::Udp) else { panic!() };
        let failure = Message::from_vec(&failure).unwrap();
        assert_eq!((failure.metadata.id, failure.metadata.response_code), (7, ResponseCode::ServFail));
        let ours = query("www.a.test", RecordType::A).to_vec().unwrap();
        assert!(matches!(zone(true).judge(&ours, Transport::Udp), Verdict::Answer(_)));
    }

    #[test]
    fn answers_that_do_not_fit_are_cut_for_tcp_to_bring_them() {
        let question = query("many.test", RecordType::A);
        let cut = answer_to(&question);
        assert!(cut.metadata.truncation && cut.answers.is_empty());
        let Verdict::Answer(whole) = zone(false).judge(&question.to_vec().unwrap(), Transport::Tcp) else { panic!() };
        assert_eq!(Message::from_vec(&whole).unwrap().answers.len(), 60);
        let mut with_room = question;
        let mut edns = Edns::new();
        edns.set_max_payload(4096);
        with_room.set_edns(edns);
        let answer = answer_to(&with_room);
        assert_eq!((answer.answers.len(), answer.edns.unwrap().max_payload()), (60, LARGEST_UDP));
    }

    #[test]
    fn what_is_not_understood_is_refused_and_responses_are_ignored() {
        let code = |query: &Message| answer_to(query).metadata.response_code;
        let mut transfer = query("www.a.test", RecordType::AXFR);
        assert_eq!(code(&transfer), ResponseCode::Refused);
        transfer.metadata.op_code = OpCode::Update;
        assert_eq!(code(&transfer), ResponseCode::NotImp);
        let mut chaos = query("version.bind", RecordType::TXT);
        chaos.queries[0].query_class = DNSClass::CH;
        assert_eq!(code(&chaos), ResponseCode::Refused);
        let mut two = query("www.a.test", RecordType::A);
        two.add_query(two.queries[0].clone());
        assert_eq!(code(&two), ResponseCode::FormErr);
        let mut newer = query("www.a.test", RecordType::A);
        let mut edns = Edns::new();
        edns.set_version(1);
        newer.set_edns(edns);
        // BADVERS; TSIG has another name for the number (RFC 8945 §3).
        assert_eq!(u16::from(code(&newer)), 16);
        let response = query("www.a.test", RecordType::A).into_response();
        assert_eq!(zone(false).judge(&response.to_vec().unwrap(), Transport::Udp), Verdict::Ignore);
    }

    proptest! {
        #[test]
        fn any_message_is_survived(message in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Verdict::Answer(answer) = zone(false).judge(&message, Transport::Udp) {
                prop_assert_eq!(&answer[..2], &message[..2]);
                prop_assert!(answer[2] & 0x80 != 0);
            }
        }

        #[test]
        fn any_damage_to_a_question_is_survived(place in 0..28_usize, byte: u8, cut in 0..=28_usize) {
            let mut message = query("www.a.test", RecordType::A).to_vec().unwrap();
            prop_assert_eq!(message.len(), 28);
            message[place] = byte;
            for message in [&message[..], &message[..cut]] {
                if let Verdict::Answer(answer) = zone(true).judge(message, Transport::Udp) {
                    prop_assert!(answer.len() <= 512);
                }
            }
        }
    }
}
