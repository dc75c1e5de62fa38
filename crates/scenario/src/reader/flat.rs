//! TOML's tables as one list of dotted keys, each value a text.

use super::{Entry, Origin, Typed};
use core::ops::Range;
use toml_edit::{Item, TableLike, Value};

/// Appends every key below `table`, tables themselves included, with `prefix` before its name.
pub(super) fn flatten(text: &str, prefix: &str, table: &dyn TableLike, entries: &mut Vec<Entry>) {
    for (name, item) in table.iter() {
        let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let span = item.span().or_else(|| table.key(name).and_then(toml_edit::Key::span));
        let origin = Origin::Line(span.map_or(1, |span| line_of(text, &span)));
        if let Some(below) = item.as_table_like() {
            entries.push(Entry { key: key.clone(), value: Typed::Other("a table"), origin });
            flatten(text, &key, below, entries);
        } else {
            entries.push(Entry { key, value: typed(item), origin });
        }
    }
}

fn typed(item: &Item) -> Typed {
    match item {
        Item::Value(Value::Array(items)) => {
            items.iter().map(scalar).collect::<Option<_>>().map_or(Typed::Other("a nested list"), Typed::List)
        }
        Item::Value(value) => scalar(value).map_or(Typed::Other("a table"), Typed::Text),
        _ => Typed::Other("a list of tables"),
    }
}

/// A value of the command line, where a list may be written as in a file.
pub(super) fn typed_word(text: &str) -> Typed {
    let list = text.starts_with('[').then(|| text.parse().ok()).flatten().map(|value| typed(&Item::Value(value)));
    list.unwrap_or_else(|| Typed::Text(text.to_owned()))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        Value::Boolean(truth) => Some(truth.value().to_string()),
        Value::Datetime(date) => Some(date.value().to_string()),
        Value::Array(_) | Value::InlineTable(_) => None,
    }
}

/// The line in which `span` begins, from 1.
pub(super) fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.get(..span.start).unwrap_or(text).matches('\n').count() + 1
}
