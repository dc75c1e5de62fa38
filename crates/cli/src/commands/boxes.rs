//! `farhop terminal`, `farhop gateway` and `farhop keys`: the accelerator.

use crate::args::{BoxConfig, Keys};
use crate::error::CliError;
use crate::{host, output};
use farhop_proxy::{GatewayConfig, TerminalConfig, gateway::Gateway, keys, terminal::Terminal};
use std::future::Future;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// The box at the slow end, until a signal ends it.
pub(crate) fn terminal(args: &BoxConfig) -> Result<ExitCode, CliError> {
    let config = TerminalConfig::load(&args.config)?;
    block_on(async {
        let terminal = Terminal::bind(config).await?;
        tracing::info!("HTTP proxy on {}", terminal.local_addr());
        terminal.run(interrupted()?).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// The box at the fast end, until a signal ends it.
pub(crate) fn gateway(args: &BoxConfig) -> Result<ExitCode, CliError> {
    let config = GatewayConfig::load(&args.config)?;
    block_on(async {
        let gateway = Gateway::bind(config).await?;
        tracing::info!("waiting for terminals on {}", gateway.local_addr());
        gateway.run(interrupted()?).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Makes both boxes' keys.
pub(crate) fn keys(args: &Keys) -> Result<ExitCode, CliError> {
    for path in keys::generate(&args.dir)? {
        output::tell(format_args!("wrote {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn block_on<T>(future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    host::allow_open_files();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(future)
}

/// Resolves at Ctrl-C or SIGTERM.
fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
