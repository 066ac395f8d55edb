//! What is written about pushing: what it did, and why it could not. What git,
//! `gh` or a remote said stays as it is.

use innkeeper_protocol::workspace::changes::{NoPullRequest, PushError, Pushed, Sent};

use super::Locale;

pub(super) fn sent(sent: &Sent, locale: Locale) -> String {
    match sent {
        Sent::Pushed(it) => pushed(it, locale),
        Sent::PullRequest { url, is_new } => pull_request(url, *is_new, locale),
        Sent::PullRequestPage { url, why } => pull_request_page(url.as_deref(), why, locale),
    }
}

fn pushed(pushed: &Pushed, locale: Locale) -> String {
    let Pushed { branch, remote, .. } = pushed;
    let told = match (locale, pushed.is_up_to_date) {
        (Locale::English, false) => format!("Pushed `{branch}` to `{remote}`."),
        (Locale::English, true) => format!("`{remote}` has all of `{branch}` already."),
        (Locale::German, false) => format!("`{branch}` ist nach `{remote}` gepusht."),
        (Locale::German, true) => format!("`{remote}` hat schon alles von `{branch}`."),
        (Locale::French, false) => format!("`{branch}` est poussée vers `{remote}`."),
        (Locale::French, true) => format!("`{remote}` a déjà tout de `{branch}`."),
        (Locale::Spanish, false) => format!("`{branch}` se ha enviado a `{remote}`."),
        (Locale::Spanish, true) => format!("`{remote}` ya tiene todo de `{branch}`."),
    };
    let hook = match locale {
        Locale::English => "The repository's `pre-push` hook was not run.",
        Locale::German => "Der `pre-push`-Hook des Repositorys lief nicht.",
        Locale::French => "Le hook `pre-push` du dépôt n’a pas été exécuté.",
        Locale::Spanish => "El hook `pre-push` del repositorio no se ha ejecutado.",
    };
    match pushed.hook_left_out {
        true => format!("{told} {hook}"),
        false => told,
    }
}

fn pull_request(url: &str, is_new: bool, locale: Locale) -> String {
    let told = match (locale, is_new) {
        (Locale::English, true) => "Created a pull request",
        (Locale::English, false) => "There is a pull request already",
        (Locale::German, true) => "Der Pull Request ist erstellt",
        (Locale::German, false) => "Es gibt schon einen Pull Request",
        (Locale::French, true) => "La pull request est créée",
        (Locale::French, false) => "Il y a déjà une pull request",
        (Locale::Spanish, true) => "La pull request está creada",
        (Locale::Spanish, false) => "Ya hay una pull request",
    };
    match locale {
        Locale::French => format!("{told} : {url}"),
        _ => format!("{told}: {url}"),
    }
}

fn pull_request_page(url: Option<&str>, why: &NoPullRequest, locale: Locale) -> String {
    use NoPullRequest as N;
    let why = match (locale, why) {
        (Locale::English, N::NotGitHub) => "The host creates pull requests on GitHub only.",
        (Locale::English, N::GhMissing) => "`gh` is not installed on the host.",
        (Locale::English, N::GhNotSignedIn) => "`gh` is not signed in; run `gh auth login`.",
        (Locale::German, N::NotGitHub) => "Pull Requests erstellt der Host nur auf GitHub.",
        (Locale::German, N::GhMissing) => "`gh` ist auf dem Host nicht installiert.",
        (Locale::German, N::GhNotSignedIn) => "`gh` ist nicht angemeldet: `gh auth login`.",
        (Locale::French, N::NotGitHub) => "L’hôte ne crée des pull requests que sur GitHub.",
        (Locale::French, N::GhMissing) => "`gh` n’est pas installé sur l’hôte.",
        (Locale::French, N::GhNotSignedIn) => "`gh` n’est pas connecté : `gh auth login`.",
        (Locale::Spanish, N::NotGitHub) => "El host solo crea pull requests en GitHub.",
        (Locale::Spanish, N::GhMissing) => "`gh` no está instalado en el host.",
        (Locale::Spanish, N::GhNotSignedIn) => "`gh` no ha iniciado sesión: `gh auth login`.",
        (_, N::GhFailed(said)) => &format!("`gh`: {said}."),
    };
    let next = match (locale, url) {
        (Locale::English, Some(url)) => format!("Create the pull request here: {url}"),
        (Locale::English, None) => "Create the pull request where the remote is.".to_owned(),
        (Locale::German, Some(url)) => format!("Der Pull Request entsteht hier: {url}"),
        (Locale::German, None) => "Der Pull Request entsteht dort, wo das Remote ist.".to_owned(),
        (Locale::French, Some(url)) => format!("Créez la pull request ici : {url}"),
        (Locale::French, None) => "Créez la pull request sur le dépôt distant.".to_owned(),
        (Locale::Spanish, Some(url)) => format!("Cree la pull request aquí: {url}"),
        (Locale::Spanish, None) => "Cree la pull request en el repositorio remoto.".to_owned(),
    };
    format!("{why} {next}")
}

pub(super) fn trouble(error: &PushError, locale: Locale) -> String {
    match locale {
        // In which its own words are.
        Locale::English => error.to_string(),
        Locale::German => in_german(error),
        Locale::French => in_french(error),
        Locale::Spanish => in_spanish(error),
    }
}

fn in_german(error: &PushError) -> String {
    match error {
        PushError::NoBranch => {
            "kein Branch ist ausgecheckt; mit `git switch -c NAME` entsteht einer".to_owned()
        }
        PushError::NoRemote => {
            "dieses Repository hat kein Remote; `git remote add origin ADRESSE` legt eines an"
                .to_owned()
        }
        PushError::Busy => "diese Sitzung pusht gerade schon".to_owned(),
        PushError::NotFastForward(branch) => format!(
            "das Remote hat Commits von `{branch}`, die hier fehlen; erst `git pull`, dann pushen"
        ),
        PushError::Refused(said) => format!("das Remote hat es abgelehnt: {said}"),
        PushError::SignInNeeded(said) => format!(
            "das Remote verlangt eine Anmeldung ({said}); ein Credential-Helper oder ein \
             SSH-Schlüssel in der eigenen Konfiguration hilft"
        ),
        PushError::NotReached(said) => format!(
            "das Remote ist nicht zu erreichen ({said}); `git remote -v` zeigt seine Adresse"
        ),
        PushError::Inside(address) => format!(
            "das Remote `{address}` liegt im Verzeichnis der Sitzung, seine Hooks würden laufen; \
             das geht nur in einem Terminal"
        ),
        PushError::Lfs => {
            "dieses Repository pusht mit git LFS, was hier nicht läuft; das geht in einem Terminal"
                .to_owned()
        }
        PushError::OnBase(branch) => {
            format!("`{branch}` ist der Zielbranch; mit `git switch -c NAME` entsteht ein anderer")
        }
        PushError::Cancelled => "niemand wartet mehr darauf, darum wurde es beendet".to_owned(),
    }
}

fn in_french(error: &PushError) -> String {
    match error {
        PushError::NoBranch => {
            "aucune branche n’est extraite ; créez-en une avec `git switch -c NOM`".to_owned()
        }
        PushError::NoRemote => {
            "ce dépôt n’a pas de dépôt distant ; ajoutez-en un avec `git remote \
                                add origin ADRESSE`"
                .to_owned()
        }
        PushError::Busy => "un envoi de cette session est déjà en cours".to_owned(),
        PushError::NotFastForward(branch) => format!(
            "le dépôt distant a des commits de `{branch}` qui manquent ici ; faites `git pull`, \
             puis poussez"
        ),
        PushError::Refused(said) => format!("le dépôt distant l’a refusé : {said}"),
        PushError::SignInNeeded(said) => format!(
            "le dépôt distant demande une connexion ({said}) ; configurez un assistant \
             d’identification ou une clé SSH"
        ),
        PushError::NotReached(said) => format!(
            "le dépôt distant est injoignable ({said}) ; vérifiez son adresse avec `git remote -v`"
        ),
        PushError::Inside(address) => format!(
            "le dépôt distant `{address}` est dans le répertoire de la session, ses hooks \
             s’exécuteraient ; utilisez un terminal"
        ),
        PushError::Lfs => {
            "ce dépôt pousse avec git LFS, qui n’est pas exécuté ici ; utilisez un terminal"
                .to_owned()
        }
        PushError::OnBase(branch) => {
            format!("`{branch}` est la branche cible ; créez-en une autre avec `git switch -c NOM`")
        }
        PushError::Cancelled => "plus personne ne l’attend, l’opération a été arrêtée".to_owned(),
    }
}

fn in_spanish(error: &PushError) -> String {
    match error {
        PushError::NoBranch => {
            "no hay ninguna rama activa; cree una con `git switch -c NOMBRE`".to_owned()
        }
        PushError::NoRemote => "este repositorio no tiene repositorio remoto; añada uno con `git \
                                remote add origin DIRECCIÓN`"
            .to_owned(),
        PushError::Busy => "ya hay un envío de esta sesión en curso".to_owned(),
        PushError::NotFastForward(branch) => format!(
            "el repositorio remoto tiene commits de `{branch}` que faltan aquí; haga `git pull` y \
             envíe de nuevo"
        ),
        PushError::Refused(said) => format!("el repositorio remoto lo ha rechazado: {said}"),
        PushError::SignInNeeded(said) => format!(
            "el repositorio remoto pide iniciar sesión ({said}); configure un asistente de \
             credenciales o una clave SSH"
        ),
        PushError::NotReached(said) => format!(
            "no se puede acceder al repositorio remoto ({said}); compruebe su dirección con `git \
             remote -v`"
        ),
        PushError::Inside(address) => format!(
            "el repositorio remoto `{address}` está en el directorio de la sesión y sus hooks se \
             ejecutarían; use un terminal"
        ),
        PushError::Lfs => {
            "este repositorio envía con git LFS, que aquí no se ejecuta; use un terminal".to_owned()
        }
        PushError::OnBase(branch) => {
            format!("`{branch}` es la rama de destino; cree otra con `git switch -c NOMBRE`")
        }
        PushError::Cancelled => "ya nadie lo espera, así que se ha detenido".to_owned(),
    }
}
