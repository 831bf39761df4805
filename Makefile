# The list of commands; `make help` explains each. Everything that takes more than a line is in a script.

PREFIX ?= /usr/local
DESTDIR ?=
TARGET ?=
# Empty, or small: the profile of the library (cmake/features.txt). Each has build folders of its own.
PROFILE ?=
ifneq ($(filter-out small,$(PROFILE)),)
$(error PROFILE is small, or nothing: $(PROFILE))
endif
NATIVE := build/native$(PROFILE:%=-%)
BUILD := build/$(or $(TARGET),native)$(PROFILE:%=-%)
# cmake/targets has a file for each; those that have a triple for Swift are built with a cross compiler.
CROSS := $(notdir $(shell grep -sl '^swift ' cmake/targets/*))
target_says = $(shell sed -n 's/^$1 *//p' cmake/targets/$2)
architecture_of = $(foreach target,$1,$(call target_says,debian,$(target)))
AS_PROFILE = $(if $(PROFILE),-DSWIFTMQTT_SMALL=ON)
CONFIGURE_NATIVE = cmake -S . -B $(NATIVE) -G Ninja --log-level=WARNING $(AS_PROFILE)
CONFIGURE = $(if $(TARGET),cmake -S . -B $(BUILD) -G Ninja --log-level=WARNING --no-warn-unused-cli $(AS_PROFILE) \
    -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/$(TARGET)-linux.cmake,$(CONFIGURE_NATIVE))
# Said if TLS was not turned off, and is not there all the same: cmake/TLS.cmake knows why.
WITHOUT_TLS = sed -n 's/^SWIFTMQTT_WITHOUT_TLS:INTERNAL=\(.\{1,\}\)/Without TLS: \1. docs\/installing.md says what to do./p' $(BUILD)/CMakeCache.txt
# What is installed is what the sources say: what is stale is built first, by whose build it is, so that a `sudo make install`
# leaves nothing of root's there.
AS_OWNER = $(shell [ -O $(BUILD) ] || [ ! -e $(BUILD) ] || stat -c 'setpriv --reuid=%u --regid=%g --clear-groups' $(BUILD))

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

all: ## PROFILE=small: build the libraries, smq, sst and the examples for this machine, into build/native
	@.ci/need build
	@$(CONFIGURE_NATIVE)
	@cmake --build $(NATIVE)
	@echo 'Built in $(NATIVE): libswiftmqtt.so, libswiftmqtt.a$(if $(PROFILE),,, libswiftstomp.so, libswiftstomp.a, tools/smq, tools/sst) and examples/.'
	@$(subst $(BUILD)/,$(NATIVE)/,$(WITHOUT_TLS))
	@echo 'Next: make demo shows it at work, make install installs it, make help lists the other commands.'

check: ## TARGET= PROFILE=: type-check every Swift file in Embedded mode: a minute at most, seconds after a change
	@.ci/need build $(TARGET:%=cross-%)
	@$(CONFIGURE)
	@cmake --build $(BUILD) --target swiftmqtt_check

compat: ## build libmosquitto.so.1, for programs that use libmosquitto, into build/native/compat
	@.ci/need build
	@$(CONFIGURE_NATIVE)
	@cmake --build $(NATIVE) --target mosquitto_compat

compat-stress: compat ## SECONDS=600: not part of test: stress libmosquitto.so.1 with threads, also under the thread sanitizer
	@.ci/need broker test
	@SMQ_STRESS_SECONDS=$(or $(SECONDS),600) python3 -m pytest -rA -p no:cacheprovider Tests/Compat/test_stress.py

demo: ## publish this machine's sensors to a real broker, and show what arrives
	@examples-c/demo

locations: ## show two devices on a map: a private RabbitMQ, examples-c/locations twice, and a page for your browser
	@.ci/need build locations
	@$(MAKE) --no-print-directory all
	@examples-c/locations/run

reference: ## make HTML of include/swiftmqtt.h with Doxygen, into build/reference; a warning is an error
	@.ci/need reference
	@rm -rf build/reference && mkdir -p build
	@VERSION=$(VERSION) doxygen docs/Doxyfile

book: reference ## make HTML of every page of the book, with the reference of include/swiftmqtt.h, into build/book
	@rm -rf build/book
	@docs/html build/book
	@cp -r build/reference build/book/reference

test: ## run every test; the last line is the result
	@.ci/need tests
	@Tests/run

simulate: ## SEEDS=1000000 FIRST=1: not part of test: that many random runs of clients and a server (tests make 100,000)
	@.ci/need build
	@swift run -c release Simulator --driver --runs $(or $(SEEDS),1000000) --seed $(or $(FIRST),1)

bench: ## QUICK=1: compare with other clients and the bare socket (benchmarks/README.md; 25 minutes, QUICK: two)
	@.ci/need build bench
	@$(MAKE) --no-print-directory all
	@benchmarks/bench.py $(if $(QUICK),--quick,&& benchmarks/figures.py --write)

bench-stomp: all ## QUICK=1: not part of test: clients of STOMP beside a bare socket and stomp.py (two minutes)
	@.ci/need bench
	@benchmarks/stomp_bench.py $(if $(QUICK),--quick,--write)

bench-journal: all ## DIR=build: not part of test: messages on the disk, beside a bare file, SQLite and LMDB (a minute)
	@.ci/need bench
	@benchmarks/journal.py $(if $(DIR),--dir $(DIR))

fuzz: ## SECONDS=60 TARGETS="engine url": not part of test: coverage-guided fuzzing with the address sanitizer; docs/testing.md
	@.ci/need build fuzz
	@Tests/Fuzz/run --seconds $(or $(SECONDS),60) $(TARGETS)

mutants: ## not part of test: break the library in each place of Tests/Mutants/mutants.toml; a test has to fail (an hour)
	@.ci/need build broker fuzz test
	@Tests/Mutants/run

coverage: all ## not part of test: measure which lines and regions of the core the tests reach (half an hour)
	@.ci/need broker test python interop
	@Tests/Coverage/run

interop-rabbitmq: ## not part of test: publish to RabbitMQ, which speaks 3.1 and 3.1.1 (installs it; a minute)
	@.ci/need build broker rabbitmq test
	@Tests/run --only build,interop-rabbitmq

cross: cross-build ## TARGET=aarch64|armv7|…: build for a board, and run the tests under qemu-user
	@.ci/need broker test abi wheels
	@stage=instructions-$(TARGET); [ -e Tests/Instructions/$$stage.tsv ] || stage=; \
	    Tests/run --only cross-$(TARGET)$${stage:+,$$stage}

cross-build: ## TARGET=aarch64|armv7|… PROFILE=small: build the library for a board, into build/TARGET
	@$(if $(filter $(TARGET),$(CROSS)),,echo 'TARGET=... is one of: $(CROSS)' >&2; exit 2)
	@.ci/need build cross-$(TARGET)
	@mkdir -p build
	@flock build/$(TARGET).lock sh -c '$(CONFIGURE) && cmake --build $(BUILD)'
	@echo 'Built in $(BUILD): libswiftmqtt.so, libswiftmqtt.a$(if $(PROFILE),,, libswiftstomp.so, libswiftstomp.a, tools/smq, tools/sst) and examples/.'
	@$(WITHOUT_TLS)
	@echo 'Next: make install TARGET=$(TARGET)$(PROFILE:%= PROFILE=%) DESTDIR=... installs it into the root directory of the board.'

dist: ## make a tarball that gcc and make build without Swift: the core as assembly for each target; into build/dist
	@packaging/dist

# What the Swift compiler makes for each target; `make dist` packs it.
assembly: $(addprefix assembly-,native $(CROSS))
assembly-%:
	@.ci/need build $(if $(filter native,$*),,cross-$*)
	@mkdir -p build
	@flock build/$*.lock $(MAKE) --no-print-directory assembly-of TARGET=$(filter-out native,$*)
assembly-of:
	@$(CONFIGURE)
	@cmake --build $(BUILD) --target swiftmqtt_assembly

install: ## PREFIX=/usr/local DESTDIR= TARGET= PROFILE=: install the libraries, the headers, swiftmqtt.pc, smq and sst
	@test -e $(BUILD)/libswiftmqtt.a || $(MAKE) --no-print-directory $(if $(TARGET),cross-build,all)
	@$(AS_OWNER) cmake --build $(BUILD) --target all \
	    $(if $(wildcard $(BUILD)/compat/libmosquitto.so.1),mosquitto_compat) -- --quiet
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(PREFIX)'

uninstall: ## PREFIX=/usr/local DESTDIR=: remove exactly what install installed
	rm -f $(foreach file,lib/libswiftmqtt.so lib/libswiftmqtt.so.1 lib/libswiftmqtt.so.$(VERSION) lib/libswiftmqtt.a \
	    lib/libswiftmqtt-tls.so lib/libswiftmqtt-tls.so.1 lib/libswiftmqtt-tls.so.$(VERSION) \
	    lib/libswiftmqtt-payload.a lib/pkgconfig/swiftmqtt.pc lib/pkgconfig/swiftmqtt-tls.pc lib/pkgconfig/swiftmqtt-payload.pc \
    lib/libswiftstomp.so lib/libswiftstomp.so.1 lib/libswiftstomp.so.$(VERSION) lib/libswiftstomp.a lib/pkgconfig/swiftstomp.pc \
	    lib/swiftmqtt/libmosquitto.so.1 \
	    include/swiftmqtt.h include/swiftmqtt-tls-engine.h include/swiftmqtt-tls.h include/swiftmqtt-payload.h \
    include/swiftstomp.h \
	    $(addprefix lib/cmake/SwiftMQTT/,SwiftMQTTConfig.cmake SwiftMQTTConfigVersion.cmake \
	    $(foreach library,shared static tls payload stomp stomp_static,SwiftMQTT-$(library).cmake SwiftMQTT-$(library)-minsizerel.cmake)) \
	    $(foreach program,smq sst,bin/$(program) share/bash-completion/completions/$(program)) $(addprefix share/man/man1/,$(notdir $(wildcard docs/manual/*.1))) \
	    $(addprefix share/man/man3/,$(notdir $(wildcard docs/manual/man3/*.3 docs/manual/man3-tls/*.3 docs/manual/man3-stomp/*.3))), \
	    '$(DESTDIR)$(PREFIX)/$(file)')
	@rmdir $(foreach folder,lib/cmake/SwiftMQTT lib/swiftmqtt,'$(DESTDIR)$(PREFIX)/$(folder)') 2>/dev/null || true

wheels: ## TARGETS="native armv7 …": make Python wheels that contain the library, into build/wheels
	@.ci/need build wheels
	@for target in $(or $(TARGETS),native $(CROSS)); do case $$target in \
	    native) $(MAKE) --no-print-directory all ;; \
	    *) $(MAKE) --no-print-directory cross-build TARGET=$$target ;; esac || exit; done
	@packaging/wheels $(TARGETS)

deb: ## ARCH="amd64 armhf …": make Debian packages, into build/deb
	@.ci/need build deb \
	    $(foreach target,$(CROSS),$(if $(filter $(or $(ARCH),%),$(call architecture_of,$(target))),cross-$(target)))
	@packaging/deb $(ARCH)

deb-test: ## not part of test: test the Debian packages of every architecture, in a fresh Debian; as root; long
	@.ci/need build deb deb-test test $(CROSS:%=cross-%)
	@Tests/run --only deb-test

size: ## WRITE=1: compare text and data of the libraries of every built target with the budgets in cmake/targets; WRITE renews cmake/sizes.tsv
	@cmake/size $(if $(WRITE),--write)

counts: $(if $(TARGET),cross-build,all) ## TARGET= WRITE=1: count the instructions of each operation and compare; WRITE renews the numbers
	@.ci/need $(if $(TARGET),cross-$(TARGET),test)
	@Tests/Instructions/count $(if $(TARGET),--target $(TARGET)) $(if $(WRITE),--write)

growth: all ## ONLY="handler latest": count the instructions of operations on small tables and large ones: none may grow with its table
	@.ci/need test
	@Tests/Instructions/growth $(if $(ONLY),--only $(ONLY))

states: $(if $(TARGET),cross-build,all) ## TARGET= SIZE=small|usual|large SCENES= WRITE=1: explore every state of libswiftmqtt.a; WRITE renews the numbers
	@.ci/need $(if $(TARGET),cross-$(TARGET),test)
	@Tests/States/run --size $(or $(SIZE),large) $(if $(TARGET),--target $(TARGET)) $(if $(WRITE),--write) $(SCENES)

abi-check: ## TARGET= WRITE=1: compare the exports and the header with the committed lists; WRITE adds to them
	@.ci/need abi
	@cmake/layout $(if $(WRITE),--write)
	@Tests/ABI/check swiftmqtt $(if $(TARGET),--target $(TARGET)) $(if $(WRITE),--write)
	@Tests/ABI/check swiftstomp $(if $(TARGET),--target $(TARGET)) $(if $(WRITE),--write)

manual: all ## write what is made of sources anew: the manual pages of smq, of sst and of the headers, and docs/python-options….md
	@docs/manual/generate $(NATIVE)/tools/smq
	@docs/manual/generate $(NATIVE)/tools/sst
	@docs/manual/generate-3
	@docs/python-options-page >build/python-options.md && mv build/python-options.md docs/python-options.md
	@docs/python-options-page stomp >build/python-options.md && mv build/python-options.md docs/python-options-stomp.md

lint: ## check the format, the syntax and the prose of every file
	@.ci/need lint
	@.ci/lint

format: ## format every Swift and C file
	@.ci/need lint
	@.ci/lint --fix

clean: ## remove what was built
	rm -rf build .build

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.* ## /make \1\t/p' Makefile | expand -t 23

VERSION = $(shell sed -n 's/^#define SMQ_VERSION_[A-Z]* //p' include/swiftmqtt.h | paste -sd.)
