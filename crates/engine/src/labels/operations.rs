//! What is written about operations on changed files: what they did, and why
//! they could not. What git or the system said stays as it is.

use innkeeper_protocol::workspace::changes::{ChangesError, OperationDone};

use super::{Locale, pushing};

/// What an operation did, in one directory after the other.
pub(crate) fn done(done: &[OperationDone], locale: Locale) -> String {
    let sentences = done.iter().map(|done| match locale {
        Locale::English => done_in_english(done),
        Locale::German => done_in_german(done),
        Locale::French => done_in_french(done),
        Locale::Spanish => done_in_spanish(done),
    });
    sentences.collect::<Vec<_>>().join(" ")
}

pub(crate) fn trouble(trouble: &ChangesError, locale: Locale) -> String {
    match locale {
        // In which its own words are.
        Locale::English => trouble.to_string(),
        Locale::German => trouble_in_german(trouble),
        Locale::French => trouble_in_french(trouble),
        Locale::Spanish => trouble_in_spanish(trouble),
    }
}

fn done_in_english(done: &OperationDone) -> String {
    let counted = |files: usize| match files {
        1 => "1 file is".to_owned(),
        files => format!("{files} files are"),
    };
    match done {
        OperationDone::FilesAsBefore(files) => format!("{} as before.", counted(*files)),
        OperationDone::PlacesAsBefore(1) => "1 place is as before.".to_owned(),
        OperationDone::PlacesAsBefore(places) => format!("{places} places are as before."),
        OperationDone::FilesAsThen(files) => format!("{} as then.", counted(*files)),
        OperationDone::Committed(as_) => format!("Committed as {}.", as_.join(", and as ")),
        OperationDone::CommitTakenBack => {
            "The commit was taken back; its changes are still there.".to_owned()
        }
        OperationDone::Brought(1) => "1 file of the original directory has changed.".to_owned(),
        OperationDone::Brought(files) => {
            format!("{files} files of the original directory have changed.")
        }
        OperationDone::Sent(sent) => pushing::sent(sent, Locale::English),
    }
}

fn done_in_german(done: &OperationDone) -> String {
    let counted = |files: usize| match files {
        1 => "1 Datei ist".to_owned(),
        files => format!("{files} Dateien sind"),
    };
    match done {
        OperationDone::FilesAsBefore(files) => format!("{} wie vorher.", counted(*files)),
        OperationDone::PlacesAsBefore(1) => "1 Stelle ist wie vorher.".to_owned(),
        OperationDone::PlacesAsBefore(places) => format!("{places} Stellen sind wie vorher."),
        OperationDone::FilesAsThen(files) => format!("{} wie damals.", counted(*files)),
        OperationDone::Committed(as_) => format!("Eingecheckt als {}.", as_.join(" und als ")),
        OperationDone::CommitTakenBack => {
            "Der Commit ist zurückgenommen; seine Änderungen sind noch da.".to_owned()
        }
        OperationDone::Brought(1) => {
            "1 Datei im ursprünglichen Verzeichnis ist geändert.".to_owned()
        }
        OperationDone::Brought(files) => {
            format!("{files} Dateien im ursprünglichen Verzeichnis sind geändert.")
        }
        OperationDone::Sent(sent) => pushing::sent(sent, Locale::German),
    }
}

fn done_in_french(done: &OperationDone) -> String {
    let counted = |files: usize| match files {
        0 | 1 => format!("{files} fichier est"),
        files => format!("{files} fichiers sont"),
    };
    match done {
        OperationDone::FilesAsBefore(files) => format!("{} comme avant.", counted(*files)),
        OperationDone::PlacesAsBefore(1) => "1 endroit est comme avant.".to_owned(),
        OperationDone::PlacesAsBefore(places) => format!("{places} endroits sont comme avant."),
        OperationDone::FilesAsThen(files) => format!("{} comme alors.", counted(*files)),
        OperationDone::Committed(as_) => format!("Validé : {}.", as_.join(" et ")),
        OperationDone::CommitTakenBack => {
            "Le commit est annulé ; ses modifications sont toujours là.".to_owned()
        }
        OperationDone::Brought(1) => "1 fichier du répertoire d’origine a changé.".to_owned(),
        OperationDone::Brought(files) => {
            format!("{files} fichiers du répertoire d’origine ont changé.")
        }
        OperationDone::Sent(sent) => pushing::sent(sent, Locale::French),
    }
}

fn done_in_spanish(done: &OperationDone) -> String {
    let counted = |files: usize| match files {
        1 => "1 archivo está".to_owned(),
        files => format!("{files} archivos están"),
    };
    match done {
        OperationDone::FilesAsBefore(files) => format!("{} como antes.", counted(*files)),
        OperationDone::PlacesAsBefore(1) => "1 lugar está como antes.".to_owned(),
        OperationDone::PlacesAsBefore(places) => format!("{places} lugares están como antes."),
        OperationDone::FilesAsThen(files) => format!("{} como entonces.", counted(*files)),
        OperationDone::Committed(as_) => format!("Confirmado como {}.", as_.join(" y como ")),
        OperationDone::CommitTakenBack => {
            "El commit se ha deshecho; sus cambios siguen ahí.".to_owned()
        }
        OperationDone::Brought(1) => "1 archivo del directorio original ha cambiado.".to_owned(),
        OperationDone::Brought(files) => {
            format!("{files} archivos del directorio original han cambiado.")
        }
        OperationDone::Sent(sent) => pushing::sent(sent, Locale::Spanish),
    }
}

fn trouble_in_german(trouble: &ChangesError) -> String {
    match trouble {
        ChangesError::NoRepository => {
            "dieses Verzeichnis liegt in keinem Git-Repository".to_owned()
        }
        ChangesError::NotKept => {
            "die Dateien wurden zu diesem Zeitpunkt nicht aufbewahrt".to_owned()
        }
        ChangesError::Outside(uri) => format!("`{uri}` liegt außerhalb der Sitzung"),
        ChangesError::NothingThere => "in diesen Zeilen hat sich nichts geändert".to_owned(),
        ChangesError::WholeFileOnly => "diese Datei lässt sich nur als Ganzes verwerfen: sie ist binär, zu groß oder zu verschieden von ihrem früheren Stand".to_owned(),
        ChangesError::NewerCommits => {
            "es gibt neuere Commits; der Commit kann nicht zurückgenommen werden".to_owned()
        }
        ChangesError::NothingToUndo => "es gibt nichts rückgängig zu machen".to_owned(),
        ChangesError::NothingToCommit => "es gibt nichts einzuchecken".to_owned(),
        ChangesError::Conflicts(files) => format!(
            "dieselben Zeilen sind dort geändert, in {}; checke beides ein und führe es mit git zusammen",
            files.join(", ")
        ),
        ChangesError::OtherRepository => {
            "der Arbeitsbaum wurde nicht aus dem Repository dieses Verzeichnisses gemacht".to_owned()
        }
        ChangesError::Push(error) => pushing::trouble(error, Locale::German),
        ChangesError::Other(said) => said.clone(),
    }
}

fn trouble_in_french(trouble: &ChangesError) -> String {
    match trouble {
        ChangesError::NoRepository => "ce répertoire n’est dans aucun dépôt git".to_owned(),
        ChangesError::NotKept => "les fichiers n’ont pas été conservés à ce moment-là".to_owned(),
        ChangesError::Outside(uri) => format!("`{uri}` est en dehors de la session"),
        ChangesError::NothingThere => "rien n’a changé dans ces lignes".to_owned(),
        ChangesError::WholeFileOnly => "ce fichier ne peut être annulé qu’en entier : il est binaire, trop volumineux ou trop différent de son état précédent".to_owned(),
        ChangesError::NewerCommits => {
            "il y a des commits plus récents ; le commit ne peut pas être annulé".to_owned()
        }
        ChangesError::NothingToUndo => "il n’y a rien à annuler".to_owned(),
        ChangesError::NothingToCommit => "il n’y a rien à valider".to_owned(),
        ChangesError::Conflicts(files) => format!(
            "les mêmes lignes ont changé là-bas, dans {} ; validez les deux et fusionnez-les avec git",
            files.join(", ")
        ),
        ChangesError::OtherRepository => {
            "l’arbre de travail ne vient pas du dépôt de ce répertoire".to_owned()
        }
        ChangesError::Push(error) => pushing::trouble(error, Locale::French),
        ChangesError::Other(said) => said.clone(),
    }
}

fn trouble_in_spanish(trouble: &ChangesError) -> String {
    match trouble {
        ChangesError::NoRepository => {
            "este directorio no está en ningún repositorio git".to_owned()
        }
        ChangesError::NotKept => "los archivos no se conservaron en ese momento".to_owned(),
        ChangesError::Outside(uri) => format!("`{uri}` está fuera de la sesión"),
        ChangesError::NothingThere => "nada ha cambiado en estas líneas".to_owned(),
        ChangesError::WholeFileOnly => "este archivo solo se puede descartar entero: es binario, demasiado grande o demasiado distinto de su estado anterior".to_owned(),
        ChangesError::NewerCommits => {
            "hay commits más recientes; el commit no se puede deshacer".to_owned()
        }
        ChangesError::NothingToUndo => "no hay nada que deshacer".to_owned(),
        ChangesError::NothingToCommit => "no hay nada que confirmar".to_owned(),
        ChangesError::Conflicts(files) => format!(
            "las mismas líneas han cambiado allí, en {}; confirma ambos y fusiónalos con git",
            files.join(", ")
        ),
        ChangesError::OtherRepository => {
            "el árbol de trabajo no procede del repositorio de ese directorio".to_owned()
        }
        ChangesError::Push(error) => pushing::trouble(error, Locale::Spanish),
        ChangesError::Other(said) => said.clone(),
    }
}
