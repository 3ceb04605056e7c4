#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# A foreign reader needs only docs/profile-format.md and the schema in the file: a Python script
# that knows no more finds what the C reader finds.
set -u
source_directory=${REUSE_SRCDIR:?run by make check}
build_directory=${REUSE_BUILDDIR:?run by make check}
dump=$build_directory/tests/support/profile_dump
script=$source_directory/tests/integration/read_profile_by_schema.py
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

echo 1..4
if ! command -v python3 >/dev/null; then
    for i in 1 2 3 4; do echo "ok $i - foreign reader # SKIP python3 is not installed"; done
    exit 0
fi

# result NUMBER NAME: the status of the last command decides.
result() {
    if [ "$3" -eq 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; fi
}

"$dump" --make "$work/x.rprof" && "$dump" "$work/x.rprof" >"$work/expected"
lines=$(wc -l <"$work/expected")
# Every type of record is there at least once, or the comparison would prove little.
! grep -qE '^[a-z_]+ 0$' "$work/expected" && [ "$lines" -eq 66 ]
result 1 "the profile holds every type of record" $?

python3 "$script" "$work/x.rprof" >"$work/found"
diff "$work/expected" "$work/found" >&2
result 2 "the foreign reader finds the same" $?

# Cut anywhere, both stop at the same record.
size=$(stat -c %s "$work/x.rprof")
same=0
for cut in 1 20 333 $((size / 20)); do
    head -c $((size - cut)) "$work/x.rprof" >"$work/cut.rprof"
    "$dump" "$work/cut.rprof" >"$work/expected"
    python3 "$script" "$work/cut.rprof" >"$work/found"
    diff "$work/expected" "$work/found" >&2 || same=1
done
result 3 "the same of a file that was cut short" $same

# The worked example of the documentation is what it says.
sed -n '/^```hex$/,/^```$/p' "$source_directory/docs/profile-format.md" | grep -E '^[0-9a-f]{4} ' |
    cut -c7-53 | tr -d ' \n' | python3 -c 'import sys
sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' >"$work/example.rprof"
"$dump" "$work/example.rprof" >"$work/found"
[ "$(stat -c %s "$work/example.rprof")" -eq 128 ] && grep -qx 'run 1' "$work/found" &&
    grep -qx 'context 1' "$work/found" && grep -qx 'context.ip 4198710' "$work/found" &&
    grep -qx 'end 1' "$work/found"
result 4 "the example of the documentation" $?
