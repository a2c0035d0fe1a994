# What is wrong with a command line is said in one line, with exit code 2.
t() { echo "\$ hone $*"; "$HONE" "$@"; echo "= $?"; }
t tunee
t nonsense
t ''
t --versoin
t --json tune
t -x
t tune --evls 3
t tune --evals
t tune --evals x
t tune --evals 0
t tune --evals=-1
t tune --evals 99999999999999999999
t tune --time 0
t tune --time 3parsecs
t tune --time ''
t tune --seed -1
t tune --quiet=yes
t tune --seed 1 --seed 2
t tune -Z
t tune --resume=0
t tune a.yaml b.yaml
t results x
t results 0
t results 1 2
t results --csv --json
t results --pareto --all
t best --argv --rsp
t status 1 --all
t space frobnicate a b
t space cuont a.yaml
t space diff
t replay
t replay --constraints maybe x
t sample -n 0
t engines extra
t completion
t completion fish
t help tunee
t engines --color=purple
t engines --json=yes
t man tune --json
t init
t init a.c --build make
