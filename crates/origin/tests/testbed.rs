//! Sites behind the far end of real testbeds, fetched by `curl`: names, certificates, both families, nothing left behind.
//!
//! These tests need the rights that `farhop_emu::availability` names. Without them they say so and pass, unless
//! `FARHOP_REQUIRE_ROOT_TESTS=1`.

use farhop_emu::{Host, Testbed, availability};
use farhop_origin::{OriginOptions, Origins, Site};
use std::process::Output;

/// A page of two hosts, a host that redirects to it, and one that was known by its address.
const HAR: &str = r#"{"log": {"entries": [
    {"request": {"method": "GET", "url": "http://example.test/"},
     "response": {"status": 301, "headers": [{"name": "Location", "value": "https://www.example.test/"}], "content": {}}},
    {"request": {"method": "GET", "url": "https://www.example.test/"},
     "response": {"status": 200, "headers": [{"name": "content-encoding", "value": "br"}],
                  "content": {"mimeType": "text/html", "text": "<img src=\"https://cdn.example.test/a.png\">"}}},
    {"request": {"method": "GET", "url": "https://cdn.example.test/a.png"},
     "response": {"status": 200, "content": {"mimeType": "image/png", "size": 40000}}},
    {"request": {"method": "GET", "url": "http://192.0.2.7:8080/"}, "response": {"status": 200, "content": {"text": "by address"}}}
]}}"#;

/// A testbed whose link delays by 10 ms each way, unless there can be none.
fn testbed() -> Option<Testbed> {
    let text = "version = 1\n\
                [link.down]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
                [link.up]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
                [page]\nobjects = 1\nsize = \"5 kB\"\n";
    match availability() {
        Ok(()) => {
            let scenario = farhop_scenario::parse("test", text, &[]).expect("a valid scenario");
            Some(Testbed::start(&scenario).expect("a testbed"))
        }
        Err(error) if std::env::var("FARHOP_REQUIRE_ROOT_TESTS").is_ok_and(|value| value == "1") => {
            panic!("FARHOP_REQUIRE_ROOT_TESTS=1, but {error}");
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn recording() -> Site {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), HAR).expect("it can be written");
    Site::from_har(file.path()).expect("a recording")
}

/// Runs a program at the client with the environment that the origins give.
fn at_client(testbed: &Testbed, origins: &Origins, program: &str, arguments: &[&str]) -> Output {
    let mut command = testbed.host(Host::Client).command(program);
    command.args(arguments).envs(origins.environment()).output().expect("the program runs")
}

/// What `curl` says of a URL: status, protocol, final URL and size, in this order.
fn curl(testbed: &Testbed, origins: &Origins, arguments: &[&str]) -> String {
    let format = "%{http_code} %{http_version} %{url_effective} %{size_download}";
    let all = [&["-sS", "--max-time", "60", "-o", "/dev/null", "-w", format], arguments].concat();
    let output = at_client(testbed, origins, "curl", &all);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { told } else { String::from_utf8_lossy(&output.stderr).trim().to_owned() }
}

#[test]
fn recorded_hosts_are_found_by_name_and_trusted() {
    let Some(testbed) = testbed() else { return };
    let origins = Origins::start(&testbed, recording(), &OriginOptions::default()).unwrap();
    let names: Vec<_> = origins.names().iter().map(|name| name.name.as_str()).collect();
    assert_eq!(names, ["192.0.2.7", "cdn.example.test", "example.test", "www.example.test"]);

    let fetch = |arguments: &[&str]| curl(&testbed, &origins, arguments);
    assert_eq!(fetch(&["https://www.example.test/"]), "200 2 https://www.example.test/ 42");
    assert_eq!(fetch(&["--http1.1", "https://cdn.example.test/a.png"]), "200 1.1 https://cdn.example.test/a.png 40000");
    assert_eq!(fetch(&["-6", "https://cdn.example.test/a.png"]), "200 2 https://cdn.example.test/a.png 40000");
    assert_eq!(fetch(&["-L", "http://example.test/"]), "200 2 https://www.example.test/ 42");
    assert_eq!(fetch(&["http://192.0.2.7:8080/"]), "200 1.1 http://192.0.2.7:8080/ 10");
    let unknown = fetch(&["https://elsewhere.test/"]);
    assert!(unknown.contains("Could not resolve host"), "{unknown}");
    let own = fetch(&["--cacert", "/etc/ssl/certs/ca-certificates.crt", "https://www.example.test/"]);
    assert!(own.contains("certificate"), "only who is told to trusts the authority: {own}");
    assert!(fetch(&["https://cdn.example.test/b.png"]).starts_with("404 "));
    assert_eq!(origins.missed(), ["GET https://cdn.example.test/b.png"]);
}

#[test]
fn the_directory_is_at_the_servers_own_name() {
    let Some(testbed) = testbed() else { return };
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("index.html"), "hello").unwrap();
    let site = Site::from_dir(directory.path()).unwrap();
    let origins = Origins::start(&testbed, site, &OriginOptions::default()).unwrap();
    let fetch = |arguments: &[&str]| curl(&testbed, &origins, arguments);
    assert_eq!(fetch(&["http://server/"]), "200 1.1 http://server/ 5");
    assert_eq!(fetch(&["https://server/"]), "200 2 https://server/ 5");
    assert_eq!(fetch(&["-6", "https://server/"]), "200 2 https://server/ 5");
}

#[test]
fn nothing_is_left_behind() {
    let Some(testbed) = testbed() else { return };
    let addresses = || {
        let output =
            testbed.host(Host::Server).command("ip").args(["-brief", "address", "show", "lo"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = addresses();
    let origins = Origins::start(&testbed, recording(), &OriginOptions::default()).unwrap();
    let (during, certificate) = (addresses(), origins.certificate().to_owned());
    assert!(["10.79.0.3/32", "fd79::3/128", "192.0.2.7/32"].iter().all(|added| during.contains(added)), "{during}");
    assert!(certificate.exists());
    origins.stop().unwrap();
    assert_eq!(addresses(), before);
    // The ports are free again, and a directory that was given keeps the certificate.
    let directory = tempfile::tempdir().unwrap();
    let options = OriginOptions { directory: Some(directory.path().to_owned()), ..OriginOptions::default() };
    drop(Origins::start(&testbed, recording(), &options).unwrap());
    assert!(directory.path().join("ca.crt").exists());
    assert_eq!(addresses(), before);
    testbed.stop().unwrap();
    assert!(!certificate.exists());
}
