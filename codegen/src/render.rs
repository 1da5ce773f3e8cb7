//! One module, that is all kernels of one target and world, as LLVM IR text.
//!
//! The module is a concatenation: the target's platform library, the protocol, and each wire, element and algorithm that a
//! kernel needs, each template rendered with the few names it uses. Tera only chooses names and unrolls over ranks.

use std::collections::BTreeSet;

use serde::Serialize;
use tera::Context;
use xreduce_contract::{Algorithm, ArgumentType, Kernel, Wire, World, kernel_arguments, status, workspace};

use crate::error::Error;
use crate::target::Target;
use crate::template::{Templates, Text};

/// Name of the template that a kernel's own code is in.
#[must_use]
pub fn algorithm_template(kernel: &Kernel) -> String {
    let by_host = if kernel.is_ordered_by_host() { "_host" } else { "" };
    format!("algorithm/{}{by_host}.ll.tera", kernel.algorithm)
}

/// Renders the module of `kernels`, which all have the world `world`.
///
/// # Errors
/// [`Error::Template`] when a template is missing or does not render.
pub fn render(templates: &Templates, target: &Target, world: World, kernels: &[Kernel]) -> Result<Text, Error> {
    let module = format!("{} w{world}", target.name);
    let base = module_context(target, world);
    let mut text = Text::default();
    for part in parts(target, kernels) {
        let mut context = base.clone();
        if let Some(kernel) = &part.kernel {
            add_kernel(&mut context, target, kernel);
        }
        templates.render(&part.template, &context, &module, &mut text)?;
    }
    Ok(text)
}

/// One template of a module.
pub(crate) struct Part {
    /// Its name.
    pub(crate) template: String,
    /// The kernel whose names it uses; none: those of the module alone.
    kernel: Option<Kernel>,
}

/// The templates of a module, in order, each as often as it is needed.
pub(crate) fn parts(target: &Target, kernels: &[Kernel]) -> Vec<Part> {
    let common = |template: String| Part { template, kernel: None };
    let mut parts =
        vec![common(format!("platform/{}.ll.tera", target.family.word())), common("protocol/call.ll.tera".to_owned())];
    // Calls of every kind refill the ll bank and store flags where epochs wrap.
    let wires = kernels.iter().map(|kernel| kernel.wire).filter(|wire| *wire != Wire::Host);
    let wires: BTreeSet<Wire> = wires.chain([Wire::Ll, Wire::Flag]).collect();
    parts.extend(wires.into_iter().map(|wire| common(format!("wire/{wire}.ll.tera"))));
    let mut seen = BTreeSet::new();
    for kernel in kernels {
        let message = ["protocol/message.ll.tera".to_owned(), format!("element/{}.ll.tera", kernel.element)];
        let partial = (kernel.algorithm == Algorithm::Butterfly).then(|| "protocol/partial.ll.tera".to_owned());
        let by_host = kernel.is_ordered_by_host().then(|| "protocol/peer_elements.ll.tera".to_owned());
        for template in message.into_iter().chain(partial).chain(by_host) {
            if seen.insert((template.clone(), kernel.element, kernel.elements_per_packet())) {
                parts.push(Part { template, kernel: Some(*kernel) });
            }
        }
    }
    parts.extend(kernels.iter().map(|kernel| Part { template: algorithm_template(kernel), kernel: Some(*kernel) }));
    parts
}

/// The names that every template of a module may use.
fn module_context(target: &Target, world: World) -> Context {
    let ranks = world.ranks();
    let workspaces: Vec<String> = (0..ranks).map(|rank| format!("ptr addrspace(1) %workspace_{rank}")).collect();
    let mut context = Context::new();
    context.insert("world", &ranks);
    context.insert("ranks", &(0..ranks).collect::<Vec<_>>());
    context.insert("peers", &(0..ranks - 1).collect::<Vec<_>>());
    context.insert("last_peer", &(ranks - 2));
    context.insert("workspaces", &workspaces.join(", "));
    context.insert("header_page", &workspace::HEADER_PAGE);
    context.insert("max_inbox_bytes", &workspace::MAX_INBOX_BYTES);
    context.insert("timed_out", &status::TIMED_OUT);
    context.insert("peer_gave_up", &status::PEER_GAVE_UP);
    context.insert("over_capacity", &status::OVER_CAPACITY);
    context.insert("spin_limit_default", &target.spin_limit_default);
    context.insert("cpu", &target.cpu);
    context.insert("generation", &target.generation());
    context.insert("pairs", &world.power_of_two());
    context.insert("exchanges", &exchanges(world));
    context.insert("has_bfloat", &target.has_bfloat());
    context.insert("sub_group", &target.lanes);
    context.insert("clock_mhz", &target.clock_mhz.unwrap_or(0));
    context
}

/// One exchange of a butterfly: between ranks `distance` apart, a power of two.
#[derive(Serialize)]
struct Exchange {
    distance: u32,
    what: &'static str,
    /// Which ranks send and which take, as IR.
    senders: &'static str,
    takers: &'static str,
    /// Whether what comes is added to the own partial sum; else it replaces it.
    adds: bool,
    /// Whether a taker then has the whole sum.
    completes: bool,
}

/// The exchanges of a butterfly, in order.
fn exchanges(world: World) -> Vec<Exchange> {
    let pairs = world.power_of_two();
    let folds = pairs < world.ranks();
    let fold =
        |what, senders, takers, adds| Exchange { distance: pairs, what, senders, takers, adds, completes: !adds };
    let ranks = if folds { "%is_paired" } else { "true" };
    let paired = (0..pairs.ilog2()).map(|log| Exchange {
        distance: 1 << log,
        what: "both send and add",
        senders: ranks,
        takers: ranks,
        adds: true,
        completes: log + 1 == pairs.ilog2(),
    });
    let fold_in = folds.then(|| fold("the extra ranks fold in", "%is_extra", "%has_extra", true));
    let fold_out = folds.then(|| fold("the extra ranks get the sum", "%has_extra", "%is_extra", false));
    fold_in.into_iter().chain(paired).chain(fold_out).collect()
}

/// The names for a kernel and for code that handles packets of its kind.
fn add_kernel(context: &mut Context, target: &Target, kernel: &Kernel) {
    let (element, lanes) = (kernel.element, kernel.elements_per_packet());
    let name = format!("{element}x{lanes}");
    context.insert("wire", kernel.wire.word());
    context.insert("define", &definition(target, kernel));
    context.insert("name", &name);
    context.insert("message", &name);
    let words = lanes * element.bytes() / 4;
    context.insert("words", &words);
    // A vector of one word is none in SPIR-V.
    context.insert("data", &if words == 1 { "i32".to_owned() } else { format!("<{words} x i32>") });
    context.insert("carried_words", &(kernel.wire.data_bytes() / 4));
    context.insert("carries_partial_sums", &kernel.carries_partial_sums());
    context.insert("lanes", &lanes);
    context.insert("bits", &format!("i{}", element.bytes() * 8));
    context.insert("element_access", if element.bytes() == 2 { "half" } else { "word" });
    context.insert("element_bytes", &element.bytes());
}

/// The head of a kernel's definition, from the contract's list of arguments.
fn definition(target: &Target, kernel: &Kernel) -> String {
    let arguments: Vec<String> = kernel_arguments(kernel)
        .iter()
        .map(|argument| match argument.kind {
            ArgumentType::GlobalPointer => format!("ptr addrspace(1) %{}", argument.name),
            ArgumentType::U32 => format!("i32 %{}", argument.name),
        })
        .collect();
    format!(
        "define {} void @{}({}) {}",
        target.family.calling_convention(),
        kernel.symbol(),
        arguments.join(", "),
        target.family.kernel_attributes(target.limits.threads_per_block)
    )
}
