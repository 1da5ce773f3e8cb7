//! What the command says of each recorded machine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod tree;

use tree::{Recorded, machines};
use xreduce_probe::drivers::{Access, Answer, Answers, Device, Driver, End, Kernel, Run, State};
use xreduce_probe::{Address, Code, Report, Severity, Verdict, probe};

fn report(recorded: &Recorded) -> Report {
    probe(recorded.root(), Answers::NotAsked).unwrap()
}

fn severity(report: &Report, code: Code, card: usize) -> Severity {
    let found: Vec<_> =
        report.findings.iter().filter(|finding| finding.code == code && finding.cards.contains(&card)).collect();
    assert_eq!(found.len(), 1, "{code:?} of card {card}: {found:#?}");
    found[0].severity
}

#[test]
fn text_of_every_machine() {
    for (name, recorded) in machines::all() {
        insta::assert_snapshot!(name, report(&recorded));
    }
}

#[test]
fn json_of_a_guest() {
    insta::assert_snapshot!("guest_json", report(&machines::guest_without_completer()).json().unwrap());
}

/// The exit code of each.
#[test]
fn verdicts() {
    for (name, recorded) in machines::all() {
        let wanted = match name {
            "healthy_desktop" | "guest_with_completer" | "two_on_a_switch" | "two_on_a_switch_redirected" => {
                Verdict::Well
            }
            "behind_a_chipset" | "guest_without_completer" => Verdict::Fault,
            _ => Verdict::Undecided,
        };
        assert_eq!(report(&recorded).verdict(), wanted, "{name}");
    }
}

#[test]
fn nothing_personal() {
    for (name, recorded) in machines::all() {
        let report = report(&recorded);
        let all = format!("{report}{}", report.json().unwrap());
        assert!(!all.contains("SECRET"), "{name}: {all}");
    }
}

#[test]
fn unreadable_root() {
    let error = probe("/there/is/none".as_ref(), Answers::NotAsked).unwrap_err();
    assert!(error.to_string().starts_with("/there/is/none: "), "{error}");
}

/// An answer of HIP about two cards, with these ends of both kernels on the second.
fn hip(plain: End, hostcall: End) -> Answers {
    let device = |address| Device {
        name: "Radeon".to_owned(),
        address: Address::parse(address),
        target: Some("gfx1201".to_owned()),
    };
    let run = |device, kernel, end| Run { device, kernel, end, detail: None };
    let mut answer = Answer::empty(Driver::Hip, State::Answered, None);
    answer.devices = vec![device("0000:03:00.0"), device("0000:0a:00.0")];
    answer.peers = vec![Access { from: 0, to: 1, can: true }, Access { from: 1, to: 0, can: false }];
    answer.kernels = vec![
        run(0, Kernel::Plain, End::Ran),
        run(0, Kernel::Hostcall, End::Ran),
        run(1, Kernel::Plain, plain),
        run(1, Kernel::Hostcall, hostcall),
    ];
    Answers::Asked(vec![answer])
}

/// What a driver did outweighs what the tree lets expect.
#[test]
fn kernels_decide() {
    let recorded = machines::behind_a_chipset();
    let with = |plain, hostcall| probe(recorded.root(), hip(plain, hostcall)).unwrap();
    for (plain, hostcall, wanted) in [
        (End::Ran, End::Ran, Severity::Good),
        (End::Ran, End::Refused, Severity::Fault),
        (End::Ran, End::Wrong, Severity::Fault),
    ] {
        assert_eq!(severity(&with(plain, hostcall), Code::Hostcall, 2), wanted, "{hostcall:?}");
    }
    // Where the plain kernel fails too, the tree decides.
    let broken = with(End::Refused, End::Refused);
    assert_eq!(severity(&broken, Code::Driver, 2), Severity::Fault);
    let hostcall = broken.findings.iter().find(|it| it.code == Code::Hostcall && it.cards == [2]).unwrap();
    assert!(!hostcall.evidence.iter().any(|evidence| evidence.contains("HIP")), "{hostcall:?}");
    insta::assert_snapshot!("kernels_refused", with(End::Ran, End::Refused));
}

#[test]
fn peer_access_of_a_driver_counts_both_ways() {
    let report = probe(machines::behind_a_chipset().root(), hip(End::Ran, End::Ran)).unwrap();
    let peer = report.findings.iter().find(|finding| finding.code == Code::PeerAccess).unwrap();
    assert_eq!(peer.message, "peer access is offered one way only between card 1 and card 2");
}

#[test]
fn a_driver_that_finds_nothing_is_a_fault_only_with_a_card_for_it() {
    let answers = || Answers::Asked(Driver::ALL.map(|driver| Answer::empty(driver, State::NoDevice, None)).to_vec());
    let report = probe(machines::healthy_desktop().root(), answers()).unwrap();
    let drivers: Vec<_> = report.findings.iter().filter(|finding| finding.code == Code::Driver).collect();
    assert_eq!(drivers.len(), 1, "{drivers:?}");
    assert!(drivers[0].message.starts_with("HIP "), "{}", drivers[0].message);
    assert_eq!(probe(machines::no_gpu().root(), answers()).unwrap().verdict(), Verdict::Undecided);
}

/// One register bit less on the way, one verdict more.
#[test]
fn each_bit_on_the_way_counts() {
    use tree::{BLOCKS_EGRESS, COMPLETES_32, COMPLETES_64, DOWNSTREAM, Dev, REQUESTS, ROOT_PORT, ROUTES, UPSTREAM};
    let all = COMPLETES_32 | COMPLETES_64;
    for (root, upstream, downstream, control, wanted) in [
        (all, ROUTES, ROUTES, 0, Severity::Good),
        (COMPLETES_32, ROUTES, ROUTES, 0, Severity::Fault),
        (COMPLETES_64, ROUTES, ROUTES, 0, Severity::Fault),
        (all, 0, ROUTES, 0, Severity::Fault),
        (all, ROUTES, 0, 0, Severity::Fault),
        (all, ROUTES, ROUTES, BLOCKS_EGRESS, Severity::Fault),
    ] {
        let chain = [
            Dev::bridge("0000:00:01.0", 0x8086, 0x460d, ROOT_PORT).able(root),
            Dev::bridge("0000:01:00.0", 0x10b5, 0x8747, UPSTREAM).able(upstream).control(control),
            Dev::bridge("0000:02:08.0", 0x10b5, 0x8747, DOWNSTREAM).able(downstream),
            Dev::card("0000:03:00.0", 0x1002, 0x740f, "amdgpu").control(REQUESTS),
        ];
        let recorded = Recorded::new().chain("pci0000:00", &[], &chain);
        let report = report(&recorded);
        assert_eq!(severity(&report, Code::Hostcall, 1), wanted, "{root:x} {upstream:x} {downstream:x} {control:x}");
    }
}

#[test]
fn an_idle_driver_bit_against_an_open_way_is_not_decided() {
    let recorded = Recorded::new().chain(
        "pci0000:00",
        &[],
        &[
            tree::Dev::bridge("0000:00:01.0", 0x8086, 0x460d, tree::ROOT_PORT)
                .able(tree::COMPLETES_32 | tree::COMPLETES_64),
            tree::Dev::card("0000:01:00.0", 0x1002, 0x740f, "amdgpu"),
        ],
    );
    assert_eq!(severity(&report(&recorded), Code::Hostcall, 1), Severity::Undecided);
}

#[test]
fn widths() {
    for (lanes, wanted) in [(16, Severity::Good), (8, Severity::Warning), (4, Severity::Fault), (1, Severity::Fault)] {
        let recorded = Recorded::new().chain(
            "pci0000:00",
            &[],
            &[
                tree::Dev::bridge("0000:00:01.0", 0x8086, 0x460d, tree::ROOT_PORT),
                tree::Dev::card("0000:01:00.0", 0x10de, 0x2684, "nvidia").link((4, lanes), (4, 16)),
            ],
        );
        assert_eq!(severity(&report(&recorded), Code::LinkWidth, 1), wanted, "x{lanes}");
    }
}

/// The host's driver decides for a virtual function, whatever its guest's bridges say.
#[test]
fn a_virtual_function_is_not_judged_by_registers() {
    let port = tree::Dev::bridge("0000:00:1c.0", 0x1b36, 0x000c, tree::ROOT_PORT);
    let card = tree::Dev::card("0000:01:00.0", 0x1002, 0x74b5, "amdgpu");
    let recorded = Recorded::new().guest().chain("pci0000:00", &[], &[port, card]);
    assert_eq!(severity(&report(&recorded), Code::Hostcall, 1), Severity::Undecided);
}
