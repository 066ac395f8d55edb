//! Benchmarks. Every figure of the host stands next to a floor that was
//! measured in the same run, because machines differ and are shared: the ratio
//! is what counts.
//!
//! `cargo xtask bench` runs all of them; a name (`fanout`, `paced`, `slow`, `latency`, `agents`,
//! `start`, `stores`, `history`, `gates`, `opening`, `growth`, `files`, `changes`, `prompts`, `memory`, `hostile`) runs one; `load URL SUBSCRIBERS DELTAS` puts a
//! host that runs already under load, for a profiler. The other subcommands are
//! parts that run as processes of their own.

mod agents;
mod bare;
mod callgrind;
mod changes;
mod fanout;
mod files;
mod gates;
mod growth;
mod history;
mod hostile;
mod latency;
mod memory;
mod opening;
mod paced;
mod process;
mod prompts;
mod raw;
mod slow;
mod start;
mod stores;
mod wire;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["bare-server", ready_file] => runtime()?.block_on(bare::serve(ready_file)),
        ["raw-server", ready_file] => runtime()?.block_on(raw::serve(ready_file)),
        ["loop-server", ready_file] => paced::serve_loop(ready_file),
        ["copy-server", ready_file] => paced::serve_copies(ready_file),
        ["commit-server", ready_file] => latency::serve_commits(ready_file),
        ["chunk-agent"] => agents::agent(),
        ["paced-agent"] => paced::agent(),
        ["encode", version, kind, times] => gates::encode(version, kind, times.parse()?),
        ["open-chat", version, times] => gates::open_chat(version, times.parse()?, false),
        ["open-chat-anew", version, times] => gates::open_chat(version, times.parse()?, true),
        ["feed-deltas", turns, deltas] => history::feed(turns.parse()?, deltas.parse()?),
        [] => {
            runtime()?.block_on(fanout::run(&fanout::SUBSCRIBERS))?;
            runtime()?.block_on(fanout::run_versions(&fanout::SUBSCRIBERS))?;
            runtime()?.block_on(paced::run())?;
            runtime()?.block_on(slow::run())?;
            runtime()?.block_on(latency::run())?;
            runtime()?.block_on(agents::run())?;
            runtime()?.block_on(start::run())?;
            runtime()?.block_on(stores::run(None))?;
            history::run()?;
            gates::run()?;
            runtime()?.block_on(opening::run())?;
            runtime()?.block_on(growth::run())?;
            files::run()?;
            changes::run()?;
            runtime()?.block_on(prompts::run())?;
            runtime()?.block_on(memory::run())?;
            runtime()?.block_on(hostile::run(None))
        }
        ["fanout"] => {
            runtime()?.block_on(fanout::run(&fanout::SUBSCRIBERS))?;
            runtime()?.block_on(fanout::run_versions(&fanout::SUBSCRIBERS))
        }
        ["fanout", subscribers] => {
            let subscribers = [subscribers.parse()?];
            runtime()?.block_on(fanout::run(&subscribers))?;
            runtime()?.block_on(fanout::run_versions(&subscribers))
        }
        ["versions", subscribers] => {
            runtime()?.block_on(fanout::run_versions(&[subscribers.parse()?]))
        }
        ["load", url, subscribers, deltas] => {
            runtime()?.block_on(fanout::load(url, subscribers.parse()?, deltas.parse()?))
        }
        ["paced"] => runtime()?.block_on(paced::run()),
        ["paced", "pipe"] => runtime()?.block_on(paced::run_pipe()),
        ["paced", subscribers] => runtime()?.block_on(paced::run_sockets(&[subscribers.parse()?])),
        ["slow"] => runtime()?.block_on(slow::run()),
        ["latency"] => runtime()?.block_on(latency::run()),
        ["agents"] => runtime()?.block_on(agents::run()),
        ["start"] => runtime()?.block_on(start::run()),
        ["stores"] => runtime()?.block_on(stores::run(None)),
        ["stores", part] => runtime()?.block_on(stores::run(Some(part))),
        ["history"] => history::run(),
        ["gates"] => gates::run(),
        ["opening"] => runtime()?.block_on(opening::run()),
        ["growth"] => runtime()?.block_on(growth::run()),
        ["files"] => files::run(),
        ["changes"] => changes::run(),
        ["prompts"] => runtime()?.block_on(prompts::run()),
        ["memory"] => runtime()?.block_on(memory::run()),
        ["hostile"] => runtime()?.block_on(hostile::run(None)),
        ["hostile", attack] => runtime()?.block_on(hostile::run(Some(attack))),
        _ => bail!(
            "usage: innkeeper-bench [fanout [N] | versions N | paced [N | pipe] | slow | latency | agents | start | \
             stores [PART] | history | gates | opening | growth | files | changes | prompts | memory | hostile [ATTACK]]"
        ),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}
