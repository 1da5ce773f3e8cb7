//! The hidden subcommand `documents`: manual pages and shell completions, which `make dist` packs beside the command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

/// Writes manual pages and shell completions below a folder, where a prefix has them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that stands for the prefix, e.g. /usr
    #[arg(value_name = "DIR")]
    prefix: PathBuf,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match write(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            crate::complain(format_args!("{}: {cause}", args.prefix.display()));
            ExitCode::from(crate::USAGE)
        }
    }
}

fn write(args: &Args) -> std::io::Result<()> {
    let mut command = crate::Cli::command();
    for (shell, folder) in [
        (Shell::Bash, "share/bash-completion/completions"),
        (Shell::Zsh, "share/zsh/site-functions"),
        (Shell::Fish, "share/fish/vendor_completions.d"),
    ] {
        let folder = args.prefix.join(folder);
        std::fs::create_dir_all(&folder)?;
        let written = clap_complete::generate_to(shell, &mut command, "xreduce", &folder)?;
        if shell == Shell::Bash {
            // bash-completion loads a file of the command's own name.
            std::fs::rename(written, folder.join("xreduce"))?;
        }
    }
    let manual = args.prefix.join("share/man/man1");
    std::fs::create_dir_all(&manual)?;
    clap_mangen::generate_to(command, &manual)
}
