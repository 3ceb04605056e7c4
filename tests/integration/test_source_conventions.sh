#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# What every source file has to keep to, and what no compiler checks.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
cd "$REUSE_SRCDIR" || exit 1

# Files that people write: those that git knows, or, in a release (which may lie in a checkout), those of
# such names.
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
    git ls-files --cached --others --exclude-standard >"$work/files"
else
    find * -type f ! -path '*build*' ! -path 'autom4te.cache/*' \( -name '*.[ch1-8]' -o -name '*.cc' -o -name '*.def' -o -name '*.am' -o \
        -name '*.sh' -o -name '*.bash' -o -name '*.py' -o -name '*.md' -o -name configure.ac \) >"$work/files"
fi
# Most of Debian's control files admit no comment; packaging/debian/copyright speaks for them. Nor does
# JSON.
grep -vx -e LICENSE -e 'packaging/debian/.*' -e 'packaging/grafana/.*' "$work/files" | while IFS= read -r file; do
    grep -qI '' "$file" 2>/dev/null && echo "$file" # text; recordings are not
done >"$work/sources"
check "there are sources" grep -qx src/base/access.h "$work/sources"

# each TEST: writes the sources for which it fails.
each() {
    while IFS= read -r file; do
        "$1" "$file" || echo "$file"
    done <"$work/sources" >"$work/out"
}

# An interpreter's or a manual page's own first line may come before.
names_licence() { head -n 2 "$1" | grep -q 'SPDX-License-Identifier: BSD-3-Clause'; }
each names_licence
check "the first line names the licence" test ! -s "$work/out"

is_short() { [ "$(wc -l <"$1")" -le 900 ]; }
each is_short
check "no file is longer than 900 lines" test ! -s "$work/out"

# A file says in its first comment that it is signal-safe; the header makes what is not fail to compile
# after it, so no other header may follow.
enforces_safety() {
    [[ $1 == *.c ]] && head -n 4 "$1" | grep -q '^[/ ]\*.*Signal-safe[. ]' || return 0
    [ "$(grep '^#include' "$1" | tail -n 1)" = '#include "signal_safe.h"' ]
}
each enforces_safety
check "signal-safe code includes signal_safe.h last" test ! -s "$work/out"

# A page that is not listed is in no release, and links to it lead nowhere.
for page in docs/*.md; do
    grep -qxF "dist_pages_DATA += $page" Makefile.am || echo "$page"
done >"$work/out"
check "every page of docs/ is released and installed" test ! -s "$work/out"

version=$(sed -n 's/^AC_INIT(\[libreuse\], \[\([0-9.]*\)\].*/\1/p' configure.ac)
IFS=. read -r major minor patch <<<"$version"
check "reuse.h has the version of configure.ac" grep -qx "#define REUSE_VERSION \"$version\"" runtime/reuse.h
check "... and its number" grep -qx "#define REUSE_VERSION_NUMBER $((10000 * major + 100 * minor + patch))" runtime/reuse.h
check "the newest changes are of this version" grep -q "^## $version" <(grep -m 1 '^## ' CHANGELOG.md)
finish
