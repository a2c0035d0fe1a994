# A draft from a folder that Meson configured.
# needs: meson ninja gcc
. "$CASES/init_from.inc"
cat > meson.build <<'M'
project('app', 'c', default_options: ['buildtype=release'])
configure_file(output: 'gen.h', configuration: {'GEN': 3})
twice = static_library('twice', 'lib/twice.c', c_args: '-DFACTOR=2')
executable('app', 'src/main.c', include_directories: 'lib', link_with: twice)
M
"$HONE" init --from .; echo "= $?"
meson setup build > /dev/null
"$HONE" init --from build --run "build/app data.txt" 2>&1 | times; grep -E '^  - ' hone.yaml | head -6; grep -c -e '-DFACTOR=2' hone.yaml; grep ^baseline hone.yaml
