//! The report for people.

use std::fmt::{self, Display, Formatter};

use crate::card::Card;
use crate::config::PortKind;
use crate::drivers::{Answer, Answers, End, State};
use crate::finding::{Finding, Severity};
use crate::function::{Function, Link};
use crate::machine::Machine;
use crate::report::{Report, Verdict};

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        machine(out, &self.machine)?;
        for each in &self.cards {
            writeln!(out)?;
            card(out, each)?;
        }
        if let Answers::Asked(answers) = &self.drivers {
            writeln!(out, "\ndrivers")?;
            answers.iter().try_for_each(|answer| driver(out, answer))?;
        }
        writeln!(out, "\nverdicts")?;
        self.findings.iter().try_for_each(|each| finding(out, each))?;
        if !self.unread.is_empty() {
            writeln!(out, "\nnot read")?;
        }
        for unread in &self.unread {
            writeln!(out, "  {}: {}", unread.path, unread.cause)?;
        }
        writeln!(
            out,
            "\n{}",
            match self.verdict() {
                Verdict::Well => "no fault found",
                Verdict::Fault => "a fault was found",
                Verdict::Undecided => "not decided",
            }
        )
    }
}

fn machine(out: &mut Formatter<'_>, machine: &Machine) -> fmt::Result {
    let kind = match machine.virtual_machine {
        Some(true) => "virtual machine",
        Some(false) => "bare metal",
        None => "machine of unknown kind",
    };
    write!(out, "{kind}")?;
    if let Some(hypervisor) = &machine.hypervisor {
        write!(out, " ({hypervisor})")?;
    }
    if let Some(board) = &machine.board {
        write!(out, ", board {board}")?;
    }
    writeln!(out)
}

fn card(out: &mut Formatter<'_>, card: &Card) -> fmt::Result {
    let function = &card.function;
    let target = card.target.as_deref().unwrap_or("target unknown");
    let (vendor, title, address) = (card.vendor_name.name(), function.title(), function.address);
    writeln!(out, "card {}: {vendor} {title}, {target}", card.number)?;
    write!(out, "  {:<10}{address}", "at")?;
    if card.integrated == Some(true) {
        write!(out, ", integrated")?;
    }
    if card.virtual_function {
        write!(out, ", virtual function")?;
    }
    write!(out, ", driver {}", function.driver.as_deref().unwrap_or("none"))?;
    match function.iommu_group {
        Some(group) => write!(out, ", IOMMU group {group}")?,
        None => write!(out, ", no IOMMU group")?,
    }
    if let Some(state) = card.power_state.as_ref().filter(|state| *state != "D0") {
        write!(out, ", asleep ({state})")?;
    }
    writeln!(out)?;
    if card.integrated != Some(true) {
        writeln!(out, "  {:<10}{} at {}", "link", link(card.outward().link), card.outward().address)?;
    }
    let requests = match function.atomics.requester_enabled {
        Some(true) => "requests enabled",
        Some(false) => "requests not enabled",
        None => "unknown: its registers cannot be read",
    };
    writeln!(out, "  {:<10}{requests}", "AtomicOps")?;
    if let Some(memory) = card.memory {
        writeln!(
            out,
            "  {:<10}{} MiB, {} MiB visible from outside",
            "memory",
            memory.total >> 20,
            memory.visible >> 20
        )?;
    }
    let mut heading = "path";
    for port in &card.path {
        writeln!(out, "  {heading:<10}{} {}: {}", port.address, port.title(), abilities(port))?;
        heading = "";
    }
    Ok(())
}

fn link(link: Link) -> String {
    let speed = |speed: Option<f64>| speed.map_or_else(|| "unknown speed".to_owned(), |speed| format!("{speed} GT/s"));
    let width = |width: Option<u32>| width.map_or_else(|| "x?".to_owned(), |width| format!("x{width}"));
    format!("{} {} of {} {}", speed(link.speed), width(link.width), speed(link.max_speed), width(link.max_width))
}

/// What a bridge does with AtomicOps and with peers' requests.
fn abilities(port: &Function) -> String {
    let atomics = port.atomics;
    let kind = match port.kind {
        Some(PortKind::RootPort) => "root port",
        Some(PortKind::UpstreamPort) => "switch, upstream port",
        Some(PortKind::DownstreamPort) => "switch, downstream port",
        Some(_) => "bridge",
        None if atomics.routing.is_none() => return "registers cannot be read".to_owned(),
        None => "conventional PCI bridge",
    };
    let mut words = vec![kind.to_owned()];
    if port.kind == Some(PortKind::RootPort) {
        let sizes = [("32", atomics.completer_32), ("64", atomics.completer_64), ("128", atomics.completer_128)];
        let sizes: Vec<&str> = sizes.iter().filter(|(_, has)| *has == Some(true)).map(|(bits, _)| *bits).collect();
        words.push(match sizes.as_slice() {
            [] => "completes no AtomicOps".to_owned(),
            sizes => format!("completes AtomicOps of {} bits", sizes.join(", ")),
        });
    }
    if port.kind != Some(PortKind::RootPort) || atomics.routing == Some(true) {
        words.push(
            if atomics.routing == Some(true) { "routes AtomicOps" } else { "does not route AtomicOps" }.to_owned(),
        );
    }
    if atomics.egress_blocked == Some(true) {
        words.push("blocks AtomicOps on their way out".to_owned());
    }
    match port.acs {
        Some(acs) if acs.request_redirect => words.push("ACS redirect on".to_owned()),
        Some(_) => {}
        None => words.push("ACS unknown".to_owned()),
    }
    words.join(", ")
}

fn driver(out: &mut Formatter<'_>, answer: &Answer) -> fmt::Result {
    let name = answer.driver.title();
    let library = answer.library.as_deref().unwrap_or("library");
    match answer.state {
        State::Absent => writeln!(out, "  {name}: not installed")?,
        State::Failed => writeln!(out, "  {name}: {library} does not work")?,
        State::NoDevice => writeln!(out, "  {name}: {library} finds no device")?,
        State::Answered => writeln!(out, "  {name}: {library}")?,
    }
    for trouble in &answer.trouble {
        writeln!(out, "    {trouble}")?;
    }
    for (index, device) in answer.devices.iter().enumerate() {
        write!(out, "    device {index}: {}", device.name)?;
        if let Some(target) = &device.target {
            write!(out, ", {target}")?;
        }
        match device.address {
            Some(address) => writeln!(out, ", {address}")?,
            None => writeln!(out, ", address unknown")?,
        }
    }
    for access in &answer.peers {
        let can = if access.can { "reaches" } else { "does not reach" };
        writeln!(out, "    device {} {can} device {}", access.from, access.to)?;
    }
    for run in &answer.kernels {
        let end = match run.end {
            End::Ran => "ran",
            End::Refused => "refused",
            End::Wrong => "went wrong",
            End::Untried => "not tried",
        };
        write!(out, "    device {}: {} {end}", run.device, run.kernel.symbol())?;
        match &run.detail {
            Some(detail) => writeln!(out, " ({detail})")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

fn finding(out: &mut Formatter<'_>, finding: &Finding) -> fmt::Result {
    let severity = match finding.severity {
        Severity::Good => "good",
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Undecided => "undecided",
        Severity::Fault => "FAULT",
    };
    writeln!(out, "  {severity:<10}{} [{}]", finding.message, finding.code.word())?;
    for evidence in &finding.evidence {
        writeln!(out, "            because {evidence}")?;
    }
    for (number, help) in (1..).zip(&finding.help) {
        writeln!(out, "            try {number}: {help}")?;
    }
    Ok(())
}
