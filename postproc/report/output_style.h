/* SPDX-License-Identifier: BSD-3-Clause */
/* How text is written to where it goes: a terminal's width and colours, all that there is in a
 * file, 80 columns in a pipe. */
#ifndef REUSE_POSTPROC_OUTPUT_STYLE_H
#define REUSE_POSTPROC_OUTPUT_STYLE_H

#include "document/render.h"
#include "report/options.h"

/* A terminal narrower than 80 columns counts as one that has them. COLUMNS stands for the width of
 * terminals and pipes, NO_COLOR and TERM=dumb keep a terminal from colours that --color does not
 * ask for. */
struct text_style output_style(const struct report_options *);

#endif
