//! A plot of latency against size, both logarithmic (SVG 1.1). Our own, because the usual plotting crates bring fonts and
//! bitmap back ends for what is lines and text.

use std::fmt::Write as _;

use crate::report::{Report, size};

/// Size of the picture, and of its margins: left, right (the legend), top, bottom.
const PICTURE: (f64, f64) = (1120.0, 560.0);
const MARGINS: (f64, f64, f64, f64) = (64.0, 380.0, 40.0, 48.0);
/// Colours that people with any colour vision tell apart (Okabe and Ito), used in turn.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c8c00"];

/// A logarithmic axis from a value to a value onto coordinates.
struct Axis {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let part = (value / self.from).ln() / (self.to / self.from).ln();
        self.start + part * (self.end - self.start)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Report {
    /// The plot.
    #[must_use]
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let times = || points().chain(&self.floor).map(|point| point.microseconds).filter(|time| *time > 0.0);
        let (width, height) = PICTURE;
        let (left, right, top, bottom) = MARGINS;
        #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
        let bytes = |bytes: u64| bytes as f64;
        let smallest = points().map(|point| point.bytes).min().unwrap_or(1).max(1);
        let largest = points().map(|point| point.bytes).max().unwrap_or(2).max(2 * smallest);
        let across = Axis { from: bytes(smallest), to: bytes(largest), start: left, end: width - right };
        let least = times().fold(f64::INFINITY, f64::min).min(1.0) * 0.8;
        let most = times().fold(least * 2.0, f64::max) * 1.2;
        let up = Axis { from: least, to: most, start: height - bottom, end: top };

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{left}\" y=\"22\">{}</text>\n",
            escape(&format!("microseconds per call, {} ranks: {}; {}", self.world, self.device, self.date))
        );
        let mut line = |x1: f64, y1: f64, x2: f64, y2: f64, style: &str| {
            let _infallible =
                writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
        };
        let grid = "stroke=\"#dddddd\"";
        let ticks: Vec<f64> = (-1..6)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
            .filter(|tick| (least..=most).contains(tick))
            .collect();
        let sizes: Vec<u64> =
            (0..63).map(|power| 1 << power).filter(|size| (smallest..=largest).contains(size)).collect();
        for tick in &ticks {
            line(left, up.at(*tick), width - right, up.at(*tick), grid);
        }
        for size in &sizes {
            line(across.at(bytes(*size)), top, across.at(bytes(*size)), height - bottom, grid);
        }
        for point in &self.floor {
            let y = up.at(point.microseconds);
            line(left, y, width - right, y, "stroke=\"#888888\" stroke-dasharray=\"2 4\"");
        }
        for tick in &ticks {
            let _infallible = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
                left - 6.0,
                up.at(*tick) + 4.0
            );
        }
        for (place, bytes_of) in sizes.iter().enumerate() {
            if place.is_multiple_of(2) {
                let x = across.at(bytes(*bytes_of));
                let _infallible = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    height - bottom + 18.0,
                    size(*bytes_of)
                );
            }
        }
        for ((series, colour), row) in self.series.iter().zip(COLOURS.iter().cycle()).zip(0_u32..) {
            let dashes = if series.dependent { " stroke-dasharray=\"6 3\"" } else { "" };
            let path: Vec<String> = { series.points.iter() }
                .filter(|point| point.microseconds > 0.0 && point.bytes > 0)
                .map(|point| format!("{:.1},{:.1}", across.at(bytes(point.bytes)), up.at(point.microseconds)))
                .collect();
            let y = top + 16.0 * f64::from(row);
            let x = width - right + 16.0;
            let _infallible = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes} points=\"{}\"/>\n\
                 <line x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes}/>\n\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                path.join(" "),
                x + 28.0,
                x + 34.0,
                y + 4.0,
                escape(&series.label())
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Point, Report, Series};

    #[test]
    fn a_plot_has_a_line_per_kernel_inside_the_picture() {
        let point = |bytes, microseconds| Point { bytes, microseconds, blocks: None, threads: None };
        let report = Report {
            device: "A & B".to_owned(),
            shared: false,
            date: "2026-12-01".to_owned(),
            target: "t".to_owned(),
            world: 2,
            calls: 1,
            replays: 1,
            floor: vec![point(0, 0.8)],
            series: vec![Series {
                name: "one".to_owned(),
                element: "f32".to_owned(),
                dependent: true,
                points: vec![point(1024, 2.0), point(4096, 4.0)],
                kernel: None,
            }],
            skipped: Vec::new(),
        };
        let svg = report.svg();
        // Left edge at 64, right edge at 1120 - 380.
        assert!(svg.contains("points=\"64.0,") && svg.contains(" 740.0,"), "{svg}");
        assert!(svg.contains("A &amp; B") && svg.contains("one f32, dependent") && svg.contains("4 KiB"));
        let empty = Report { series: Vec::new(), floor: Vec::new(), ..report };
        assert!(!empty.svg().contains("NaN") && !empty.svg().contains("inf"));
    }
}
