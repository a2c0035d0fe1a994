# bench/common.sh — sourced by the benchmarks: where things are, what machine this is.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.."
BUILD=${BUILD:-build}
HONE=${HONE:-$BUILD/hone}
OUT=${OUT:-$BUILD/bench}
JOBS=${JOBS:-$(nproc)}

# Prints the comment at the head of a script (its usage) and exits.
usage() {
    awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$1"
    exit "${2:-0}"
}

need_hone() {
    if [ ! -x "$HONE" ]; then
        echo "'$HONE' is not there: run make first" >&2
        exit 1
    fi
}

# What the numbers below were measured on: machine, compilers, load, hone.
header() {
    echo "## $1"
    echo
    echo "- command: \`$2\`"
    echo "- machine: $(lscpu | sed -n 's/^Model name: *//p' | head -1), $(nproc) cores," \
        "$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r)"
    echo "- compilers: $(gcc --version | head -1); $(clang-19 --version 2>/dev/null | head -1 || echo 'no clang-19')"
    echo "- load average at the start: $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "- hone: $("$HONE" --version 2>/dev/null | head -1) $(git rev-parse --short HEAD 2>/dev/null)"
}

# What was tuned on this machine stays out of it: schedules are the default ones.
untuned() {
    mkdir -p "$OUT/untuned"
    XDG_DATA_HOME=$(cd "$OUT/untuned" && pwd)
    export XDG_DATA_HOME
}

# Python with the peers' packages.
peers_python() {
    BUILD=$BUILD tools/venv.sh bench >&2
    echo "$BUILD/venv/bin/python"
}

# bench/models.sh over networks that a Python file of bench/ writes (NAME FILE.onnx; --list): the file, the command it stands for.
written_models() {
    export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)} BUILD OUT HONE
    export MODELS=${MODELS:-$("$HONE_PYTHON" "$1" --list)} TIME=${TIME:-5s}
    mkdir -p "$OUT/compile"
    for model in $MODELS; do
        [ -s "$OUT/compile/$model.onnx" ] || "$HONE_PYTHON" "$1" "$model" "$OUT/compile/$model.onnx"
    done
    ONNX=$OUT/compile COMMAND=$2 bench/models.sh
}

# A table of small models beside ONNX Runtime, interleaved in one run, for THREADS: first its head, with the columns that say
# what a row is, then a row per model and number of threads, with their cells.
peer_table() { # TITLE SCRIPT COLUMN…
    local title=$1 script=$2
    shift 2
    header "$title" "$script"
    echo
    printf '| %s ' "$@" threads 'hone p50 us' 'ONNX Runtime p50 us' 'hone / ONNX Runtime'
    printf '|\n|'
    printf -- '---|%.0s' "$@" 1 2 3 4
    echo
}
peer_rows() { # MODEL TIME CELL…
    local model=$1 time=$2 threads
    shift 2
    for threads in ${THREADS:-1 2}; do
        "$HONE" bench "$model" --against onnxruntime --threads "$threads" --time "$time" --json |
            python3 -c '
import json, sys
a, b = json.load(sys.stdin)["results"][:2]
us = lambda x: format(x["p50_s"] * 1e6, ".4g")
print("|", " | ".join([*sys.argv[1:], us(a), us(b), format(a["p50_s"] / b["p50_s"], ".2f")]), "|", flush=True)
' "$@" "$threads"
    done
}

# What a benchmark of that table starts with: hone alone, Python with the peer, and in $work a folder NAME for models.
peer_bench() { # NAME
    need_hone
    untuned
    export HONE_PYTHON=${HONE_PYTHON:-$(peers_python)}
    work=$OUT/$1
    mkdir -p "$work"
}

# Compiles a benchmark's C file against the library.
build_program() {
    mkdir -p "$(dirname "$2")"
    # shellcheck disable=SC2046
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Werror=implicit-function-declaration -Iinclude -Isrc "$1" "$BUILD/libhone.a" -o "$2" \
        $(pkg-config --cflags --libs yaml-0.1 jansson sqlite3 libsodium liblzma libprotobuf-c libpcre2-8 libutf8proc libevent_core libevent_extra libevent_openssl libssl libcrypto) -lm -lpthread
}
