use super::*;
use proptest::prelude::*;

fn orbit(text: &str) -> Orbit {
    text.parse().unwrap()
}

#[test]
fn geostationary_delays_are_the_textbook_ones() {
    let delay = |text| orbit(text).path_delay(Instant::START).as_micros();
    assert_eq!(delay("geo elevation=90deg"), 238_738, "2 · 35786 km");
    assert_eq!(delay("geo elevation=10deg"), 270_761);
    assert_eq!(delay("geo elevation=0deg"), 278_051);
    assert_eq!(delay("geo elevation=90deg gateway-elevation=10deg"), (238_738 + 270_761) / 2);
}

#[test]
fn a_low_orbit_changes_its_delay_within_and_at_handovers() {
    let orbit = orbit("leo altitude=550km elevation=25deg handover=15s pause=30ms");
    let delay = |millis| orbit.path_delay(Instant::START + Duration::from_millis(millis));
    let drift = delay(15_000 - 1).abs_diff(delay(0));
    let jumps: Vec<Duration> = (1..20).map(|k| delay(15_000 * k).abs_diff(delay(15_000 * k - 1))).collect();
    assert!(drift > Duration::ZERO && drift < Duration::from_micros(900), "{drift:?}");
    assert!(jumps.iter().all(|&jump| jump > Duration::from_micros(20)), "{jumps:?}");
}

#[test]
fn orbits_read_back() {
    let texts = [
        "geo elevation=35deg gateway-elevation=40deg",
        "geo elevation=35.25deg gateway-elevation=0deg",
        "leo altitude=550km elevation=25deg handover=15s pause=30ms",
        "leo altitude=1110.5km elevation=0deg handover=60s pause=0ms",
    ];
    for text in texts {
        assert_eq!(orbit(text).to_string(), text);
    }
    assert_eq!(orbit("geo elevation=35deg"), orbit("geo elevation=35deg gateway-elevation=35deg"));
    let short = orbit("leo altitude=550000m elevation=25deg");
    assert_eq!(short, orbit("leo altitude=550km elevation=25deg handover=15s pause=0ms"));
}

#[test]
fn impossible_orbits_say_what_is_accepted() {
    let error = |text: &str| text.parse::<Orbit>().unwrap_err().to_string();
    assert_eq!(error("meo"), format!("unknown orbit \"meo\"; did you mean leo?; accepted: {ACCEPTED}"));
    assert_eq!(error("geo"), format!("no \"elevation\" in \"geo\"; accepted: {ACCEPTED}"));
    let high = "elevation: 91deg is not between horizon and zenith; accepted: 0deg to 90deg";
    assert_eq!(error("geo elevation=91deg"), high);
    assert_eq!(error("geo elevation=35"), "elevation: \"35\"; accepted: a number and deg, e.g. \"35deg\"");
    assert_eq!(error("geo elevation=NaNdeg"), high.replace("91", "NaN"));
    let leo = |rest: &str| error(&format!("leo {rest}"));
    assert_eq!(leo("altitude=35786km elevation=25deg"), "altitude: 35786km is not low; accepted: 160km to 2000km");
    assert_eq!(
        leo("altitude=550km elevation=25deg handover=1h"),
        "handover: 3600s; accepted: 1s to 269.44s, as long as a satellite is in view"
    );
    assert_eq!(
        leo("altitude=550km elevation=25deg pause=15s"),
        "pause: 15s is not shorter than from handover to handover; accepted: less than 15s"
    );
    assert!(leo("altitude=550km elevation=90deg").starts_with("elevation: a satellite is that high for less than"));
    assert!(leo("altitude=550km elevation=25deg inclination=53deg").starts_with("unknown term \"inclination\""));
}

#[test]
fn pauses_are_those_of_the_handovers() {
    let orbit = orbit("leo altitude=550km elevation=25deg handover=15s pause=30ms");
    let at = |millis| Instant::START + Duration::from_millis(millis);
    assert!(orbit.has_pauses());
    assert_eq!(orbit.pause_end(at(15_010)), Some(at(15_030)));
    assert_eq!(orbit.pause_end(at(15_030)), None);
    assert_eq!(orbit.next_pause(at(15_030)), Some(at(30_000)..at(30_030)));
    assert!(!self::orbit("geo elevation=35deg").has_pauses());
}

proptest! {
    #[test]
    fn every_delay_lies_between_zenith_and_least_elevation(
        altitude in 160.0..2000.0, elevation in 0.0..60.0, seconds in 1_u64..60, nanos: u64,
    ) {
        let (altitude_m, handover) = (altitude * 1000.0, Duration::from_secs(seconds));
        let orbit = Orbit::LowEarth { altitude_m, least_elevation_deg: elevation, handover, pause: Duration::ZERO };
        prop_assume!(orbit.check().is_ok());
        prop_assert_eq!(orbit.to_string().parse(), Ok(orbit));
        let delay = orbit.path_delay(Instant::from_nanos(nanos));
        let longest = light_time(2.0 * slant_range(altitude_m, elevation));
        prop_assert!(delay >= orbit.least_delay());
        prop_assert!(delay <= longest + Duration::from_nanos(1), "{:?} > {:?}", delay, longest);
    }

    #[test]
    fn an_orbit_nobody_checked_still_has_an_answer(a: f64, b: f64, handover: u64, pause: u64, nanos: u64) {
        let (handover, pause) = (Duration::from_nanos(handover), Duration::from_nanos(pause));
        let low = Orbit::LowEarth { altitude_m: a, least_elevation_deg: b, handover, pause };
        let high = Orbit::Geostationary { terminal_elevation_deg: a, gateway_elevation_deg: b };
        for orbit in [low, high] {
            let at = Instant::from_nanos(nanos);
            let _ = (orbit.path_delay(at), orbit.least_delay(), orbit.check());
            let _ = (orbit.pause_end(at), orbit.next_pause(at));
        }
    }

    #[test]
    fn any_text_gives_an_answer(text in "(geo|leo)?[ a-z0-9=.-]*") {
        let _ = text.parse::<Orbit>();
    }
}
