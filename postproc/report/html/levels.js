// SPDX-License-Identifier: BSD-3-Clause
// Misses of each level by cause, as bars; where only their ends are known, as one pale bar up to the upper one.
attempt("levels", function () {
    var causes = ["cold", "capacity", "coherence"];
    var rows = (report.misses || []).filter(function (row) { return row.miss_ratio !== null && row.cold !== null; });
    var place = rows.length ? figure("levels") : null;
    if (!place)
        return;
    var width = 860, bar = 26, gap = 14, left = 92, right = 130;
    var height = rows.length * (bar + gap);
    var legend = element("div", {"class": "legend"});
    causes.forEach(function (cause) {
        var name = element("span", {}, cause);
        name.insertBefore(element("i", {"class": cause}), name.firstChild);
        legend.appendChild(name);
    });
    var total = function (row) { return d3.sum(causes, function (cause) { return row[cause]; }); };
    var most = function (row) { return row.beyond ? row.miss_ratio_hi : total(row); };
    var x = d3.scale.linear().domain([0, Math.max(1e-4, d3.max(rows, most))]).range([0, width - left - right]);
    var svg = d3.select(place).append("svg").attr("viewBox", "0 0 " + width + " " + height).attr("role", "img")
        .attr("aria-label", "Misses of each cache level by cause; the table below has the numbers");
    rows.forEach(function (row, i) {
        var from = left, y = i * (bar + gap) + gap / 2;
        svg.append("text").attr({"class": "end", x: left - 12, y: y + bar / 2 + 4}).text("L" + row.level + "  " + bytes(row.bytes));
        if (row.beyond) {
            svg.append("rect").attr({"class": "between", x: from, y: y, width: x(row.miss_ratio_hi), height: bar})
                .append("title").text("farther than was watched");
            svg.append("text").attr({x: from + x(row.miss_ratio_hi) + 8, y: y + bar / 2 + 4})
                .text(percent(row.miss_ratio_lo) + " to " + percent(row.miss_ratio_hi));
            return;
        }
        causes.forEach(function (cause) {
            var w = x(row[cause] || 0);
            svg.append("rect").attr({"class": cause, x: from, y: y, width: w, height: bar})
                .append("title").text(cause + ": " + percent(row[cause] || 0) + " of the accesses");
            from += w;
        });
        svg.append("text").attr({x: from + 8, y: y + bar / 2 + 4}).text(percent(row.miss_ratio));
    });
    place.appendChild(legend);
});
