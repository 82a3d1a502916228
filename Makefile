# SPDX-License-Identifier: MIT
# ringside: `make help` lists the targets. V=1 shows the commands.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
B := build

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
WARN := -Wall -Wextra -Werror
LAYERS := base model capture symbols probe target transport doctor out cmd
INCLUDES := -Icontract -I$(B)/gen $(LAYERS:%=-Isrc/%)
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(WARN) $(CFLAGS) $(CPPFLAGS) $(INCLUDES) -D_GNU_SOURCE -DRINGSIDE_VERSION='"$(VERSION)"'
SAN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# What the sanitizers insert keeps gcc from seeing how long a string can be.
SAN += $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
LDLIBS := -lbpf -ldw -lelf -ljansson -llzma -lzstd -lz -lm
STATIC_LDLIBS := -lbpf -ldw -lelf -llzma -lzstd -lz -ljansson -lm
# Header dependencies go beside each target, also for programs made in one step.
DEPFLAGS = -MMD -MP -MF $@.d -MT $@

BPF_ARCH := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/;s/ppc64le/powerpc/;s/riscv64/riscv/')
# BPF_PROG() gives every program a ctx parameter, used or not.
BPF_CFLAGS := -target bpf -mcpu=v3 -g -O2 $(WARN) -Wno-unused-parameter -D__TARGET_ARCH_$(BPF_ARCH) -Icontract
# The BPF target does not know where this machine keeps its <asm/...>; the host's clang does.
BPF_SYS_INCLUDES = $(shell $(CLANG) -v -E - </dev/null 2>&1 | \
	sed -n '/search starts here:/,/^End/s|^ \(/.*\)|-idirafter \1|p')

# maps.bpf.c first: bpftool resolves the extern maps of the others against what it has linked already.
BPF_SRC := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJ := $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
SKEL := $(B)/gen/ringside.skel.h
LIB_SRC := $(wildcard $(LAYERS:%=src/%/*.c))
PAGES := $(wildcard src/doctor/pages/*.md)
PAGES_INC := $(B)/gen/rule_pages.inc
UNIT_SRC := $(wildcard tests/unit/test_*.c)
WORKLOAD_SRC := $(wildcard tests/workloads/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/*.c)
BENCH_SRC := $(wildcard tests/bench/workloads/*.c)
MAN_SRC := $(wildcard docs/man/*.1)
SCRIPTS = $(shell grep -rlIE '^\#!/(usr/)?bin/(env +)?(ba|da)?sh' --exclude-dir=$(B) --exclude-dir=.git .)
C_FILES = $(shell find contract bpf src tests \( -name '*.c' -o -name '*.h' \))

UNIT := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
FUZZ := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
WORKLOADS := $(WORKLOAD_SRC:tests/workloads/%.c=$(B)/workloads/%)
WORKLOADS_STATIC := $(WORKLOAD_SRC:tests/workloads/%.c=$(B)/workloads-static/%)
BENCH_PROGRAMS := $(B)/bench/floor $(BENCH_SRC:tests/bench/workloads/%.c=$(B)/bench/%)
# One set of objects per flavour: $(call objects,flavour)
objects = $(LIB_SRC:src/%.c=$(B)/$(1)/%.o)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

MAKEFLAGS += --no-print-directory
.PHONY: all static asan check demo bench bench-full bench-scale unit live soak vmtest vmtest-all kernels trixie lint format install uninstall clean help FORCE
.PHONY: healthy unit-programs fuzz-programs fuzz workloads workloads-static vm-programs demo-programs bench-programs scale-programs everything check-sources clang-warnings
.DELETE_ON_ERROR:

all: $(B)/ringside ## build build/ringside (no root needed)

static: $(B)/ringside-static ## build build/ringside-static, which needs no shared library

asan: $(B)/ringside-asan ## build build/ringside-asan with AddressSanitizer and UBSan

# --- what the build depends on besides files ----------------------------
$(B)/deps: tools/deps
	$(eval MISSING := $(shell CC='$(CC)' tools/deps missing build))
	$(if $(MISSING),$(error missing packages; as root: apt-get install $(MISSING)))
	$(Q)mkdir -p $(@D) && touch $@

# Rewritten only when their contents change: compilers and flags, lists of sources.
write-if-changed = mkdir -p $(@D); new=$@.$$$$; printf '%s\n' $(1) >$$new; \
	if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

$(B)/flags: FORCE
	$(Q)$(call write-if-changed,'$(subst ','\'',$(CC) $(ALL_CFLAGS) $(LDFLAGS))')

$(B)/bpf-flags: FORCE
	$(Q)$(call write-if-changed,'$(subst ','\'',$(CLANG) $(BPF_CFLAGS))')

$(B)/sources: FORCE
	$(Q)$(call write-if-changed,$(BPF_SRC) $(LIB_SRC) $(PAGES))

# --- BPF ------------------------------------------------------------------
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/bpf-flags | $(B)/deps
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) $(BPF_SYS_INCLUDES) $(DEPFLAGS) -c $< -o $@

$(B)/bpf/ringside.linked.o: $(BPF_OBJ) $(B)/sources | $(B)/deps
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $(BPF_OBJ)

$(SKEL): $(B)/bpf/ringside.linked.o
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name ringside_bpf >$@

# --- what `ringside explain` says -------------------------------------------
# A page becomes a row { "ID", "text" }.
$(PAGES_INC): $(PAGES) $(B)/sources
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)for page in $(PAGES); do \
		id=$${page##*/}; printf '{ "%s",\n' "$${id%.md}"; \
		sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' "$$page" || exit 1; echo '},'; \
	done >$@

# --- the program ----------------------------------------------------------
$(B)/plain/%.o: src/%.c $(B)/flags | $(SKEL) $(PAGES_INC)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) -c $< -o $@

$(B)/asan/%.o: src/%.c $(B)/flags | $(SKEL) $(PAGES_INC)
	@mkdir -p $(@D)
	$(call say,CC-SAN,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(SAN) $(DEPFLAGS) -c $< -o $@

# Only for its warnings.
$(B)/clang/%.o: %.c $(B)/flags | $(SKEL) $(PAGES_INC)
	@mkdir -p $(@D)
	$(call say,CLANG,$<)
	$(Q)$(CLANG) $(ALL_CFLAGS) $(DEPFLAGS) -c $< -o $@

$(B)/ringside: $(call objects,plain) $(B)/plain/main.o $(B)/sources
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(filter %.o,$^) -o $@ $(LDLIBS)

$(B)/ringside-static: $(call objects,plain) $(B)/plain/main.o $(B)/sources
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static $(filter %.o,$^) -o $@ $(STATIC_LDLIBS)

$(B)/ringside-asan: $(call objects,asan) $(B)/asan/main.o $(B)/sources
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SAN) $(LDFLAGS) $(filter %.o,$^) -o $@ $(LDLIBS)

# --- test programs ----------------------------------------------------------
$(B)/unit/%: tests/unit/%.c $(call objects,asan) $(B)/sources
	@mkdir -p $(@D)
	$(call say,UNIT,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests/unit -DFIXTURES='"$(abspath $(B)/fixtures)"' $(SAN) $(DEPFLAGS) $< \
		$(filter %.o,$^) -o $@ $(LDFLAGS) $(LDLIBS) -lcmocka

# Only with the layers that read what others wrote: libFuzzer sees where each input leads.
FUZZ_LIB := $(wildcard src/base/*.c src/capture/*.c)
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZ_LIB) $(B)/flags $(B)/sources
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(ALL_CFLAGS) -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined $(DEPFLAGS) \
		$(filter %.c,$^) -o $@ $(LDFLAGS) $(LDLIBS)

$(B)/workloads/%: tests/workloads/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) $< -o $@ $(LDFLAGS) -luring -lpthread

# The virtual machines have no shared libraries.
$(B)/workloads-static/%: tests/workloads/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -static $(DEPFLAGS) $< -o $@ $(LDFLAGS) -luring -lpthread

# What the virtual machines tell about their kernels.
$(B)/vm/tracepoints: tests/vm/tracepoints.c $(call objects,plain) $(B)/sources
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -static $(DEPFLAGS) $< $(filter %.o,$^) -o $@ $(LDFLAGS) $(STATIC_LDLIBS)

# Programs with and without debug information, and a library whose own is elsewhere (found by checksum).
SPOT := $(B)/fixtures/spot
SPOT_LIB := $(B)/fixtures/libspot.so
FIXTURES := $(B)/fixtures/id/libspot.so $(SPOT)-pie $(SPOT)-fixed $(SPOT)-noranges $(SPOT)-zipped $(SPOT)-stripped $(SPOT)-mini
SPOT_FLAGS = -std=gnu11 $(WARN) -D_GNU_SOURCE -O2 -g -fno-lto -Itests/fixtures -Wl,--build-id=none

$(SPOT_LIB): tests/fixtures/spot_library.c tests/fixtures/spot_library.map tests/fixtures/spot.h $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(SPOT_FLAGS) -shared -fPIC -Wl,-soname,$(@F),--version-script=$(<:.c=.map) $< -o $@.full
	$(Q)objcopy --only-keep-debug $@.full $@.debug
	$(Q)objcopy --strip-all --add-gnu-debuglink=$@.debug $@.full $@

# The same with a build-id.
$(B)/fixtures/id/libspot.so: $(SPOT_LIB)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(SPOT_FLAGS) -Wl,--build-id=0x1234567890abcdef -shared -fPIC -Wl,--version-script=tests/fixtures/spot_library.map tests/fixtures/spot_library.c -o $@.full
	$(Q)objcopy --only-keep-debug $@.full $(@D)/34567890abcdef.debug
	$(Q)objcopy --strip-all $@.full $@

$(SPOT)-pie: SPOT_KIND := -fPIE -pie
$(SPOT)-fixed: SPOT_KIND := -fno-pie -no-pie
$(SPOT)-pie $(SPOT)-fixed: tests/fixtures/spot.c $(SPOT_LIB)
	$(call say,CC,$@)
	$(Q)$(CC) $(SPOT_FLAGS) $(SPOT_KIND) $< -o $@ $(SPOT_LIB).full -ldl -Wl,--enable-new-dtags,-rpath,'$$ORIGIN'

$(SPOT)-noranges: $(SPOT)-pie
	$(Q)objcopy --remove-section=.debug_aranges $< $@

$(SPOT)-zipped: $(SPOT)-pie
	$(Q)objcopy --compress-debug-sections=zlib $< $@

# As Fedora does: a packed symbol table and nothing else.
$(SPOT)-mini: $(SPOT)-pie
	$(Q)objcopy --strip-debug $< $@.symbols
	$(Q)xz -f -k $@.symbols
	$(Q)objcopy --strip-all --add-section .gnu_debugdata=$@.symbols.xz $< $@

$(SPOT)-stripped: $(SPOT)-pie
	$(Q)objcopy --strip-all $< $@

# The workload that tells who submits, as distributions and others build programs.
CALLERS := $(B)/workloads/callers
CALLER_KINDS := $(CALLERS)-fixed $(CALLERS)-nodebug $(CALLERS)-stripped $(CALLERS)-frames $(CALLERS)-bare $(CALLERS)-linked
CALLER_FLAGS = -std=gnu11 $(WARN) -D_GNU_SOURCE -O2 -fno-lto -fomit-frame-pointer

$(CALLERS)-fixed: CALLER_KIND := -g -fno-pie -no-pie
$(CALLERS)-nodebug: CALLER_KIND := -g0 -fPIE -pie
$(CALLERS)-stripped: CALLER_KIND := -g0 -fPIE -pie -s
# Neither of the two that follow says what its stack frames look like.
$(CALLERS)-frames: CALLER_KIND := -g -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
$(CALLERS)-bare: CALLER_KIND := -g -fno-asynchronous-unwind-tables -fno-unwind-tables
$(CALLERS)-linked: CALLER_KIND := -g -fPIE -pie -Wl,-Bstatic -luring -Wl,-Bdynamic
$(CALLER_KINDS): tests/workloads/callers.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CALLER_FLAGS) $< $(CALLER_KIND) -o $@ -luring

unit-programs: $(UNIT) $(FIXTURES)
workloads: $(WORKLOADS) $(CALLER_KINDS)
workloads-static: $(WORKLOADS_STATIC)

# --- checks -----------------------------------------------------------------
# What root made under sudo belongs to the user who called it.
GIVE_BACK := [ -z "$$SUDO_UID" ] || [ "$$(id -u)" != 0 ] || chown -Rh "$$SUDO_UID:$$SUDO_GID" $(B)

check: ## install what is missing (as root), build everything, run all tests
	@CC='$(CC)' tools/deps install build check
	@$(MAKE) everything; rc=$$?; $(GIVE_BACK); exit $$rc
	@tests/run unit fuzz live vm; rc=$$?; $(GIVE_BACK); exit $$rc

everything: all static asan unit-programs fuzz-programs workloads vm-programs bench-programs clang-warnings check-sources

unit: unit-programs ## unit tests, without root
	@tests/run unit

fuzz-programs: $(FUZZ)

# What a longer run finds that is new stays in build/fuzz/corpus.
FUZZ_S := 600
fuzz: fuzz-programs ## fuzz the readers of files for ten minutes each, FUZZ_S=SECONDS otherwise
	@for f in $(FUZZ); do \
		mkdir -p $(B)/fuzz/corpus/$${f##*/} && $$f -max_total_time=$(FUZZ_S) -max_len=65536 -print_final_stats=1 \
			-artifact_prefix=$(B)/fuzz/ $(B)/fuzz/corpus/$${f##*/} tests/fuzz/corpus/$${f##*/} || exit; done

live: all static asan workloads bench-programs ## tests on this kernel (root)
	@tests/run live

# A time of its own may be given: make soak SOAK_S=600
SOAK_S := 3600
soak: all workloads ## traffic and ring churn for an hour, SOAK_S=SECONDS otherwise (root)
	@RINGSIDE_SOAK_S=$(SOAK_S) tests/run -v live -k live/soak/

vm-programs: static workloads-static $(B)/vm/tracepoints

vmtest: vm-programs ## boot five Debian kernels, old and new, and observe there
	@tests/run vm

vmtest-all: vm-programs ## the same with every kernel of tests/vm/kernels.txt
	@tests/run vm-all

kernels: vm-programs ## vmtest-all, and docs/kernels.md from what it found
	@tests/vm/run --all
	@tools/gen_kernels

healthy: all bench-programs workloads ## what the doctor says of programs that are well; some have to be installed before (root)
	@tests/healthy/run

trixie: ## build on Debian 13, in a chroot from the mirror that apt uses, and run the unit tests there (root)
	@tools/deps install trixie || true
	@tests/trixie

clang-warnings: $(patsubst %.c,$(B)/clang/%.o,$(LIB_SRC) src/main.c $(WORKLOAD_SRC) $(BENCH_SRC))

check-sources: $(B)/ringside
	$(call say,CHECK,'layers and sizes and scripts and docs')
	$(Q)tools/check_layers
	$(Q)tools/check_sizes
	$(Q)shellcheck $(SCRIPTS)
	$(Q)mandoc -Tlint -W warning $(MAN_SRC)
	$(Q)RINGSIDE=$(B)/ringside tools/check_man
	$(Q)CC='$(CC)' RINGSIDE=$(B)/ringside tools/gen_docs --check
	$(Q)tools/gen_kernels --check

format: ## clang-format everything
	clang-format -i $(C_FILES)

lint: check-sources ## layers, file sizes, scripts, man pages, docs, clang-format
	$(call say,CHECK,'clang-format')
	$(Q)clang-format --dry-run -Werror $(C_FILES)

demo-programs: all $(B)/workloads/demo
scale-programs: all $(B)/bench/scale_load
bench-programs: all $(BENCH_PROGRAMS)

demo: ## install what is missing (as root), observe a small program with ringside
	@CC='$(CC)' tools/deps install build demo
	@$(MAKE) demo-programs; rc=$$?; $(GIVE_BACK); exit $$rc
	@echo '$$ $(B)/ringside stat -- $(B)/workloads/demo'
	@$(B)/ringside stat -- $(B)/workloads/demo

# --- overhead ---------------------------------------------------------------
$(B)/bench/floor.bpf.o: tests/bench/floor.bpf.c $(B)/bpf-flags | $(B)/deps
	@mkdir -p $(@D)
	$(call say,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) $(BPF_SYS_INCLUDES) $(DEPFLAGS) -c $< -o $@

$(B)/bench/floor.skel.h: $(B)/bench/floor.bpf.o
	$(call say,GEN,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name floor_bpf >$@

$(B)/bench/floor: tests/bench/floor.c $(B)/bench/floor.skel.h $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -I$(B)/bench $(DEPFLAGS) $< -o $@ $(LDFLAGS) -lbpf

$(B)/bench/%: tests/bench/workloads/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) $< -o $@ $(LDFLAGS) -luring -lpthread

$(B)/bench/scale_load: tests/bench/scale_load.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEPFLAGS) $< -o $@ $(LDFLAGS) -luring -lpthread

bench-scale: ## what `ringside stat` costs as rings, threads, requests in flight and opcodes grow (root)
	@CC='$(CC)' tools/deps install build bench
	@$(MAKE) scale-programs; rc=$$?; $(GIVE_BACK); exit $$rc
	@tests/bench/scale

# An observer that is missing is a row that says so.
BENCH := quick
bench: ## what it costs to be observed, by ringside and others, in three minutes; BENCH=full takes its time (root)
	@CC='$(CC)' tools/deps install build bench
	@tools/deps install peers || true
	@$(MAKE) bench-programs; rc=$$?; $(GIVE_BACK); exit $$rc
	@tests/bench/run --$(BENCH)

bench-full: ## the same with more and longer rounds (root)
	@$(MAKE) bench BENCH=full

# --- the rest ---------------------------------------------------------------
install: all ## install the program and its man pages (PREFIX, DESTDIR)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(B)/ringside $(DESTDIR)$(BINDIR)/ringside
	install -m 644 $(MAN_SRC) $(DESTDIR)$(MANDIR)/man1

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/ringside $(MAN_SRC:docs/man/%=$(DESTDIR)$(MANDIR)/man1/%)

clean: ## remove build/
	rm -rf $(B)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

-include $(shell find $(B) -name '*.d' 2>/dev/null)
