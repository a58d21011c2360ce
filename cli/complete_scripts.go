package cli

// completionScripts are the completion scripts by name of the shell. Each script calls the
// hidden command __complete. That command prints one word in each line, followed by a tab
// and a description, or it prints ":files".
var completionScripts = map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}

const completionBash = `# Completion of redrive for bash.
_redrive() {
    local line word prefix= n=0 i
    local -a words=()
    COMPREPLY=()
    # Bash splits words at colons, as in preset:default. Here they are whole again; bash replaces only what is behind the last colon.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((n > 0)) && [[ $COMP_WORDBREAKS == *:* && ($word == :* || ${words[n-1]} == *:) ]]; then
            words[n-1]+=$word
        else
            words[n++]=$word
        fi
    done
    word=${words[n-1]}
    if [[ $COMP_WORDBREAKS == *:* && $word == *:* ]]; then
        prefix=${word%"${word##*:}"}
    fi
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            compopt -o default 2>/dev/null
            return
        fi
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$prefix"}")
    done < <("${COMP_WORDS[0]}" __complete -- "${words[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _redrive redrive
`

const completionZsh = `#compdef redrive
# Completion of redrive for zsh.
_redrive() {
    local line word
    local -a plain described
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            _files
            return
        fi
        word=${line%%$'\t'*}
        if [[ $word == "$line" ]]; then
            plain+=("$word")
        else
            described+=("${word//:/\\:}:${line#*$'\t'}")
        fi
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( ${#plain} )) && compadd -- "${plain[@]}"
    (( ${#described} )) && _describe redrive described
}
if [[ $funcstack[1] == _redrive ]]; then
    _redrive "$@"
else
    compdef _redrive redrive
fi
`

const completionFish = `# Completion of redrive for fish.
function __redrive_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$found[1]" = :files
        __fish_complete_path (commandline -ct)
        return
    end
    printf '%s\n' $found
end
complete -c redrive -f -a '(__redrive_complete)'
`
