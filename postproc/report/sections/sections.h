/* SPDX-License-Identifier: BSD-3-Clause */
/* One function per section: puts what it has to say about the model into the document. */
#ifndef REUSE_POSTPROC_SECTIONS_H
#define REUSE_POSTPROC_SECTIONS_H

#include <stdio.h>

#include "document/document.h"
#include "report/job/job_files.h"
#include "report/model/model.h"

/* What to do, most CPU time first. */
void section_findings(struct model *, struct document *, bool shown);

/* shown: in text and CSV. The facts of the run are in every JSON report. */
void section_summary(struct model *, struct document *, bool shown);
/* The ranks of a job side by side; files: NULL or without a job where there is none. */
void section_job(struct model *, const struct job_files *, struct document *);
void section_histogram(struct model *, struct document *);
void section_mrc(struct model *, struct document *);
void section_threads(struct model *, struct document *);
void section_objects(struct model *, struct document *);
/* Members of structures: what is done with them, and a better order. */
void section_structs(struct model *, struct document *);
void section_lines(struct model *, struct document *);
void section_contexts(struct model *, struct document *);
void section_timeline(struct model *, struct document *);
void section_traffic(struct model *, struct document *);
/* Sets model->failure, and adds nothing, when the profile or the machine cannot answer. */
void section_sector_hints(struct model *, struct document *);

/* Data that moves between threads, where, and what to do about false sharing. */
void section_sharing(struct model *, struct document *);

/* Who sends to whom. shown: in text and CSV; the numbers are in every JSON report on sharing. */
void section_matrix(struct model *, struct document *, bool shown);

/* The matrix and nothing else, in the CSV layout of the options. False with one line in message. */
bool write_matrix_alone(struct model *, FILE *, char *message, size_t message_size);

/* Loops to block or fuse, streams, and lines of which little is used. */
void section_blocking(struct model *, struct document *);

/* A place for each thread, what it saves, and how to bind the threads. */
void section_placement(struct model *, struct document *);

/* What the reader must know about everything above: losses of names, notes of the runtime. */
void section_notes(struct model *, struct document *);

/* Where the data of sampled accesses came from, as the hardware says: tables for the summary, the
 * objects and the lines. Nothing without such records. */
void add_served_sources(struct model *, struct document *, struct section *);
void add_served_objects(struct model *, struct document *, struct section *);
void add_served_lines(struct model *, struct document *, struct section *);

/* The summary's facts on bursts, what they foresaw, and watches. */
void add_observed(struct model *, struct document *, struct section *);

#endif
