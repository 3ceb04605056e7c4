// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people, as in the tables.
function digits(value) {
    var size = Math.abs(value);
    return value.toFixed(size >= 99.95 || value === 0 ? 0 : size >= 9.995 ? 1 : 2);
}
function scaled(value, step, units) {
    var i = 0;
    while (Math.abs(value) >= step * 0.9995 && i + 1 < units.length) {
        value /= step;
        i++;
    }
    return (i === 0 ? String(Math.round(value * 100) / 100) : digits(value)) + (units[i] ? " " + units[i] : "");
}
function count(value) { return scaled(value, 1000, ["", "k", "M", "G", "T"]); }
function percent(value) { return (100 * value).toFixed(value < 0.1 ? 2 : 1) + " %"; }
function bytes(value) {
    var units = ["B", "KiB", "MiB", "GiB", "TiB"], i = 0;
    while (value >= 1024 && i + 1 < units.length) {
        value /= 1024;
        i++;
    }
    return (Math.round(value * 10) / 10) + " " + units[i];
}
