/* SPDX-License-Identifier: BSD-3-Clause */
/* The page's own style and script: made from the files beside this one when building. */
#ifndef REUSE_POSTPROC_HTML_ASSETS_H
#define REUSE_POSTPROC_HTML_ASSETS_H

extern const char html_page_style[], html_page_script[];

#endif
