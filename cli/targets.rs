//! `xreduce targets`: the table of GPU targets.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use comfy_table::Table;
use serde_json::json;
use xreduce_codegen::{Files, Target, Targets};

/// Lists the GPU targets.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Form of the list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Folder of target files in place of the built-in ones
    #[arg(long = "targets", value_name = "DIR")]
    target_files: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let targets = match Files::targets(args.target_files.as_deref()).and_then(|files| Targets::read(&files)) {
        Ok(targets) => targets,
        Err(error) => return crate::fail(&[error]),
    };
    match args.format {
        Format::Text => print_table(&targets),
        Format::Json => {
            let list: Vec<_> = targets.iter().map(describe).collect();
            crate::say(format_args!("{:#}\n", serde_json::Value::Array(list)));
        }
    }
    ExitCode::SUCCESS
}

fn print_table(targets: &Targets) {
    let mut table = Table::new();
    table.set_header(["target", "family", "lanes", "format", "processors", "products"]);
    for target in targets.iter() {
        table.add_row([
            target.name.as_str(),
            target.family.word(),
            &target.lanes.to_string(),
            target.family.extension(),
            &target.processors.join(", "),
            &target.products.join(", "),
        ]);
    }
    crate::say(format_args!("{}\n", crate::plain(table)));
}

fn describe(target: &Target) -> serde_json::Value {
    json!({
        "name": target.name,
        "family": target.family.word(),
        "triple": target.triple,
        "cpu": target.cpu,
        "features": target.features,
        "processors": target.processors,
        "products": target.products,
        "lanes": target.lanes,
        "threads_per_block": target.limits.threads_per_block,
        "blocks_per_compute_unit": target.limits.blocks_per_compute_unit,
        "spin_limit_unit": target.family.spin_limit_unit(),
        "spin_limit_default": target.spin_limit_default,
        "dispatch": target.dispatch,
    })
}
