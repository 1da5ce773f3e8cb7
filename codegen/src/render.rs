//! One module, that is all kernels of one target and world, as LLVM IR text.
//!
//! The module is a concatenation: the target's platform library, the protocol, and each wire, element and algorithm that a
//! kernel needs, each template rendered with the few names it uses. Tera only chooses names and unrolls over ranks.

use std::collections::BTreeSet;

use tera::Context;
use xreduce_contract::{ArgumentType, Element, Kernel, Wire, World, kernel_arguments, status, workspace};

use crate::error::Error;
use crate::target::Target;
use crate::template::{Templates, Text};

/// Name of the template that a kernel's own code is in.
#[must_use]
pub fn algorithm_template(kernel: &Kernel) -> String {
    format!("algorithm/{}.ll.tera", kernel.algorithm)
}

/// Renders the module of `kernels`, which all have the world `world`.
///
/// # Errors
/// [`Error::Template`] when a template is missing or does not render.
pub fn render(templates: &Templates, target: &Target, world: World, kernels: &[Kernel]) -> Result<Text, Error> {
    let module = format!("{} w{world}", target.name);
    let base = module_context(target, world);
    let mut text = Text::default();
    let mut add = |name: &str, context: &Context| templates.render(name, context, &module, &mut text);

    add(&format!("platform/{}.ll.tera", target.family.word()), &base)?;
    add("protocol/call.ll.tera", &base)?;
    let wires: BTreeSet<Wire> = kernels.iter().map(|kernel| kernel.wire).chain([Wire::Ll, Wire::Flag]).collect();
    for wire in wires {
        add(&format!("wire/{wire}.ll.tera"), &base)?;
    }
    let messages: BTreeSet<(Element, u32)> =
        kernels.iter().map(|kernel| (kernel.element, kernel.wire.data_bytes() / 4)).collect();
    for (element, words) in messages {
        let context = message_context(&base, element, words);
        add("protocol/message.ll.tera", &context)?;
        add(&format!("element/{element}.ll.tera"), &context)?;
    }
    for kernel in kernels {
        let mut context = message_context(&base, kernel.element, kernel.wire.data_bytes() / 4);
        context.insert("wire", kernel.wire.word());
        context.insert("define", &definition(target, kernel));
        add(&algorithm_template(kernel), &context)?;
    }
    Ok(text)
}

/// The names that every template of a module may use.
fn module_context(target: &Target, world: World) -> Context {
    let ranks = world.ranks();
    let workspaces: Vec<String> = (0..ranks).map(|rank| format!("ptr addrspace(1) %workspace_{rank}")).collect();
    let addresses: Vec<String> = (0..ranks - 1).map(|peer| format!("ptr addrspace(1) %at_{peer}")).collect();
    let mut context = Context::new();
    context.insert("world", &ranks);
    context.insert("ranks", &(0..ranks).collect::<Vec<_>>());
    context.insert("peers", &(0..ranks - 1).collect::<Vec<_>>());
    context.insert("last_peer", &(ranks - 2));
    context.insert("workspaces", &workspaces.join(", "));
    context.insert("peer_addresses", &addresses.join(", "));
    context.insert("header_page", &workspace::HEADER_PAGE);
    context.insert("timed_out", &status::TIMED_OUT);
    context.insert("peer_gave_up", &status::PEER_GAVE_UP);
    context.insert("over_capacity", &status::OVER_CAPACITY);
    context.insert("spin_limit_default", &target.spin_limit_default);
    context.insert("cpu", &target.cpu);
    context.insert("generation", &target.generation());
    context.insert("sub_group", &target.lanes);
    context.insert("clock_mhz", &target.clock_mhz.unwrap_or(0));
    context
}

/// The names for code that handles packets of `words` 32-bit words of one element.
fn message_context(base: &Context, element: Element, words: u32) -> Context {
    let lanes = words * 4 / element.bytes();
    let name = format!("{element}x{lanes}");
    let mut context = base.clone();
    context.insert("name", &name);
    context.insert("message", &name);
    context.insert("words", &words);
    context.insert("lanes", &lanes);
    context.insert("bits", &format!("i{}", element.bytes() * 8));
    context.insert("element_bytes", &element.bytes());
    context
}

/// The head of a kernel's definition, from the contract's list of arguments.
fn definition(target: &Target, kernel: &Kernel) -> String {
    let arguments: Vec<String> = kernel_arguments(kernel.world)
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
