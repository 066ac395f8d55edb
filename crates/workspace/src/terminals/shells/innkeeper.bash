# Innkeeper's shell integration for bash: says where commands begin and end.
# It is read instead of ~/.bashrc, reads that first, and changes nothing else.
if [ -z "${INNKEEPER_SHELL_NORC-}" ]; then
    [ -r /etc/bash.bashrc ] && . /etc/bash.bashrc
    [ -r ~/.bashrc ] && . ~/.bashrc
fi
__innkeeper_nonce="${INNKEEPER_SHELL_NONCE-}"
unset INNKEEPER_SHELL_NONCE INNKEEPER_SHELL_NORC
__innkeeper_running=
__innkeeper_ready=
__innkeeper_last=

__innkeeper_escape() {
    local text="$1"
    text="${text//\\/\\\\}"
    text="${text//;/\\x3b}"
    text="${text//$'\n'/\\x0a}"
    text="${text//$'\e'/\\x1b}"
    text="${text//$'\a'/\\x07}"
    printf '%s' "$text"
}

__innkeeper_before_prompt() {
    local status="$?"
    if [ -n "$__innkeeper_running" ]; then
        printf '\e]633;D;%s;%s\a' "$status" "$__innkeeper_nonce"
    fi
    __innkeeper_running=
    printf '\e]633;P;Cwd=%s;%s\a' "$(__innkeeper_escape "$PWD")" "$__innkeeper_nonce"
    printf '\e]633;A;%s\a' "$__innkeeper_nonce"
    return "$status"
}

# The very last thing before the prompt: from here on, what runs is a command.
__innkeeper_prompt_done() {
    __innkeeper_ready=1
}

__innkeeper_before_command() {
    if [ -n "$__innkeeper_ready" ] && [ -z "${COMP_LINE-}" ]; then
        __innkeeper_ready=
        __innkeeper_running=1
        local line
        line="$(HISTTIMEFORMAT='' builtin history 1)"
        line="${line#*[0-9][ *] }"
        if [ "$line" = "$__innkeeper_last" ] || [ -z "$line" ]; then
            # Not everything becomes history.
            case "$line" in
                *"$BASH_COMMAND"*) ;;
                *) line="$BASH_COMMAND" ;;
            esac
        fi
        __innkeeper_last="$line"
        printf '\e]633;E;%s;%s\a' "$(__innkeeper_escape "$line")" "$__innkeeper_nonce"
        printf '\e]633;C;%s\a' "$__innkeeper_nonce"
    fi
}

case "$(declare -p PROMPT_COMMAND 2>/dev/null)" in
    "declare -a"*)
        PROMPT_COMMAND=(__innkeeper_before_prompt "${PROMPT_COMMAND[@]}" __innkeeper_prompt_done)
        ;;
    *)
        PROMPT_COMMAND="__innkeeper_before_prompt
${PROMPT_COMMAND-}
__innkeeper_prompt_done"
        ;;
esac
trap '__innkeeper_before_command' DEBUG
printf '\e]633;P;HasCommandDetection=True;%s\a' "$__innkeeper_nonce"
