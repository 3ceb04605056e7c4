// SPDX-License-Identifier: BSD-3-Clause
// Tables: a click on a heading sorts, a field above a longer one filters.
function sortValue(row, column) {
    var cell = row.cells[column];
    var number = cell.getAttribute("data-v");
    return number !== null ? Number(number) : cell.classList.contains("t") ? cell.textContent : null;
}
// What has no value comes last in either direction.
function compareValues(a, b, down) {
    if (a === null || b === null)
        return a === b ? 0 : a === null ? 1 : -1;
    var order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return down ? -order : order;
}
function sortBy(table, column) {
    var heads = table.tHead.rows[0].cells, head = heads[column], body = table.tBodies[0];
    var before = head.getAttribute("aria-sort");
    var down = before ? before === "ascending" : head.classList.contains("n");
    var rows = Array.prototype.map.call(body.rows, function (row) {
        return {row: row, value: sortValue(row, column)};
    });
    rows.sort(function (a, b) { return compareValues(a.value, b.value, down); });
    Array.prototype.forEach.call(heads, function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.forEach(function (entry) { body.appendChild(entry.row); });
}
function addFilter(table) {
    var rows = Array.prototype.slice.call(table.tBodies[0].rows);
    var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
    var name = table.caption ? table.caption.firstChild.textContent : "table";
    var line = element("label", {"class": "filter"}, "Filter ");
    var field = element("input", {type: "search", "aria-label": "Filter: " + name});
    var told = element("span", {role: "status"}, rows.length + " rows");
    field.addEventListener("input", function () {
        var wanted = field.value.toLowerCase(), left = 0;
        rows.forEach(function (row, i) {
            row.hidden = texts[i].indexOf(wanted) < 0;
            left += row.hidden ? 0 : 1;
        });
        told.textContent = left + " of " + rows.length + " rows";
    });
    line.appendChild(field);
    line.appendChild(told);
    table.parentNode.parentNode.insertBefore(line, table.parentNode);
}
// So many rows take a browser long to lay out: only what is in view is.
var LARGE = 1500;
attempt("tables", function () {
    if (document.getElementsByTagName("tr").length > LARGE)
        document.getElementById("main").classList.add("large");
    document.querySelectorAll("table.data").forEach(function (table) {
        if (table.tBodies[0].rows.length < 2)
            return;
        Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, column) {
            var button = element("button", {type: "button", title: "Sort"});
            while (head.firstChild)
                button.appendChild(head.firstChild);
            head.appendChild(button);
            button.addEventListener("click", function () { sortBy(table, column); });
        });
        if (table.tBodies[0].rows.length > 8 && table.dataset.table)
            addFilter(table);
    });
});
