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

# Compiles a benchmark's C file against the library.
build_program() {
    mkdir -p "$(dirname "$2")"
    # shellcheck disable=SC2046
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Werror=implicit-function-declaration -Iinclude -Isrc "$1" "$BUILD/libhone.a" -o "$2" \
        $(pkg-config --cflags --libs yaml-0.1 jansson sqlite3 libsodium liblzma libprotobuf-c) -lm -lpthread
}
