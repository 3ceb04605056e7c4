#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# The tests of transparency themselves: libraries that disturb the program must not go unnoticed.
library=$REUSE_BUILDDIR/tests/integration/programs/.libs/misbehaving.so
. "$REUSE_SRCDIR/tests/integration/transparency.bash"

# notices WHAT OPTIONS... -- COMMAND...: `target` must fail with a library that misbehaves so.
notices() {
    local what=$1
    shift
    export MISBEHAVE=$what
    target inner "$@" >"$work/inner"
    unset MISBEHAVE
    tests=$((tests - 1))
    check "noticed: $what" grep -q '^not ok ' "$work/inner"
}

# accepts OPTIONS... -- COMMAND...: and must pass with one that does nothing.
accepts() {
    target inner "$@" >"$work/inner"
    tests=$((tests - 1))
    check "left in peace: $(basename "${*: -1}")" grep -q '^ok ' "$work/inner"
    grep '^#' "$work/inner"
}

plain=("$programs/target_plain")
notices status --profiles 0 -- "${plain[@]}"
notices stdout --profiles 0 -- "${plain[@]}"
notices stderr --profiles 0 -- "${plain[@]}"
notices talks --profiles 0 --messages 1 -- "${plain[@]}"
notices file --profiles 0 -- "${plain[@]}"
notices garbage --profiles 0 -- "${plain[@]}"
notices hang --profiles 0 --seconds 2 -- "${plain[@]}"
notices descriptor --profiles 0 -- "$programs/target_descriptors" list
notices sigtrap-handler --profiles 0 -- "$programs/target_signals" sigtrap
notices sigtrap-handler --profiles 0 -- "$programs/target_signals" default-trap
notices blocked-signal --profiles 0 -- "$programs/target_signals" blocked-trap
notices survives --profiles 0 --seconds 2 -- "$programs/target_signals" segv
notices "no profile" --profiles 1 -- "${plain[@]}"
notices "no closing line" --profiles 0 --loud -- "${plain[@]}"
accepts --profiles 0 -- "${plain[@]}"
accepts --profiles 0 -- "$programs/target_descriptors" list
accepts --profiles 0 -- "$programs/target_signals" sigtrap
accepts --profiles 0 -- "$programs/target_signals" segv
finish
