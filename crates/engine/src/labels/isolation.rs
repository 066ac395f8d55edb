//! What is written about where a session works.

use super::Locale;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsolationLabel {
    Isolation,
    IsolationMeans,
    InFolder,
    InWorktree,
    Branch,
    BranchMeans,
}

impl IsolationLabel {
    pub(crate) fn text(self, locale: Locale) -> String {
        let text = match locale {
            Locale::English => self.english(),
            Locale::German => self.german(),
            Locale::French => self.french(),
            Locale::Spanish => self.spanish(),
        };
        text.to_owned()
    }

    fn english(self) -> &'static str {
        match self {
            Self::Isolation => "Isolation",
            Self::IsolationMeans => "Where the session works.",
            Self::InFolder => "In the folder",
            Self::InWorktree => "In a git worktree",
            Self::Branch => "Branch",
            Self::BranchMeans => "The branch that a worktree begins at.",
        }
    }

    fn german(self) -> &'static str {
        match self {
            Self::Isolation => "Abschottung",
            Self::IsolationMeans => "Wo die Sitzung arbeitet.",
            Self::InFolder => "Im Ordner",
            Self::InWorktree => "In einem Git-Arbeitsbaum",
            Self::Branch => "Branch",
            Self::BranchMeans => "Der Branch, bei dem ein Arbeitsbaum beginnt.",
        }
    }

    fn french(self) -> &'static str {
        match self {
            Self::Isolation => "Isolation",
            Self::IsolationMeans => "Où la session travaille.",
            Self::InFolder => "Dans le dossier",
            Self::InWorktree => "Dans un arbre de travail git",
            Self::Branch => "Branche",
            Self::BranchMeans => "La branche où commence un arbre de travail.",
        }
    }

    fn spanish(self) -> &'static str {
        match self {
            Self::Isolation => "Aislamiento",
            Self::IsolationMeans => "Dónde trabaja la sesión.",
            Self::InFolder => "En la carpeta",
            Self::InWorktree => "En un árbol de trabajo de git",
            Self::Branch => "Rama",
            Self::BranchMeans => "La rama en la que empieza un árbol de trabajo.",
        }
    }
}
