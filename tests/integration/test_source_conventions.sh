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
# JSON. Recordings and captures are no text (-I).
grep -vx -e LICENSE -e 'packaging/debian/.*' -e 'packaging/grafana/.*' "$work/files" |
    xargs -d '\n' grep -lsI '' >"$work/sources"
check "there are sources" grep -qx src/base/access.h "$work/sources"

# All are read once: three processes for each file took two minutes. A file says in its first comment
# that it is signal-safe; the header makes what is not fail to compile after it, so no other header may
# follow.
xargs -d '\n' awk '
    function judge() {
        if (!licence) print "licence", name
        if (lines > 900) print "length", name
        if (name ~ /[.]c$/ && signal_safe && last_include != "#include \"signal_safe.h\"") print "safety", name
    }
    FNR == 1 {
        if (name != "") judge()
        name = FILENAME
        licence = signal_safe = 0
        last_include = ""
    }
    { lines = FNR }
    # The first line; of an interpreter or a manual page its own comes before.
    FNR <= 2 && /SPDX-License-Identifier: BSD-3-Clause/ { licence = 1 }
    FNR <= 4 && /^[\/ ]\*.*Signal-safe[. ]/ { signal_safe = 1 }
    /^#include/ { last_include = $0 }
    END { if (name != "") judge() }' <"$work/sources" >"$work/faults"
faults() { sed -n "s/^$1 //p" "$work/faults" >"$work/out"; }

faults licence
check "the first line names the licence" test ! -s "$work/out"
faults length
check "no file is longer than 900 lines" test ! -s "$work/out"
faults safety
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
