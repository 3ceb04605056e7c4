// SPDX-License-Identifier: BSD-3-Clause
// The page is whole without any of this: scripts add sorting, charts and coloured source to it.
(function () {
"use strict";
function dataOf(id) {
    var element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : {};
}
var report = dataOf("report");
var machines = dataOf("machines");
var charts = typeof d3 !== "undefined";
// One defect in a chart is not to take the others with it.
function attempt(name, draw) {
    try {
        draw();
    } catch (error) {
        console.error(name + ": " + error);
    }
}
function element(name, attributes, text) {
    var made = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined)
        made.textContent = text;
    return made;
}
// The place of a chart, shown; null where the page has none, or where charts cannot be drawn.
function figure(name) {
    var place = charts ? document.querySelector('[data-chart="' + name + '"]') : null;
    if (place)
        place.hidden = false;
    return place;
}
// A row of switches of which one is on; choose(value) is called at the start and at each change.
function switches(place, label, choices, choose) {
    var row = element("div", {"class": "controls", role: "group", "aria-label": label});
    row.appendChild(element("span", {}, label));
    choices.forEach(function (choice, i) {
        var button = element("button", {type: "button", "aria-pressed": i === 0, "data-choice": choice.value}, choice.name);
        button.addEventListener("click", function () {
            row.querySelectorAll("button").forEach(function (other) {
                other.setAttribute("aria-pressed", other === button);
            });
            choose(choice.value);
        });
        row.appendChild(button);
    });
    place.appendChild(row);
    return row;
}
