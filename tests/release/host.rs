//! The same questions to the data crate as `host.c` asks the header.

use xreduce_kernels::{find_target, targets, workspace_bytes, Call, Element, Family};

fn main() {
    let folder = std::env::args().nth(1).expect("a folder for the modules");
    for target in targets() {
        for module in target.modules {
            std::fs::write(format!("{folder}/{}-w{}", target.name, module.world), module.data).expect("a module written");
            assert_eq!(module.data.as_ptr() as usize % 8, 0);
            for kernel in module.kernels {
                let of_rank = |base: u64| std::array::from_fn(|rank| base + rank as u64);
                let call = Call {
                    input: 0x1122_3344_5566_7788,
                    out: 0x99aa_bbcc_ddee_ff00,
                    count: 0xc0c0_c0c0,
                    rank: 3,
                    blocks: 17,
                    threads: 255,
                    inbox_bytes: 65536,
                    spin_limit: 77,
                    root: 5,
                    workspaces: of_rank(0xa00_0000_0000),
                    ins: of_rank(0xb00_0000_0000),
                    outs: of_rank(0xc00_0000_0000),
                };
                let buffer = kernel.pack(&call);
                let hex: String =
                    buffer[..kernel.argument_bytes as usize].iter().map(|byte| format!("{byte:02x}")).collect();
                println!("kernel {} {} {hex}", target.name, kernel.symbol);
            }
            let mut count = 0;
            while count < 3_000_000 {
                let launch = target.plan(module.world, Element::F32, count, 1 << 20, 4);
                let (result, symbol, blocks, threads) = match launch {
                    Some(launch) => (0, launch.kernel.symbol, launch.blocks, launch.threads),
                    None => (1, "-", 0, 0),
                };
                println!("plan {} {} {count} {result} {symbol} {blocks} {threads}", target.name, module.world);
                count = count * 3 + 1;
            }
        }
    }
    for (family, processor) in [
        (Family::Amdgpu, "gfx1100"),
        (Family::Amdgpu, "gfx1100:sramecc+:xnack-"),
        (Family::Amdgpu, "gfx906"),
        (Family::Nvptx, "gfx1100"),
        (Family::Nvptx, "sm_90"),
        (Family::Nvptx, "sm_120"),
        (Family::Nvptx, "sm_50"),
        (Family::Spirv, "bmg-g31"),
    ] {
        println!("match {processor} {}", find_target(family, processor).map_or("-", |target| target.name));
    }
    for world in 2..=8 {
        println!("workspace {world} {}", workspace_bytes(world, 65536));
    }
}
