/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a saved report (tsv) can be made into. */
#ifndef LOCKTAP_REPORT_H
#define LOCKTAP_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum report_format {
	REPORT_NOTHING, /* only the page that `html' names */
	REPORT_TABLE,
	REPORT_JSON,
	REPORT_FOLDED, /* stacks for flame graph tools */
	REPORT_PPROF, /* a profile for pprof, gzipped */
	REPORT_PROMETHEUS, /* metrics for a textfile collector */
	REPORT_HTML,
};

/* All 0 but the format is what most callers want. */
struct report_options {
	enum report_format format;
	const char *
		name; /* of the input, for messages and the page; NULL: a pipe */
	const char *
		output; /* a file, written as a whole or not at all; NULL: stdout */
	const char *html; /* a file for the page as well; NULL: none */
	const char *
		how; /* which command made the report, for the page; NULL: not told */
	uint64_t number; /* of several reports this one, from 1; 0: all */
	uint64_t top; /* rows of a table (0: 20) or of the page (0: 30) */
};

/*
 * Reads reports in tsv, as the scripts write them with format=tsv, to the end
 * of `in' and writes them in another format. Of several reports, one for each
 * interval, table and json have each by itself, the others their sum.
 *
 * Returns LOCKTAP_DONE, or LOCKTAP_FAILED after having told what is wrong:
 * nothing is written then.
 */
int report_render(FILE *in, const struct report_options *options);

/* The format of that name; false if there is none. */
bool report_format_named(const char *word, enum report_format *format);
/* "table, json, ..." for messages. */
const char *report_format_names(void);

#endif
