#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What libreuse.so exports is found by every program before its own libraries: only what the C library
# (or libseccomp) exports too, which is interposed, and the public interface.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
library=$REUSE_BUILDDIR/runtime/.libs/libreuse.so
plugin=$REUSE_BUILDDIR/exact/.libs/libreuse-exact.so

# The linker lists hidden symbols too when they bound a section; the loader ignores them.
exported() {
    readelf --dyn-syms --wide "$1" |
        awk '$5 ~ /GLOBAL|WEAK|UNIQUE/ && $6 != "HIDDEN" && $7 != "UND" { sub(/@.*/, "", $8); print $8 }' |
        sort -u
}

exported "$library" >"$work/exported"
for path in $(ldd "$library" | awk '$1 ~ /^lib(c|dl|pthread)\.so/ { print $3 }'); do
    exported "$path"
done | sort -u >"$work/system"
{
    cat "$work/system"
    echo seccomp_load
} | sort -u >"$work/interposable"
sed -nE 's/^.*[^a-z_](reuse_[a-z_]+)\(.*$/\1/p' "$REUSE_SRCDIR/runtime/reuse.h" | sort -u >"$work/interface"

check "the C library's names are known" grep -qx malloc "$work/system"
check "the interface is exported" test -z "$(comm -23 "$work/interface" "$work/exported")"
sort -u "$work/interposable" "$work/interface" | comm -13 - "$work/exported" >"$work/out"
check "nothing else is" test ! -s "$work/out"
# kill() is preloaded into QEMU (exact/signals.c says why).
exported "$plugin" | grep -vxE 'qemu_plugin_(install|version)|kill' >"$work/out"
check "the exact engine's plugin exports what QEMU asks for" test ! -s "$work/out"

# What a preloaded library needs is loaded into every target.
ldd "$library" | awk '{ sub(/\.so.*/, "", $1); sub(/.*\//, "", $1); print $1 }' |
    grep -vxE 'linux-vdso|ld-linux.*|lib(c|m|dl|pthread|Zydis|Zycore)' >"$work/out"
if nm -D "$library" | grep -qE '__(asan|ubsan|tsan)_'; then
    skip "the library brings no library but Zydis" "a build with sanitizers"
else
    check "the library brings no library but Zydis" test ! -s "$work/out"
fi
finish
