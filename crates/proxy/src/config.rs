//! The configuration files of the two boxes.
//!
//! ```toml
//! # gateway.toml
//! listen = "0.0.0.0:4433"               # UDP
//! key = "gateway.key"                   # files are found relative to this one
//! certificate = "gateway.crt"
//! terminal_certificate = "terminal.crt"
//! rate = "100 Mbit/s"                   # towards all terminals together, IP and UDP headers included
//! allow = ["10.0.0.0/8"]                # private networks the terminal's clients may reach
//! ```
//! ```toml
//! # terminal.toml
//! gateway = "gateway.example:4433"
//! listen = "127.0.0.1:3128"             # TCP, the clients' HTTP proxy
//! key = "terminal.key"
//! certificate = "terminal.crt"
//! gateway_certificate = "gateway.crt"
//! rate = "10 Mbit/s"                    # towards the gateway
//! ```

use crate::ProxyError;
use farhop_accel::planning::terminal::Limits;
use farhop_accel::policy::Network;
use farhop_accel::tunnel::{FLOW_MEMORY, FLOW_WINDOW};
use farhop_scenario::read_text_at_most;
use farhop_scenario::reader::{Document, ValueError};
use farhop_units::{Bytes, ParseError, Rate, duration};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// 8080 and 3128 are the customary ports of proxies; 3128 is less often taken.
const DEFAULT_PROXY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3128);
/// Any unprivileged port would do; 4433 is QUIC's usual one.
const DEFAULT_TUNNEL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 4433);

/// What a gateway is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// UDP address for the tunnel.
    pub listen: SocketAddr,
    /// Own private key, PEM.
    pub key: PathBuf,
    /// Own certificate, PEM.
    pub certificate: PathBuf,
    /// The terminal's certificate, PEM.
    pub terminal_certificate: PathBuf,
    /// Rate towards all terminals together in bits on the wire, IP and UDP headers included.
    pub rate: Rate,
    /// Networks that may be reached although they are not public.
    pub allow: Vec<Network>,
    /// Whether pages are read and their parts pushed.
    pub prefetch: bool,
    /// Bytes of one flow towards a server that may be on the way or wait for it.
    pub window: Bytes,
    /// What all such flows share.
    pub memory: Bytes,
}

/// What a terminal is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalConfig {
    /// The gateway's `host:port`.
    pub gateway: String,
    /// TCP address for clients.
    pub listen: SocketAddr,
    /// Own private key, PEM.
    pub key: PathBuf,
    /// Own certificate, PEM.
    pub certificate: PathBuf,
    /// The gateway's certificate, PEM.
    pub gateway_certificate: PathBuf,
    /// Rate towards the gateway in bits on the wire, IP and UDP headers included.
    pub rate: Rate,
    /// Bounds on what is kept and how long.
    pub limits: Limits,
    /// Bytes of one flow towards a client that may be on the way or wait for it: at least the gateway's rate × round trip.
    pub window: Bytes,
    /// What all such flows share; pushes nobody has asked for yet have `limits.memory`.
    pub memory: Bytes,
}

impl GatewayConfig {
    /// Defaults of all that has one.
    pub fn new(key: PathBuf, certificate: PathBuf, terminal_certificate: PathBuf, rate: Rate) -> Self {
        Self {
            listen: DEFAULT_TUNNEL,
            key,
            certificate,
            terminal_certificate,
            rate,
            allow: Vec::new(),
            prefetch: true,
            window: FLOW_WINDOW,
            memory: FLOW_MEMORY,
        }
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// The file cannot be read, or says something wrong.
    pub fn load(path: &Path) -> Result<Self, ProxyError> {
        let file = File::open(path)?;
        let mut config = Self::new(
            file.path("key")?,
            file.path("certificate")?,
            file.path("terminal_certificate")?,
            file.required("rate", "bits per second on the wire, e.g. \"100 Mbit/s\"", Rate::from_str)?,
        );
        file.set("listen", &mut config.listen, address)?;
        file.set("prefetch", &mut config.prefetch, truth)?;
        file.set("window", &mut config.window, Bytes::from_str)?;
        file.set("memory", &mut config.memory, Bytes::from_str)?;
        config.allow = file.document.list("allow", Network::from_str)?.unwrap_or_default();
        file.document.finish()?;
        Ok(config)
    }
}

impl TerminalConfig {
    /// Defaults of all that has one.
    pub fn new(gateway: String, key: PathBuf, certificate: PathBuf, gateway_certificate: PathBuf, rate: Rate) -> Self {
        Self {
            gateway,
            listen: DEFAULT_PROXY,
            key,
            certificate,
            gateway_certificate,
            rate,
            limits: Limits::default(),
            window: FLOW_WINDOW,
            memory: FLOW_MEMORY,
        }
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// The file cannot be read, or says something wrong.
    pub fn load(path: &Path) -> Result<Self, ProxyError> {
        let file = File::open(path)?;
        let mut config = Self::new(
            file.required("gateway", GATEWAY, host_and_port)?,
            file.path("key")?,
            file.path("certificate")?,
            file.path("gateway_certificate")?,
            file.required("rate", "bits per second on the wire, e.g. \"10 Mbit/s\"", Rate::from_str)?,
        );
        file.set("listen", &mut config.listen, address)?;
        file.set("memory", &mut config.memory, Bytes::from_str)?;
        file.set("push_memory", &mut config.limits.memory, Bytes::from_str)?;
        file.set("hold", &mut config.limits.hold, duration::parse)?;
        file.set("keep", &mut config.limits.keep, duration::parse)?;
        file.set("window", &mut config.window, Bytes::from_str)?;
        file.document.finish()?;
        Ok(config)
    }
}

/// Larger configurations are mistakes, or no files at all.
const LARGEST: Bytes = Bytes::kb(1000);

/// A configuration file being read.
struct File<'a> {
    document: Document,
    directory: &'a Path,
}

const GATEWAY: &str = "host:port, e.g. \"gateway.example:4433\"";

impl<'a> File<'a> {
    fn open(path: &'a Path) -> Result<Self, ProxyError> {
        let unreadable = |error| ProxyError::Read { path: path.to_owned(), error };
        let text = read_text_at_most(LARGEST, path).map_err(unreadable)?;
        let document = Document::parse(&path.display().to_string(), &text)?;
        Ok(Self { document, directory: path.parent().unwrap_or(Path::new("")) })
    }

    fn required<T>(
        &self,
        key: &str,
        accepted: &str,
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<T, ValueError> {
        self.document.get(key, parse)?.ok_or_else(|| self.document.missing(key, accepted))
    }

    fn path(&self, key: &str) -> Result<PathBuf, ValueError> {
        self.required(key, "a file that `farhop keys` has written", |name| Ok(self.directory.join(name)))
    }

    fn set<T>(
        &self,
        key: &str,
        value: &mut T,
        parse: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<(), ValueError> {
        if let Some(given) = self.document.get(key, parse)? {
            *value = given;
        }
        Ok(())
    }
}

fn refused(problem: String, accepted: &str) -> ParseError {
    ParseError { problem, accepted: accepted.to_owned() }
}

fn address(text: &str) -> Result<SocketAddr, ParseError> {
    text.parse()
        .map_err(|_| refused(format!("no IP address and port in \"{text}\""), "address:port, e.g. \"127.0.0.1:3128\""))
}

fn host_and_port(text: &str) -> Result<String, ParseError> {
    let port =
        text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).and_then(|(_, port)| port.parse::<u16>().ok());
    port.map(|_| text.to_owned()).ok_or_else(|| refused(format!("no host and port in \"{text}\""), GATEWAY))
}

fn truth(text: &str) -> Result<bool, ParseError> {
    text.parse().map_err(|_| refused(format!("\"{text}\" is neither true nor false"), "true or false"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn loaded<T>(load: fn(&Path) -> Result<T, ProxyError>, text: &str) -> Result<T, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("box.toml");
        std::fs::write(&path, text).unwrap();
        let strip = |error: ProxyError| error.to_string().replace(&format!("{}/", directory.path().display()), "");
        load(&path).map_err(strip)
    }

    const GATEWAY_FILE: &str =
        "key = \"g.key\"\ncertificate = \"g.crt\"\nterminal_certificate = \"/t.crt\"\nrate = \"100 Mbit/s\"\n";
    const TERMINAL_FILE: &str = "gateway = \"[::1]:1\"\nkey = \"t.key\"\ncertificate = \"t.crt\"\ngateway_certificate = \"g.crt\"\nrate = \"1 Mbit/s\"\n";

    #[test]
    fn what_is_absent_has_a_default() {
        let config = loaded(GatewayConfig::load, GATEWAY_FILE).unwrap();
        assert_eq!((config.listen.port(), config.rate, config.prefetch), (4433, Rate::mbps(100), true));
        assert!(config.allow.is_empty() && config.key.is_absolute());
        assert_eq!(config.terminal_certificate, Path::new("/t.crt"));
        let config = loaded(TerminalConfig::load, TERMINAL_FILE).unwrap();
        assert!(config.listen.ip().is_loopback(), "nobody else may use the proxy unless the operator says so");
    }

    #[test]
    fn everything_can_be_set() {
        let more = "listen = \"127.0.0.1:1\"\nprefetch = false\nallow = [\"10.0.0.0/8\", \"::1\"]\nwindow = \"1 MB\"\n";
        let config = loaded(GatewayConfig::load, &format!("{GATEWAY_FILE}{more}")).unwrap();
        assert_eq!((config.listen.port(), config.prefetch, config.allow.len()), (1, false, 2));
        let more = "listen = \"0.0.0.0:2\"\npush_memory = \"1 MB\"\nmemory = \"3 MB\"\nhold = \"3 s\"\nkeep = \"4 s\"\nwindow = \"2 MB\"\n";
        let config = loaded(TerminalConfig::load, &format!("{TERMINAL_FILE}{more}")).unwrap();
        assert_eq!((config.limits.hold, config.limits.keep), (Duration::from_secs(3), Duration::from_secs(4)));
        let megabytes = [config.limits.memory, config.window, config.memory].map(|bytes| bytes.get() / 1_000_000);
        assert_eq!(megabytes, [1, 2, 3]);
    }

    #[test]
    fn a_wrong_file_says_where_and_what() {
        let wrong = |text: &str| loaded(GatewayConfig::load, text).unwrap_err();
        assert_eq!(
            wrong(&GATEWAY_FILE.replace("100 Mbit/s", "100 Mbps")),
            "box.toml:4: rate = \"100 Mbps\": unknown unit \"Mbps\"\n  accepted: a number above zero and bit/s, kbit/s, Mbit/s or Gbit/s, e.g. \"2048 kbit/s\""
        );
        assert_eq!(wrong(""), "box.toml: key: missing\n  accepted: a file that `farhop keys` has written");
        let unknown = wrong(&format!("{GATEWAY_FILE}prefech = true\n"));
        assert!(
            unknown.starts_with("box.toml:5: prefech = \"true\": unknown key; did you mean prefetch?"),
            "{unknown}"
        );
        let network = wrong(&format!("{GATEWAY_FILE}allow = [\"10/8\"]\n"));
        assert!(network.contains("no IP address in \"10/8\""), "{network}");
        let gateway = loaded(TerminalConfig::load, &TERMINAL_FILE.replace("[::1]:1", "host")).unwrap_err();
        assert_eq!(
            gateway,
            "box.toml:1: gateway = \"host\": no host and port in \"host\"\n  accepted: host:port, e.g. \"gateway.example:4433\""
        );
    }

    #[test]
    fn files_without_an_end_are_refused() {
        let endless = Path::new("/dev/zero");
        let wrong = GatewayConfig::load(endless).unwrap_err().to_string();
        assert_eq!(wrong, "cannot read /dev/zero: more than 1 MB");
        assert_eq!(TerminalConfig::load(endless).unwrap_err().to_string(), wrong);
        assert_eq!(crate::keys::read_key(endless).unwrap_err().to_string(), wrong);
    }

    const MANUAL: &str = include_str!("../../../docs/accelerator.md");

    /// The manual's configuration files, in its order: the gateway's, the terminal's.
    fn examples() -> Vec<&'static str> {
        MANUAL.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
    }

    /// The keys that the manual's table for a box explains.
    fn explained(which: &str) -> std::collections::BTreeSet<&'static str> {
        let head = format!("| {which} | default | meaning |");
        let rows = MANUAL.lines().skip_while(|line| *line != head).skip(2).take_while(|line| line.starts_with('|'));
        let names = rows.filter_map(|row| row.split('|').nth(1));
        names.flat_map(|cell| cell.split(',')).map(|name| name.trim().trim_matches('`')).collect()
    }

    #[test]
    fn the_manuals_examples_are_accepted() {
        let [gateway, terminal] = examples()[..] else { panic!("two examples") };
        assert_eq!(loaded(GatewayConfig::load, gateway).unwrap().rate, Rate::mbps(20));
        assert_eq!(loaded(TerminalConfig::load, terminal).unwrap().rate, Rate::mbps(2));
    }

    #[test]
    fn the_manual_explains_every_key_and_no_other() {
        let known = |load: &dyn Fn(&str) -> Option<String>, example: &str| {
            let error = load(&format!("{example}no_such_key = 1\n")).expect("there is no such key");
            error.split("accepted: ").nth(1).expect("the known keys").to_owned()
        };
        let keys = |accepted: &str| {
            let words = accepted.split(|c: char| !c.is_ascii_lowercase() && c != '_');
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
        };
        let gateway = known(&|text| loaded(GatewayConfig::load, text).err(), examples()[0]);
        let terminal = known(&|text| loaded(TerminalConfig::load, text).err(), examples()[1]);
        assert_eq!(explained("gateway"), keys(&gateway).iter().map(String::as_str).collect());
        assert_eq!(explained("terminal"), keys(&terminal).iter().map(String::as_str).collect());
    }
}
