# Skills are carried in the program and installed where agents look; what hone did not write stays as it is.
unset HOME
hone() { "$HONE" "$@"; }
hone skills list | awk '{ print $1 }'
hone skills --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)), "with descriptions")'
hone skills show prove | head -2
hone skills show hone-prove | cmp - "$ROOT/skills/hone-prove/SKILL.md" && echo same
echo "== install"
hone skills install; find . -name SKILL.md | sort
tail -1 .claude/skills/hone-prove/SKILL.md | sed 's/hone [0-9.]*,/hone N,/; s/[0-9a-f]\{16\}/HASH/'
hone skills install --json
echo "== other agents, the home folder, some skills"
HOME=$PWD/home hone skills install --user --for codex,agents,opencode,copilot prove reduce
find home -name SKILL.md | sort
hone skills install --dir mine hone-prove
echo "== what is refused, and nothing is written"
echo "mine" >> .claude/skills/hone-prove/SKILL.md
rm .agents/skills/hone-bootstrap/SKILL.md
hone skills install; echo "= $?"; ls .agents/skills/hone-bootstrap
hone skills uninstall; echo "= $?"
mkdir -p theirs/hone-reduce; echo "---" > theirs/hone-reduce/SKILL.md
hone skills install --dir theirs; echo "= $?"; find theirs -type f
hone skills uninstall --dir theirs --force; echo "= $?"
hone skills install --for vim; echo "= $?"
hone skills install --for cursr; echo "= $?"
hone skills install --for ,; echo "= $?"
hone skills install --user; echo "= $?"
hone skills install --user --project; echo "= $?"
hone skills install --dir x --for claude; echo "= $?"
hone skills install prov; echo "= $?"
hone skills show; echo "= $?"
hone skills instal; echo "= $?"
ln -s /nowhere/at/all broken; hone skills install --dir broken; echo "= $?"
echo "== force, uninstall"
hone skills install --force --dir theirs reduce && hone skills install --force
hone skills uninstall; find .agents .claude -type f
hone skills uninstall --dir mine; hone skills uninstall --dir mine --json; ls mine
