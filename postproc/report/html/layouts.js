// SPDX-License-Identifier: BSD-3-Clause
// Structures with a ruler of cache lines: which members lie where, and which threads use them.
function layoutsOf(table) {
    var layouts = {};
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        var name = row.cells[0].textContent, number = function (part) {
            var cell = row.querySelector('[data-part="' + part + '"]');
            return cell && cell.hasAttribute("data-v") ? Number(cell.getAttribute("data-v")) : null;
        };
        var layout = layouts["n" + name] = layouts["n" + name] || {name: name, members: {}};
        var member = row.cells[1].textContent, at = "n" + number("offset") + member;
        layout.members[at] = layout.members[at] || {name: member, offset: number("offset"), size: number("size") || 1, transfers: 0, threads: []};
        layout.members[at].transfers += number("transfers") || 0;
        if (number("thread") !== null && layout.members[at].threads.indexOf(number("thread")) < 0)
            layout.members[at].threads.push(number("thread"));
    });
    return Object.keys(layouts).map(function (key) {
        var layout = layouts[key];
        layout.members = Object.keys(layout.members).map(function (at) { return layout.members[at]; });
        layout.members.sort(function (a, b) { return a.offset - b.offset; });
        return layout;
    });
}
function drawLayout(place, layout, line) {
    var members = layout.members, width = 860, bar = 30, row = 17, left = 4;
    var first = Math.floor(members[0].offset / line) * line;
    var end = d3.max(members, function (member) { return member.offset + member.size; });
    var last = Math.min(Math.ceil(end / line) * line, first + 16 * line);
    var shown = members.filter(function (member) { return member.offset < last; }).slice(0, 24);
    var most = d3.max(members, function (member) { return member.transfers; }) || 1;
    var x = d3.scale.linear().domain([first, last]).range([left, width - left]);
    var height = bar + 44 + shown.length * row;
    place.appendChild(element("figcaption", {}, layout.name + ": bytes " + first + " to " + last + ", red lines begin cache lines of " + line + " bytes"));
    var svg = d3.select(place).append("svg").attr("viewBox", "0 0 " + width + " " + height).attr("role", "img")
        .attr("aria-label", "Layout of " + layout.name + "; the table below has the members");
    svg.append("rect").attr({"class": "ruler", x: x(first), y: 18, width: x(last) - x(first), height: bar});
    shown.forEach(function (member, i) {
        var shade = Math.max(3, Math.round(9 * Math.sqrt(member.transfers / most)));
        var middle = (x(member.offset) + x(Math.min(last, member.offset + member.size))) / 2;
        var y = bar + 36 + i * row, after = middle > width * 0.6;
        svg.append("rect").attr({"class": "member q" + shade, x: x(member.offset), y: 18,
            width: Math.max(2, x(Math.min(last, member.offset + member.size)) - x(member.offset)), height: bar});
        svg.append("line").attr({"class": "grid-line", x1: middle, x2: middle, y1: bar + 18, y2: y - 4});
        svg.append("text").attr({"class": "member-name" + (after ? " end" : ""), x: middle + (after ? -5 : 5), y: y})
            .text((member.name.length > 50 ? member.name.slice(0, 47) + "…" : member.name) + "  +" + member.offset +
                ", thread" + (member.threads.length === 1 ? " " : "s ") + member.threads.join(", ") + ", " + count(member.transfers) + " false transfers");
    });
    d3.range(first, last + 1, line).forEach(function (at) {
        svg.append("line").attr({"class": "ruler-line", x1: x(at), x2: x(at), y1: 12, y2: bar + 24});
        if ((last - first) / line <= 12 || at === first)
            svg.append("text").attr({"class": at === last ? "end" : "", x: x(at) + (at === last ? -3 : 3), y: 11}).text("+" + at);
    });
}
attempt("layouts", function () {
    var table = document.getElementById("layout-table"), place = table ? figure("layouts") : null;
    if (!place)
        return;
    layoutsOf(table).slice(0, 8).forEach(function (layout) {
        drawLayout(place, layout, Number(place.dataset.line) || 64);
    });
});
