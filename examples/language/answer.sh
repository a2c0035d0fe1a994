#!/usr/bin/env bash
# A language model from the shell: what it is, tokens, an answer as JSON, how fast it is. HONE names the program.
#
# usage: answer.sh MODEL.gguf [PROMPT]
set -eu
hone=${HONE:-hone}
model=${1:?"usage: answer.sh MODEL.gguf [PROMPT]"}
prompt=${2:-Once upon a time}

"$hone" inspect "$model"
"$hone" tokenize "$model" "$prompt"
"$hone" generate "$model" --prompt "$prompt" --max-tokens 16 --temperature 0 --json |
    python3 -c 'import json, sys; a = json.load(sys.stdin); print(repr(a["text"]), round(sum(a["logprobs"]), 2))'
"$hone" bench "$model" --prompt-tokens 32 --tokens 8 --rounds 3
