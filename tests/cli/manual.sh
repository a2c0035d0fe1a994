# needs: mandoc
# Manual pages are made for every command and pass mandoc's lint; the completion script is bash.
"$HONE" man -o pages; echo "exit $?"
ls pages
mandoc -T lint -W warning pages/*.1 && echo clean
mandoc -T ascii pages/hone-engines.1 | col -b | sed -n '/^NAME/,/^DESCRIPTION/p'
"$HONE" man | cmp - pages/hone.1 && "$HONE" man tune | cmp - pages/hone-tune.1 && echo same
"$HONE" man -o /nonexistent/folder; echo "= $?"
"$HONE" completion bash > complete.sh && bash -n complete.sh && echo parsed
# shellcheck disable=SC1091
. ./complete.sh
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _hone; echo "$* -> ${COMPREPLY[*]}"; }
try hone re
try hone tune --ev
try hone replay --constraints ''
try hone help sp
