# Completion of smq and sst for bash, installed under the name of each. What there is it asks the program itself:
# smq help --table.

# _smq_field KIND NUMBER [NUMBER WORD]: that field of each row of a kind, or of those that have WORD in another one.
_smq_field() {
    local kind=$1 wanted=$2 by=${3:-0} word=${4:-$1} row fields
    while IFS= read -r row; do
        IFS=$'\x1f' read -r -a fields <<<"${row//$'\t'/$'\x1f'}"
        if [[ ${fields[0]} == "$kind" && ,${fields[by]}, == *",$word,"* ]]; then echo "${fields[wanted]}"; fi
    done <<<"$table"
}

# _smq_options COMMAND [NAME]: the names of its options; with NAME: what that one's value is called.
_smq_options() {
    local row fields
    while IFS= read -r row; do
        IFS=$'\x1f' read -r -a fields <<<"${row//$'\t'/$'\x1f'}"
        # One without a text is there to say that it cannot be used.
        [[ ${fields[0]} == option && ,${fields[1]}, == *",$1,"* && -n ${fields[5]:-} ]] || continue
        if [[ $# == 1 ]]; then
            echo "${fields[2]} ${fields[3]}"
        elif [[ $2 == "${fields[2]}" || $2 == "${fields[3]}" ]]; then
            echo "${fields[4]}"
        fi
    done <<<"$table"
}

_smq() {
    local command=${COMP_WORDS[1]} at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]} table words=
    COMPREPLY=()
    table=$("$1" help --table 2>/dev/null) || return 0
    if [[ $at == 1 || ($at == 2 && $command == help) ]]; then
        words="$(_smq_field command 1) help"
    else
        # --name=value is three words here.
        if [[ $current == "=" ]]; then
            current=
        elif [[ ${COMP_WORDS[at - 1]} == "=" ]]; then
            at=$((at - 1))
        fi
        case $(_smq_options "$command" "${COMP_WORDS[at - 1]}") in
        QOS) words="0 1 2" ;;
        VERSION) if [[ $1 == *sst ]]; then words="1.0 1.1 1.2"; else words="mqttv5 mqttv311 mqttv31"; fi ;;
        MODE) words="auto client client-individual" ;;
        PACKET*) words=$(_smq_field property 2) words=${words//,/ } ;;
        TLSVERSION) words="tlsv1.2 tlsv1.3" ;;
        FORM) words="pem engine" ;;
        DIRECTORY)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
            ;;
        FILE | PATH | SOCKET*)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        HOST)
            mapfile -t COMPREPLY < <(compgen -A hostname -- "$current")
            return
            ;;
        "")
            if [[ " journal inspect replay stats top " == *" $command "* && $current != -* ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
                return
            fi
            if [[ $(_smq_options "$command" "${COMP_WORDS[at - 2]}") == PACKET* ]]; then
                words=$(_smq_field property 1 2 "${COMP_WORDS[at - 1]}")
            elif [[ $current == -* ]]; then
                words=$(_smq_options "$command")
            fi
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current" | sort -u)
}

complete -F _smq smq sst
