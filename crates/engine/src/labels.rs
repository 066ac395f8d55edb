//! What the engine writes for people to read, in their language. Backends of
//! agents report codes, which become words here; what an agent says itself is
//! its own, in whatever language. To add a language: add it to [`Locale`] and
//! follow the compiler.

pub(crate) mod agent;
mod changes;
mod isolation;
pub(crate) mod operations;
mod pushing;
mod risk;

use innkeeper_protocol::bounds::MAX_ATTACHED;

pub(crate) use changes::ChangesLabel;
pub(crate) use isolation::IsolationLabel;
pub(crate) use risk::RiskLabel;

/// A language that the host writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Locale {
    #[default]
    English,
    German,
    French,
    Spanish,
}

impl Locale {
    /// The language of a tag such as `de-CH`; English if it is another one.
    pub(crate) fn of_tag(tag: Option<&str>) -> Self {
        let tag = tag.unwrap_or_default();
        let language = tag.split(['-', '_']).next().unwrap_or_default();
        match language.to_ascii_lowercase().as_str() {
            "de" => Self::German,
            "fr" => Self::French,
            "es" => Self::Spanish,
            _ => Self::English,
        }
    }

    /// The tag of this language.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
        }
    }
}

/// Something that the host says in its own words.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label<'a> {
    NewSession,
    /// What is done while a session is being made.
    Starting(&'a str),
    NewChat,
    ForkOf(&'a str),
    SideChatOf(&'a str),
    /// The title of a request for approval to which the agent gave none.
    ApproveTool(&'a str),
    /// Likewise where it is known that the tool runs a command.
    ApproveCommand,
    HostInterrupted,
    /// A turn of which a part could not be stored.
    TurnNotStored,
    /// A turn that has become larger than this many bytes.
    TurnTooLarge {
        most: usize,
    },
    /// A turn in which the agent gave something a name of more bytes than this.
    IdTooLong {
        most: usize,
    },
    /// So many attachments of a message were too much for an agent.
    AttachmentsLeftOut {
        count: usize,
    },
    AgentExited(&'a str),
    /// A turn whose session did not come about.
    NotCreated(&'a str),
    /// A tool failed because the client that offers it is not there.
    ClientGone(&'a str),
    /// The name of the tool that runs what a person typed.
    Terminal,
    RunCommand(&'a str),
    RanCommand(&'a str),
    /// A selected model that the agent turned out not to have.
    ModelReplaced {
        agent: &'a str,
        model: &'a str,
        instead: &'a str,
    },
    /// What is missing of a tool's input that is too large to be shown.
    InputLeftOut {
        bytes: usize,
        uri: &'a str,
    },
}

impl Label<'_> {
    pub(crate) fn text(self, locale: Locale) -> String {
        match locale {
            Locale::English => self.english(),
            Locale::German => self.german(),
            Locale::French => self.french(),
            Locale::Spanish => self.spanish(),
        }
    }

    fn english(self) -> String {
        match self {
            Self::NewSession => "New session".to_owned(),
            Self::Starting(agent) => format!("Starting {agent}"),
            Self::NewChat => "New chat".to_owned(),
            Self::ForkOf(title) => format!("Fork of {title}"),
            Self::SideChatOf(title) => format!("Aside on {title}"),
            Self::ApproveTool(tool) => format!("Run {tool}?"),
            Self::ApproveCommand => "Run this command?".to_owned(),
            Self::NotCreated(reason) => format!("The session could not be created: {reason}"),
            Self::HostInterrupted => "The host stopped while this turn was running. Everything \
                 up to then is here; resume the turn to continue."
                .to_owned(),
            Self::TurnNotStored => {
                "A part of this turn could not be stored, and the turn was ended. What is \
                 stored of it is here; the host's log says why."
                    .to_owned()
            }
            Self::IdTooLong { most } => format!(
                "The agent gave something in this turn an id of more than {most} bytes, and the turn \
                 was ended. Use a release of the agent that chooses shorter ids."
            ),
            Self::TurnTooLarge { most } => format!(
                "This turn has become larger than {most} bytes, the most that one turn may hold, \
                 and was ended. Ask for less at a time, or raise limits.turn_bytes."
            ),
            Self::AttachmentsLeftOut { count } => format!(
                "The agent was not given {count} of the attachments: it gets at most \
                 {MAX_ATTACHED} of them, with 32 MiB in total. Send the others in another \
                 message."
            ),
            Self::AgentExited(reason) => format!("The agent ended unexpectedly: {reason}"),
            Self::ClientGone(tool) => {
                format!("The client that runs the tool {tool} is not connected.")
            }
            Self::Terminal => "Terminal".to_owned(),
            Self::RunCommand(command) => format!("Run {command}"),
            Self::RanCommand(command) => format!("Ran {command}"),
            Self::ModelReplaced {
                agent,
                model,
                instead,
            } => {
                format!("{agent} has no model {model}; {instead} is selected instead.")
            }
            Self::InputLeftOut { bytes, uri } => {
                format!("… {bytes} bytes left out; resourceRead gives you all of it: {uri} …")
            }
        }
    }

    fn german(self) -> String {
        match self {
            Self::NewSession => "Neue Sitzung".to_owned(),
            Self::Starting(agent) => format!("{agent} wird gestartet"),
            Self::NewChat => "Neuer Chat".to_owned(),
            Self::ForkOf(title) => format!("Abzweigung von {title}"),
            Self::SideChatOf(title) => format!("Nebenbei zu {title}"),
            Self::ApproveTool(tool) => format!("{tool} ausführen?"),
            Self::ApproveCommand => "Diesen Befehl ausführen?".to_owned(),
            Self::NotCreated(reason) => {
                format!("Die Sitzung konnte nicht angelegt werden: {reason}")
            }
            Self::HostInterrupted => "Der Host wurde beendet, während diese Anfrage lief. Was \
                 bis dahin gesagt wurde, steht hier; zum Weitermachen die Anfrage fortsetzen."
                .to_owned(),
            Self::TurnNotStored => {
                "Ein Teil dieser Anfrage konnte nicht gespeichert werden, und sie wurde \
                 beendet. Was davon gespeichert ist, steht hier; das Protokoll des Hosts sagt, \
                 warum."
                    .to_owned()
            }
            Self::IdTooLong { most } => format!(
                "Der Agent hat in dieser Anfrage etwas mit mehr als {most} Bytes benannt, und die \
                 Anfrage wurde beendet. Eine Version des Agenten verwenden, die kürzere Namen wählt."
            ),
            Self::TurnTooLarge { most } => format!(
                "Diese Anfrage ist größer als {most} Bytes geworden, mehr als eine Anfrage \
                 enthalten darf, und wurde beendet. Auf einmal weniger verlangen oder \
                 limits.turn_bytes erhöhen."
            ),
            Self::AttachmentsLeftOut { count } => format!(
                "{count} der Anhänge wurden dem Agenten nicht gegeben: Er bekommt höchstens \
                 {MAX_ATTACHED}, zusammen 32 MiB. Die übrigen in einer weiteren Nachricht senden."
            ),
            Self::AgentExited(reason) => format!("Der Agent hat sich unerwartet beendet: {reason}"),
            Self::ClientGone(tool) => {
                format!("Der Client, der das Werkzeug {tool} ausführt, ist nicht verbunden.")
            }
            Self::Terminal => "Terminal".to_owned(),
            Self::RunCommand(command) => format!("{command} ausführen"),
            Self::RanCommand(command) => format!("{command} ausgeführt"),
            Self::ModelReplaced {
                agent,
                model,
                instead,
            } => {
                format!("{agent} hat kein Modell {model}; stattdessen ist {instead} ausgewählt.")
            }
            Self::InputLeftOut { bytes, uri } => {
                format!("… {bytes} Bytes ausgelassen; resourceRead liefert alles: {uri} …")
            }
        }
    }

    fn french(self) -> String {
        match self {
            Self::NewSession => "Nouvelle session".to_owned(),
            Self::Starting(agent) => format!("Démarrage de {agent}"),
            Self::NewChat => "Nouvelle discussion".to_owned(),
            Self::ForkOf(title) => format!("Branche de {title}"),
            Self::SideChatOf(title) => format!("En marge de {title}"),
            Self::ApproveTool(tool) => format!("Exécuter {tool} ?"),
            Self::ApproveCommand => "Exécuter cette commande ?".to_owned(),
            Self::NotCreated(reason) => format!("La session n’a pas pu être créée : {reason}"),
            Self::HostInterrupted => "L’hôte s’est arrêté pendant ce tour. Ce qui avait été dit \
                 jusque-là est ici ; reprenez le tour pour continuer."
                .to_owned(),
            Self::TurnNotStored => {
                "Une partie de ce tour n’a pas pu être enregistrée et le tour a été arrêté. \
                 Ce qui en est enregistré est ici ; le journal de l’hôte dit pourquoi."
                    .to_owned()
            }
            Self::IdTooLong { most } => format!(
                "L’agent a donné dans ce tour un identifiant de plus de {most} octets, et le tour a été \
                 arrêté. Utilisez une version de l’agent qui choisit des identifiants plus courts."
            ),
            Self::TurnTooLarge { most } => format!(
                "Ce tour a dépassé {most} octets, le maximum pour un tour, et a été arrêté. \
                 Demandez-en moins à la fois ou augmentez limits.turn_bytes."
            ),
            Self::AttachmentsLeftOut { count } => format!(
                "{count} des pièces jointes n’ont pas été transmises à l’agent : il en reçoit au \
                 plus {MAX_ATTACHED}, 32 Mio en tout. Envoyez les autres dans un autre message."
            ),
            Self::AgentExited(reason) => {
                format!("L’agent s’est arrêté de façon inattendue : {reason}")
            }
            Self::ClientGone(tool) => {
                format!("Le client qui exécute l’outil {tool} n’est pas connecté.")
            }
            Self::Terminal => "Terminal".to_owned(),
            Self::RunCommand(command) => format!("Exécuter {command}"),
            Self::RanCommand(command) => format!("{command} exécuté"),
            Self::ModelReplaced {
                agent,
                model,
                instead,
            } => {
                format!("{agent} n’a pas de modèle {model} ; {instead} est sélectionné à sa place.")
            }
            Self::InputLeftOut { bytes, uri } => {
                format!("… {bytes} octets omis ; resourceRead donne le tout : {uri} …")
            }
        }
    }

    fn spanish(self) -> String {
        match self {
            Self::NewSession => "Nueva sesión".to_owned(),
            Self::Starting(agent) => format!("Iniciando {agent}"),
            Self::NewChat => "Nuevo chat".to_owned(),
            Self::ForkOf(title) => format!("Bifurcación de {title}"),
            Self::SideChatOf(title) => format!("Aparte sobre {title}"),
            Self::ApproveTool(tool) => format!("¿Ejecutar {tool}?"),
            Self::ApproveCommand => "¿Ejecutar este comando?".to_owned(),
            Self::NotCreated(reason) => format!("No se pudo crear la sesión: {reason}"),
            Self::HostInterrupted => "El host terminó mientras este turno estaba en curso. Lo \
                 dicho hasta entonces está aquí; reanude el turno para continuar."
                .to_owned(),
            Self::TurnNotStored => {
                "Una parte de este turno no se pudo guardar y el turno se ha detenido. Lo \
                 guardado está aquí; el registro del host dice por qué."
                    .to_owned()
            }
            Self::IdTooLong { most } => format!(
                "El agente ha dado en este turno un identificador de más de {most} bytes y el turno se ha \
                 detenido. Use una versión del agente que elija identificadores más cortos."
            ),
            Self::TurnTooLarge { most } => format!(
                "Este turno ha superado {most} bytes, el máximo para un turno, y se ha detenido. \
                 Pida menos de una vez o aumente limits.turn_bytes."
            ),
            Self::AttachmentsLeftOut { count } => format!(
                "No se entregaron {count} de los archivos adjuntos al agente: recibe como máximo \
                 {MAX_ATTACHED}, 32 MiB en total. Envíe los demás en otro mensaje."
            ),
            Self::AgentExited(reason) => {
                format!("El agente terminó de forma inesperada: {reason}")
            }
            Self::ClientGone(tool) => {
                format!("El cliente que ejecuta la herramienta {tool} no está conectado.")
            }
            Self::Terminal => "Terminal".to_owned(),
            Self::RunCommand(command) => format!("Ejecutar {command}"),
            Self::RanCommand(command) => format!("{command} ejecutado"),
            Self::ModelReplaced {
                agent,
                model,
                instead,
            } => {
                format!(
                    "{agent} no tiene el modelo {model}; en su lugar está seleccionado {instead}."
                )
            }
            Self::InputLeftOut { bytes, uri } => {
                format!("… {bytes} bytes omitidos; resourceRead lo da todo: {uri} …")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_tag_is_understood_with_and_without_a_region() {
        let cases = [
            (Some("de"), Locale::German),
            (Some("de-CH"), Locale::German),
            (Some("FR_ca"), Locale::French),
            (Some("es-419"), Locale::Spanish),
            (Some("tlh"), Locale::English),
            (Some(""), Locale::English),
            (None, Locale::English),
        ];
        for (tag, locale) in cases {
            assert_eq!(Locale::of_tag(tag), locale, "{tag:?}");
            assert_eq!(Locale::of_tag(Some(locale.tag())), locale);
        }
    }
}
