# Innkeeper's shell integration for zsh, first part: the user's own start-up
# files are read from where they are.
if [[ -n "${INNKEEPER_USER_ZDOTDIR-}" ]]; then
    ZDOTDIR="$INNKEEPER_USER_ZDOTDIR"
else
    unset ZDOTDIR
fi
[[ -z "${INNKEEPER_SHELL_NORC-}" && -r "${ZDOTDIR:-$HOME}/.zshenv" ]] && . "${ZDOTDIR:-$HOME}/.zshenv"
INNKEEPER_USER_ZDOTDIR="${ZDOTDIR:-$HOME}"
ZDOTDIR="$INNKEEPER_SHELL_ZDOTDIR"
