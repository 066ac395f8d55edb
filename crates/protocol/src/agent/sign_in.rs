//! What a person is asked when an agent wants somebody to sign in. The engine
//! puts it into words and into the shape of a question.

/// The question by which the way is chosen, and the one that says how long
/// values are kept. Neither can be the name of a variable.
pub const SIGN_IN_WAY: &str = "sign-in.way";
pub const SIGN_IN_KEEP: &str = "sign-in.keep";
/// Values are kept until the host ends, or in a file.
pub const KEEP_IN_MEMORY: &str = "memory";
pub const KEEP_IN_FILE: &str = "file";

/// The format of a text that nobody but its reader may see. An answer to such a
/// question is neither published nor stored.
pub const SECRET_FORMAT: &str = "password";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInQuestion {
    /// The name of the request, unique in its turn.
    pub request: String,
    pub agent: String,
    /// Why the attempt before did not work.
    pub refused: Option<String>,
    pub wants: SignInWants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInWants {
    /// One of the ways that the agent offers.
    Way(Vec<SignInWay>),
    /// Values for the variables that one of the ways needs.
    Values {
        way: String,
        /// Where values are to be had.
        link: Option<String>,
        values: Vec<SignInValue>,
    },
}

/// A way of signing in, in the agent's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInWay {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInValue {
    /// The variable.
    pub name: String,
    pub label: Option<String>,
    pub secret: bool,
    pub optional: bool,
}
