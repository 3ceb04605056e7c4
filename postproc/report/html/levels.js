// SPDX-License-Identifier: BSD-3-Clause
// Misses of each level by cause, as bars up to the estimate, and a pale one over its interval. Where only the
// two ends are known, the bar ends at the lower one.
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
    var range = element("span", {}, "interval");
    range.insertBefore(element("i", {"class": "between"}), range.firstChild);
    legend.appendChild(range);
    var total = function (row) { return d3.sum(causes, function (cause) { return row[cause]; }); };
    var most = function (row) { return Math.max(row.miss_ratio_hi || 0, row.beyond ? 0 : total(row)); };
    var x = d3.scale.linear().domain([0, Math.max(1e-4, d3.max(rows, most))]).range([0, width - left - right]);
    var svg = d3.select(place).append("svg").attr("viewBox", "0 0 " + width + " " + height).attr("role", "img")
        .attr("aria-label", "Misses of each cache level by cause; the table below has the numbers");
    rows.forEach(function (row, i) {
        var from = left, y = i * (bar + gap) + gap / 2;
        svg.append("text").attr({"class": "end", x: left - 12, y: y + bar / 2 + 4}).text("L" + row.level + "  " + bytes(row.bytes));
        var low = row.miss_ratio_lo || 0, high = row.miss_ratio_hi || 0;
        var solid = row.beyond ? low : total(row), ends = percent(low) + " to " + percent(high);
        if (row.beyond)
            svg.append("rect").attr({"class": "least", x: from, y: y, width: x(low), height: bar})
                .append("title").text("at least " + percent(low) + " of the accesses");
        else
            causes.forEach(function (cause) {
                var w = x(row[cause] || 0);
                svg.append("rect").attr({"class": cause, x: from, y: y, width: w, height: bar})
                    .append("title").text(cause + ": " + percent(row[cause] || 0) + " of the accesses");
                from += w;
            });
        svg.append("rect").attr({"class": "between", x: left + x(solid), y: y, width: Math.max(0, x(high) - x(solid)), height: bar})
            .append("title").text(row.beyond ? "up to here: farther than was watched" : ends);
        if (high > low)
            svg.append("rect").attr({"class": "ends", x: left + x(low), y: y + bar / 2 - 1, width: x(high) - x(low), height: 2})
                .append("title").text(ends);
        svg.append("text").attr({x: left + x(most(row)) + 8, y: y + bar / 2 + 4}).text(row.beyond ? ends : percent(row.miss_ratio));
    });
    place.appendChild(legend);
});
