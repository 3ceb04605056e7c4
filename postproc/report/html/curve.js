// SPDX-License-Identifier: BSD-3-Clause
// The miss-ratio curve: its interval as a band, sizes on a log axis, caches as marks. A second
// curve, of an object, lies over it on demand. Beyond what was watched the ends of what is possible are
// known at times: the band has them, and the curve in it is dashed.
// As cell_share_between() has it for tables.
function isTold(p) { return !p.beyond || p.hi - p.lo <= 0.5; }
function isSeen(p) { return !p.beyond; }
function drawCurve(place, points, other, name) {
    var width = 860, height = 360, left = 58, right = 20, top = 26, bottom = 42;
    var known = function (p) { return p.miss_ratio !== null && p.bytes > 0; };
    var shown = points.filter(known), over = (other || []).filter(known);
    var told = shown.filter(isTold), overTold = over.filter(isTold);
    place.selectAll("svg").remove();
    var svg = place.insert("svg", ".readout").attr("viewBox", "0 0 " + width + " " + height).attr("role", "img")
        .attr("aria-label", "Miss ratio by cache size" + (name ? ", " + name + " over the whole program" : ""));
    if (!shown.some(isSeen)) {
        svg.append("text").attr("x", width / 2).attr("y", height / 2).attr("class", "middle").text("No size is known.");
        return;
    }
    var all = told.concat(overTold);
    var most = d3.max(all, function (p) { return p.hi === null ? p.miss_ratio : p.hi; });
    var x = d3.scale.log().base(2).domain(d3.extent(told, function (p) { return p.bytes; })).range([left, width - right]);
    var y = d3.scale.linear().domain([0, Math.max(most, 1e-4)]).nice(5).range([height - bottom, top]);
    var sizes = [];
    for (var size = 1024; size <= x.domain()[1] * 1.01; size *= 4)
        if (size >= x.domain()[0] * 0.99)
            sizes.push(size);
    y.ticks(5).forEach(function (tick) {
        svg.append("line").attr({"class": "grid-line", x1: left, x2: width - right, y1: y(tick), y2: y(tick)});
        svg.append("text").attr({"class": "end", x: left - 8, y: y(tick) + 4}).text(percentTick(tick, y.domain()[1]));
    });
    sizes.forEach(function (tick) {
        svg.append("text").attr({"class": "middle", x: x(tick), y: height - bottom + 18}).text(bytes(tick));
    });
    svg.append("text").attr({"class": "middle", x: (left + width - right) / 2, y: height - 4}).text("cache size");
    svg.append("text").attr({x: 0, y: 12}).text("misses per access");
    marks(svg, x, top, height - bottom);
    curveOf(svg, shown, x, y, "");
    if (over.length > 0)
        curveOf(svg, over, x, y, " other");
    readCurve(svg, told, overTold, x, {left: left, right: width - right, top: top, bottom: height - bottom}, name);
}
function percentTick(value, most) {
    return (100 * value).toFixed(most < 0.005 ? 2 : most < 0.05 ? 1 : 0) + " %";
}
function curveOf(svg, points, x, y, kind) {
    var band = d3.svg.area().defined(isTold).x(function (p) { return x(p.bytes); })
        .y0(function (p) { return y(Math.max(0, p.lo === null ? p.miss_ratio : p.lo)); })
        .y1(function (p) { return y(Math.min(y.domain()[1], p.hi === null ? p.miss_ratio : p.hi)); });
    var line = d3.svg.line().defined(isSeen).x(function (p) { return x(p.bytes); })
        .y(function (p) { return y(p.miss_ratio); });
    svg.append("path").datum(points).attr("class", "band" + kind).attr("d", band);
    svg.append("path").datum(points).attr("class", "curve" + kind).attr("d", line);
    line.defined(isTold);
    if (points.some(function (p) { return isTold(p) && !isSeen(p); }))
        svg.append("path").datum(points).attr("class", "unseen" + kind).attr("d", line);
    if (points.some(function (p) { return p.truth !== undefined && p.truth !== null; })) {
        line.y(function (p) { return y(p.truth); });
        svg.append("path").datum(points).attr("class", "truth").attr("d", line);
    }
}
// Caches of the machine that the report is about, and, dashed, those of the run if that is another.
function marks(svg, x, top, bottom) {
    function mark(cache, run) {
        if (cache.bytes < x.domain()[0] || cache.bytes > x.domain()[1])
            return;
        svg.append("line").attr({"class": "mark" + (run ? " run" : ""), x1: x(cache.bytes), x2: x(cache.bytes),
            y1: top, y2: bottom});
        svg.append("text").attr({"class": run ? "mark-name run" : "middle mark-name", x: x(cache.bytes) + (run ? 4 : 0),
            y: run ? top + 12 : top - 5}).text((run ? "run's L" : "L") + cache.level);
    }
    (machines.run || []).forEach(function (cache) { mark(cache, true); });
    (machines.shown || []).forEach(function (cache) { mark(cache, false); });
}
function readCurve(svg, points, over, x, box, name) {
    var readout = d3.select('[data-chart="curve"] .readout');
    function nearest(list, size) {
        return list.reduce(function (best, p) {
            return Math.abs(Math.log(p.bytes / size)) < Math.abs(Math.log(best.bytes / size)) ? p : best;
        });
    }
    function words(p) {
        if (p.beyond)
            return percent(Math.max(0, p.lo)) + " to " + percent(p.hi) + " (farther than was watched)";
        return percent(p.miss_ratio) + (p.lo !== null && p.hi > p.lo ? " (" + percent(Math.max(0, p.lo)) + " to " + percent(p.hi) + ")" : "");
    }
    svg.append("rect").attr({x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top,
        fill: "transparent"}).on("mousemove", function () {
        var p = nearest(points, x.invert(d3.mouse(this)[0]));
        readout.text(bytes(p.bytes) + ": " + words(p) + " of the accesses miss" +
            (over.length > 0 ? "; of " + name + " " + words(nearest(over, p.bytes)) : ""));
    });
}
function nameOf(kind, one) {
    var name = (one.name || "?") + (kind === "thread" ? " (" + one.tid + ")" : "");
    return name.length > 60 ? name.slice(0, 57) + "…" : name;
}
attempt("curve", function () {
    var place = report.mrc && report.mrc.length ? figure("curve") : null;
    if (!place)
        return;
    var holder = d3.select(place), groups = {object: report.objects || [], thread: report.threads || []};
    var list = element("select", {id: "curve-object"}), row = element("div", {"class": "controls"});
    var label = element("label", {}, "Compare with ");
    list.appendChild(element("option", {value: ""}, "nothing"));
    Object.keys(groups).forEach(function (kind) {
        var group = element("optgroup", {label: kind + "s"});
        groups[kind].forEach(function (one, i) {
            if (one.mrc)
                group.appendChild(element("option", {value: kind + " " + i}, nameOf(kind, one)));
        });
        if (group.firstChild)
            list.appendChild(group);
    });
    list.addEventListener("change", function () {
        var chosen = list.value.split(" "), one = (groups[chosen[0]] || [])[Number(chosen[1])];
        drawCurve(holder, report.mrc, one && one.mrc, one && nameOf(chosen[0], one));
    });
    label.appendChild(list);
    row.appendChild(label);
    place.appendChild(row);
    holder.append("p").attr("class", "readout").attr("aria-live", "polite")
        .text(machines.name ? "Marks: caches of " + machines.name + "; dashed: of the machine of the run." : "");
    drawCurve(holder, report.mrc, null, null);
});
