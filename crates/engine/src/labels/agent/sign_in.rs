//! The questions that a person is asked to sign in to an agent.

use innkeeper_protocol::agent::{
    KEEP_IN_FILE, KEEP_IN_MEMORY, SECRET_FORMAT, SIGN_IN_KEEP, SIGN_IN_WAY, SignInQuestion,
    SignInValue, SignInWants, SignInWay,
};
use innkeeper_protocol::newest::state::{
    ChatInputOption, ChatInputQuestion, ChatInputRequest, ChatInputSingleSelectQuestion,
    ChatInputTextQuestion,
};

use super::Locale;

/// What is written around the agent's own words.
struct Words {
    needs: &'static str,
    refused: &'static str,
    how: &'static str,
    values_are_at: &'static str,
    keep: &'static str,
    in_memory: &'static str,
    in_file: &'static str,
}

fn words(locale: Locale) -> &'static Words {
    match locale {
        Locale::English => &Words {
            needs: "{agent} needs you to sign in.",
            refused: "That did not work: {why}",
            how: "How do you want to sign in to {agent}?",
            values_are_at: "You find what is needed at {link}",
            keep: "How long may the host keep this?",
            in_memory: "Until the host ends",
            in_file: "In a file that only you can read, until you delete it",
        },
        Locale::German => &Words {
            needs: "{agent} verlangt eine Anmeldung.",
            refused: "Das hat nicht geklappt: {why}",
            how: "Wie möchtest du dich bei {agent} anmelden?",
            values_are_at: "Was dafür nötig ist, gibt es unter {link}",
            keep: "Wie lange darf der Host das behalten?",
            in_memory: "Bis der Host endet",
            in_file: "In einer Datei, die nur du lesen kannst, bis du sie löschst",
        },
        Locale::French => &Words {
            needs: "{agent} demande une connexion.",
            refused: "Cela n’a pas fonctionné : {why}",
            how: "Comment voulez-vous vous connecter à {agent} ?",
            values_are_at: "Vous trouverez le nécessaire à l’adresse {link}",
            keep: "Combien de temps l’hôte peut-il garder cela ?",
            in_memory: "Jusqu’à l’arrêt de l’hôte",
            in_file: "Dans un fichier que vous seul pouvez lire, jusqu’à ce que vous l’effaciez",
        },
        Locale::Spanish => &Words {
            needs: "{agent} pide iniciar sesión.",
            refused: "No funcionó: {why}",
            how: "¿Cómo quiere iniciar sesión en {agent}?",
            values_are_at: "Lo necesario se encuentra en {link}",
            keep: "¿Cuánto tiempo puede conservarlo el host?",
            in_memory: "Hasta que termine el host",
            in_file: "En un archivo que solo usted puede leer, hasta que lo borre",
        },
    }
}

pub(crate) fn question(question: SignInQuestion, locale: Locale) -> ChatInputRequest {
    let words = words(locale);
    let SignInQuestion {
        request,
        agent,
        refused,
        wants,
    } = question;
    let first = match refused {
        Some(why) => words.refused.replace("{why}", &why),
        None => words.needs.replace("{agent}", &agent),
    };
    let (more, questions) = match wants {
        SignInWants::Way(ways) => {
            let how = words.how.replace("{agent}", &agent);
            (None, vec![select(SIGN_IN_WAY, how, options(ways))])
        }
        SignInWants::Values { way, link, values } => {
            let link = link.map(|link| words.values_are_at.replace("{link}", &link));
            let more = match link {
                Some(link) => format!("{way}. {link}"),
                None => way,
            };
            let mut questions: Vec<_> = values.into_iter().map(text).collect();
            let keep = [
                (KEEP_IN_MEMORY, words.in_memory),
                (KEEP_IN_FILE, words.in_file),
            ];
            let keep = keep.map(|(id, label)| option(id.to_owned(), label.to_owned(), None));
            questions.push(select(SIGN_IN_KEEP, words.keep.to_owned(), keep.into()));
            (Some(more), questions)
        }
    };
    let message = match more {
        Some(more) => format!("{first} {more}"),
        None => first,
    };
    ChatInputRequest {
        id: request,
        message: Some(message),
        url: None,
        questions: Some(questions),
        answers: None,
    }
}

/// The ways as the agent gives them; of one, nobody has to think long.
fn options(ways: Vec<SignInWay>) -> Vec<ChatInputOption> {
    let recommended = (ways.len() == 1).then_some(true);
    let options = ways.into_iter().map(|way| ChatInputOption {
        recommended,
        ..option(way.id, way.name, way.description)
    });
    options.collect()
}

fn option(id: String, label: String, description: Option<String>) -> ChatInputOption {
    ChatInputOption {
        id,
        label,
        description,
        recommended: None,
    }
}

fn select(id: &str, message: String, options: Vec<ChatInputOption>) -> ChatInputQuestion {
    ChatInputQuestion::SingleSelect(ChatInputSingleSelectQuestion {
        id: id.to_owned(),
        title: None,
        message,
        required: Some(true),
        options,
        allow_freeform_input: Some(false),
    })
}

fn text(value: SignInValue) -> ChatInputQuestion {
    let SignInValue {
        name,
        label,
        secret,
        optional,
    } = value;
    ChatInputQuestion::Text(ChatInputTextQuestion {
        // The variable is named once, also where the agent has no word for it.
        title: label.is_some().then(|| name.clone()),
        message: label.unwrap_or_else(|| name.clone()),
        id: name,
        required: Some(!optional),
        format: secret.then(|| SECRET_FORMAT.to_owned()),
        min: None,
        max: None,
        default_value: None,
    })
}
