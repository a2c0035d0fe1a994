#!/usr/bin/env bash
# measured.sh FOLDER: FOLDER/hone gets this machine's table of rates (`hone doctor --measure`), which the tests of one run share:
# measuring takes six seconds of processor time. Two that come at once measure both.
set -eu
hone=${HONE:?} table=$XDG_CACHE_HOME/measured/hone
if [ ! -e "$table/device.yaml" ]; then
    mine=$(mktemp -d "$XDG_CACHE_HOME/measuring.XXXXXX")
    XDG_CACHE_HOME=$mine "$hone" doctor --measure --seconds 0.05 >/dev/null
    mkdir -p "${table%/*}"
    mv -T "$mine/hone" "$table" 2>/dev/null || [ -e "$table/device.yaml" ] # another was first
fi
mkdir -p "$1/hone"
cp "$table"/device*.yaml "$1/hone/"
