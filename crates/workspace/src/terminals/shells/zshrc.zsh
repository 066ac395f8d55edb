# Innkeeper's shell integration for zsh, second part: says where commands
# begin and end.
ZDOTDIR="$INNKEEPER_USER_ZDOTDIR"
[[ -z "${INNKEEPER_SHELL_NORC-}" && -r "$ZDOTDIR/.zshrc" ]] && . "$ZDOTDIR/.zshrc"
typeset -g __innkeeper_nonce="${INNKEEPER_SHELL_NONCE-}"
typeset -g __innkeeper_running=
unset INNKEEPER_SHELL_NONCE INNKEEPER_SHELL_NORC INNKEEPER_USER_ZDOTDIR INNKEEPER_SHELL_ZDOTDIR

__innkeeper_escape() {
    emulate -L zsh
    local text="$1"
    text="${text//\\/\\\\}"
    text="${text//;/\\x3b}"
    text="${text//$'\n'/\\x0a}"
    text="${text//$'\e'/\\x1b}"
    text="${text//$'\a'/\\x07}"
    print -rn -- "$text"
}

__innkeeper_precmd() {
    local exit_code="$?"
    if [[ -n "$__innkeeper_running" ]]; then
        printf '\e]633;D;%s;%s\a' "$exit_code" "$__innkeeper_nonce"
    fi
    __innkeeper_running=
    printf '\e]633;P;Cwd=%s;%s\a' "$(__innkeeper_escape "$PWD")" "$__innkeeper_nonce"
    printf '\e]633;A;%s\a' "$__innkeeper_nonce"
}

__innkeeper_preexec() {
    __innkeeper_running=1
    printf '\e]633;E;%s;%s\a' "$(__innkeeper_escape "$1")" "$__innkeeper_nonce"
    printf '\e]633;C;%s\a' "$__innkeeper_nonce"
}

autoload -Uz add-zsh-hook
add-zsh-hook precmd __innkeeper_precmd
add-zsh-hook preexec __innkeeper_preexec
printf '\e]633;P;HasCommandDetection=True;%s\a' "$__innkeeper_nonce"
