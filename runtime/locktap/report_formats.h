/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms that reports are written in. */
#ifndef LOCKTAP_REPORT_FORMATS_H
#define LOCKTAP_REPORT_FORMATS_H

#include <json.h>

#include "report_read.h"

/*
 * Each of these is false if memory ran out. `terminal': the table is for one,
 * which is as wide as it is, and has colours.
 */
bool report_put_table(FILE *out, struct report_set *set,
		      const struct report *report, uint64_t top, bool terminal);

/* One document, in the form that the scripts have. */
bool report_put_json(FILE *out, const struct report *report);
/* That of chain and order reports is what graph_read_json() reads. */
struct json_object *report_json(const struct report *report);

bool report_put_folded(FILE *out, struct report_set *set);
bool report_put_pprof(FILE *out, struct report_set *set);
bool report_put_prometheus(FILE *out, struct report_set *set);

struct report_page {
	const char *input; /* the files' names */
	const char *how; /* NULL: not told */
	size_t reports; /* of which it has the sum */
	uint64_t top; /* rows; 0: 30 */
};

bool report_put_html(FILE *out, struct report_set *set,
		     const struct report_page *page);

#endif
