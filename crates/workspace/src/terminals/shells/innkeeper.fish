# Innkeeper's shell integration for fish: says where commands begin and end.
set -g __innkeeper_nonce $INNKEEPER_SHELL_NONCE
set -e INNKEEPER_SHELL_NONCE

function __innkeeper_escape
    string replace -a '\\' '\\\\' -- $argv | string replace -a ';' '\\x3b' | string join '\\x0a'
end

function __innkeeper_preexec --on-event fish_preexec
    set -g __innkeeper_running 1
    printf '\e]633;E;%s;%s\a' (__innkeeper_escape "$argv") $__innkeeper_nonce
    printf '\e]633;C;%s\a' $__innkeeper_nonce
end

function __innkeeper_postexec --on-event fish_postexec
    set -l exit_code $status
    if set -q __innkeeper_running
        set -e __innkeeper_running
        printf '\e]633;D;%s;%s\a' $exit_code $__innkeeper_nonce
    end
end

function __innkeeper_prompt --on-event fish_prompt
    printf '\e]633;P;Cwd=%s;%s\a' (__innkeeper_escape "$PWD") $__innkeeper_nonce
    printf '\e]633;A;%s\a' $__innkeeper_nonce
end

printf '\e]633;P;HasCommandDetection=True;%s\a' $__innkeeper_nonce
