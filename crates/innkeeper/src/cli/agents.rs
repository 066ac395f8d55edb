//! The agents that this program has, and `innkeeper agents`.

use std::sync::Arc;

use innkeeper_agents::{Agent, ScriptAgent};

use super::{Failure, Outcome, print, text};
use crate::config::Config;

/// An agent, and where it comes from.
pub(crate) struct Found {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) origin: &'static str,
}

/// All agents that there are.
pub(crate) fn found(config: &Config) -> Vec<Found> {
    let script = match config.script.token_for.as_str() {
        "" => ScriptAgent::default(),
        resource => ScriptAgent::that_needs_a_token_for(resource.to_owned()),
    };
    vec![Found {
        agent: Arc::new(script),
        origin: "built in",
    }]
}

/// The agents of these providers, or all.
pub(crate) fn chosen(
    config: &Config,
    providers: Option<&[String]>,
) -> Result<Vec<Arc<dyn Agent>>, Failure> {
    let all: Vec<Arc<dyn Agent>> = found(config).into_iter().map(|found| found.agent).collect();
    let Some(providers) = providers else {
        return Ok(all);
    };
    let known: Vec<String> = all
        .iter()
        .map(|agent| agent.profile().info.provider)
        .collect();
    if let Some(unknown) = providers.iter().find(|name| !known.contains(name)) {
        return Err(Failure::Usage(format!(
            "there is no agent `{unknown}`; the agents that were found are: {}",
            known.join(", ")
        )));
    }
    let wanted = |(_, provider): &(_, String)| providers.contains(provider);
    let agents = all.into_iter().zip(known).filter(wanted);
    Ok(agents.map(|(agent, _)| agent).collect())
}

pub(crate) fn list() -> Outcome {
    let mut rows = vec![["PROVIDER", "NAME", "MODELS", "FOUND"].map(str::to_owned)];
    for Found { agent, origin } in found(&Config::default()) {
        let info = agent.profile().info;
        let models: Vec<&str> = info.models.iter().map(|model| model.id.as_str()).collect();
        let models = models.join(", ");
        rows.push([info.provider, info.display_name, models, origin.to_owned()]);
    }
    print(&text::table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_chosen_by_their_providers_names() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            chosen(&Config::default(), Some(&names(&["script"])))
                .ok()
                .unwrap()
                .len(),
            1
        );
        let config = Config::default();
        assert_eq!(
            chosen(&config, None).ok().unwrap().len(),
            found(&config).len()
        );
        let Err(Failure::Usage(message)) = chosen(&config, Some(&names(&["script", "butler"])))
        else {
            panic!("there is no such agent");
        };
        assert_eq!(
            message,
            "there is no agent `butler`; the agents that were found are: script"
        );
    }
}
