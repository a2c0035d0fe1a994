# Drafts from a folder that CMake configured: by compile_commands.json and link.txt, and by ninja; generated headers.
# needs: cmake make ninja gcc
. "$CASES/init_from.inc"
cat > CMakeLists.txt <<'M'
cmake_minimum_required(VERSION 3.10)
project(app C)
set(V 3)
configure_file(gen.h.in gen.h)
add_library(twice STATIC lib/twice.c)
target_compile_definitions(twice PRIVATE FACTOR=2)
target_include_directories(twice PUBLIC lib)
add_executable(app src/main.c)
target_include_directories(app PRIVATE ${CMAKE_BINARY_DIR})
target_link_libraries(app twice m)
M
echo '#define GEN @V@' > gen.h.in
"$HONE" init --from .; echo "= $?"
cmake -S . -B plain > /dev/null; "$HONE" init --from plain; echo "= $?"
cmake -S . -B one -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > /dev/null
cmake -S . -B two -G Ninja -DCMAKE_BUILD_TYPE=Release > /dev/null
"$HONE" init --from one --run "one/app data.txt" 2>&1 | times; body; grep -oE '^#(train|per_file): ' hone.yaml
"$HONE" init --from two --run "two/app data.txt" -o two.yaml 2> /dev/null; echo "= $?"; diff <(body) <(body two.yaml)
mkdir away; cp one/compile_commands.json away; "$HONE" init --from away -o x.yaml; echo "= $?"
echo '{}' > away/compile_commands.json; "$HONE" init --from away -o x.yaml; echo "= $?"
echo '[{"directory": "/"}]' > away/compile_commands.json; "$HONE" init --from away -o x.yaml; echo "= $?"
