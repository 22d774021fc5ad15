# Threads, by their ids and titles.
_threadkeep_with_ids() {
    _threadkeep "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" word line
    [[ $COMP_CWORD -ge 2 && $current != -* ]] || return 0
    for word in "${COMPREPLY[@]}"; do
        # A verb is completed as it is.
        [[ $word == -* || $word == '<'* || $word == '['* ]] || return 0
    done
    local -a place=() found=()
    local at
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${COMP_WORDS[at]}" in
            --store | --data | --server) place+=("${COMP_WORDS[at]}" "${COMP_WORDS[at + 1]}") ;;
        esac
    done
    while IFS= read -r line; do
        [[ $line == "$current"* ]] && found+=("$line")
    done < <(threadkeep "${place[@]}" complete threads 2>/dev/null)
    case ${#found[@]} in
        0) ;;
        1) COMPREPLY=("${found[0]%%$'\t'*}") ;;
        *) COMPREPLY=("${found[@]//$'\t'/  }") ;;
    esac
}
complete -F _threadkeep_with_ids -o nosort -o bashdefault -o default threadkeep
