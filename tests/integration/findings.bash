# SPDX-License-Identifier: BSD-3-Clause
# For tests of findings, which have the program's text in $source and its report as JSON in ./out.
# shellcheck disable=SC2034 # for the tests
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
# shellcheck disable=SC2034
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
export LC_ALL=C

# says STATEMENTS: in Python, on the report and its findings; line(MARK): that of the text with "mark: MARK".
says() {
    python3 - "$1" "$source" <<'END'
import json, sys
report = json.load(open("out"))
findings = report["findings"]
def line(mark):
    return next(i for i, text in enumerate(open(sys.argv[2]), 1) if "mark: " + mark in text)
for f in findings:
    print("#", f["pattern"], f["time_share"], f["line"], f["bursts"], f["belief"])
exec(sys.argv[1])
END
}
