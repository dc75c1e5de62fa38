//! Which architecture? The predicted ranking as a table.

use super::markup::{class, escape, put};
use crate::{format, ranking};
use farhop_results::{Rank, Results};

/// The section, or nothing without a ranking.
pub(crate) fn ranking(results: &Results) -> String {
    let Some(conclusion) = ranking::conclusion(results) else { return String::new() };
    let mut out = format!("<section><h2 id=\"ranking\">Which architecture?</h2>\n<p>{conclusion}.</p>\n");
    out.push_str(
        "<div class=\"scroll\"><table>\n<caption>What nobody would notice is no benefit.</caption>\n<thead><tr><th scope=\"col\">architecture</th><th scope=\"col\">predicted, s</th>\
         <th scope=\"col\" class=\"words\">gain</th><th scope=\"col\" class=\"words\">by</th></tr></thead>\n<tbody>\n",
    );
    results.ranking.iter().for_each(|rank| put_rank(&mut out, rank));
    out.push_str("</tbody></table></div></section>\n");
    out
}

fn put_rank(out: &mut String, rank: &Rank) {
    let (colour, architecture, time) = (class(rank.architecture), rank.architecture, format::seconds(rank.page_load_s));
    let (tone, verdict, method) =
        (if rank.benefit { "good" } else { "soft" }, ranking::verdict(rank), escape(&rank.method));
    put(
        out,
        format_args!(
            "<tr class=\"{colour}\"><th scope=\"row\"><span class=\"dot\"></span>{architecture}</th><td>{time}</td>\
             <td class=\"words {tone}\">{verdict}</td><td class=\"words soft\">{method}</td></tr>\n"
        ),
    );
}
