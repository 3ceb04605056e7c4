#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Heap objects are called by the variables that people assigned them to, or by their place.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
cd "$work" || exit 1

# names PROGRAM SOURCE: makes the profile; $work/names has what the report calls its objects.
names() {
    local library
    library=$(ldd "$1" | awk -v name="$3" '$1 ~ name { print $3 }')
    python3 "$here/report_names.py" "$1" "$2" "$(realpath "$library")" expected >commands || return 1
    "$script" p.rprof <commands || return 1
    run "$report" --format json --objects --top 100 p.rprof
    python3 -c 'import json
for o in sorted(o["name"] for o in json.load(open("out"))["objects"]):
    print(o)' >names
    sort -u expected >expected.unique
    diff expected.unique names >out 2>err
}

for options in "-O0" "-O0 -gdwarf-4" "-O1 -fno-inline -fno-optimize-sibling-calls -fno-ipa-cp"; do
    gcc -g $options -fno-builtin -o "$work/c" "$here/programs/report_names.c" || exit 1
    check "C, gcc $options" names "$work/c" "$here/programs/report_names.c" '^libc.so'
done
if command -v clang >/dev/null; then
    clang -g -O0 -fno-builtin -o "$work/c" "$here/programs/report_names.c" || exit 1
    check "C, clang" names "$work/c" "$here/programs/report_names.c" '^libc.so'
else
    skip "C, clang" "no clang"
fi
for options in "-O2 -fno-optimize-sibling-calls" "-O2 -gdwarf-4" "-O3"; do
    g++ -g $options -fno-builtin -o "$work/cpp" "$here/programs/report_names.cc" || exit 1
    check "C++, g++ $options" names "$work/cpp" "$here/programs/report_names.cc" '^libstdc'
done
if command -v gfortran >/dev/null; then
    for options in "-O0" "-O2" "-O3" "-O2 -gdwarf-4"; do
        gfortran -g $options -J "$work" -o "$work/f" "$here/programs/report_names.f90" || exit 1
        check "Fortran, gfortran $options" names "$work/f" "$here/programs/report_names.f90" '^libc.so'
    done
else
    skip "Fortran" "no gfortran"
fi
finish
