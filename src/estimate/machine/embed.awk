# SPDX-License-Identifier: BSD-3-Clause
# Makes the table of built-in machines (machine.h) out of description files, given in order.
function finish() { if (name != "") print "    }," }
BEGIN {
    print "/* SPDX-License-Identifier: BSD-3-Clause */"
    print "/* Made from the descriptions in machines/. */"
    print "#include \"machine/machine.h\"\n"
    print "const struct builtin_machine builtin_machines[] = {"
}
FNR == 1 {
    finish()
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.conf$/, "", name)
    print "    {\"" name "\","
}
{
    gsub(/\\/, "\\\\")
    gsub(/"/, "\\\"")
    print "     \"" $0 "\\n\""
}
END {
    finish()
    print "    {NULL, NULL},\n};"
}
