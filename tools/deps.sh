#!/usr/bin/env bash
# Installs the Debian packages of tools/deps.txt that are missing. Does nothing (and needs no network or root) when all
# are there.
set -eu
cd "$(dirname "$0")/.."
missing=()
while read -r pkg _; do
    case "$pkg" in '' | '#'*) continue ;; esac
    dpkg-query -W -f='${Status}' "$pkg" 2>/dev/null | grep -q 'ok installed' || missing+=("$pkg")
done < tools/deps.txt
[ ${#missing[@]} -eq 0 ] && exit 0
echo "deps: installing ${missing[*]}" >&2
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -q --no-install-recommends "${missing[@]}"
