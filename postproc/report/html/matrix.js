// SPDX-License-Identifier: BSD-3-Clause
// Who sends to whom, as a heat map; switches choose the kind of transfer and the order of threads.
attempt("matrix", function () {
    var sharing = report.sharing || {}, kinds = ["all", "true", "false", "raw", "war", "waw"];
    var threads = sharing.threads || [], placed = placedOrder(threads);
    if (!sharing.all || threads.length < 2)
        return;
    var place = figure("matrix"), kind = "all", order = threads.map(function (_, i) { return i; });
    if (!place)
        return;
    var draw = function () { drawMatrix(place, sharing[kind], threads, order, kind); };
    switches(place, "Transfers", kinds.map(function (name) {
        return {value: name, name: name.length === 3 && name !== "all" ? name.toUpperCase() : name};
    }), function (chosen) {
        kind = chosen;
        draw();
    });
    if (placed)
        switches(place, "Order", [{value: "threads", name: "threads"}, {value: "placement", name: "recommended placement"}], function (chosen) {
            order = chosen === "placement" ? placed : threads.map(function (_, i) { return i; });
            draw();
        });
    place.appendChild(element("p", {"class": "readout", "aria-live": "polite"}));
    draw();
});
// The threads' numbers in order of the places that the report recommends; null: it has none.
function placedOrder(threads) {
    var mapping = report.placement && report.placement.mapping;
    if (!Array.isArray(mapping) || mapping.length === 0)
        return null;
    var order = [];
    mapping.slice().sort(function (a, b) { return a.cpu - b.cpu; }).forEach(function (row) {
        var i = row.thread;
        if (i >= 0 && i < threads.length && order.indexOf(i) < 0)
            order.push(i);
    });
    threads.forEach(function (_, i) {
        if (order.indexOf(i) < 0)
            order.push(i);
    });
    return order;
}
function drawMatrix(place, values, threads, order, kind) {
    var n = threads.length, left = 60, top = 26, side = Math.max(6, Math.min(46, 640 / n));
    var width = left + n * side + 4, height = top + n * side + 4;
    var most = d3.max(values, function (row) { return d3.max(row); }) || 0;
    var readout = place.querySelector(".readout");
    d3.select(place).selectAll("svg").remove();
    var svg = d3.select(place).insert("svg", ".readout").attr("viewBox", "0 0 " + width + " " + height).attr("role", "img")
        .attr("data-kind", kind).attr("data-total", d3.sum(values, function (row) { return d3.sum(row); }))
        .attr("style", null).attr("width", width)
        .attr("aria-label", "Transfers between threads, " + kind + "; the table below has the pairs");
    svg.node().style.maxWidth = width + "px";
    svg.append("text").attr({x: 0, y: 12}).text("from \\ to");
    order.forEach(function (from, i) {
        if (side >= 14) {
            svg.append("text").attr({"class": "end", x: left - 8, y: top + (i + 0.5) * side + 4}).text(from);
            svg.append("text").attr({"class": "middle", x: left + (i + 0.5) * side, y: top - 8}).text(from);
        }
        order.forEach(function (to, k) {
            var value = values[from][to];
            var shade = value > 0 && most > 0 ? Math.max(1, Math.round(9 * Math.sqrt(value / most))) : 0;
            var words = "thread " + from + " (" + threads[from] + ") to " + to + " (" + threads[to] + "): " + count(value) + " transfers";
            svg.append("rect").attr({"class": "cell q" + shade, x: left + k * side, y: top + i * side, width: side,
                height: side, "data-v": value}).on("mouseenter", function () { readout.textContent = words; })
                .append("title").text(words);
            if (side >= 38 && value > 0)
                svg.append("text").attr({"class": "middle in-cell" + (shade > 7 ? " hot" : ""), x: left + (k + 0.5) * side,
                    y: top + (i + 0.5) * side + 4}).text(count(value));
        });
    });
}
