//! The IR of one kernel as rendered, for review; `make bless` rewrites it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

use xreduce_codegen::render::render;
use xreduce_codegen::template::Templates;
use xreduce_codegen::{Files, Targets};
use xreduce_contract::{Algorithm, Element, Kernel, Wire, World};

#[test]
fn rendered_kernels() {
    let targets = Targets::read(&Files::targets(None).unwrap()).unwrap();
    let templates = Templates::new(&Files::templates(None).unwrap()).unwrap();
    let world = World::try_from(3).unwrap();
    for (algorithm, wire) in [(Algorithm::OneShotPush, Wire::Sentinel), (Algorithm::OneShotPull, Wire::Flag)] {
        let kernel = Kernel { algorithm, wire, element: Element::F32, world };
        let text = render(&templates, targets.get("sm_90").unwrap(), world, &[kernel]).unwrap();
        let head = format!("@{}(", kernel.symbol());
        let mut lines: Vec<&str> = text.ir.lines().skip_while(|line| !line.contains(&head)).collect();
        let length = lines.iter().position(|line| *line == "}").unwrap() + 1;
        lines.truncate(length);
        insta::with_settings!({ snapshot_path => "golden", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(kernel.symbol(), lines.join("\n"));
        });
    }
}
