# SPDX-License-Identifier: BSD-3-Clause
"""Looks at pages of reuse-report in a real browser.

usage: html_page.py BROWSER FOLDER CHECK:PAGE[:JSON]...

Writes a line for each thing that was looked at: "ok" or what is wrong, a tab, what it was. CHECK is
numbers (page and JSON agree, nothing is loaded, no error), matrix, switches, bare (no scripts, no
libraries), hostile, or empty.
"""
import json
import math
import os
import subprocess
import sys

from browser import Browser

program, folder, *pages = sys.argv[1:]
browser = Browser(program, folder)


def tell(name, good, why=""):
    print("ok" if good else f"wrong: {why}"[:300].replace("\n", " ").replace("\t", " "), name, sep="\t")


def look(page):
    """Mean brightness (0..255) and number of colours of what is in view."""
    picture = subprocess.run(["pngtopnm"], input=page.screenshot(), stdout=subprocess.PIPE, check=True).stdout
    kind, _size, _most, dots = picture.split(b"\n", 3)
    assert kind == b"P6", kind
    return sum(dots) / len(dots), len(set(zip(dots[::3], dots[1::3], dots[2::3])))


def member(value, key):
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


# Every number of the page that has a name: table, row, key, number.
NUMBERS = """[...document.querySelectorAll("table[data-table]")].flatMap(table => {
    const keys = [...table.tHead.rows[0].cells].map(head => head.dataset.key);
    return [...table.tBodies[0].rows].flatMap((row, i) => [...row.cells].flatMap((cell, k) =>
        keys[k] && cell.dataset.v !== undefined ? [[table.dataset.table, i, keys[k], Number(cell.dataset.v)]] : []));
}).concat([...document.querySelectorAll("dd[data-key][data-v]")].map(fact =>
    ["", 0, fact.dataset.key, Number(fact.dataset.v)]))"""


def differences(holder, shown):
    """What of the page's numbers by key JSON's object does not have, or has otherwise."""
    wrong = []
    for key, number in shown.items():
        told = member(holder, key)
        if isinstance(told, dict):
            told = told["value"]
        if told is None or not math.isclose(told, number, rel_tol=1e-9, abs_tol=1e-12):
            wrong.append((key, number, told))
    return wrong


def compare(report, numbers):
    """Rows of the page of which JSON has none alike; rows that are equal in what they are sorted by may
    stand in another order."""
    rows = {}
    for table, row, key, shown in numbers:
        rows.setdefault((table, row), {})[key] = shown
    wrong = []
    for (table, row), shown in rows.items():
        told = (member(report, table) or []) if table else [report]
        if all(differences(one, shown) for one in told):
            wrong.append((table, row, differences(told[row], shown) if row < len(told) else "no such row"))
    return wrong


def numbers(address, report):
    name = os.path.basename(address)
    page = browser.open(address)
    found = page.evaluate(NUMBERS)
    wrong = compare(report, found)
    tell(f"{name}: the numbers of the page are those of JSON", len(found) > 20 and not wrong,
         f"{len(found)} numbers, {wrong[:3]}")
    lines = [line for line in report.get("lines", []) if line["file"] and line["line"]]
    places = {(line["file"], line["line"]): line for line in reversed(lines)}
    shown = page.evaluate("""[...document.querySelectorAll("details.file")].flatMap(file =>
        [...file.querySelectorAll("tr.noted")].filter(row => row.cells[1].dataset.v !== undefined).map(row =>
            [file.querySelector("summary b").textContent, Number(row.cells[0].textContent), Number(row.cells[1].dataset.v)]))""")
    wrong = [(file, line, share) for file, line, share in shown
             if not math.isclose(places.get((file, line), {}).get("accesses_share", -1), share, rel_tol=1e-9)]
    tell(f"{name}: so are those beside the source", bool(shown) == bool(lines) and not wrong,
         f"{len(shown)} lines, {wrong[:3]}")
    known = any(point["miss_ratio"] is not None and not point["beyond"] for point in report.get("mrc", []))
    curves = page.evaluate("document.querySelectorAll('[data-chart=curve] path.curve').length")
    tell(f"{name}: charts are drawn", page.evaluate("document.documentElement.dataset.ready") == "charts" and
         curves == known, f"{curves} curves, {'some' if known else 'no'} miss ratios are known")
    unseen = known and any(point["beyond"] and point["hi"] - point["lo"] <= 0.5 for point in report.get("mrc", []))
    dashed = page.evaluate("document.querySelectorAll('[data-chart=curve] path.unseen').length")
    tell(f"{name}: what was not watched is dashed", dashed == unseen, f"{dashed} dashed curves")
    light, colours = look(page)
    tell(f"{name}: light, and not blank", light > 180 and colours > 30, f"{light}, {colours} colours")
    page.scheme(True)
    dark, colours = look(page)
    tell(f"{name}: dark, and not blank", dark < 90 and colours > 30, f"{dark}, {colours} colours")
    others = [request for request in page.requests if request != address and not request.startswith("data:")]
    tell(f"{name}: no error, and nothing is loaded", not page.errors and not others, f"{page.errors} {others}")
    page.close()


def matrix(address, report):
    page = browser.open(address)
    total = "Number(document.querySelector('[data-chart=matrix] svg').dataset.total)"
    for kind in "all", "true", "false", "raw", "war", "waw":
        page.evaluate(f"document.querySelector('[data-chart=matrix] [data-choice={kind}]').click()")
        told = sum(map(sum, report["sharing"][kind]))
        tell(f"matrix: {kind}", math.isclose(page.evaluate(total), told, rel_tol=1e-9, abs_tol=1e-9),
             f"{page.evaluate(total)} for {told}")
    column = """[...document.querySelector("table[data-table='sharing.pairs']").tBodies[0].rows].map(row =>
        Number(row.querySelectorAll("[data-v]")[0].dataset.v))"""
    for down in False, True:
        page.evaluate("""document.querySelector("table[data-table='sharing.pairs'] th[data-key=all] button").click()""")
        values = page.evaluate(column)
        first = page.evaluate("""document.querySelector("table[data-table='sharing.pairs'] th[data-key=all]")
            .getAttribute("aria-sort")""") == "descending"
        tell("table: sorted " + ("again" if down else "by a click"),
             len(values) > 1 and values == sorted(values, reverse=first), f"{values}")
    tell("matrix: no error", not page.errors, str(page.errors))
    page.close()


def switches(address, _report):
    page = browser.open(address)
    tell("curve: a second one, of an object", page.evaluate("""(() => {
        const list = document.getElementById("curve-object");
        list.value = "object 0";
        list.dispatchEvent(new Event("change"));
        return document.querySelectorAll("[data-chart=curve] path.curve").length; })()""") == 2, "not drawn")
    tell("curve: or of a thread", page.evaluate("""(() => {
        const list = document.getElementById("curve-object");
        list.value = "thread 0";
        list.dispatchEvent(new Event("change"));
        return document.querySelectorAll("[data-chart=curve] path.curve").length; })()""") == 2, "not drawn")
    flame = "document.querySelectorAll('[data-chart=flame] rect').length"
    before = page.evaluate(flame)
    page.evaluate("""document.querySelectorAll("[data-chart=flame] rect")[1].dispatchEvent(
        new KeyboardEvent("keydown", {key: "Enter"}))""")
    tell("flame graph: a key shows one part alone", 0 < page.evaluate(flame) < before,
         f"{before} frames, then {page.evaluate(flame)}")
    left = page.evaluate("""(() => {
        const field = document.querySelector("label.filter input");
        const table = field.closest("section").querySelector("table.data[data-table]");
        field.value = "no row has this";
        field.dispatchEvent(new Event("input"));
        return [...document.querySelectorAll("label.filter + .scroll tbody tr")].filter(row => row.hidden).length; })()""")
    tell("table: filtered", left > 8, f"{left} rows hidden")
    page.evaluate("document.getElementById('theme').click()")
    tell("a switch for light and dark", look(page)[0] < 90, "still light")
    page.evaluate("""location.hash = document.querySelector("table[data-table=lines] a").getAttribute("href")""")
    tell("a line of the table leads to the source", page.evaluate("""new Promise(done => setTimeout(() => {
        const row = document.querySelector("tr:target");
        done(row !== null && row.closest("details").open); }, 300))"""), "no such row")
    tell("switches: no error", not page.errors, str(page.errors))
    page.close()


def bare(address, _report):
    page = browser.open(address, scripts=False)
    tell("without scripts: tables and source are there, charts are not", page.evaluate("""
        document.querySelectorAll("table.data tbody tr").length > 5 &&
        document.querySelectorAll("tr.noted").length > 0 &&
        [...document.querySelectorAll("figure[data-chart]")].every(place => place.hidden)"""), "not so")
    page.close()
    page = browser.open(address)
    tell("without libraries: no error", not page.errors and
         page.evaluate("document.documentElement.dataset.ready") == "tables", str(page.errors))
    page.close()


def hostile(address, report):
    name = os.path.basename(address)
    page = browser.open(address)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.evaluate("new Promise(done => setTimeout(done, 300))")
    tell(f"{name}: names stay inert", not page.errors and page.evaluate("window.owned === undefined"), str(page.errors))
    tell(f"{name}: and make no elements", page.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
         and page.evaluate("document.scripts.length") == 5, "elements")
    text = page.evaluate("document.documentElement.textContent.replace(document.getElementById('report').textContent, '')")
    tell(f"{name}: they are shown as they are", "</script><script>owned=1</script>" in text, "not found")
    told = page.evaluate("JSON.parse(document.getElementById('report').textContent).objects.map(one => one.name)")
    tell(f"{name}: the data of the charts has them too", told == [one["name"] for one in report["objects"]], str(told)[:200])
    tell(f"{name}: a long name does not widen the page", page.evaluate(
        "document.documentElement.scrollWidth <= window.innerWidth"), "too wide")
    page.close()


def empty(address, _report):
    name = os.path.basename(address)
    page = browser.open(address)
    tell(f"{name}: a page that says that there is nothing", not page.errors and "Too short for a sample" in
         page.evaluate("document.querySelector('.conclusion').textContent"), str(page.errors))
    page.close()


try:
    for argument in pages:
        check, path, *rest = argument.split(":")
        globals()[check]("file://" + path, json.load(open(rest[0])) if rest else None)
        sys.stdout.flush()
finally:
    browser.close()
