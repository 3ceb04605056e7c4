#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# What documents and completes the commands agrees with the commands.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
tools=$REUSE_BUILDDIR/postproc
man=$REUSE_SRCDIR/man
completions=$REUSE_SRCDIR/completions

options_of() { "$1" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'; }
# manual PAGE: its words without markup
manual() { sed -e 's/\\f[A-Z]//g; s/\\-/-/g; s/"//g' "$1"; }
documented() { # PAGE WORD...
    local page=$1 word
    shift
    for word in "$@"; do
        manual "$page" | grep -qE -- "(^|[ ,=(])$word([ =,)]|\$)" || { echo "# $word"; return 1; }
    done
}
mapfile -t run_options < <(options_of "$tools/reuse-run")
mapfile -t doctor_options < <(options_of "$tools/reuse-doctor")
check "reuse-run has options" [ "${#run_options[@]}" -ge 12 ]
check "reuse-run(1) has every option" documented "$man/reuse-run.1" "${run_options[@]}"
check "reuse-doctor(1) has every option" documented "$man/reuse-doctor.1" "${doctor_options[@]}"
mapfile -t variables < <(grep -oE '"REUSE_[A-Z_]+"' "$REUSE_SRCDIR/src/base/options.c" | tr -d '"' | sort -u)
check "the table has variables" [ "${#variables[@]}" -ge 12 ]
check "reuse-run(1) has every variable" documented "$man/reuse-run.1" "${variables[@]}"
check "libreuse(7) has every variable" documented "$man/libreuse.7" "${variables[@]}"
if command -v groff >/dev/null; then
    groff -man -ww -z "$man"/*.[17] 2>"$work/err"
    check "the manual pages are well formed" err_is_empty
else
    skip "the manual pages are well formed" "groff is missing"
fi

# complete COMMAND WORDS...: what the shell would offer for the last word
complete_words() {
    bash --norc -c '
        . "$1/$2" || exit
        COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
        PATH=$0:$PATH
        "_${2//-/_}" "$2"
        printf "%s\n" "${COMPREPLY[@]}"' "$tools" "$completions" "$@" | sort
}
offers() { # EXPECTED COMMAND WORDS...
    [ "$(complete_words "${@:2}" | tr '\n' ' ')" = "$1 " ]
}
check "completion of an option" offers "--regions" reuse-run --regio
check "completion of an engine" offers "simulate" reuse-run -e s
check "completion of a value behind =" offers "exec" reuse-run --follow = ex
check "every option of reuse-run is offered" \
    [ "$(complete_words reuse-run --)" = "$(printf '%s\n' "${run_options[@]}" | sort)" ]
cd "$work" && touch input.dat first.rprof other.txt || exit 1
check "the program's arguments are its own" offers "input.dat" reuse-run --seed 4 ls inp
check "completion of a profile" offers "first.rprof" reuse-report ""
check "completion of a format" offers "json" reuse-doctor --format j
finish
