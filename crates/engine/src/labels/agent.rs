//! What is written about agents: what their backends report as codes, in the
//! language of whoever reads it. What an agent says itself stays as it is.
//!
//! In English, the codes have words of their own.

mod failures;
mod sign_in;

use innkeeper_protocol::agent::{AgentActivity, AgentNotice, ApprovalLabel, NotTakenUp};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::SessionConfigPropertySchema;
use innkeeper_protocol::settings::{
    AUTO_APPROVE, CONTINUE, auto_approve, conversation_to_continue,
};

use super::Locale;

pub(crate) use failures::{end, failure};
pub(crate) use sign_in::question as sign_in;

pub(crate) fn notice(notice: AgentNotice, locale: Locale) -> StringOrMarkdown {
    let text = match (notice, locale) {
        (AgentNotice::Own(text), _) => return text,
        (notice, Locale::English) => notice.to_string(),
        (notice, Locale::German) => notice_in_german(notice),
        (notice, Locale::French) => notice_in_french(notice),
        (notice, Locale::Spanish) => notice_in_spanish(notice),
    };
    StringOrMarkdown::Plain(text)
}

pub(crate) fn activity(activity: AgentActivity, locale: Locale) -> String {
    match locale {
        Locale::English => activity.to_string(),
        Locale::German => match activity {
            AgentActivity::Own(text) => text,
            AgentActivity::Summarising => "Das Gespräch wird zusammengefasst".to_owned(),
            AgentActivity::TryingAgain { why } => format!("Neuer Versuch{}", why_else(why, ": ")),
            AgentActivity::Silent { agent, seconds } => {
                format!("{agent} schweigt seit {seconds} s")
            }
        },
        Locale::French => match activity {
            AgentActivity::Own(text) => text,
            AgentActivity::Summarising => "Résumé de la conversation en cours".to_owned(),
            AgentActivity::TryingAgain { why } => {
                format!("Nouvel essai{}", why_else(why, " : "))
            }
            AgentActivity::Silent { agent, seconds } => {
                format!("{agent} ne dit rien depuis {seconds} s")
            }
        },
        Locale::Spanish => match activity {
            AgentActivity::Own(text) => text,
            AgentActivity::Summarising => "Resumiendo la conversación".to_owned(),
            AgentActivity::TryingAgain { why } => {
                format!("Nuevo intento{}", why_else(why, ": "))
            }
            AgentActivity::Silent { agent, seconds } => {
                format!("{agent} lleva {seconds} s sin decir nada")
            }
        },
    }
}

/// What an agent reported and nobody here knows, by the names of its kinds.
pub(crate) fn unknown(kinds: &[String], locale: Locale) -> String {
    let kinds = kinds.join(", ");
    match locale {
        Locale::English => {
            format!("The agent also reported what this host does not know: {kinds}")
        }
        Locale::German => {
            format!("Der Agent hat auch gemeldet, was dieser Host nicht kennt: {kinds}")
        }
        Locale::French => {
            format!("L’agent a aussi signalé ce que cet hôte ne connaît pas : {kinds}")
        }
        Locale::Spanish => {
            format!("El agente también ha comunicado lo que este host no conoce: {kinds}")
        }
    }
}

pub(crate) fn approval(label: ApprovalLabel, locale: Locale) -> String {
    use ApprovalLabel::{AllowAlways, AllowOnce, DenyAlways, DenyOnce, Own};
    let text = match (label, locale) {
        (Own(name), _) => return name,
        (label, Locale::English) => return label.to_string(),
        (AllowOnce, Locale::German) => "Einmal erlauben",
        (AllowAlways, Locale::German) => "Immer erlauben",
        (DenyOnce, Locale::German) => "Ablehnen",
        (DenyAlways, Locale::German) => "Immer ablehnen",
        (AllowOnce, Locale::French) => "Autoriser une fois",
        (AllowAlways, Locale::French) => "Toujours autoriser",
        (DenyOnce, Locale::French) => "Refuser",
        (DenyAlways, Locale::French) => "Toujours refuser",
        (AllowOnce, Locale::Spanish) => "Permitir una vez",
        (AllowAlways, Locale::Spanish) => "Permitir siempre",
        (DenyOnce, Locale::Spanish) => "Denegar",
        (DenyAlways, Locale::Spanish) => "Denegar siempre",
    };
    text.to_owned()
}

/// What became of a tool whose turn was interrupted.
pub(crate) fn interrupted(locale: Locale) -> &'static str {
    match locale {
        Locale::English => "Interrupted",
        Locale::German => "Unterbrochen",
        Locale::French => "Interrompu",
        Locale::Spanish => "Interrumpido",
    }
}

/// Puts a setting that is the host's own, whichever agent a session has, into
/// words. One that an agent has under the same name is left alone.
pub(crate) fn setting(name: &str, setting: &mut SessionConfigPropertySchema, locale: Locale) {
    let (title, description, values): (&str, &str, &[&str]) = match (name, locale) {
        (_, Locale::English) => return,
        (AUTO_APPROVE, _) if *setting != auto_approve() => return,
        (CONTINUE, _) if *setting != conversation_to_continue() => return,
        (AUTO_APPROVE, Locale::German) => (
            "Freigaben",
            "Ob Werkzeugaufrufe auf eine Freigabe warten.",
            &["Wenn der Agent fragt", "Alles freigeben"],
        ),
        (AUTO_APPROVE, Locale::French) => (
            "Autorisations",
            "Si les appels d’outils attendent une autorisation.",
            &["Quand l’agent demande", "Tout autoriser"],
        ),
        (AUTO_APPROVE, Locale::Spanish) => (
            "Aprobaciones",
            "Si las llamadas a herramientas esperan una aprobación.",
            &["Cuando el agente pregunta", "Aprobar todo"],
        ),
        (CONTINUE, Locale::German) => (
            "Fortsetzen",
            "Ein früheres Gespräch des Agenten, das weitergeht.",
            &[],
        ),
        (CONTINUE, Locale::French) => (
            "Continuer",
            "Une conversation antérieure de l’agent, à poursuivre.",
            &[],
        ),
        (CONTINUE, Locale::Spanish) => (
            "Continuar",
            "Una conversación anterior del agente, para seguir con ella.",
            &[],
        ),
        _ => return,
    };
    setting.title = title.to_owned();
    setting.description = Some(description.to_owned());
    if !values.is_empty() {
        setting.enum_labels = Some(values.iter().map(|&label| label.to_owned()).collect());
    }
}

/// What follows on a colon, if there is anything, else nothing.
fn why_else(why: Option<String>, colon: &str) -> String {
    why.map(|why| format!("{colon}{why}")).unwrap_or_default()
}

/// The end of a sentence: with a reason after a colon, or a full stop.
fn because(why: Option<String>, colon: &str) -> String {
    why.map_or_else(|| ".".to_owned(), |why| format!("{colon}{why}"))
}

fn notice_in_german(notice: AgentNotice) -> String {
    match notice {
        AgentNotice::Own(text) => text.as_text().to_owned(),
        AgentNotice::SignedIn { agent } => format!("Die Anmeldung bei {agent} ist erfolgt."),
        AgentNotice::TokenLimit => {
            "Der Agent hat aufgehört, weil seine Antwort die erlaubte Länge erreicht hat."
                .to_owned()
        }
        AgentNotice::RequestLimit => "Der Agent hat aufgehört, weil er so oft bei seinem Modell \
             angefragt hat, wie es auf einmal erlaubt ist."
            .to_owned(),
        AgentNotice::Refused => "Der Agent hat es abgelehnt, damit weiterzumachen.".to_owned(),
        AgentNotice::Summarised => {
            "Der Agent hat das Gespräch zusammengefasst, um Platz zu schaffen.".to_owned()
        }
        AgentNotice::NotSummarised { why } => format!(
            "Der Agent konnte das Gespräch nicht zusammenfassen{}",
            because(why, ": ")
        ),
        AgentNotice::NotTakenUp { agent, why } => {
            let why = match why {
                NotTakenUp::NotAble => "frühere Gespräche kann er nicht aufnehmen".to_owned(),
                NotTakenUp::FileGone => "seine Datei ist nicht mehr da".to_owned(),
                NotTakenUp::Said(why) => why,
            };
            format!(
                "{agent} hat sein früheres Gespräch nicht wieder aufgenommen ({why}). \
                 Stattdessen hat der Agent den bisherigen Verlauf bekommen."
            )
        }
        AgentNotice::SettingRefused { agent, why } => format!(
            "{agent} hat eine Einstellung nicht angenommen{}",
            because(why, ": ")
        ),
        AgentNotice::SettingsNotConfirmed => {
            "Der Agent hat seine Einstellungen nicht rechtzeitig bestätigt.".to_owned()
        }
        AgentNotice::NoToolsAnyMore { agent } => format!(
            "{agent} kann mitten im Gespräch keine Werkzeuge bekommen. In einer neuen Sitzung \
             sind sie da."
        ),
        AgentNotice::NoTools { agent } => format!(
            "{agent} kann die Werkzeuge deines Editors und der MCP-Server des Hosts nicht \
             benutzen: Der Agent nimmt MCP-Server weder als Programme noch über HTTP an. Ein \
             anderer Agent kann sie benutzen."
        ),
        AgentNotice::ToldCustomizations {
            agent,
            told,
            left_out,
        } => match left_out {
            0 => format!("{agent} hat von {told} deiner Anpassungen erfahren."),
            left_out => format!(
                "{agent} hat von {told} deiner Anpassungen erfahren. Der Text von {left_out} hat \
                 nicht hineingepasst."
            ),
        },
        AgentNotice::ExtensionFailed { agent, why } => format!(
            "Eine Erweiterung von {agent} ist fehlgeschlagen{}",
            because(why, ": ")
        ),
    }
}

fn notice_in_french(notice: AgentNotice) -> String {
    match notice {
        AgentNotice::Own(text) => text.as_text().to_owned(),
        AgentNotice::SignedIn { agent } => format!("Vous êtes connecté à {agent}."),
        AgentNotice::TokenLimit => {
            "L’agent s’est arrêté parce que sa réponse a atteint la limite de tokens.".to_owned()
        }
        AgentNotice::RequestLimit => "L’agent s’est arrêté parce qu’il a fait autant de requêtes \
             qu’un tour en permet."
            .to_owned(),
        AgentNotice::Refused => "L’agent a refusé de poursuivre.".to_owned(),
        AgentNotice::Summarised => {
            "L’agent a résumé la conversation pour faire de la place.".to_owned()
        }
        AgentNotice::NotSummarised { why } => format!(
            "L’agent n’a pas pu résumer la conversation{}",
            because(why, " : ")
        ),
        AgentNotice::NotTakenUp { agent, why } => {
            let why = match why {
                NotTakenUp::NotAble => {
                    "il ne peut pas reprendre d’anciennes conversations".to_owned()
                }
                NotTakenUp::FileGone => "son fichier n’existe plus".to_owned(),
                NotTakenUp::Said(why) => why,
            };
            format!(
                "{agent} n’a pas repris sa conversation antérieure ({why}). La transcription \
                 lui a été donnée à la place."
            )
        }
        AgentNotice::SettingRefused { agent, why } => {
            format!("{agent} n’a pas accepté un réglage{}", because(why, " : "))
        }
        AgentNotice::SettingsNotConfirmed => {
            "L’agent n’a pas confirmé ses réglages à temps.".to_owned()
        }
        AgentNotice::NoToolsAnyMore { agent } => format!(
            "{agent} ne peut pas recevoir d’outils au milieu d’une conversation. Il les aura \
             dans une nouvelle session."
        ),
        AgentNotice::NoTools { agent } => format!(
            "{agent} ne peut pas utiliser les outils de votre éditeur ni ceux des serveurs MCP \
             de l’hôte : il n’accepte les serveurs MCP ni comme programmes ni par HTTP. Un autre \
             agent peut les utiliser."
        ),
        AgentNotice::ToldCustomizations {
            agent,
            told,
            left_out,
        } => match left_out {
            0 => format!("{agent} a été informé de {told} de vos personnalisations."),
            left_out => format!(
                "{agent} a été informé de {told} de vos personnalisations. Le texte de {left_out} \
                 n’a pas trouvé place."
            ),
        },
        AgentNotice::ExtensionFailed { agent, why } => {
            format!("Une extension de {agent} a échoué{}", because(why, " : "))
        }
    }
}

fn notice_in_spanish(notice: AgentNotice) -> String {
    match notice {
        AgentNotice::Own(text) => text.as_text().to_owned(),
        AgentNotice::SignedIn { agent } => format!("Ha iniciado sesión en {agent}."),
        AgentNotice::TokenLimit => {
            "El agente se detuvo porque su respuesta alcanzó el límite de tokens.".to_owned()
        }
        AgentNotice::RequestLimit => "El agente se detuvo porque hizo tantas peticiones como se \
             permiten en un turno."
            .to_owned(),
        AgentNotice::Refused => "El agente se negó a continuar con esto.".to_owned(),
        AgentNotice::Summarised => "El agente resumió la conversación para hacer sitio.".to_owned(),
        AgentNotice::NotSummarised { why } => format!(
            "El agente no pudo resumir la conversación{}",
            because(why, ": ")
        ),
        AgentNotice::NotTakenUp { agent, why } => {
            let why = match why {
                NotTakenUp::NotAble => "no puede retomar conversaciones anteriores".to_owned(),
                NotTakenUp::FileGone => "su archivo ya no existe".to_owned(),
                NotTakenUp::Said(why) => why,
            };
            format!(
                "{agent} no retomó su conversación anterior ({why}). En su lugar recibió la \
                 transcripción."
            )
        }
        AgentNotice::SettingRefused { agent, why } => {
            format!("{agent} no aceptó un ajuste{}", because(why, ": "))
        }
        AgentNotice::SettingsNotConfirmed => {
            "El agente no confirmó sus ajustes a tiempo.".to_owned()
        }
        AgentNotice::NoToolsAnyMore { agent } => format!(
            "{agent} no puede recibir herramientas en mitad de una conversación. Las tendrá en \
             una sesión nueva."
        ),
        AgentNotice::NoTools { agent } => format!(
            "{agent} no puede usar las herramientas de su editor ni las de los servidores MCP \
             del host: no acepta servidores MCP ni como programas ni por HTTP. Otro agente puede \
             usarlas."
        ),
        AgentNotice::ToldCustomizations {
            agent,
            told,
            left_out,
        } => match left_out {
            0 => format!("{agent} ha sido informado de {told} de sus personalizaciones."),
            left_out => format!(
                "{agent} ha sido informado de {told} de sus personalizaciones. El texto de \
                 {left_out} no ha cabido."
            ),
        },
        AgentNotice::ExtensionFailed { agent, why } => {
            format!("Falló una extensión de {agent}{}", because(why, ": "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCALES: [Locale; 4] = [
        Locale::English,
        Locale::German,
        Locale::French,
        Locale::Spanish,
    ];

    /// What is said in every language, each in other words.
    fn check(say: impl Fn(Locale) -> String, parameters: &[&str]) {
        let said: Vec<String> = LOCALES.into_iter().map(say).collect();
        for text in &said {
            for parameter in parameters {
                assert!(text.contains(parameter), "{text}");
            }
            assert_eq!(
                said.iter().filter(|other| *other == text).count(),
                1,
                "{text}"
            );
        }
    }

    #[test]
    fn notices_are_said_in_every_language_with_all_that_they_tell() {
        let agent = || "goose".to_owned();
        let why = || Some("no disk".to_owned());
        let cases = [
            (AgentNotice::TokenLimit, &[][..]),
            (AgentNotice::RequestLimit, &[]),
            (AgentNotice::Refused, &[]),
            (AgentNotice::Summarised, &[]),
            (AgentNotice::NotSummarised { why: None }, &[]),
            (AgentNotice::NotSummarised { why: why() }, &["no disk"]),
            (AgentNotice::SettingsNotConfirmed, &[]),
            (AgentNotice::NoToolsAnyMore { agent: agent() }, &["goose"]),
            (AgentNotice::NoTools { agent: agent() }, &["goose"]),
            (
                AgentNotice::SettingRefused {
                    agent: agent(),
                    why: why(),
                },
                &["goose", "no disk"],
            ),
            (
                AgentNotice::ExtensionFailed {
                    agent: agent(),
                    why: why(),
                },
                &["goose", "no disk"],
            ),
            (
                AgentNotice::ToldCustomizations {
                    agent: agent(),
                    told: 41,
                    left_out: 0,
                },
                &["goose", "41"],
            ),
            (
                AgentNotice::ToldCustomizations {
                    agent: agent(),
                    told: 41,
                    left_out: 17,
                },
                &["goose", "41", "17"],
            ),
        ];
        for (code, parameters) in cases {
            check(
                |locale| notice(code.clone(), locale).as_text().to_owned(),
                parameters,
            );
        }
        for why in [
            NotTakenUp::NotAble,
            NotTakenUp::FileGone,
            NotTakenUp::Said("no such session".to_owned()),
        ] {
            let agent = agent();
            let code = AgentNotice::NotTakenUp { agent, why };
            check(
                |locale| notice(code.clone(), locale).as_text().to_owned(),
                &["goose"],
            );
        }
    }

    #[test]
    fn what_goes_on_is_said_in_every_language() {
        check(|locale| activity(AgentActivity::Summarising, locale), &[]);
        let why = Some("overloaded".to_owned());
        let again = AgentActivity::TryingAgain { why };
        check(|locale| activity(again.clone(), locale), &["overloaded"]);
        let silent = AgentActivity::Silent {
            agent: "goose".to_owned(),
            seconds: 60,
        };
        check(
            |locale| activity(silent.clone(), locale),
            &["goose", "60 s"],
        );
        check(
            |locale| unknown(&["a".to_owned(), "b".to_owned()], locale),
            &["a, b"],
        );
        check(|locale| interrupted(locale).to_owned(), &[]);
        for label in [
            ApprovalLabel::AllowOnce,
            ApprovalLabel::AllowAlways,
            ApprovalLabel::DenyOnce,
            ApprovalLabel::DenyAlways,
        ] {
            check(|locale| approval(label.clone(), locale), &[]);
        }
    }

    #[test]
    fn the_words_of_an_agent_stay_as_they_are() {
        for locale in LOCALES {
            let own = StringOrMarkdown::Markdown {
                markdown: "**Slow** today".to_owned(),
            };
            assert_eq!(notice(AgentNotice::Own(own.clone()), locale), own);
            let doing = AgentActivity::Own("Reading".to_owned());
            assert_eq!(activity(doing, locale), "Reading");
            let label = ApprovalLabel::Own("Yes, always".to_owned());
            assert_eq!(approval(label, locale), "Yes, always");
        }
    }

    #[test]
    fn a_setting_of_the_hosts_own_is_put_into_words_and_no_other() {
        for (name, own) in [
            (AUTO_APPROVE, auto_approve()),
            (CONTINUE, conversation_to_continue()),
        ] {
            let said = |locale| {
                let mut it = own.clone();
                setting(name, &mut it, locale);
                assert_eq!(it.r#enum, own.r#enum);
                assert_eq!(
                    it.enum_labels.as_ref().map(Vec::len),
                    own.enum_labels.as_ref().map(Vec::len)
                );
                format!("{} {:?}", it.title, it.description)
            };
            check(said, &[]);
            let mut others = own.clone();
            others.title = "Go on".to_owned();
            let before = others.clone();
            setting(name, &mut others, Locale::German);
            assert_eq!(others, before);
        }
    }
}
