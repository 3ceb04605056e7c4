// SPDX-License-Identifier: BSD-3-Clause
// Misses by calling context as a flame graph: callers below, as wide as the misses they lead to.
// A click, or Enter, shows one part alone.
function tree(measure) {
    var root = {name: "all", value: 0, children: {}};
    (report.contexts || []).forEach(function (context) {
        var amount = measure(context), node = root;
        if (!(amount > 0))
            return;
        root.value += amount;
        (context.frames || []).slice().reverse().forEach(function (frame) {
            var name = frame["function"] || "?", at = "n" + name;
            node.children[at] = node.children[at] || {name: name, value: 0, children: {}, place: frame.file ? frame.file.replace(/.*\//, "") + ":" + frame.line : ""};
            node = node.children[at];
            node.value += amount;
        });
    });
    return listed(root);
}
// Children as lists, under a name of their own: a layout writes to what it calls children.
function listed(node) {
    var children = Object.keys(node.children).map(function (key) { return listed(node.children[key]); });
    return {name: node.name, place: node.place, amount: node.value, parts: children};
}
function drawFlame(place, root, whole, told) {
    var width = 860, row = 20, depth = 0;
    var readout = place.querySelector(".readout");
    (function measure(node, level) {
        depth = Math.max(depth, level);
        node.parts.forEach(function (child) { measure(child, level + 1); });
    }(root, 1));
    d3.select(place).selectAll("svg").remove();
    var frames = [];
    var partition = d3.layout.partition().sort(function (a, b) { return d3.descending(a.amount, b.amount); })
        .children(function (node) { return node.parts.length ? withOwn(node) : null; })
        .value(function (node) { return node.amount; });
    partition.nodes(root).forEach(function (node) {
        if (!node.own && node.dx > 0.001)
            frames.push(node);
    });
    var height = depth * row;
    var svg = d3.select(place).insert("svg", ".readout").attr("viewBox", "0 0 " + width + " " + height)
        .attr("role", "group").attr("aria-label", "Flame graph; the table below has the contexts");
    frames.forEach(function (node) {
        var x = node.x * width, w = node.dx * width, y = height - (node.depth + 1) * row;
        var own = node.amount - d3.sum(node.parts, function (child) { return child.amount; });
        var shade = Math.max(2, Math.min(9, Math.round(9 * Math.sqrt(Math.max(0, own) / whole.amount))));
        var words = node.name + (node.place ? " (" + node.place + ")" : "") + ": " + percent(node.amount / whole.amount) + told;
        var rect = svg.append("rect").attr({"class": "frame q" + shade, x: x, y: y, width: w, height: row - 1,
            tabindex: 0, role: "button", "aria-label": words});
        var show = function () { readout.textContent = words; };
        var zoom = function () { drawFlame(place, node === root ? whole : node, whole, told); };
        rect.on("mouseenter", show).on("focus", show).on("click", zoom).on("keydown", function () {
            if (d3.event.key === "Enter" || d3.event.key === " ") {
                d3.event.preventDefault();
                zoom();
            }
        }).append("title").text(words);
        if (w > 34)
            svg.append("text").attr({"class": "frame-name" + (shade > 7 ? " hot" : ""), x: x + 5, y: y + 13.5})
                .text(node.name.length * 6.7 < w - 8 ? node.name : node.name.slice(0, Math.max(1, Math.floor((w - 16) / 6.7))) + "…");
    });
}
// A partition adds its children up: the rest of a node that no child has stands as an empty one.
function withOwn(node) {
    var rest = node.amount - d3.sum(node.parts, function (child) { return child.amount; });
    return rest > 1e-9 * node.amount ? node.parts.concat([{own: true, name: "", amount: rest, parts: []}]) : node.parts;
}
attempt("flame", function () {
    var contexts = report.contexts || [];
    if (!contexts.some(function (context) { return context.frames && context.frames.length; }))
        return;
    var levels = (contexts[0].misses || []).map(function (miss, i) {
        return {value: String(i), name: "L" + miss.level + " misses"};
    });
    levels.push({value: "accesses", name: "accesses"});
    function measureOf(chosen) {
        return function (context) {
            var miss = chosen === "accesses" ? null : context.misses[Number(chosen)];
            return miss ? (context.accesses || 0) * (miss.miss_ratio || 0) : context.accesses || 0;
        };
    }
    // The level that has misses and matters most comes first.
    levels = levels.filter(function (level) { return tree(measureOf(level.value)).amount > 0; });
    var place = levels.length ? figure("flame") : null;
    if (!place)
        return;
    function show(chosen) {
        var root = tree(measureOf(chosen));
        drawFlame(place, root, root, chosen === "accesses" ? " of the accesses shown" : " of the L" + contexts[0].misses[Number(chosen)].level + " misses shown");
    }
    switches(place, "Width", levels, show);
    place.appendChild(element("p", {"class": "readout", "aria-live": "polite"}, "A click on a frame shows it alone; the lowest one brings all back."));
    show(levels[0].value);
});
