//! What a box that prefetches knows of one client's page: what has been asked of it, what has come, what it fetches unasked.
//!
//! Sans-IO: the owner says which requests and which parts of responses have arrived, and carries out what [`Prefetcher::poll`]
//! gives. A box that reads looks into documents as they stream through, and fetches what they name (prefetch-2013 §3.3: images,
//! scripts and style sheets, of `text/html` alone, so that what a style sheet or a script names is the client's to ask for, and so are frames,
//! data and what is posted). What
//! it has of an object goes to whoever has asked for it, at once; what is on its way is awaited and not asked for again. A
//! connection's responses leave in the order of its requests (RFC 9112 §9.3.2).
//!
//! The store holds one page of one client. While it holds more than [`STORE`] that nobody has asked for, nothing more is fetched
//! unasked, so that it outgrows that by the objects under way. Left out: processing time, objects of earlier pages, the browser's
//! own time, which a box does not wait for.

use farhop_units::Bytes;
use farhop_web::{HttpConfig, Page};
use std::collections::{BTreeMap, VecDeque};

/// What a box keeps of one client's page before it is asked for. The paper gives none; the largest of its pages takes 2 MB.
const STORE: Bytes = Bytes::kb(64_000);

/// What a box does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duty {
    /// It passes on, and waits for what is announced to it: the information storage server of prefetch-2013.
    Store,
    /// It reads documents and fetches what they name: the prefetching server of the conventional scheme.
    Fetch,
    /// It also announces that and sends it on when it has it: the prefetching server of prefetch-2013.
    Push,
}

/// What the owner is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Ask for the object, on the server's side.
    Fetch { object: usize },
    /// Tell the box on the client's side that the object will come.
    Announce { object: usize },
    /// Send it there, with its header.
    Push { object: usize, bytes: Bytes },
    /// Write more of the object's response on a leg.
    Answer { leg: u32, object: usize, bytes: Bytes, is_last: bool },
}

/// How an object comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Origin {
    /// Nobody has wanted it.
    #[default]
    Unknown,
    /// A client has.
    Asked,
    /// A document names it; nobody has asked yet.
    Ahead,
}

#[derive(Debug, Clone, Copy, Default)]
struct Object {
    header: Bytes,
    /// The header included.
    size: Bytes,
    arrived: Bytes,
    origin: Origin,
    /// The leg over which it is coming.
    source: Option<u32>,
}

/// What a connection is waiting for.
#[derive(Debug, Clone, Default)]
struct Queue {
    objects: VecDeque<usize>,
    /// What of the first has been written.
    written: Bytes,
}

/// One client's page in one box.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    duty: Duty,
    objects: Vec<Object>,
    /// For each document, what it names and has not been read so far.
    references: Vec<VecDeque<(Bytes, usize)>>,
    queues: BTreeMap<u32, Queue>,
    /// Named, but not fetched for want of room.
    waiting: VecDeque<usize>,
    /// What has come that nobody has asked for.
    held: Bytes,
    errands: VecDeque<Errand>,
}

impl Prefetcher {
    /// A box without a page.
    pub(crate) fn new(duty: Duty) -> Self {
        Self {
            duty,
            objects: Vec::new(),
            references: Vec::new(),
            queues: BTreeMap::new(),
            waiting: VecDeque::new(),
            held: Bytes::ZERO,
            errands: VecDeque::new(),
        }
    }

    /// The client turns to a page. Connections stay, which owe nothing of the page before.
    pub(crate) fn begin(&mut self, page: &Page, http: &HttpConfig) {
        let object = |object| {
            let header = http.header_size(object);
            Object { header, size: header + object.size, ..Object::default() }
        };
        self.objects = page.objects.iter().map(object).collect();
        let reads = |object: &farhop_web::Object| self.duty != Duty::Store && object.is_read_by_boxes();
        let fetched = |(_, named): &(Bytes, usize)| page.objects[*named].is_fetched_by_boxes();
        let references = page.objects.iter().zip(page.references()).map(|(object, named)| {
            if reads(object) { named.into_iter().filter(fetched).collect() } else { VecDeque::new() }
        });
        self.references = references.collect();
        self.queues.values_mut().for_each(|queue| *queue = Queue::default());
        self.waiting.clear();
        self.held = Bytes::ZERO;
    }

    /// A request has arrived on a leg.
    pub(crate) fn asked(&mut self, leg: u32, number: usize) {
        let Some(object) = self.objects.get_mut(number) else { return };
        self.queues.entry(leg).or_default().objects.push_back(number);
        match core::mem::replace(&mut object.origin, Origin::Asked) {
            Origin::Unknown => self.errands.push_back(Errand::Fetch { object: number }),
            Origin::Ahead => self.held -= object.arrived,
            Origin::Asked => {}
        }
        self.waiting.retain(|waiting| *waiting != number);
        self.answer(leg);
        self.fetch_ahead();
    }

    /// An object is announced. Returns whether it is to be awaited: what is fetched already is not.
    pub(crate) fn expect(&mut self, number: usize) -> bool {
        let unknown = self.objects.get_mut(number).filter(|object| object.origin == Origin::Unknown);
        let is_new = unknown.is_some();
        unknown.into_iter().for_each(|object| object.origin = Origin::Ahead);
        is_new
    }

    /// More of an object has come.
    pub(crate) fn arrived(&mut self, number: usize, bytes: Bytes) {
        let Some(object) = self.objects.get_mut(number) else { return };
        object.arrived += bytes;
        let Object { header, size, arrived, origin, .. } = *object;
        if origin == Origin::Ahead {
            self.held += bytes;
            if self.duty == Duty::Push && arrived == size {
                self.errands.push_back(Errand::Push { object: number, bytes: size });
            }
        }
        // What it names is announced ahead of the bytes that name it.
        self.read(number, arrived.saturating_sub(header));
        let (objects, errands) = (&self.objects, &mut self.errands);
        let waiting = self.queues.iter_mut().filter(|(_, queue)| queue.objects.front() == Some(&number));
        waiting.for_each(|(leg, queue)| queue.answer((*leg, objects), errands));
    }

    /// An object is coming over a leg on the server's side. Returns the leg that waits for the rest, if there is one and a rest.
    pub(crate) fn comes_over(&mut self, number: usize, leg: u32) -> Option<u32> {
        let object = self.objects.get_mut(number)?;
        object.source = (object.arrived < object.size).then_some(leg);
        object.source?;
        self.queues.iter().find(|(_, queue)| queue.objects.front() == Some(&number)).map(|(asker, _)| *asker)
    }

    /// The leg over which what a leg waits for is coming.
    pub(crate) fn source_of(&self, leg: u32) -> Option<u32> {
        let number = *self.queues.get(&leg)?.objects.front()?;
        self.objects[number].source
    }

    /// A leg is over.
    pub(crate) fn left(&mut self, leg: u32) {
        self.queues.remove(&leg);
    }

    /// The next thing to do.
    pub(crate) fn poll(&mut self) -> Option<Errand> {
        self.errands.pop_front()
    }

    /// So much of a document's body is there.
    fn read(&mut self, document: usize, body: Bytes) {
        while let Some((_, named)) = self.references[document].pop_front_if(|(end, _)| *end <= body) {
            if self.objects[named].origin == Origin::Unknown {
                self.waiting.push_back(named);
            }
        }
        self.fetch_ahead();
    }

    /// Fetches what is named, as far as there is room.
    fn fetch_ahead(&mut self) {
        while self.held < STORE
            && let Some(object) = self.waiting.pop_front()
        {
            self.objects[object].origin = Origin::Ahead;
            if self.duty == Duty::Push {
                self.errands.push_back(Errand::Announce { object });
            }
            self.errands.push_back(Errand::Fetch { object });
        }
    }

    /// Passes on what there is of what a leg waits for.
    fn answer(&mut self, leg: u32) {
        if let Some(queue) = self.queues.get_mut(&leg) {
            queue.answer((leg, &self.objects), &mut self.errands);
        }
    }
}

impl Queue {
    /// Passes on what there is of what this connection waits for.
    fn answer(&mut self, (leg, objects): (u32, &[Object]), errands: &mut VecDeque<Errand>) {
        while let Some(number) = self.objects.front().copied() {
            let Object { size, arrived, .. } = objects[number];
            let (bytes, is_last) = (arrived - self.written, arrived == size);
            if bytes > Bytes::ZERO {
                errands.push_back(Errand::Answer { leg, object: number, bytes, is_last });
            }
            self.written = arrived;
            if !is_last {
                return;
            }
            self.objects.pop_front();
            self.written = Bytes::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: HttpConfig = HttpConfig::DEFAULT;
    const SIZE: u64 = 1000;

    /// A box that is to load a page of so many objects of 1 kB and has been asked for the document on leg 7.
    fn asked(duty: Duty, objects: usize) -> (Prefetcher, Page) {
        let page = Page::uniform(objects, Bytes::new(SIZE)).expect("fits");
        let mut prefetcher = Prefetcher::new(duty);
        prefetcher.begin(&page, &HTTP);
        prefetcher.asked(7, 0);
        assert_eq!(errands(&mut prefetcher), [Errand::Fetch { object: 0 }]);
        (prefetcher, page)
    }

    fn errands(prefetcher: &mut Prefetcher) -> Vec<Errand> {
        std::iter::from_fn(|| prefetcher.poll()).collect()
    }

    fn whole() -> Bytes {
        Bytes::new(SIZE) + HTTP.response_header_bytes
    }

    fn answer(leg: u32, object: usize, bytes: Bytes, is_last: bool) -> Errand {
        Errand::Answer { leg, object, bytes, is_last }
    }

    #[test]
    fn what_a_document_names_is_fetched_when_its_name_has_passed() {
        let (mut prefetcher, page) = asked(Duty::Fetch, 2);
        let named = page.discovered_at(1) + HTTP.response_header_bytes;
        prefetcher.arrived(0, named - Bytes::new(1));
        assert_eq!(errands(&mut prefetcher), [answer(7, 0, named - Bytes::new(1), false)]);
        prefetcher.arrived(0, Bytes::new(1));
        assert_eq!(errands(&mut prefetcher), [Errand::Fetch { object: 1 }, answer(7, 0, Bytes::new(1), false)]);
    }

    #[test]
    fn sheets_are_not_read() {
        let mut page = Page::uniform(3, Bytes::new(SIZE)).expect("fits");
        page.objects[1].media_type = "text/css".into();
        page.objects[2].reference.as_mut().expect("it is named").object = 1;
        let mut prefetcher = Prefetcher::new(Duty::Fetch);
        prefetcher.begin(&page, &HTTP);
        prefetcher.asked(7, 0);
        prefetcher.arrived(0, whole());
        prefetcher.arrived(1, whole());
        let fetched = |action: &Errand| matches!(action, Errand::Fetch { object: 2 });
        assert!(!errands(&mut prefetcher).iter().any(fetched));
        prefetcher.asked(7, 2);
        assert!(errands(&mut prefetcher).iter().any(fetched));
    }

    #[test]
    fn frames_are_not_fetched() {
        let mut page = Page::uniform(3, Bytes::new(SIZE)).expect("fits");
        page.objects[1].media_type = "text/html".into();
        let mut prefetcher = Prefetcher::new(Duty::Push);
        prefetcher.begin(&page, &HTTP);
        prefetcher.asked(7, 0);
        errands(&mut prefetcher);
        prefetcher.arrived(0, whole());
        let fetched = errands(&mut prefetcher).into_iter().filter(|errand| matches!(errand, Errand::Fetch { .. }));
        assert_eq!(fetched.collect::<Vec<_>>(), [Errand::Fetch { object: 2 }]);
    }

    #[test]
    fn what_is_posted_is_not_fetched_nor_read() {
        for (posted, expected) in [(1, vec![Errand::Fetch { object: 2 }]), (0, Vec::new())] {
            let mut page = Page::uniform(3, Bytes::new(SIZE)).expect("fits");
            page.objects[posted].method = farhop_web::Method::Post;
            let mut prefetcher = Prefetcher::new(Duty::Fetch);
            prefetcher.begin(&page, &HTTP);
            prefetcher.asked(7, 0);
            errands(&mut prefetcher);
            prefetcher.arrived(0, whole());
            let fetched = errands(&mut prefetcher).into_iter().filter(|errand| matches!(errand, Errand::Fetch { .. }));
            assert_eq!(fetched.collect::<Vec<_>>(), expected, "{posted} is posted");
        }
    }

    #[test]
    fn what_is_there_is_answered_and_what_is_coming_is_not_asked_for_again() {
        let (mut prefetcher, _) = asked(Duty::Fetch, 3);
        prefetcher.arrived(0, whole());
        prefetcher.arrived(1, whole());
        prefetcher.arrived(2, Bytes::new(5));
        errands(&mut prefetcher);
        prefetcher.asked(7, 1);
        prefetcher.asked(8, 2);
        assert_eq!(errands(&mut prefetcher), [answer(7, 1, whole(), true), answer(8, 2, Bytes::new(5), false)]);
        prefetcher.arrived(2, whole() - Bytes::new(5));
        assert_eq!(errands(&mut prefetcher), [answer(8, 2, whole() - Bytes::new(5), true)]);
    }

    #[test]
    fn responses_leave_in_the_order_of_the_requests() {
        let (mut prefetcher, _) = asked(Duty::Store, 3);
        prefetcher.asked(7, 1);
        prefetcher.asked(7, 2);
        assert_eq!(errands(&mut prefetcher), [Errand::Fetch { object: 1 }, Errand::Fetch { object: 2 }]);
        prefetcher.arrived(2, whole());
        prefetcher.arrived(1, whole());
        assert_eq!(errands(&mut prefetcher), []);
        prefetcher.arrived(0, whole());
        assert_eq!(errands(&mut prefetcher), [0, 1, 2].map(|object| answer(7, object, whole(), true)));
    }

    #[test]
    fn what_is_announced_is_awaited() {
        let (mut prefetcher, _) = asked(Duty::Store, 3);
        assert!(prefetcher.expect(1) && !prefetcher.expect(1) && !prefetcher.expect(0));
        prefetcher.asked(8, 1);
        assert_eq!(errands(&mut prefetcher), [], "it will come");
        prefetcher.arrived(1, whole());
        assert_eq!(errands(&mut prefetcher), [answer(8, 1, whole(), true)]);
    }

    #[test]
    fn what_is_named_is_announced_before_its_name_and_sent_when_it_is_whole() {
        let (mut prefetcher, _) = asked(Duty::Push, 2);
        prefetcher.arrived(0, whole());
        let expected = [Errand::Announce { object: 1 }, Errand::Fetch { object: 1 }, answer(7, 0, whole(), true)];
        assert_eq!(errands(&mut prefetcher), expected);
        prefetcher.arrived(1, whole() - Bytes::new(1));
        assert_eq!(errands(&mut prefetcher), []);
        prefetcher.arrived(1, Bytes::new(1));
        assert_eq!(errands(&mut prefetcher), [Errand::Push { object: 1, bytes: whole() }]);
    }

    #[test]
    fn a_full_store_fetches_what_is_asked_for_alone() {
        let mut page = Page::uniform(5, Bytes::new(SIZE)).expect("fits");
        page.objects[1].size = STORE;
        // The first is read before the others are named.
        for index in 2..5 {
            page.objects[index].reference.as_mut().expect("it is named").end = Bytes::new(SIZE);
        }
        let mut prefetcher = Prefetcher::new(Duty::Fetch);
        prefetcher.begin(&page, &HTTP);
        prefetcher.asked(7, 0);
        prefetcher.arrived(0, whole() - Bytes::new(1));
        prefetcher.arrived(1, STORE + HTTP.response_header_bytes);
        errands(&mut prefetcher);
        prefetcher.arrived(0, Bytes::new(1));
        assert_eq!(errands(&mut prefetcher), [answer(7, 0, Bytes::new(1), true)]);
        prefetcher.asked(8, 3);
        assert_eq!(errands(&mut prefetcher), [Errand::Fetch { object: 3 }]);
        prefetcher.asked(7, 1);
        let rest = [2, 4].map(|object| Errand::Fetch { object });
        let mut expected = vec![answer(7, 1, STORE + HTTP.response_header_bytes, true)];
        expected.extend(rest);
        assert_eq!(errands(&mut prefetcher), expected);
    }
}
