//! The plot: a panel a suite, a column a case, in rising order of minormajor's ratio.

use std::fmt::Write as _;

use crate::case::SUITES;
use crate::contest::{KEPT, MEMCPY, PLANNED};
use crate::results::Row;

use super::summary::{column, threads};

/// Pixels.
const COLUMN: f64 = 9.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 48.0;
const GAP: f64 = 26.0;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 26.0;
const LEGEND: f64 = 36.0;
/// Panels go on in a new line beyond this.
const WIDTH: f64 = 1000.0;

/// The largest ratio that is drawn; larger ones are drawn there.
const MOST: f64 = 1.6;
/// Small arrays: from a nanosecond to so many decades above.
const DECADES: f64 = 5.0;

/// One colour for each number of threads.
const COLOURS: [&str; 4] = ["#0b62a8", "#c2570c", "#5b7f1e", "#7a3fa0"];
const GREY: &str = "#7b8794";

/// One panel with its place.
struct Panel<'a> {
    title: String,
    is_small: bool,
    /// The rows of each case.
    cases: Vec<Vec<&'a Row>>,
    x: f64,
    y: f64,
}

impl Panel<'_> {
    fn width(&self) -> f64 {
        (self.cases.len() as f64 * COLUMN).max(90.0)
    }

    /// Where a ratio, or the seconds of a small array, is drawn.
    fn level(&self, value: f64) -> f64 {
        let part = match self.is_small {
            true => (value * 1e9).max(1.0).log10() / DECADES,
            false => value / MOST,
        };
        self.y + HEIGHT * (1.0 - part.clamp(0.0, 1.0))
    }
}

/// The whole plot.
pub fn plot(rows: &[&Row]) -> String {
    let threads = threads(rows);
    let panels = panels(rows);
    let has_peers = rows.iter().any(|row| row.best_peer().is_some());
    let (legend, legend_end) = legend(&threads, has_peers);
    let right = panels.iter().map(|panel| panel.x + panel.width());
    let width = right.fold(legend_end, f64::max) + 20.0;
    let bottom = panels.iter().map(|panel| panel.y + HEIGHT);
    let height = bottom.fold(LEGEND, f64::max) + BELOW;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>Relayouts beside memcpy</title>\n\
         <style>text{{font:12px sans-serif;fill:#1f2933}}.small{{font-size:10px;fill:#52606d}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    svg.push_str(&legend);
    for panel in &panels {
        draw(&mut svg, panel, &threads);
    }
    svg.push_str("</svg>\n");
    svg
}

fn panels<'a>(rows: &[&'a Row]) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    let (mut x, mut y) = (LEFT, LEGEND + ABOVE);
    for (suite, _, is_small) in SUITES {
        let rows: Vec<&Row> = rows
            .iter()
            .filter(|row| row.suite == suite)
            .copied()
            .collect();
        if rows.is_empty() {
            continue;
        }
        let mut cases: Vec<Vec<&Row>> = rows
            .chunk_by(|a, b| a.case == b.case)
            .map(<[&Row]>::to_vec)
            .collect();
        let key = |case: &Vec<&Row>| match is_small {
            true => case[0].entry(KEPT, false).map_or(0.0, |kept| kept.median_s),
            false => case[0].ratio(false).unwrap_or(0.0),
        };
        cases.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let unit = if is_small { ", time" } else { "" };
        let mut panel = Panel {
            title: format!("{suite}{unit}"),
            is_small,
            cases,
            x,
            y,
        };
        let is_other_scale = panels.last().is_some_and(|last| last.is_small != is_small);
        if x > LEFT && (x + panel.width() > WIDTH || is_other_scale) {
            (x, y) = (LEFT, y + HEIGHT + BELOW + ABOVE);
            (panel.x, panel.y) = (x, y);
        }
        x += panel.width() + GAP;
        panels.push(panel);
    }
    panels
}

/// What the marks mean, and where that ends.
fn legend(threads: &[usize], has_peers: bool) -> (String, f64) {
    let (mut svg, mut x) = (String::new(), LEFT);
    let mut entry = |mark: &str, text: &str| {
        let _ = writeln!(
            svg,
            "<g transform=\"translate({x:.0} 18)\">{mark}<text x=\"8\" y=\"4\">{text}</text></g>"
        );
        x += 30.0 + 6.4 * text.chars().count() as f64;
    };
    for (i, &count) in threads.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let mark = format!(
            "<line y1=\"-8\" y2=\"8\" stroke=\"{colour}\"/><circle r=\"3\" fill=\"{colour}\"/>"
        );
        entry(&mark, &format!("{}, half of the rounds", column(count)));
        if has_peers {
            entry(
                &format!("<circle r=\"2.5\" fill=\"none\" stroke=\"{colour}\"/>"),
                "best other library",
            );
        }
    }
    entry(
        &format!("<line x1=\"-8\" x2=\"4\" stroke=\"{GREY}\" stroke-dasharray=\"4 3\"/>"),
        "memcpy",
    );
    entry(
        "<path d=\"M-3 -3L3 3M-3 3L3 -3\" stroke=\"#1f2933\"/>",
        "small arrays: plan made each time",
    );
    (svg, x)
}

fn draw(svg: &mut String, panel: &Panel<'_>, threads: &[usize]) {
    let (x, y, width) = (panel.x, panel.y, panel.width());
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
        y - 8.0,
        panel.title
    );
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"#f7f9fb\"/>"
    );
    let marks: Vec<(f64, String)> = match panel.is_small {
        true => [
            (1e-9, "1 ns"),
            (1e-8, "10 ns"),
            (1e-7, "100 ns"),
            (1e-6, "1 us"),
            (1e-5, "10 us"),
            (1e-4, "100 us"),
        ]
        .map(|(seconds, text)| (seconds, text.to_owned()))
        .to_vec(),
        false => (0..=6)
            .map(|n| (0.25 * f64::from(n), format!("{:.2}", 0.25 * f64::from(n))))
            .collect(),
    };
    for (value, text) in marks {
        let level = panel.level(value);
        let dash = match !panel.is_small && value == 1.0 {
            true => format!("stroke=\"{GREY}\" stroke-dasharray=\"4 3\""),
            false => "stroke=\"#e4e9ef\"".to_owned(),
        };
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{level:.1}\" y2=\"{level:.1}\" {dash}/>",
            x + width
        );
        if x == LEFT {
            let _ = writeln!(
                svg,
                "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                x - 5.0,
                level + 3.5
            );
        }
    }
    for (number, case) in panel.cases.iter().enumerate() {
        let middle = x + (number as f64 + 0.5) * width / panel.cases.len() as f64;
        let _ = writeln!(svg, "<g><title>{}</title>", tooltip(case));
        for row in case {
            let place = threads
                .iter()
                .position(|&count| count == row.threads)
                .unwrap_or(0);
            let middle = middle + 3.0 * (place as f64 - (threads.len() - 1) as f64 / 2.0);
            draw_row(svg, panel, row, middle, COLOURS[place % COLOURS.len()]);
        }
        svg.push_str("</g>\n");
    }
}

fn draw_row(svg: &mut String, panel: &Panel<'_>, row: &Row, x: f64, colour: &str) {
    let Some(kept) = row.entry(KEPT, false) else {
        return;
    };
    let value = |seconds: f64| match (panel.is_small, row.entry(MEMCPY, false)) {
        (false, Some(memcpy)) => memcpy.median_s / seconds,
        _ => seconds,
    };
    let level = |seconds: f64| panel.level(value(seconds));
    let (low, middle, high) = (level(kept.low_s), level(kept.median_s), level(kept.high_s));
    let _ = writeln!(
        svg,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" stroke=\"{colour}\"/>"
    );
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"2.6\" fill=\"{colour}\"/>"
    );
    if let Some(peer) = row.best_peer() {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"2.2\" fill=\"none\" stroke=\"{colour}\"/>",
            level(peer.median_s)
        );
    }
    if panel.is_small {
        if let Some(memcpy) = row.entry(MEMCPY, false) {
            let y = level(memcpy.median_s);
            let _ = writeln!(
                svg,
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{GREY}\" stroke-width=\"2\"/>",
                x - 3.0,
                x + 3.0
            );
        }
        if let Some(planned) = row.entry(PLANNED, false) {
            let y = level(planned.median_s);
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1}l5 5m-5 0l5 -5\" stroke=\"{colour}\"/>",
                x - 2.5,
                y - 2.5
            );
        }
    }
}

/// What a reader sees who points at a case.
fn tooltip(case: &[&Row]) -> String {
    let mut text = case[0].case.clone();
    for row in case {
        if let (Some(kept), Some(ratio)) = (row.entry(KEPT, false), row.ratio(false)) {
            let _ = write!(
                text,
                ", {}: {:.6} s, {ratio:.2} of memcpy",
                column(row.threads),
                kept.median_s
            );
        }
    }
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{sorted, tests::results};

    #[test]
    fn every_case_is_drawn_once_for_each_number_of_threads() {
        let results = results();
        let svg = plot(&sorted(&results.rows).unwrap());
        assert_eq!(svg.matches("r=\"2.6\"").count(), results.rows.len());
        assert_eq!(svg.matches("r=\"2.2\"").count(), 2);
        assert_eq!(svg.matches("<title>").count(), 1 + 3);
        for (open, close) in [("<g", "</g>"), ("<text", "</text>"), ("<svg", "</svg>")] {
            let opened =
                svg.matches(&format!("{open}>")).count() + svg.matches(&format!("{open} ")).count();
            assert_eq!(opened, svg.matches(close).count(), "{open}");
        }
        assert!(!svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn nothing_measured_is_an_empty_plot() {
        assert!(plot(&[]).ends_with("</svg>\n"));
    }
}
