// SPDX-License-Identifier: BSD-3-Clause
// Source: links open the file that they lead into, and what is open is coloured a piece at a time.
var sourceNames = {
    c: "c", h: "cpp", cc: "cpp", cpp: "cpp", cxx: "cpp", hh: "cpp", hpp: "cpp", hxx: "cpp", inl: "cpp",
    ipp: "cpp", tcc: "cpp", cu: "cpp", cuh: "cpp", f: "fortran", f90: "fortran", f95: "fortran",
    f03: "fortran", f08: "fortran", "for": "fortran", rs: "rust", go: "go", d: "d", py: "python",
    java: "java", kt: "kotlin", swift: "swift", js: "javascript", s: "x86asm", ada: "ada", adb: "ada",
    ads: "ada", hs: "haskell", ml: "ocaml", nim: "nim", cr: "crystal", jl: "julia", pas: "delphi"
};
// The library's markup is taken apart: only text and the names of its classes reach the page.
function copyColoured(from, to) {
    Array.prototype.forEach.call(from.childNodes, function (node) {
        if (node.nodeType === Node.TEXT_NODE) {
            to.appendChild(document.createTextNode(node.nodeValue));
        } else if (node.nodeType === Node.ELEMENT_NODE) {
            var span = document.createElement("span");
            span.className = node.className;
            copyColoured(node, span);
            to.appendChild(span);
        }
    });
}
function colour(file) {
    var path = file.querySelector("summary b").textContent;
    var language = sourceNames[path.slice(path.lastIndexOf(".") + 1).toLowerCase()];
    var pieces = file.querySelectorAll("td.c > code"), next = 0, state;
    if (file.dataset.coloured || typeof hljs === "undefined" || !hljs.getLanguage(language || ""))
        return;
    file.dataset.coloured = "yes";
    function work() {
        var until = performance.now() + 20;
        while (next < pieces.length && performance.now() < until) {
            var piece = pieces[next++], made = document.createDocumentFragment();
            var coloured = hljs.highlight(language, piece.textContent.replace(/\n?$/, "\n"), true, state);
            state = coloured.top;
            copyColoured(new DOMParser().parseFromString("<div>" + coloured.value + "</div>", "text/html").body.firstChild, made);
            piece.replaceChildren(made);
            if (piece.lastChild && piece.lastChild.nodeType === Node.TEXT_NODE)
                piece.lastChild.nodeValue = piece.lastChild.nodeValue.replace(/\n$/, "");
        }
        if (next < pieces.length)
            setTimeout(work, 0);
    }
    setTimeout(work, 0);
}
function openTarget() {
    var id = decodeURIComponent(location.hash.slice(1));
    var target = id ? document.getElementById(id) : null;
    var file = target ? target.closest("details.file") : null;
    if (!file)
        return;
    file.open = true;
    target.scrollIntoView({block: "center"});
}
attempt("source", function () {
    document.querySelectorAll("details.file").forEach(function (file) {
        file.addEventListener("toggle", function () {
            if (file.open)
                colour(file);
        });
        if (file.open)
            colour(file);
    });
    window.addEventListener("hashchange", openTarget);
    openTarget();
});
