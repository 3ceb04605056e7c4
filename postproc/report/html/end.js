// SPDX-License-Identifier: BSD-3-Clause
// Tells tests, and readers with a console, that all scripts ran.
document.documentElement.setAttribute("data-ready", charts ? "charts" : "tables");
}());
