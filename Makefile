# hone — GNU make. `make help` lists the targets.
#
#   make                build/hone, build/libhone.{a,so}, build/libhonebench.a, build/hone.pc
#   make demo           install what is missing, build, tune an example, prove what was found, compile a model
#   make check          install what is missing, run all tests (ASan + UBSan build)
#
# Variables: CC, CFLAGS, BUILD (build), PREFIX (/usr/local), DESTDIR, JOBS.

BUILD   ?= build
PREFIX  ?= /usr/local
JOBS    ?= $(shell nproc)
CFLAGS  ?= -O2 -g1
# Undefined behaviour traps, and AddressSanitizer says where (handle_sigill); texts that say what it was are a sixth of the time
# to build and to start. They come with: make check SAN="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
SAN     ?= -O1 -g1 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error -fno-omit-frame-pointer
# Programs of the tests are not optimised: compiling them would take longer than running them does.
TEST_CFLAGS ?= -O0
# What programs of the sanitized build are linked with: half a million relocations of a program that may lie anywhere are
# a third of the time that it takes to start, which the tests do thousands of times; gold links in half the time.
SAN_LINK = -no-pie $(if $(shell command -v ld.gold),-fuse-ld=gold)
SOVER   := $(shell sed -n 's/^\#define HONE_ABI \([0-9]*\).*/\1/p' include/hone/base.h)
VERSION := $(shell sed -n 's/^\#define HONE_VERSION "\(.*\)"/\1/p' include/hone/base.h)
PKGS    := yaml-0.1 jansson sqlite3 libsodium liblzma libprotobuf-c libpcre2-8 libutf8proc libevent_core libevent_extra libevent_openssl libssl libcrypto

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef \
           -Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion $(WERROR)
STD     := -std=c11 -D_GNU_SOURCE -Iinclude -Isrc
CLI_PKGS := libzip
# Each of these asks pkg-config at its first use, then is what it answered: make would ask again for every file.
# PostgreSQL's client library is loaded when winners are asked for at a server (src/record/pq.h): its header is all that is needed here.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(PKGS) libpq 2>/dev/null))$(PKG_CFLAGS)
# libevent_openssl asks for all of libevent, where core and extra will do.
PKG_LIBS   = $(eval PKG_LIBS := $$(filter-out -levent,$$(shell pkg-config --libs $(PKGS) 2>/dev/null)) -lm -lpthread)$(PKG_LIBS)
# Nothing here asks errno of a mathematical function, and square roots that set it are not vectorised.
ALL_CFLAGS = $(STD) $(WARN) -fno-math-errno -fPIC -fvisibility=hidden $(PKG_CFLAGS) $(CFLAGS)

# The harness is what people link into programs that hone times: built once with these flags, never with a candidate's.
HARNESS_CFLAGS := -std=c11 -D_GNU_SOURCE -Iinclude $(WARN) -O2 -fno-fast-math -ffp-contract=off -fPIC

LIB_SRC   := $(sort $(wildcard src/*/*.c src/*/*/*.c))
CLI_SRC   := $(sort $(wildcard cli/*.c))
BENCH_SRC := $(sort $(wildcard src/bench/*.c))
DRIVER_SRC := $(sort $(wildcard src/target/driver/*.c))
SHIM_SRC  := $(sort $(wildcard src/shim/rt/*.c))
LIB_SRC   := $(filter-out $(BENCH_SRC) src/bench/% $(DRIVER_SRC) $(SHIM_SRC) src/shim/cc/%,$(LIB_SRC))
UNIT_SRC  := $(sort $(wildcard tests/unit/*/test_*.c tests/prop/*/test_*.c))
HELPER_SRC := $(sort $(wildcard tests/helper/*.c))
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))

LIB_OBJ   := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/onnx.pb-c.o
CLI_OBJ   := $(CLI_SRC:%.c=$(BUILD)/obj/%.o)
BENCH_OBJ := $(BENCH_SRC:%.c=$(BUILD)/obj/%.o)
UNIT_BIN  := $(UNIT_SRC:%.c=$(BUILD)/%)
HELPER_BIN := $(HELPER_SRC:%.c=$(BUILD)/%)
FUZZ_REPLAY := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/tests/fuzz/%_replay)

.PHONY: all lib portable help python python-extension unit-tests objects print-cflags print-san deps test-deps test-deps-gpu demo check check-long check-built lint bench fuzz install uninstall clean format
.DELETE_ON_ERROR:

all: $(BUILD)/hone $(BUILD)/libhone.a $(BUILD)/libhone.so $(BUILD)/libhonebench.a $(BUILD)/hone.pc $(BUILD)/man/hone.1 $(BUILD)/man/hone-gpu-bench.1
lib: $(BUILD)/libhone.a

$(BUILD)/obj/src/bench/%.o: src/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(HARNESS_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# The reader of ONNX files, written by protoc-c from our description of the format; its code is not ours to warn about.
PROTO_H   := $(BUILD)/gen/onnx.pb-c.h
PROTO_OBJ := $(BUILD)/obj/gen/onnx.pb-c.o
$(PROTO_H) $(BUILD)/gen/onnx.pb-c.c &: src/onnx/onnx.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=src/onnx --c_out=$(BUILD)/gen onnx.proto
$(PROTO_OBJ): $(BUILD)/gen/onnx.pb-c.c $(PROTO_H)
	@mkdir -p $(@D)
	$(CC) -std=c11 -w -fPIC -fvisibility=hidden $(PKG_CFLAGS) $(CFLAGS) -isystem $(BUILD)/gen -c $< -o $@
$(filter $(BUILD)/obj/src/onnx/%,$(LIB_OBJ)): $(PROTO_H)
$(filter $(BUILD)/obj/src/onnx/%,$(LIB_OBJ)): ALL_CFLAGS += -isystem $(BUILD)/gen

# The linker warns of functions of the C library that tools/portable.c replaces in static programs.
NO_LINK_WARNINGS = $(shell $(CC) -Wl,--help 2>/dev/null | sed -n 's/.*\(--no-warnings\).*/-Wl,\1/p')

# The supervisor of child processes: a small static program, carried inside the library (src/proc/image.c).
SUPERVISOR     := $(BUILD)/obj/hone-supervisor
SUPERVISOR_SRC := src/proc/supervise.c src/proc/tree.c src/proc/count.c src/proc/cgroup.c src/proc/confine.c
$(SUPERVISOR): $(SUPERVISOR_SRC) src/proc/proc.h src/proc/proc_int.h src/base/clock.h
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) -O2 -static -s -DHN_SUPERVISOR_MAIN -o $@ $(SUPERVISOR_SRC) -lm || \
	  $(CC) $(STD) $(WARN) -O2 -s -DHN_SUPERVISOR_MAIN -o $@ $(SUPERVISOR_SRC) -lm
$(BUILD)/obj/src/proc/image.o: $(SUPERVISOR)
$(BUILD)/obj/src/proc/image.o: ALL_CFLAGS += -DHN_SUPERVISOR='"$(SUPERVISOR)"'

# The program that times GPU kernels without a host program, carried inside the library (src/device/gpu.c). It opens drivers at
# run time, so it is not static; where old names of glibc's functions can be linked, it runs with any glibc since 2.17.
GPU_PROGRAM     := $(BUILD)/hone-gpu-bench
GPU_PROGRAM_SRC := $(BENCH_SRC) $(sort $(wildcard src/bench/program/*.c))
$(GPU_PROGRAM): $(GPU_PROGRAM_SRC) $(wildcard src/bench/*.h src/bench/program/*.h) include/hone/bench.h include/hone/bench_gpu.h src/base/bench_data.h
	@mkdir -p $(@D)
	$(CC) $(HARNESS_CFLAGS) -s -DHN_OLD_GLIBC -include src/bench/program/old_glibc.h -nostartfiles -no-pie -fno-pie -o $@ $(GPU_PROGRAM_SRC) -Wl,--no-as-needed -l:libdl.so.2 -lm 2>/dev/null || \
	  $(CC) $(HARNESS_CFLAGS) -s -o $@ $(GPU_PROGRAM_SRC) -ldl -lm
$(BUILD)/obj/src/device/gpu.o: $(GPU_PROGRAM)
$(BUILD)/obj/src/device/gpu.o: ALL_CFLAGS += -DHN_GPU_PROGRAM='"$(GPU_PROGRAM)"'

# The driver of compilers for GPUs that are libraries: a program of its own, carried inside the library (src/target/carried.c).
GPU_CC := $(BUILD)/obj/hone-gpu-cc
$(GPU_CC): $(DRIVER_SRC) src/target/driver/driver.h
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) -O2 -s -o $@ $(DRIVER_SRC) -ldl
$(BUILD)/obj/src/target/carried.o: $(GPU_CC) include/hone/cuda_controls.h
$(BUILD)/obj/src/target/carried.o: ALL_CFLAGS += -DHN_GPU_CC='"$(GPU_CC)"'

# What hone knows of compilers: answers that were kept are asked for again when any of it has changed.
TARGET_SRC := $(sort $(wildcard src/target/*.[ch] src/target/*.def src/target/*.inc src/target/driver/*.[ch]))
$(BUILD)/obj/src/target/target_cache.o: $(TARGET_SRC)
$(BUILD)/obj/src/target/target_cache.o: ALL_CFLAGS += -DHN_TARGET_TABLES='"$(shell cat $(TARGET_SRC) | sha256sum | cut -c 1-16)"'

# What runs CUDA kernels on the CPU: a library, a compiler's driver and headers, carried inside libhone (src/shim/carried.c).
SHIM_DIR := $(BUILD)/shim
SHIM_TEXT := shim.cuh shim.h shim_ops.h
$(SHIM_DIR)/hone-shim.so: $(SHIM_SRC) $(wildcard src/shim/rt/*.h) src/backend/gpu/rt/driver.h
	@mkdir -p $(@D)
	$(CC) $(STD) $(WARN) -O2 -fPIC -shared -s -o $@ $(SHIM_SRC) -ldl -lm -lpthread
$(SHIM_DIR)/hone-shim-cc: src/shim/cc/cc.c $(SHIM_TEXT:%=src/shim/rt/%) include/hone/cuda_controls.h | $(SHIM_DIR)/hone-shim.so
	@mkdir -p $(@D)/hone
	cp $(SHIM_TEXT:%=src/shim/rt/%) $(@D)
	cp include/hone/cuda_controls.h $(@D)/hone
	$(CC) $(STD) $(WARN) -O2 -s -o $@ src/shim/cc/cc.c
$(BUILD)/obj/src/shim/carried.o: $(SHIM_DIR)/hone-shim-cc $(SHIM_DIR)/hone-shim.so
$(BUILD)/obj/src/shim/carried.o: ALL_CFLAGS += -DHN_SHIM_DIR='"$(SHIM_DIR)"'

# The agent that runs programs on another machine: a static program too, carried inside the library (src/far/image.c).
FAR_AGENT     := $(BUILD)/obj/hone-agent
FAR_AGENT_SRC := $(addprefix src/far/,agent.c wire.c gpus.c) $(SUPERVISOR_SRC) src/proc/proc.c src/proc/image.c src/measure/machine.c \
                 $(addprefix src/base/,arena.c err.c fs.c hash.c str.c) tools/portable.c
FAR_AGENT_CC   = $(CC) $(STD) $(WARN) -O2 -s -DHN_FAR_AGENT_MAIN $(shell pkg-config --cflags libsodium) -o $@ $(FAR_AGENT_SRC)
$(FAR_AGENT): $(FAR_AGENT_SRC) $(wildcard src/far/*.h src/proc/*.h src/base/*.h) include/hone/machine.h include/hone/process.h
	@mkdir -p $(@D)
	$(FAR_AGENT_CC) -static $(NO_LINK_WARNINGS) $(shell pkg-config --static --libs libsodium) -lm -lpthread || $(FAR_AGENT_CC) -lsodium -lm -lpthread
$(BUILD)/obj/src/far/image.o: $(FAR_AGENT)
$(BUILD)/obj/src/far/image.o: ALL_CFLAGS += -DHN_FAR_AGENT='"$(FAR_AGENT)"'

# Texts of artifacts, carried inside the library.
$(BUILD)/obj/src/artifact/carried.o: src/artifact/entry.h src/artifact/instance.h src/artifact/instance_device.h $(wildcard src/backend/gpu/rt/*.h) src/artifact/part.h src/artifact/state.h src/backend/cpu/remote_order.h src/backend/cpu/runner.h include/hone/model.h src/plan/plan.h src/plan/place.c

# The pages (src/report/page.* of all, src/report/*_page.* of each) and Debian's Chart.js with its licence, carried inside the library.
CHART_JS         ?= /usr/share/javascript/chart.js/chart.min.js
CHART_JS_LICENCE ?= /usr/share/doc/libjs-chart.js/copyright
PAGE_OBJ         := $(BUILD)/obj/src/report/page_files.o
$(PAGE_OBJ): $(wildcard src/report/*.html src/report/*.css src/report/*.js) $(CHART_JS) $(CHART_JS_LICENCE)
$(PAGE_OBJ): ALL_CFLAGS += -DHN_CHART_JS='"$(CHART_JS)"' -DHN_CHART_LICENCE='"$(CHART_JS_LICENCE)"'
$(CHART_JS) $(CHART_JS_LICENCE):
	@echo "hone: '$@' is missing; install the package libjs-chart.js (make deps does), or set CHART_JS and CHART_JS_LICENCE" >&2; exit 1

# The page of hone serve.
$(BUILD)/obj/src/serve/page.o: $(wildcard src/serve/*.html src/serve/*.css src/serve/*.js)

# What teaches agents, carried inside the program.
$(BUILD)/obj/cli/skills.o: $(wildcard skills/*/SKILL.md)

# The program that runs other engines of language models, carried inside the library.
$(BUILD)/obj/src/peer/text_peer.o: src/peer/text_peer.py

# The program that measures the machine, carried inside the library.
$(BUILD)/obj/src/device/probe.o: src/device/probe_program.h

# The text that goes into compiled models, carried inside the library.
$(BUILD)/obj/src/backend/cpu/runtime.o: $(wildcard src/backend/cpu/rt/*.h) src/ir/philox.h
$(BUILD)/obj/src/backend/gpu/runtime.o: $(wildcard src/backend/gpu/rt/*.h)

$(BUILD)/libhone.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/libhone.so: $(LIB_OBJ)
	$(CC) -shared -Wl,-soname,libhone.so.$(SOVER) $(CFLAGS) $(LDFLAGS) -o $@.$(VERSION) $^ $(PKG_LIBS)
	ln -sf libhone.so.$(VERSION) $(BUILD)/libhone.so.$(SOVER)
	ln -sf libhone.so.$(VERSION) $@

$(BUILD)/libhonebench.a: $(BENCH_OBJ) include/hone/bench.h include/hone/bench_gpu.h
	@rm -f $@
	ar rcs $@ $(BENCH_OBJ)
	@mkdir -p $(BUILD)/include/hone
	cp include/hone/bench.h include/hone/bench_gpu.h $(BUILD)/include/hone/

$(BUILD)/hone: $(CLI_OBJ) $(BUILD)/libhone.a
	$(CC) $(CFLAGS) $(LDFLAGS) $(PROGRAM_LDFLAGS) -o $@ $^ $(PKG_LIBS) $(shell pkg-config --libs $(CLI_PKGS))

# One statically linked program: the objects of build/hone but for the few that know of it, and tools/portable.c instead
# of what a static program cannot have. Debian has no static libzip. CFLAGS stay those of the objects; no -march may be among them.
PORTABLE      := $(BUILD)/portable
PORTABLE_SRC  := cli/npz.c tools/portable.c
PORTABLE_OBJ  := $(PORTABLE_SRC:%.c=$(PORTABLE)/obj/%.o)
PORTABLE_LIBS  = $(NO_LINK_WARNINGS) $(shell pkg-config --static --libs $(PKGS)) -lm -lpthread
$(PORTABLE)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DHN_PORTABLE -MMD -MP -c $< -o $@
$(PORTABLE)/hone: $(filter-out $(PORTABLE_SRC:%.c=$(BUILD)/obj/%.o),$(CLI_OBJ)) $(PORTABLE_OBJ) $(BUILD)/libhone.a
	$(CC) $(CFLAGS) $(LDFLAGS) -static -s -o $@ $^ $(PORTABLE_LIBS)
$(PORTABLE)/lib/libhonebench.a: $(BUILD)/libhonebench.a
	@mkdir -p $(@D) $(PORTABLE)/include/hone
	cp $(BUILD)/libhonebench.a $@
	cp include/hone/bench*.h $(PORTABLE)/include/hone/
portable: $(PORTABLE)/hone $(PORTABLE)/lib/libhonebench.a ## one static program for any x86-64 Linux: build/portable/hone

# One page per command, from the table that its --help comes from.
$(BUILD)/man/hone.1: $(BUILD)/hone
	$(BUILD)/hone man -o $(@D)

PC_EDIT = -e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@PKGS@|$(PKGS)|'
$(BUILD)/hone.pc: tools/hone.pc.in include/hone/base.h
	@mkdir -p $(@D)
	sed $(PC_EDIT) $< > $@
$(BUILD)/man/hone-gpu-bench.1: src/bench/program/hone-gpu-bench.1 include/hone/base.h
	@mkdir -p $(@D)
	sed $(PC_EDIT) $< > $@

$(BUILD)/tests/%: tests/%.c $(BUILD)/libhone.a $(BUILD)/libhonebench.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) -Itests/unit -MMD -MP $(LDFLAGS) $(PROGRAM_LDFLAGS) -o $@ $< $(BUILD)/libhone.a $(BUILD)/libhonebench.a $(PKG_LIBS)

$(BUILD)/tests/fuzz/%_replay: tests/fuzz/%.c tests/fuzz/replay.c $(BUILD)/libhone.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) -MMD -MP $(LDFLAGS) $(PROGRAM_LDFLAGS) -o $@ $< tests/fuzz/replay.c $(BUILD)/libhone.a $(PKG_LIBS)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# The Python package for the tests: build/python holds it, with the extension for PYTHON. Wheels are built by setup.py.
PYTHON   ?= $(if $(wildcard $(BUILD)/venv/bin/python),$(BUILD)/venv/bin/python,python3)
PY_SRC   := $(sort $(wildcard python/src/*.c))
PY_OBJ    = $(PY_SRC:%.c=$(BUILD)/obj/%$(PY_TAG).o)
PY_TAG    = $(eval PY_TAG := $$(shell $(PYTHON) -c "import sysconfig as s; print(s.get_config_var('EXT_SUFFIX'))"))$(PY_TAG)
PY_INC    = $(eval PY_INC := $$(shell $(PYTHON) -c "import sysconfig as s; print(s.get_path('include'))"))$(PY_INC)
python: $(BUILD)/libhone.a ## the Python package, in build/python
	+$(MAKE) -s BUILD=$(BUILD) PYTHON=$(PYTHON) PY_GOAL=1 python-extension
	@find python/hone -name '*.py' -o -name '*.pyi' -o -name py.typed | while read -r f; do \
	  mkdir -p "$(BUILD)/$$(dirname "$$f")"; cmp -s "$$f" "$(BUILD)/$$f" || cp "$$f" "$(BUILD)/$$f"; done
ifdef PY_GOAL
python-extension: $(BUILD)/python/hone/_hone$(PY_TAG)
$(BUILD)/python/hone/_hone$(PY_TAG): $(PY_OBJ) $(BUILD)/libhone.a
	@mkdir -p $(@D)
	$(CC) -shared $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)
$(PY_OBJ): $(BUILD)/obj/%$(PY_TAG).o: %.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -Wpedantic,$(ALL_CFLAGS)) -isystem $(PY_INC) -MMD -MP -c $< -o $@
endif

unit-tests: $(UNIT_BIN) $(FUZZ_REPLAY) $(HELPER_BIN)
objects: $(LIB_OBJ) $(CLI_OBJ) $(BENCH_OBJ)
print-cflags:
	@echo $(ALL_CFLAGS)
print-san:
	@echo '$(SAN)'
	@echo '$(SAN_LINK)'

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 14

deps: ## install what is missing (Debian packages)
	tools/deps.sh

# Without a network the tests that need them are skipped by name.
test-deps: deps
	@BUILD=$(BUILD) tools/venv.sh tests || echo "the Python packages of the tests cannot be had: their tests are skipped" >&2
	@BUILD=$(BUILD) tools/venv.sh python || echo "packages that the package for Python works with cannot be had: their tests are skipped" >&2
	@BUILD=$(BUILD) tools/cuda-tools.sh || echo "NVIDIA's compilers cannot be had from PyPI: tests of GPU targets are skipped" >&2

test-deps-gpu: test-deps ## Triton for its tests (1 GB, which make check does without)
	@BUILD=$(BUILD) tools/venv.sh gpu

demo: deps ## tune a kernel, prove and reduce the gain, compile a model, show both on a page
	+$(MAKE) all
	@BUILD=$(BUILD) tools/venv.sh demo || echo "ONNX Runtime and Magika cannot be had: the demo does without them" >&2
	examples/demo.sh

# What was built with other flags of the sanitizers does not go together with what these build.
SAME_SAN = f='$(SAN) $(SAN_LINK) $(TEST_CFLAGS)'; [ "$$f" = "$$(cat $(BUILD)/asan/flags 2>/dev/null)" ] || \
  { rm -rf $(BUILD)/asan; mkdir -p $(BUILD)/asan; echo "$$f" >$(BUILD)/asan/flags; }

check: test-deps ## all tests, on an ASan + UBSan build
	@$(SAME_SAN)
	+$(MAKE) -j$(JOBS) all python portable
	+$(MAKE) -j$(JOBS) BUILD=$(BUILD)/asan CFLAGS="$(SAN)" PROGRAM_LDFLAGS="$(SAN_LINK)" all unit-tests
	BUILD=$(BUILD) tests/run.sh

check-long: test-deps ## the long suites: kill -9 and disk-full sweeps, long fuzzing, full replays
	@$(SAME_SAN)
	+$(MAKE) -j$(JOBS) all python portable
	@BUILD=$(BUILD) tools/venv.sh wild || echo "packages with trained models cannot be had: their tests are skipped" >&2
	+$(MAKE) -j$(JOBS) BUILD=$(BUILD)/asan CFLAGS="$(SAN)" PROGRAM_LDFLAGS="$(SAN_LINK)" PYTHON=$(PYTHON) all unit-tests python
	BUILD=$(BUILD) tests/run.sh --long

lint: deps ## include rules, formatting, function and file lengths, man pages
	+BUILD=$(BUILD) tools/lint.sh

bench: deps ## every table of docs/figures.md, one after the other (long)
	+$(MAKE) all
	bench/run-all.sh

fuzz: deps ## libFuzzer on every parser; FUZZ_S seconds each (default 60)
	BUILD=$(BUILD) tests/fuzz/run.sh $(or $(FUZZ_S),60)

format: ## rewrite the sources in the house style
	find include src cli python tests examples bench -name '*.[ch]' 2>/dev/null | xargs clang-format -i

install: all ## into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/hone $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/hone $(GPU_PROGRAM) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 include/hone/*.h $(DESTDIR)$(PREFIX)/include/hone/
	install -m 644 $(BUILD)/libhone.a $(BUILD)/libhonebench.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(BUILD)/libhone.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/
	ln -sf libhone.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libhone.so.$(SOVER)
	ln -sf libhone.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libhone.so
	sed $(PC_EDIT) tools/hone.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/hone.pc
	install -m 644 $(BUILD)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/

uninstall: ## what install put there
	rm -rf $(DESTDIR)$(PREFIX)/bin/hone $(DESTDIR)$(PREFIX)/bin/hone-gpu-bench $(DESTDIR)$(PREFIX)/include/hone $(DESTDIR)$(PREFIX)/lib/libhone.* $(DESTDIR)$(PREFIX)/lib/libhonebench.a \
	  $(DESTDIR)$(PREFIX)/lib/pkgconfig/hone.pc $(DESTDIR)$(PREFIX)/share/man/man1/hone*.1

clean: ## remove build/
	rm -rf build
