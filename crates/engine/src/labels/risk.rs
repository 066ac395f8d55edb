//! What is written about the risk of a tool call.

use super::Locale;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RiskLabel {
    Deletes,
    Outside,
    Network,
}

impl RiskLabel {
    /// The sentence, with what it is about.
    pub(crate) fn text(self, names: &str, locale: Locale) -> String {
        match locale {
            Locale::English => format!("{}: {names}.", self.english()),
            Locale::German => format!("{}: {names}.", self.german()),
            Locale::French => format!("{} : {names}.", self.french()),
            Locale::Spanish => format!("{}: {names}.", self.spanish()),
        }
    }

    fn english(self) -> &'static str {
        match self {
            Self::Deletes => "Deletes",
            Self::Outside => "Touches files outside the working directory",
            Self::Network => "Uses the network",
        }
    }

    fn german(self) -> &'static str {
        match self {
            Self::Deletes => "Löscht",
            Self::Outside => "Betrifft Dateien außerhalb des Arbeitsverzeichnisses",
            Self::Network => "Nutzt das Netzwerk",
        }
    }

    fn french(self) -> &'static str {
        match self {
            Self::Deletes => "Supprime",
            Self::Outside => "Touche à des fichiers hors du répertoire de travail",
            Self::Network => "Utilise le réseau",
        }
    }

    fn spanish(self) -> &'static str {
        match self {
            Self::Deletes => "Elimina",
            Self::Outside => "Afecta a archivos fuera del directorio de trabajo",
            Self::Network => "Usa la red",
        }
    }
}
