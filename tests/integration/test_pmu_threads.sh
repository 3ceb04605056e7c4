#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What programs with threads must not notice, under the engine pmu: test_target_threads.sh on a stand-in
# of a PMU (tests/support/pmu_stand_in.c).
# Runs beside others.
# Rests on samples: see tests/run.
: "${REUSE_SRCDIR:?}" "${REUSE_BUILDDIR:?}"
seam=$REUSE_BUILDDIR/runtime/.libs/libreuse-seam.so
stand_in=$REUSE_BUILDDIR/tests/support/.libs/libpmustandin.so
PMU_STAND_IN_ARRAY=$(nm "$seam" 2>/dev/null | awk '/self_test_array/ { print $1 }')
if [ ! -e "$stand_in" ] || [ -z "$PMU_STAND_IN_ARRAY" ]; then
    echo "ok 1 - threads under the engine pmu # SKIP no stand-in, or libreuse.so has no symbol table"
    echo "1..1"
    exit 0
fi
REUSE_PMU_SYSFS=$(mktemp -d) || exit 1
trap 'rm -rf "$REUSE_PMU_SYSFS"' EXIT
chmod 755 "$REUSE_PMU_SYSFS"
mkdir "$REUSE_PMU_SYSFS/cpu"
own=$REUSE_PMU_SYSFS/libreuse.so
cp "$seam" "$own"
echo intel 6 143 >"$REUSE_PMU_SYSFS/processor"
echo 4242 >"$REUSE_PMU_SYSFS/cpu/type"
export PMU_STAND_IN_ARRAY REUSE_PMU_SYSFS REUSE_ENGINE=pmu library=$own:$stand_in
"$REUSE_SRCDIR/tests/integration/test_target_threads.sh"
