#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# What libreuse.so exports is found by every program before its own libraries: only what the C library
# exports too, which is interposed, and the public interface.
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
sed -nE 's/^.*[^a-z_](reuse_[a-z_]+)\(.*$/\1/p' "$REUSE_SRCDIR/runtime/reuse.h" | sort -u >"$work/interface"

check "the C library's names are known" grep -qx malloc "$work/system"
check "the interface is exported" test -z "$(comm -23 "$work/interface" "$work/exported")"
sort -u "$work/system" "$work/interface" | comm -13 - "$work/exported" >"$work/out"
check "nothing else is" test ! -s "$work/out"
# kill() is preloaded into QEMU (exact/signals.c says why).
exported "$plugin" | grep -vxE 'qemu_plugin_(install|version)|kill' >"$work/out"
check "the exact engine's plugin exports what QEMU asks for" test ! -s "$work/out"

# What it calls by name, the target can define: nothing but what has no other way.
called() {
    nm -D --undefined-only "$1" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u
}
cat >"$work/allowed" <<'LIST'
_ITM_deregisterTMCloneTable weak, of the compiler's start files
_ITM_registerTMCloneTable weak, likewise
__cxa_finalize weak, likewise
__gmon_start__ weak, likewise
__environ the environment at start-up; the program's own, if it moves it
environ likewise
__errno_location where the thread's errno is: wrappers set it, handlers keep it
__libc_stack_end where the loader found the environment: threads of .preinit_array come before the C library has it
__register_atfork pthread_atfork(): the only way to be told of a fork
_dl_find_object call frame information; without a lock, safe in handlers (glibc 2.35)
dl_iterate_phdr which objects are loaded: at start-up and after dlclose(), never in a handler or malloc()
dlopen which realloc() the program itself is bound to: at start-up
dlsym finds what the wrappers pass on to
getauxval where the kernel's clocks are, at start-up
LIST
awk '{ print $1 }' "$work/allowed" | sort >"$work/allowed.names"
called "$library" | comm -23 - "$work/allowed.names" >"$work/out"
if nm -D "$library" | grep -qE '__(asan|ubsan|tsan)_'; then
    skip "nothing is called that the target can replace" "a build with sanitizers"
else
    check "nothing is called that the target can replace" test ! -s "$work/out"
fi

# A program of another C library inherits LD_PRELOAD: its loader ends it where a function is missing.
strong_of_glibc() {
    nm -D --undefined-only "$REUSE_BUILDDIR/runtime/.libs/$1.so" |
        awk '$1 == "U" && $2 ~ /^(__register_atfork|_dl_find_object|strerrorname_np)@/'
}
for one in libreuse libreuse-try libreuse-place; do
    check "$one: what only glibc has is weak" test -z "$(strong_of_glibc $one)"
done

# What a preloaded library needs is loaded into every target.
ldd "$library" | awk '{ sub(/\.so.*/, "", $1); sub(/.*\//, "", $1); print $1 }' |
    grep -vxE 'linux-vdso|ld-linux.*|lib(c|m|dl|pthread)' >"$work/out"
if nm -D "$library" | grep -qE '__(asan|ubsan|tsan)_'; then
    skip "the library brings no other with it" "a build with sanitizers"
else
    check "the library brings no other with it" test ! -s "$work/out"
fi
# Its entries are words: where it is not aligned, an arm64 linker refuses the library, by chance.
check "the table of guarded loads is aligned" \
    test "$(readelf -SW "$library" | awk '/ reuse_guarded / { print $NF }')" -ge 4
# What these have of the runtime calls nothing that they have not.
for name in place try; do
    run env LD_BIND_NOW=1 LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse-$name.so" true
    check "libreuse-$name.so finds all that it calls" eval '! err_has "undefined symbol"'
done
finish
