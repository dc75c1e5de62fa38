//! A client: somebody who loads one page, or page after page with time to think in between, or a proxy that asks one host for what its log
//! says, whether it has an answer to what it asked for before or not.

use crate::legs::Exchange;
use crate::metrics::Reply;
use crate::network::Line;
use crate::programs::{Browser, Pace};
use crate::wake::Wake;
use farhop_tcp::TcpConfig;
use farhop_units::{Bytes, Instant, look_at};
use farhop_web::users::{User, Visit};
use farhop_web::{HttpConfig, Page};
use std::time::Duration;

/// Who wants pages.
#[derive(Debug)]
pub(crate) struct Client {
    terminal: u16,
    /// The first of its servers, and how many it has.
    servers: Servers,
    /// Present from the first page on: who has not begun takes a tenth of it.
    pub(crate) browser: Option<Box<Browser>>,
    wish: Wish,
    /// A page is being loaded.
    pub(crate) is_loading: bool,
    /// When the next page is asked for, while none is being loaded.
    next_page: Option<Instant>,
    /// When a wake-up is scheduled, if one is.
    wake: Wake,
    /// It waits for its turn to act.
    pub(crate) is_awake: bool,
}

/// The servers of one owner, a client or all that ask the same server: one for each host of a page, behind one wan, as they are where a page is
/// loaded over the emulated link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Servers {
    owner: u32,
    hosts: u32,
}

impl Servers {
    /// Those of owner number `owner`, for so many hosts: all owners have as many.
    pub(crate) fn of(owner: u32, hosts: usize) -> Self {
        Self { owner, hosts: u32::try_from(hosts.max(1)).expect("a page has fewer hosts") }
    }

    /// Number of the wan, which is the owner's.
    pub(crate) fn wan(self) -> u32 {
        self.owner
    }

    /// How many bits of a server's number are the host's; those above are the wan's.
    pub(crate) fn bits_of_host(self) -> u32 {
        self.hosts.next_power_of_two().trailing_zeros()
    }

    fn server_of(self, host: usize) -> u32 {
        let host = u32::try_from(host).unwrap_or(u32::MAX).min(self.hosts - 1);
        (self.owner << self.bits_of_host()) + host
    }
}

/// What a client will load.
#[derive(Debug)]
enum Wish {
    /// This page, and nothing after it.
    Once(Option<Page>),
    /// Page after page, as a user does, who has the present one under way.
    Always { user: Box<User>, think: Duration },
    /// The objects of a page, each at its time.
    Each { page: Option<Page>, arrivals: Vec<Arrival>, next: usize, server: Box<LogServer> },
}

/// What a client that makes a log's requests asks.
#[derive(Debug)]
pub(crate) struct LogServer {
    /// Clients that ask the same host share its wan.
    pub(crate) number: u32,
    pub(crate) tcp: TcpConfig,
    /// It ends with the only request.
    pub(crate) is_tunnel: bool,
}

/// A request of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// When it comes to the proxy.
    pub(crate) at: Instant,
    /// From its arrival at the server to the end of the reply there.
    pub(crate) takes: Duration,
    /// It is of the log itself, not of what raises the load.
    pub(crate) is_sample: bool,
}

impl Client {
    /// A client that loads `page` once, from the beginning of the run; each of its hosts has a server.
    pub(crate) fn once(terminal: u16, page: Page) -> Self {
        let servers = Servers::of(0, page.hosts.len());
        Self::new(terminal, servers, Wish::Once(Some(page)), Some(Instant::START))
    }

    /// The trunk at the client's terminal is opened at `at`: who loads one page waits until it is told to begin, others at least so long.
    pub(crate) fn await_trunk(&mut self, at: Instant) {
        self.next_page = match self.wish {
            Wish::Once(_) => None,
            _ => self.next_page.map(|first| first.max(at)),
        };
    }

    /// A client that waits begins at `at`.
    pub(crate) fn begin_at(&mut self, at: Instant) {
        if matches!(self.wish, Wish::Once(Some(_))) {
            self.next_page = Some(at);
        }
    }

    pub(crate) fn terminal(&self) -> u16 {
        self.terminal
    }

    /// A client that is a user, the owner of these servers.
    pub(crate) fn user(terminal: u16, servers: Servers, user: User) -> Self {
        let first = Instant::START + user.first_think();
        Self::new(terminal, servers, Wish::Always { user: Box::new(user), think: Duration::ZERO }, Some(first))
    }

    /// A client that asks a server for the objects of `page`, each at its arrival, in the order of their times.
    pub(crate) fn log(terminal: u16, page: Page, arrivals: Vec<Arrival>, server: LogServer) -> Self {
        let first = arrivals.first().map(|arrival| arrival.at);
        let servers = Servers::of(server.number, 1);
        let wish = Wish::Each { page: Some(page), arrivals, next: 0, server: Box::new(server) };
        Self::new(terminal, servers, wish, first)
    }

    /// Who has no user and asks, behind a box, for what that wants of this client's servers.
    pub(crate) fn behind(&self) -> Self {
        Self::new(self.terminal, self.servers, Wish::Once(None), None)
    }

    fn new(terminal: u16, servers: Servers, wish: Wish, next_page: Option<Instant>) -> Self {
        Self {
            terminal,
            servers,
            browser: None,
            wish,
            is_loading: false,
            next_page,
            wake: Wake::default(),
            is_awake: false,
        }
    }

    /// Asks memory for what hears of a response, or tells its server what to answer.
    #[inline]
    pub(crate) fn look_at(&self) {
        look_at(&self.browser);
        look_at(&self.wish);
        look_at(&self.is_awake);
    }

    /// Asks memory for the browser, if there is one.
    #[inline]
    pub(crate) fn look_at_browser(&self) {
        self.browser.iter().for_each(|browser| browser.look_at());
    }

    /// Asks memory for what a part of this exchange needs beyond that.
    #[inline]
    pub(crate) fn look_at_exchange(&self, exchange: Exchange) {
        self.browser.iter().for_each(|browser| browser.look_at_exchange(exchange));
    }

    /// The servers it has.
    pub(crate) fn servers(&self) -> Servers {
        self.servers
    }

    /// The way to a host of the page. Hosts beyond the client's servers share the last one.
    pub(crate) fn line(&self, host: usize) -> Line {
        Line { terminal: self.terminal, server: self.servers.server_of(host) }
    }

    /// Does what is due. Returns whether it is the wake-up that counts.
    pub(crate) fn handle_timeout(&mut self, now: Instant, http: HttpConfig) -> bool {
        if !self.wake.counts(now) {
            return false;
        }
        if let Some(browser) = &mut self.browser {
            browser.handle_timeout(now);
        }
        if self.next_page.take_if(|at| *at <= now).is_some() {
            if matches!(self.wish, Wish::Each { .. }) { self.ask(now, http) } else { self.begin(now, http) }
        }
        true
    }

    /// Asks for what has arrived in a log, the first with a browser that learns of it by its beginning.
    fn ask(&mut self, now: Instant, http: HttpConfig) {
        let Wish::Each { page, arrivals, next, server } = &mut self.wish else { return };
        if let Some(page) = page.take() {
            let persistence = if server.is_tunnel { Some(Duration::ZERO) } else { http.persistence };
            let http = HttpConfig { persistence, ..http };
            self.browser = Some(Box::new(Browser::new(now, page, http)));
            *next = 1;
        }
        let Some(browser) = &mut self.browser else { return };
        while arrivals.get(*next).is_some_and(|arrival| arrival.at <= now) {
            browser.ask(now, *next);
            *next += 1;
        }
        self.next_page = arrivals.get(*next).map(|arrival| arrival.at);
    }

    /// What of a log is asked for with this exchange.
    pub(crate) fn arrival(&self, exchange: Exchange) -> Option<&Arrival> {
        match (&self.wish, exchange) {
            (Wish::Each { arrivals, .. }, Exchange::Object(number)) => arrivals.get(number as usize),
            _ => None,
        }
    }

    /// What of a log this exchange has answered.
    pub(crate) fn answered(&self, exchange: Exchange) -> Option<Reply> {
        let (Arrival { at, is_sample, .. }, Exchange::Object(number)) = (*self.arrival(exchange)?, exchange) else {
            return None;
        };
        let browser = self.browser.as_ref()?;
        let bytes = browser.page().objects.get(number as usize)?.size;
        Some(Reply { asked: at, first_byte: browser.first_byte_of(number as usize)?, bytes, is_sample })
    }

    /// How the server releases a reply of this size, if not as a whole.
    pub(crate) fn pace(&self, object: u32, whole: Bytes) -> Option<Pace> {
        let (takes, segment) = (self.arrival(Exchange::Object(object))?.takes, self.server_tcp()?.mss);
        Some(Pace { takes, segment, whole })
    }

    /// TCP of the connections to its servers, if they have their own.
    pub(crate) fn server_tcp(&self) -> Option<&TcpConfig> {
        match &self.wish {
            Wish::Each { server, .. } => Some(&server.tcp),
            Wish::Once(_) | Wish::Always { .. } => None,
        }
    }

    fn begin(&mut self, now: Instant, http: HttpConfig) {
        let page = match &mut self.wish {
            Wish::Once(page) => page.take(),
            Wish::Always { user, think } => {
                let visit: Visit = user.next_visit();
                *think = visit.think;
                Some(visit.page)
            }
            Wish::Each { .. } => None,
        };
        self.is_loading = page.is_some();
        match (page, &mut self.browser) {
            (Some(page), Some(browser)) => browser.next_page(now, page),
            (Some(page), none) => *none = Some(Box::new(Browser::new(now, page, http))),
            (None, _) => {}
        }
    }

    /// The page is there: a user thinks, and asks for the next one.
    pub(crate) fn think(&mut self, now: Instant) {
        self.is_loading = false;
        if let Wish::Always { think, .. } = &self.wish {
            self.next_page = Some(now + *think);
        }
    }

    /// When to be woken, if a wake-up at that time or before it is not scheduled yet.
    pub(crate) fn rearm(&mut self) -> Option<Instant> {
        let own = self.browser.as_ref().and_then(|browser| browser.next_timeout());
        self.wake.arm(self.next_page.into_iter().chain(own).min())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_users_who_have_not_begun_take_little() {
        // Each has a place in the list of clients from the beginning on, and most of so many never begin.
        assert!(size_of::<Client>() <= 128, "{} bytes", size_of::<Client>());
    }
}
