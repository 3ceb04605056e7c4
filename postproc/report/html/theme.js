// SPDX-License-Identifier: BSD-3-Clause
// Light or dark: as the system says, until the reader says otherwise.
attempt("theme", function () {
    var root = document.documentElement;
    var button = element("button", {id: "theme", type: "button"});
    function isDark() {
        var said = root.getAttribute("data-theme");
        return said ? said === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    }
    function label() { button.textContent = isDark() ? "Light" : "Dark"; }
    button.addEventListener("click", function () {
        root.setAttribute("data-theme", isDark() ? "light" : "dark");
        label();
    });
    label();
    document.querySelector("header").appendChild(button);
});
