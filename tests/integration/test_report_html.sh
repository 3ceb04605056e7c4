#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# The page for a browser: written, whole, and, where Chromium is installed, looked at in it.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
bench=$REUSE_BUILDDIR/microbench
hostile='</script><script>owned=1</script>"'\''<img src=x onerror=owned=1>&amp;'
export LC_ALL=C.UTF-8
cd "$work" || exit 1

# A program with lines, threads, contexts and objects that are known; its profile comes from a script.
cp "$here/programs/report_program.c" program.c
gcc -g -O1 -o program "$work/program.c" || exit 1
python3 "$here/report_profile.py" "$work/program" >commands || exit 1
"$script" plain.rprof <commands || exit 1

page_has() { grep -qF -- "$2" "$1"; }
page_lacks() { ! grep -qF -- "$2" "$1"; }
is_small() { [ "$(stat -c %s "$1")" -le $((2 << 20)) ]; }
libraries=/usr/share/javascript
have_libraries=yes
for file in d3/d3.min.js highlight.js/highlight.min.js; do
    [ -e $libraries/$file ] || have_libraries=
done

run "$report" --html plain.html plain.rprof
"$report" --format json --top 40 plain.rprof >plain.json
check "--html FILE writes a page, and nothing else" test "$status" -eq 0 -a ! -s out -a -s plain.html
[ -z "$have_libraries" ] || check "it complains of nothing" err_is_empty
check "it has at most 2 MB" is_small plain.html
run "$report" --format html -o again.html plain.rprof
unnonced() { sed -E 's/nonce(-|=")[0-9a-f]{32}/nonce/g' "$1"; }
check "--format html -o FILE is the same but for its nonce" \
    test "$(unnonced plain.html | md5sum)" = "$(unnonced again.html | md5sum)" -a \
    "$(md5sum <plain.html)" != "$(md5sum <again.html)"
check "a policy forbids every load" page_has plain.html "default-src 'none'; script-src 'nonce-"
check "the source is in it" page_has plain.html 'double *matrix = malloc('
if [ -n "$have_libraries" ]; then
    check "so are the licences of what it embeds" page_has plain.html 'Copyright (C) 2013 Michael Bostock'
else
    skip "so are the licences of what it embeds" "libjs-d3 or libjs-highlight.js is not installed"
fi

run "$report" --html nosource.html --no-source plain.rprof
check "--no-source leaves the text out, and says so" page_lacks nosource.html 'double *matrix = malloc('
check "--no-source: lines keep their figures" page_has nosource.html 'class="noted"'
check "--no-source: it says so" page_has nosource.html 'The text is left out (--no-source).'
run "$report" --no-source plain.rprof
check "--no-source is for pages" fails_with 2 '--no-source is for --format html'
run env REUSE_JAVASCRIPT=/nonexistent "$report" --html bare.html plain.rprof
check "no libraries: one line that says so" test "$status" -eq 0 -a "$(wc -l <err)" -eq 1
check "no libraries: it names the packages" err_has 'only tables: libjs-d3 and libjs-highlight.js not installed'
run "$report" --html /nonexistent/p.html plain.rprof
check "a page that cannot be written" fails_with 1 'cannot write /nonexistent/p.html'

touch -d '+1 day' program.c
run "$report" --html newer.html plain.rprof
check "sources newer than the program: the file says so" page_has newer.html 'was changed after the program was built'
mv program.c elsewhere.c
run "$report" --html gone.html plain.rprof
check "no sources at hand: the file says so" page_has gone.html 'The source is not at hand: '
check "no sources at hand: lines keep their figures" page_has gone.html 'class="noted"'
cp -p elsewhere.c program.c
printf 'defaults\nfinish\n' | "$script" empty.rprof
run "$report" --html empty.html empty.rprof
check "an empty profile makes a page" test "$status" -eq 0 -a -s empty.html

# Only what is named like source text gets into a page, whatever debug information says.
mkdir secret
sed 's/^static double weights.*/&\nint in_secret_file;/' elsewhere.c >secret/key
printf '# 1 "%s"\n' "$work/secret/key" | cat - secret/key >forged.c
gcc -g -O1 -o program forged.c && python3 "$here/report_profile.py" "$work/program" | "$script" forged.rprof
run "$report" --html forged.html forged.rprof
check "a file that is not named like source stays out" page_lacks forged.html in_secret_file
check "and the page says so" page_has forged.html 'the file is not named like source code'

# Names and sources that would like to be markup. Symbols without debug information, then sources.
hostile_commands() { # LONG_NAME
    sed "s|^run command .*|run command $hostile|; s|^thread 1001 first|thread 1001 $hostile|" |
        sed "s|^site 4 1\$|site 4 1 $1|; s|^note 1 .*|note 1 $hostile|"
}
# sed would take & for the match, and | for the end.
hostile=${hostile//&/\\&}
gcc -O1 -o program elsewhere.c && python3 "$here/report_profile.py" "$work/program" |
    hostile_commands "$hostile$(printf 'n%.0s' {1..10000})" | "$script" symbols.rprof
hostile=${hostile//\\&/&}
objcopy --redefine-sym "dot=$hostile" program renamed && mv renamed program
run "$report" --html symbols.html symbols.rprof
check "symbols and objects of any name" test "$status" -eq 0 -a -s symbols.html
check "no line of source is known: the page says so" page_has symbols.html 'Compile with -g to see your source'
"$report" --format json --top 40 symbols.rprof >symbols.json
mkdir 'o"dd <b>'
sed "s|/\* mark: dot \*/|/* </script><script>owned=1</script> */|" elsewhere.c >'o"dd <b>/so'\''urce.c'
printf '// not UTF-8 \377 \342\200\256\n' >>'o"dd <b>/so'\''urce.c'
gcc -w -g -O1 -o program "$work/"'o"dd <b>/so'\''urce.c' && python3 "$here/report_profile.py" "$work/program" |
    "$script" sources.rprof
run "$report" --html sources.html sources.rprof
check "sources of any content" page_has sources.html '&lt;/script&gt;&lt;script&gt;owned=1'
"$report" --format json --top 40 sources.rprof >sources.json

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ] || [ -z "$have_libraries" ] || ! command -v pngtopnm >/dev/null; then
    skip "the pages in a browser" "chromium, netpbm, libjs-d3 or libjs-highlight.js is not installed"
    finish
    exit 0
fi

# Pages of runs as they come: one thread, two that fight over a line, a program of the system, and an
# exact one. How much they saw does not matter here.
run_and_report() { # NAME COMMAND...
    local name=$1
    shift
    "$REUSE_BUILDDIR/postproc/reuse-run" -q -o "$name.rprof" "$@" >/dev/null 2>err </dev/null
    run "$report" --html "$name.html" "$name.rprof"
    check "$name: a page of a real run" test "$status" -eq 0 -a -s "$name.html"
    "$report" --format json --top 40 "$name.rprof" >"$name.json"
}
run_and_report sweep "$bench/sweep" --seconds 1
run_and_report contention "$bench/contention" --pattern reduction --threads 2 --seconds 1
run_and_report handover "$bench/handover" --pattern producer-consumer --threads 3 --own-words --seconds 1
pages=("numbers:$work/sweep.html:sweep.json" "numbers:$work/contention.html:contention.json"
    "numbers:$work/handover.html:handover.json")
if command -v qemu-x86_64 >/dev/null && [ "$(uname -m)" = x86_64 ]; then
    run_and_report exact -e exact "$bench/handover" --pattern producer-consumer --threads 3 --own-words --iterations 200
    pages+=("numbers:$work/exact.html:exact.json" "matrix:$work/exact.html:exact.json")
else
    skip "exact: a page of a real run" "qemu-x86_64 is not installed"
fi
python3 "$here/html_page.py" "$browser" "$work" "numbers:$work/plain.html:plain.json" "${pages[@]}" \
    "switches:$work/plain.html" "bare:$work/bare.html" \
    "hostile:$work/symbols.html:symbols.json" "hostile:$work/sources.html:sources.json" \
    "empty:$work/empty.html" >verdicts 2>err
check "the browser ran to the end" test $? -eq 0
while IFS=$'\t' read -r verdict name; do
    echo "$verdict" >out
    check "$name" test "$verdict" = ok
done <verdicts
finish
