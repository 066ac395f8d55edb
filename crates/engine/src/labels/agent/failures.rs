//! Why an agent did not start, why its turn failed, and how it ended.

use innkeeper_protocol::agent::{AgentEnd, AgentFailure, HowEnded, ProcessEnd};
use innkeeper_protocol::newest::state::ErrorInfo;

use super::{Locale, because, why_else};

/// What clients are told about a failure.
pub(crate) fn failure(failure: AgentFailure, locale: Locale) -> ErrorInfo {
    let error_type = failure.error_type().to_owned();
    let message = match (failure, locale) {
        (AgentFailure::Own(error), _) => return *error,
        (failure, Locale::English) => failure.to_string(),
        (failure, Locale::German) => in_german(failure),
        (failure, Locale::French) => in_french(failure),
        (failure, Locale::Spanish) => in_spanish(failure),
    };
    ErrorInfo {
        error_type,
        message,
        stack: None,
        meta: None,
    }
}

/// How an agent came to its end, as the rest of a sentence.
pub(crate) fn end(end: AgentEnd, locale: Locale) -> String {
    match (end, locale) {
        (end, Locale::English) => end.to_string(),
        (AgentEnd::Process(end), _) => process(end, locale),
        (AgentEnd::Stopped, Locale::German) => "die Verbindung zu ihm endete ohne Grund".to_owned(),
        (AgentEnd::Stopped, Locale::French) => {
            "la liaison avec lui s’est terminée sans raison".to_owned()
        }
        (AgentEnd::Stopped, Locale::Spanish) => "la conexión con él terminó sin motivo".to_owned(),
        (AgentEnd::Panicked(why), Locale::German) => format!("ein Fehler im Host: {why}"),
        (AgentEnd::Panicked(why), Locale::French) => format!("une erreur dans l’hôte : {why}"),
        (AgentEnd::Panicked(why), Locale::Spanish) => format!("un error en el host: {why}"),
    }
}

fn process(end: ProcessEnd, locale: Locale) -> String {
    let how = match (end.how, locale) {
        (_, Locale::English) => return end.to_string(),
        (HowEnded::Status(code), Locale::German) => format!("beendet mit Status {code}"),
        (HowEnded::Signal(signal), Locale::German) => format!("beendet durch Signal {signal}"),
        (HowEnded::OutputClosed, Locale::German) => "die Ausgabe wurde geschlossen".to_owned(),
        (HowEnded::Status(code), Locale::French) => format!("terminé avec le code {code}"),
        (HowEnded::Signal(signal), Locale::French) => {
            format!("terminé par le signal {signal}")
        }
        (HowEnded::OutputClosed, Locale::French) => "sa sortie a été fermée".to_owned(),
        (HowEnded::Status(code), Locale::Spanish) => format!("terminó con el estado {code}"),
        (HowEnded::Signal(signal), Locale::Spanish) => {
            format!("terminó por la señal {signal}")
        }
        (HowEnded::OutputClosed, Locale::Spanish) => "cerró su salida".to_owned(),
    };
    let said = match locale {
        Locale::English => "; it last said: ",
        Locale::German => "; zuletzt gesagt: ",
        Locale::French => " ; derniers mots : ",
        Locale::Spanish => "; lo último que dijo: ",
    };
    how + &why_else(end.last_words, said)
}

fn in_german(failure: AgentFailure) -> String {
    match failure {
        AgentFailure::Own(error) => error.message,
        AgentFailure::TurnFailedAsSaid => {
            "Der Agent hat die Anfrage mit einem Fehler beendet. Warum, steht darüber.".to_owned()
        }
        AgentFailure::TurnFailed { said } => said.unwrap_or_else(|| {
            "Der Agent hat die Anfrage mit einem Fehler beendet und nicht gesagt, warum.".to_owned()
        }),
        AgentFailure::UnknownProvider(provider) => {
            format!("Auf diesem Host gibt es keinen Agenten `{provider}`.")
        }
        AgentFailure::NotStarted { command, why } => format!(
            "`{command}` lässt sich nicht starten: {why}. Bitte prüfen, ob es installiert ist, \
             und den Befehl in der Konfiguration, falls er dort steht."
        ),
        AgentFailure::EndedEarly { command, end } => format!(
            "`{command}` endete, bevor es bereit war: {}",
            process(end, Locale::German)
        ),
        AgentFailure::NoAnswer {
            command,
            seconds,
            last_words: Some(said),
        } => format!("`{command}` hat {seconds} s lang nicht geantwortet; zuletzt gesagt: {said}"),
        AgentFailure::NoAnswer {
            command, seconds, ..
        } => format!(
            "`{command}` hat {seconds} s lang nicht geantwortet. Von Hand gestartet zeigt es, \
             worauf es wartet."
        ),
        AgentFailure::SignInRequired { agent, ways, said } if ways.is_empty() => format!(
            "{agent} verlangt zuerst eine Anmeldung ({said}), bietet hier aber keinen Weg dafür \
             an. Bitte mit dem eigenen Programm des Agenten in einem Terminal anmelden und es \
             dann noch einmal versuchen."
        ),
        AgentFailure::SignInRequired { agent, ways, .. } => format!(
            "{agent} verlangt zuerst eine Anmeldung. Auf eine Nachricht in einer Sitzung mit \
             diesem Agenten folgt die Frage, wie. Oder: {}",
            ways.join("; ")
        ),
        AgentFailure::SignInFailed { agent, said } => format!(
            "Die Anmeldung bei {agent} ist nicht gelungen{} Bei einem neuen Versuch lässt sich \
             ein anderer Weg wählen.",
            because(said.map(|said| format!("{said}.")), ": ")
        ),
        AgentFailure::Refused { agent, said } => {
            format!("{agent} hat abgelehnt{}", because(said, ": "))
        }
        AgentFailure::NotUnderstood { command, what } => {
            format!("`{command}` hält sich nicht an sein Protokoll: {what}")
        }
    }
}

fn in_french(failure: AgentFailure) -> String {
    match failure {
        AgentFailure::Own(error) => error.message,
        AgentFailure::TurnFailedAsSaid => {
            "L’agent a terminé le tour par une erreur. La raison figure ci-dessus.".to_owned()
        }
        AgentFailure::TurnFailed { said } => said.unwrap_or_else(|| {
            "L’agent a terminé le tour par une erreur sans dire pourquoi.".to_owned()
        }),
        AgentFailure::UnknownProvider(provider) => {
            format!("Il n’y a pas d’agent `{provider}` sur cet hôte.")
        }
        AgentFailure::NotStarted { command, why } => format!(
            "Impossible de lancer `{command}` : {why}. Vérifiez qu’il est installé, ainsi que \
             la commande dans la configuration si elle s’y trouve."
        ),
        AgentFailure::EndedEarly { command, end } => format!(
            "`{command}` s’est arrêté avant d’être prêt : {}",
            process(end, Locale::French)
        ),
        AgentFailure::NoAnswer {
            command,
            seconds,
            last_words: Some(said),
        } => format!("`{command}` n’a pas répondu en {seconds} s ; derniers mots : {said}"),
        AgentFailure::NoAnswer {
            command, seconds, ..
        } => format!(
            "`{command}` n’a pas répondu en {seconds} s. Lancez-le à la main pour voir ce qu’il \
             attend."
        ),
        AgentFailure::SignInRequired { agent, ways, said } if ways.is_empty() => format!(
            "{agent} demande d’abord une connexion ({said}), mais ne propose ici aucun moyen. \
             Connectez-vous avec son propre programme dans un terminal, puis réessayez."
        ),
        AgentFailure::SignInRequired { agent, ways, .. } => format!(
            "{agent} demande d’abord une connexion. Envoyez un message dans une session avec \
             lui : il vous sera demandé comment. Ou bien : {}",
            ways.join(" ; ")
        ),
        AgentFailure::SignInFailed { agent, said } => format!(
            "La connexion à {agent} n’a pas abouti{} Réessayez pour choisir un autre moyen.",
            because(said.map(|said| format!("{said}.")), " : ")
        ),
        AgentFailure::Refused { agent, said } => {
            format!("{agent} a refusé{}", because(said, " : "))
        }
        AgentFailure::NotUnderstood { command, what } => {
            format!("`{command}` ne respecte pas son protocole : {what}")
        }
    }
}

fn in_spanish(failure: AgentFailure) -> String {
    match failure {
        AgentFailure::Own(error) => error.message,
        AgentFailure::TurnFailedAsSaid => {
            "El agente terminó el turno con un error. El motivo figura arriba.".to_owned()
        }
        AgentFailure::TurnFailed { said } => said.unwrap_or_else(|| {
            "El agente terminó el turno con un error y no dijo por qué.".to_owned()
        }),
        AgentFailure::UnknownProvider(provider) => {
            format!("No hay ningún agente `{provider}` en este host.")
        }
        AgentFailure::NotStarted { command, why } => format!(
            "No se puede iniciar `{command}`: {why}. Compruebe que está instalado, y el comando \
             en la configuración si figura allí."
        ),
        AgentFailure::EndedEarly { command, end } => format!(
            "`{command}` terminó antes de estar listo: {}",
            process(end, Locale::Spanish)
        ),
        AgentFailure::NoAnswer {
            command,
            seconds,
            last_words: Some(said),
        } => format!("`{command}` no respondió en {seconds} s; lo último que dijo: {said}"),
        AgentFailure::NoAnswer {
            command, seconds, ..
        } => format!(
            "`{command}` no respondió en {seconds} s. Inícielo a mano para ver a qué espera."
        ),
        AgentFailure::SignInRequired { agent, ways, said } if ways.is_empty() => format!(
            "{agent} pide iniciar sesión primero ({said}), pero no ofrece ninguna forma aquí. \
             Inicie sesión con su propio programa en una terminal y vuelva a intentarlo."
        ),
        AgentFailure::SignInRequired { agent, ways, .. } => format!(
            "{agent} pide iniciar sesión primero. Envíe un mensaje en una sesión con él y se le \
             preguntará cómo. O bien: {}",
            ways.join("; ")
        ),
        AgentFailure::SignInFailed { agent, said } => format!(
            "No se pudo iniciar sesión en {agent}{} Vuelva a intentarlo para elegir otra forma.",
            because(said.map(|said| format!("{said}.")), ": ")
        ),
        AgentFailure::Refused { agent, said } => {
            format!("{agent} se negó{}", because(said, ": "))
        }
        AgentFailure::NotUnderstood { command, what } => {
            format!("`{command}` no sigue su protocolo: {what}")
        }
    }
}
