//! Models as text: `zhou-2004, sizes = fixed`.

use super::parameters::Parameters;
use super::{ChoiLimb1999, Page2025, Surge1998, ThreeGpp, UserModel, Zhou2004};
use core::fmt;
use core::str::FromStr;
use farhop_units::{ParseError, suggestion};
use std::sync::Arc;

const NAMES: [&str; 5] = [Zhou2004::NAME, ChoiLimb1999::NAME, Surge1998::NAME, ThreeGpp::NAME, Page2025::NAME];

impl FromStr for UserModel {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (name, settings) = text.split_once(',').map_or((text, None), |(name, rest)| (name, Some(rest)));
        Ok(match name.trim() {
            Zhou2004::NAME => Self::Zhou2004(read(settings)?),
            ChoiLimb1999::NAME => Self::ChoiLimb1999(read(settings)?),
            Surge1998::NAME => Self::Surge1998(read(settings)?),
            ThreeGpp::NAME => Self::ThreeGpp(read(settings)?),
            Page2025::NAME => Self::Page2025(read(settings)?),
            other => {
                let accepted = format!("{}, then perhaps \", parameter = value\"", NAMES.join(", "));
                return Err(ParseError::unknown("model of users", other, NAMES, accepted));
            }
        })
    }
}

/// The published model with the parameters that `settings` change.
fn read<M: Parameters>(settings: Option<&str>) -> Result<Arc<M>, ParseError> {
    let mut model = M::default();
    // Never more than the model has parameters, since repetitions are refused.
    let mut seen: Vec<&str> = Vec::new();
    for setting in settings.iter().flat_map(|settings| settings.split(',')) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let (name, value) = (name.trim(), value.trim());
        if seen.contains(&name) {
            return Err(ParseError::new(format!("\"{name}\" is given twice"), "each parameter once"));
        }
        set(&mut model, name, value)?;
        seen.push(name);
    }
    Ok(Arc::new(model))
}

fn set<M: Parameters>(model: &mut M, name: &str, value: &str) -> Result<(), ParseError> {
    let mut parameters = model.parameters();
    let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    let Some((_, parameter)) = parameters.iter_mut().find(|(known, _)| *known == name) else {
        let suggestion = suggestion(name, names.iter().copied());
        let problem = format!("unknown parameter \"{name}\" of {}{suggestion}", M::NAME);
        return Err(ParseError::new(problem, names.join(", ")));
    };
    let explain = |error: ParseError| ParseError::new(format!("{name}: {}", error.problem), error.accepted);
    parameter.set(value).map_err(explain)
}

impl fmt::Display for UserModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zhou2004(model) => write_differences(&**model, f),
            Self::ChoiLimb1999(model) => write_differences(&**model, f),
            Self::Surge1998(model) => write_differences(&**model, f),
            Self::ThreeGpp(model) => write_differences(&**model, f),
            Self::Page2025(model) => write_differences(&**model, f),
        }
    }
}

/// The name, and what differs from the published values.
fn write_differences<M: Parameters>(model: &M, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(M::NAME)?;
    let (mut ours, mut published) = (model.clone(), M::default());
    for ((name, ours), (_, published)) in ours.parameters().iter().zip(published.parameters()) {
        if ours.text() != published.text() {
            write!(f, ", {name} = {}", ours.text())?;
        }
    }
    Ok(())
}
