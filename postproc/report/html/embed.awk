# SPDX-License-Identifier: BSD-3-Clause
# Makes C strings out of the page's style and scripts, given in the order in which they are to stand.
# Comments that begin a line stay in the source.
function finish() { if (name != "") print "    \"\";" }
function begin(wanted) {
    if (name == wanted)
        return
    finish()
    name = wanted
    print "\nconst char " name "[] ="
}
BEGIN {
    print "/* SPDX-License-Identifier: BSD-3-Clause */"
    print "/* Made from page.css and the scripts beside it. */"
    print "#include \"report/html/assets.h\""
}
FNR == 1 { begin(FILENAME ~ /\.css$/ ? "html_page_style" : "html_page_script") }
/^[ \t]*\/\// || /^\/\*.*\*\/$/ || /^[ \t]*$/ { next }
{
    sub(/^ +/, "")
    gsub(/\\/, "&&")
    gsub(/"/, "\\\"")
    print "    \"" $0 "\\n\""
}
END { finish() }
