# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Sourced by ./quickstart and ./check, which run in the root of the source tree: shows each command, and
# stops at the first that fails with the end of its output.

# step NAME COMMAND...: runs a command whose output matters only if it fails.
step() {
    step_name=$1
    shift
    echo "==> $step_name: $*"
    if ! "$@" >"$build/step.log" 2>&1 </dev/null; then
        tail -n 60 "$build/step.log" >&2
        echo "$(basename "$0"): stopped, because this failed: $* (all of its output: $build/step.log)" >&2
        exit 1
    fi
}

# configure_in FOLDER [ARGUMENT]...: out of tree. libtool is a shell script that runs for each object: with
# Debian's small /bin/sh instead of bash a build takes a third less.
configure_in() {
    (cd "$1" && shift && CONFIG_SHELL=/bin/sh ../configure -q "$@")
}

# build FOLDER [OPTION]: installs what is missing (OPTION goes to install-deps), configures and builds out of
# tree.
build() {
    build=$1
    shift
    mkdir -p "$build"
    echo "==> packages: scripts/install-deps${1:+ $1}"
    scripts/install-deps "$@" || exit 1
    [ -x configure ] || step "configure script" ./autogen.sh
    [ -f "$build/Makefile" ] || step configure configure_in "$build"
    step build make -s -C "$build" -j "$(nproc)" all
}
