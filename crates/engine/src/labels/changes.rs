//! What is written about changesets: what they are called, what can be done
//! about them, and what is asked before.

use super::Locale;

/// Something about a changeset or an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangesLabel {
    Uncommitted,
    UncommittedMeans,
    Branch,
    BranchMeans,
    Session,
    SessionMeans,
    Turn,
    TurnMeans,
    Turns,
    TurnsMeans,
    Discard,
    DiscardUncommittedAsks,
    DiscardSessionAsks,
    Commit,
    CommitAsks,
    CommitUncommittedAsks,
    Push,
    PushAsks,
    CreatePullRequest,
    CreatePullRequestAsks,
    Restore,
    RestoreAsks,
    Revert,
    RevertAsks,
    Keep,
    KeepAsks,
    Undo,
    UndoAsks,
}

impl ChangesLabel {
    pub(crate) fn text(self, locale: Locale) -> &'static str {
        match locale {
            Locale::English => self.english(),
            Locale::German => self.german(),
            Locale::French => self.french(),
            Locale::Spanish => self.spanish(),
        }
    }

    fn english(self) -> &'static str {
        match self {
            Self::Uncommitted => "Uncommitted Changes",
            Self::UncommittedMeans => "What differs from the last commit",
            Self::Branch => "Branch Changes",
            Self::BranchMeans => "What has changed since the branch began",
            Self::Session => "Session Changes",
            Self::SessionMeans => "What has changed since the session began",
            Self::Turn => "Turn Changes",
            Self::TurnMeans => "What has changed during one turn",
            Self::Turns => "Changes Between Turns",
            Self::TurnsMeans => "What has changed from the end of one turn to the end of another",
            Self::Discard => "Discard",
            Self::DiscardUncommittedAsks => {
                "Discard what is not committed? Files return to the last commit."
            }
            Self::DiscardSessionAsks => {
                "Discard what has changed since the session began? Changes by you are among it."
            }
            Self::Commit => "Commit",
            Self::CommitAsks => "Commit all changes that are shown here?",
            Self::CommitUncommittedAsks => "Commit all changes that are not committed yet?",
            Self::Push => "Push",
            Self::PushAsks => "Push this branch to its remote?",
            Self::CreatePullRequest => "Create Pull Request",
            Self::CreatePullRequestAsks => "Push this branch and create a pull request?",
            Self::Restore => "Restore to After This Turn",
            Self::RestoreAsks => {
                "Return files to what they were after this turn? Later changes are undone."
            }
            Self::Revert => "Restore to Before This Turn",
            Self::RevertAsks => {
                "Return files to what they were before this turn? This and later changes are \
                 undone."
            }
            Self::Keep => "Keep",
            Self::KeepAsks => {
                "Bring the changes of this session into the directory that its working tree was made for?"
            }
            Self::Undo => "Undo",
            Self::UndoAsks => "Take back the last operation on files of this session?",
        }
    }

    fn german(self) -> &'static str {
        match self {
            Self::Uncommitted => "Nicht eingecheckte Änderungen",
            Self::UncommittedMeans => "Was vom letzten Commit abweicht",
            Self::Branch => "Änderungen des Branches",
            Self::BranchMeans => "Was sich seit dem Beginn des Branches geändert hat",
            Self::Session => "Änderungen der Sitzung",
            Self::SessionMeans => "Was sich seit dem Beginn der Sitzung geändert hat",
            Self::Turn => "Änderungen einer Anfrage",
            Self::TurnMeans => "Was sich während einer Anfrage geändert hat",
            Self::Turns => "Änderungen zwischen Anfragen",
            Self::TurnsMeans => {
                "Was sich vom Ende einer Anfrage bis zum Ende einer anderen geändert hat"
            }
            Self::Discard => "Verwerfen",
            Self::DiscardUncommittedAsks => {
                "Verwerfen, was nicht eingecheckt ist? Die Dateien werden wie im letzten Commit."
            }
            Self::DiscardSessionAsks => {
                "Verwerfen, was sich seit dem Beginn der Sitzung geändert hat? Auch eigene \
                 Änderungen gehören dazu."
            }
            Self::Commit => "Einchecken",
            Self::CommitAsks => "Alle Änderungen einchecken, die hier stehen?",
            Self::CommitUncommittedAsks => {
                "Alle Änderungen einchecken, die noch nicht eingecheckt sind?"
            }
            Self::Push => "Pushen",
            Self::PushAsks => "Diesen Branch zu seinem Remote pushen?",
            Self::CreatePullRequest => "Pull Request erstellen",
            Self::CreatePullRequestAsks => "Diesen Branch pushen und einen Pull Request erstellen?",
            Self::Restore => "Auf den Stand nach dieser Anfrage bringen",
            Self::RestoreAsks => {
                "Dateien auf den Stand nach dieser Anfrage bringen? Spätere Änderungen werden \
                 rückgängig gemacht."
            }
            Self::Revert => "Auf den Stand vor dieser Anfrage bringen",
            Self::RevertAsks => {
                "Dateien auf den Stand vor dieser Anfrage bringen? Diese und spätere Änderungen \
                 werden rückgängig gemacht."
            }
            Self::Keep => "Übernehmen",
            Self::KeepAsks => {
                "Die Änderungen dieser Sitzung in das Verzeichnis übernehmen, für das ihr Arbeitsbaum gemacht wurde?"
            }
            Self::Undo => "Rückgängig machen",
            Self::UndoAsks => {
                "Was zuletzt mit den Dateien dieser Sitzung gemacht wurde, rückgängig machen?"
            }
        }
    }

    fn french(self) -> &'static str {
        match self {
            Self::Uncommitted => "Modifications non validées",
            Self::UncommittedMeans => "Ce qui diffère du dernier commit",
            Self::Branch => "Modifications de la branche",
            Self::BranchMeans => "Ce qui a changé depuis le début de la branche",
            Self::Session => "Modifications de la session",
            Self::SessionMeans => "Ce qui a changé depuis le début de la session",
            Self::Turn => "Modifications du tour",
            Self::TurnMeans => "Ce qui a changé pendant un tour",
            Self::Turns => "Modifications entre deux tours",
            Self::TurnsMeans => "Ce qui a changé de la fin d’un tour à la fin d’un autre",
            Self::Discard => "Abandonner",
            Self::DiscardUncommittedAsks => {
                "Abandonner ce qui n’est pas validé ? Les fichiers reviennent au dernier commit."
            }
            Self::DiscardSessionAsks => {
                "Abandonner ce qui a changé depuis le début de la session ? Vos propres \
                 modifications en font partie."
            }
            Self::Commit => "Valider",
            Self::CommitAsks => "Valider toutes les modifications affichées ici ?",
            Self::CommitUncommittedAsks => {
                "Valider toutes les modifications qui ne le sont pas encore ?"
            }
            Self::Push => "Pousser",
            Self::PushAsks => "Pousser cette branche vers son dépôt distant ?",
            Self::CreatePullRequest => "Créer une pull request",
            Self::CreatePullRequestAsks => "Pousser cette branche et créer une pull request ?",
            Self::Restore => "Rétablir l’état après ce tour",
            Self::RestoreAsks => {
                "Ramener les fichiers à leur état après ce tour ? Les modifications ultérieures \
                 sont annulées."
            }
            Self::Revert => "Rétablir l’état avant ce tour",
            Self::RevertAsks => {
                "Ramener les fichiers à leur état avant ce tour ? Ses modifications et les \
                 suivantes sont annulées."
            }
            Self::Keep => "Conserver",
            Self::KeepAsks => {
                "Apporter les modifications de cette session dans le répertoire pour lequel son arbre de travail a été créé ?"
            }
            Self::Undo => "Annuler",
            Self::UndoAsks => "Annuler la dernière opération sur les fichiers de cette session ?",
        }
    }

    fn spanish(self) -> &'static str {
        match self {
            Self::Uncommitted => "Cambios sin confirmar",
            Self::UncommittedMeans => "Lo que difiere del último commit",
            Self::Branch => "Cambios de la rama",
            Self::BranchMeans => "Lo que ha cambiado desde el comienzo de la rama",
            Self::Session => "Cambios de la sesión",
            Self::SessionMeans => "Lo que ha cambiado desde que empezó la sesión",
            Self::Turn => "Cambios del turno",
            Self::TurnMeans => "Lo que ha cambiado durante un turno",
            Self::Turns => "Cambios entre turnos",
            Self::TurnsMeans => "Lo que ha cambiado del final de un turno al final de otro",
            Self::Discard => "Descartar",
            Self::DiscardUncommittedAsks => {
                "¿Descartar lo que no está confirmado? Los archivos vuelven al último commit."
            }
            Self::DiscardSessionAsks => {
                "¿Descartar lo que ha cambiado desde que empezó la sesión? Incluye los cambios \
                 propios."
            }
            Self::Commit => "Confirmar",
            Self::CommitAsks => "¿Confirmar todos los cambios que se muestran aquí?",
            Self::CommitUncommittedAsks => {
                "¿Confirmar todos los cambios que aún no están confirmados?"
            }
            Self::Push => "Enviar",
            Self::PushAsks => "¿Enviar esta rama a su repositorio remoto?",
            Self::CreatePullRequest => "Crear pull request",
            Self::CreatePullRequestAsks => "¿Enviar esta rama y crear una pull request?",
            Self::Restore => "Restaurar el estado posterior a este turno",
            Self::RestoreAsks => {
                "¿Devolver los archivos a como estaban después de este turno? Los cambios \
                 posteriores se deshacen."
            }
            Self::Revert => "Restaurar el estado anterior a este turno",
            Self::RevertAsks => {
                "¿Devolver los archivos a como estaban antes de este turno? Sus cambios y los \
                 posteriores se deshacen."
            }
            Self::Keep => "Conservar",
            Self::KeepAsks => {
                "¿Llevar los cambios de esta sesión al directorio para el que se creó su árbol de trabajo?"
            }
            Self::Undo => "Deshacer",
            Self::UndoAsks => "¿Deshacer la última operación sobre archivos de esta sesión?",
        }
    }
}
