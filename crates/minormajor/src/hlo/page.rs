//! An analysis as a page for browsers, everything in one file.

use std::fmt::Write;

use minormajor_core::ArrayShape;
use minormajor_core::sizes::{self, size};

use super::{Analysis, Document, Explanation, Memory, Padded, Relayout, Report, Usage};
use crate::markup::{beginning, escaped};

const STYLE: &str = include_str!("page.css");

/// Shows the rows of the table of all results that hold what is typed.
const SCRIPT: &str = "
const field = document.querySelector('input');
field.hidden = false;
field.addEventListener('input', () => {
  const wanted = field.value.toLowerCase();
  for (const row of document.querySelectorAll('#all tbody tr'))
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
});
";

/// Results with padding are shown up to so many one by one; the table has all.
const PADDED: usize = 40;
/// Better orders are shown up to so many an array.
const BETTER: usize = 3;
/// Long shapes and labels, of tuples mostly, are shown up to so many characters.
const LONG: usize = 400;

/// The analysis as a page of HTML that needs nothing else: the worst padding first with the
/// orders that would waste least, then the relayouts, then all results. `origin` says where the
/// text is from.
///
/// ```
/// use minormajor::hlo::{Analysis, Document, page};
///
/// let document = Document::read("%p = f32[999,4]{1,0:T(8,128)} parameter(0)")?;
/// let page = page(&Analysis::of(&document), "p.txt");
/// assert!(page.contains("{0,1:T(8,128)}"));
/// # Ok::<(), minormajor::hlo::Unread>(())
/// ```
pub fn page(analysis: &Analysis<'_>, origin: &str) -> String {
    let title = match analysis.document() {
        Document::Module(module) => module.name().unwrap_or("Part of a module").to_owned(),
        Document::Report(_) => "Memory report".to_owned(),
    };
    let mut body = String::new();
    let _ = write!(
        body,
        "<h1>{}</h1>\n<p>{}</p>\n",
        escaped(&title),
        escaped(origin)
    );
    cards(analysis, &mut body);
    unread(analysis, &mut body);
    if let Document::Report(report) = analysis.document() {
        totals(report, &mut body);
    }
    padding(analysis, &mut body);
    relayouts(analysis, &mut body);
    results(analysis, &mut body);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}: memory</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\
         <footer>Made by minormajor {}. Sizes are written as the TPU tools write them.</footer>\n\
         </main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(&title),
        env!("CARGO_PKG_VERSION"),
    )
}

fn cards(analysis: &Analysis<'_>, body: &mut String) {
    let _ = writeln!(body, "<div class=\"cards\">");
    let mut card = |number: String, what: String| {
        let _ = writeln!(
            body,
            "<div class=\"card\"><b>{}</b><span>{}</span></div>",
            escaped(&number),
            escaped(&what)
        );
    };
    let own = analysis.sum(Memory::Own);
    let arguments = analysis.sum(Memory::Argument);
    let dense = own.dense_bytes + arguments.dense_bytes;
    let allocated = own.allocated_bytes + arguments.allocated_bytes;
    let ratio = sizes::ratio(dense, allocated).unwrap_or(1.0);
    match analysis.document() {
        Document::Module(module) => {
            card(
                size(arguments.allocated_bytes),
                format!("in {} arguments", arguments.results),
            );
            card(
                size(own.allocated_bytes),
                format!("in {} results; a run needs less at once", own.results),
            );
            let computations = module.computations().len();
            card(
                analysis.usages().len().to_string(),
                format!("instructions in {computations} computations"),
            );
        }
        Document::Report(report) => {
            if let Some(used) = report.totals().iter().find(|total| total.name == "used") {
                let size = used.size.map_or(String::new(), |used| size(used.bytes()));
                card(size, "needed in all".to_owned());
            }
            card(
                size(own.allocated_bytes),
                format!("in the {} largest allocations", own.results),
            );
        }
    }
    card(
        size(allocated - dense),
        format!("of that is padding ({ratio:.1}x)"),
    );
    let moving = analysis.relayouts();
    let written = moving
        .iter()
        .filter_map(|(_, relayout)| relayout.written_bytes());
    card(
        size(written.map(i128::from).sum()),
        format!("written by {} relayouts", moving.len()),
    );
    let _ = writeln!(body, "</div>");
}

fn unread(analysis: &Analysis<'_>, body: &mut String) {
    let unread = analysis.unread();
    if unread.is_empty() {
        return;
    }
    let _ = write!(
        body,
        "<h2>Not read</h2>\n<p>These lines are counted nowhere.</p>\n<pre class=\"unread\">"
    );
    for place in unread {
        let _ = writeln!(body, "{}", escaped(&place.to_string()));
    }
    let _ = writeln!(body, "</pre>");
}

fn totals(report: &Report<'_>, body: &mut String) {
    if report.totals().is_empty() {
        return;
    }
    let _ = write!(body, "<h2>Totals</h2>\n<pre>");
    for total in report.totals() {
        let indent = if total.is_part { "  " } else { "" };
        let _ = writeln!(body, "{indent}{}", escaped(total.text));
    }
    let _ = writeln!(body, "</pre>");
}

fn padding(analysis: &Analysis<'_>, body: &mut String) {
    let worst = analysis.worst_first();
    let padded: Vec<&&Usage<'_>> = worst.iter().filter(|u| !u.padded().is_empty()).collect();
    let _ = writeln!(body, "<h2>Worst padding</h2>");
    let Some(largest) = padded.iter().filter_map(|u| u.allocated_bytes()).max() else {
        let _ = writeln!(body, "<p>Nothing is padded.</p>");
        return;
    };
    let _ = writeln!(
        body,
        "<p><span class=\"key\" style=\"margin-left:0\"></span>elements\
         <span class=\"key padding\"></span>padding. Below each, the orders of its dimensions \
         that would take least with the same tiles.</p>\n<div class=\"list\">"
    );
    for usage in padded.iter().take(PADDED) {
        item(usage, largest, body);
    }
    let _ = writeln!(body, "</div>");
    if padded.len() > PADDED {
        let more = padded.len() - PADDED;
        let _ = writeln!(body, "<p>{more} more are in the table of all.</p>");
    }
}

/// A result with padding.
fn item(usage: &Usage<'_>, largest: i128, body: &mut String) {
    let dense = usage.dense_bytes().unwrap_or(0);
    let allocated = usage.allocated_bytes().unwrap_or(0);
    let _ = writeln!(
        body,
        "<div class=\"item\">\n<div class=\"head\">{}",
        names(usage)
    );
    let ratio = sizes::ratio(dense, allocated).unwrap_or(1.0);
    let _ = writeln!(
        body,
        "<span class=\"size\"><b>{}</b> for {} of elements ({ratio:.1}x)</span></div>",
        printed(usage),
        size(dense)
    );
    let part = |part: i128, whole: i128| part as f64 / whole.max(1) as f64 * 100.0;
    let _ = writeln!(
        body,
        "<div class=\"bar\" style=\"width:{:.2}%\"><i style=\"width:{:.2}%\"></i></div>",
        part(allocated, largest),
        part(dense, allocated)
    );
    let shape = usage.shape().unwrap_or("");
    let _ = write!(body, "<code>{}</code>", escaped(&beginning(shape, LONG)));
    if let Some(note) = usage.explanation().and_then(note) {
        let _ = write!(body, " <span class=\"quiet\">{}</span>", escaped(&note));
    }
    if let Some(operator) = usage.allocation().and_then(|a| a.operator()) {
        let operator = escaped(&beginning(operator, LONG));
        let _ = write!(body, "<br><span class=\"quiet mono\">{operator}</span>");
    }
    let _ = writeln!(body, "\n<ul class=\"better\">");
    for array in usage.padded() {
        better(array, body);
    }
    let _ = writeln!(body, "</ul>\n</div>");
}

fn better(padded: &Padded, body: &mut String) {
    let which = match padded.index().is_empty() {
        true => String::new(),
        false => format!("element {}: ", padded.index()),
    };
    if padded.better().is_empty() && padded.array().rank() > 1 {
        let _ = writeln!(
            body,
            "<li class=\"quiet\">{which}no order of its dimensions takes less</li>"
        );
    }
    for array in padded.better().iter().take(BETTER) {
        let layout = array.layout().map_or(String::new(), ToString::to_string);
        let transposed = array.in_physical_order();
        let transposed = transposed.map_or(String::new(), |transposed: ArrayShape| {
            format!(
                ", as would the transposed <code>{}</code>",
                escaped(&transposed.to_string())
            )
        });
        let _ = writeln!(
            body,
            "<li>{which}<code>{}</code> would take <b>{}</b>{transposed}</li>",
            escaped(&layout),
            size(array.allocated_bytes().unwrap_or(0).into())
        );
    }
    if let more @ 1.. = padded.better().len().saturating_sub(BETTER) {
        let _ = writeln!(
            body,
            "<li class=\"quiet\">{which}and {more} more orders</li>"
        );
    }
}

/// The opcode, the name and the computation.
fn names(usage: &Usage<'_>) -> String {
    let label = || usage.allocation().and_then(|a| a.label_text());
    let name = usage.name().or_else(label).unwrap_or("");
    let mut text = String::new();
    if let Some(opcode) = usage.opcode() {
        let _ = write!(text, "<span class=\"tag\">{}</span> ", escaped(opcode));
    }
    let _ = write!(
        text,
        "<b class=\"mono\">{}</b>",
        escaped(&beginning(name, LONG))
    );
    let place = match (usage.computation(), usage.allocation()) {
        (Some(computation), _) if !computation.is_empty() => format!("in {computation}"),
        (_, Some(allocation)) => {
            let space = allocation.memory_space().unwrap_or("");
            format!("{}. in {space}", allocation.number())
        }
        _ => String::new(),
    };
    let _ = write!(text, " <span class=\"quiet\">{}</span>", escaped(&place));
    text
}

/// The size that the report prints, else the one computed.
fn printed(usage: &Usage<'_>) -> String {
    match usage.allocation() {
        Some(allocation) => escaped(allocation.size_text()),
        None => usage.allocated_bytes().map_or("?".to_owned(), size),
    }
}

/// What is to be said of a report's entry, unless its shape says it all.
fn note(explanation: &Explanation) -> Option<String> {
    Some(match explanation {
        Explanation::Layout(_) => return None,
        Explanation::Tiles(_) => {
            let tiles = explanation.tiles();
            let (first, others) = tiles.split_first()?;
            match others {
                [] => format!("in tiles that are not printed: {first}"),
                _ => format!(
                    "in tiles that are not printed: {first} (or {})",
                    others.join(", ")
                ),
            }
        }
        Explanation::IndexTable => "a tuple's table of addresses".to_owned(),
        Explanation::Arrays => "all arrays of the tuple".to_owned(),
        Explanation::NoShape => "no shape is printed".to_owned(),
        _ => "the shape does not account for the size".to_owned(),
    })
}

fn relayouts(analysis: &Analysis<'_>, body: &mut String) {
    let moving = analysis.relayouts();
    let _ = writeln!(body, "<h2>Relayouts</h2>");
    let in_place = analysis.usages().iter().filter(|usage| {
        let is_bitcast = usage.relayout().is_some_and(Relayout::is_bitcast);
        usage.memory() != Memory::Inside && is_bitcast
    });
    let in_place = in_place.count();
    let _ = writeln!(
        body,
        "<p>Instructions that compute nothing: {} move elements, {in_place} leave them where \
         they are (or copy them as they are).</p>",
        moving.len()
    );
    let Some(largest) = moving.iter().filter_map(|(_, r)| r.written_bytes()).max() else {
        return;
    };
    let _ = writeln!(
        body,
        "<div class=\"scroll\"><table>\n<thead><tr><th class=\"number\">Read</th>\
         <th class=\"number\">Written</th><th>Move</th><th>Name</th><th>From and to</th></tr>\
         </thead>\n<tbody>"
    );
    for (usage, relayout) in &moving {
        let bytes = |bytes: Option<i64>| bytes.map_or("?".to_owned(), |b| size(b.into()));
        let written = relayout.written_bytes().unwrap_or(0);
        let _ = writeln!(
            body,
            "<tr><td class=\"number\">{}</td><td class=\"number\">{}\
             <div class=\"bar moved\" style=\"width:{:.1}%\"></div></td><td>{}</td><td>{}</td>\
             <td><code>{}</code><br><code>{}</code></td></tr>",
            bytes(relayout.read_bytes()),
            bytes(relayout.written_bytes()),
            written as f64 / largest.max(1) as f64 * 100.0,
            relayout.class().map_or("", |class| class.name()),
            names(usage),
            escaped(&relayout.from().to_string()),
            escaped(&relayout.to().to_string()),
        );
    }
    let _ = writeln!(body, "</tbody></table></div>");
}

fn results(analysis: &Analysis<'_>, body: &mut String) {
    let worst = analysis.worst_first();
    let is_report = matches!(analysis.document(), Document::Report(_));
    let what = if is_report {
        "All allocations"
    } else {
        "All results"
    };
    let _ = writeln!(body, "<h2>{what}</h2>");
    let (shown, rest): (Vec<&Usage<'_>>, Vec<_>) =
        worst.into_iter().partition(|u| u.takes_memory());
    if !rest.is_empty() {
        let _ = writeln!(
            body,
            "<p>Left out: {} results that take no memory of their own, such as tuples, bitcasts \
             and steps inside fusions.</p>",
            rest.len()
        );
    }
    let _ = writeln!(
        body,
        "<input type=\"search\" placeholder=\"Name, opcode or shape\" aria-label=\"Filter\" \
         hidden>\n<div class=\"scroll\" id=\"all\"><table>\n<thead><tr>\
         <th class=\"number\">Allocated</th><th class=\"number\">Elements</th>\
         <th class=\"number\"></th><th>Name</th><th>Shape</th></tr></thead>\n<tbody>"
    );
    for usage in shown {
        let ratio = usage.dense_bytes().zip(usage.allocated_bytes());
        let ratio = ratio.filter(|(dense, allocated)| dense != allocated);
        let ratio = ratio.and_then(|(dense, allocated)| sizes::ratio(dense, allocated));
        let class = match ratio {
            Some(1.5..) => " class=\"wasteful\"",
            _ => "",
        };
        let shape = escaped(&beginning(usage.shape().unwrap_or(""), LONG));
        let note = usage.explanation().and_then(note);
        let note = note.map_or(String::new(), |note| {
            format!(" <span class=\"quiet\">{}</span>", escaped(&note))
        });
        let argument = match usage.memory() {
            Memory::Argument => " <span class=\"tag\">argument</span>",
            _ => "",
        };
        let _ = writeln!(
            body,
            "<tr{class}><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number ratio\">{}</td><td>{}{argument}</td><td><code>{shape}</code>{note}</td></tr>",
            printed(usage),
            usage.dense_bytes().map_or("?".to_owned(), size),
            ratio.map_or(String::new(), |ratio| format!("{ratio:.1}x")),
            names(usage),
        );
    }
    let _ = writeln!(body, "</tbody></table></div>");
}
