/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a person is shown of a report: one description for the table and the page. */
#ifndef LOCKTAP_REPORT_VIEW_H
#define LOCKTAP_REPORT_VIEW_H

#include "report_read.h"

enum view_role {
	VIEW_PLAIN,
	VIEW_NAME, /* what the row is about */
	VIEW_KIND, /* and its kind */
	VIEW_MAIN, /* the number that rows are ranked by */
	VIEW_CODE, /* a function; frames stand below it */
	VIEW_MINOR, /* the page has it only where the row is unfolded */
};

struct view_column {
	const char *heading;
	const char *words; /* the heading for the page */
	enum view_role role;
	bool right;
	bool cut; /* where there is no room */
};

#define VIEW_TOP ((size_t)-1)

struct view_line {
	const char **cells; /* NULL: none */
	size_t parent; /* the line that it belongs to, or VIEW_TOP */
	uint64_t weight; /* of top lines, the bar's length */
	const struct report_row *row; /* NULL: a part of another line */
	bool alarm; /* a deadlock, an inversion */
	bool faded; /* known to be harmless */
};

struct view {
	const char *title, *summary;
	const char *none; /* what is said if there are no lines */
	struct view_column *columns;
	struct view_line *lines;
	size_t column_count, line_count, line_room;
	size_t more; /* top lines that are left out */
	uint64_t weight; /* the sum of all */
};

/* At most 3 of a report. */
#define VIEWS 3

/*
 * Makes what is shown of a report; `top': only so many lines, 0: all.
 * False: out of memory. It lives as long as the set.
 */
bool view_make(struct report_set *set, const struct report *report,
	       uint64_t top, struct view *views, size_t *count);

/* The loss line in words. NULL: out of memory. */
const char *view_loss(struct report_set *set, const struct report *report);

/* 1.23ms and the like. */
#define VIEW_TIME 24
const char *view_time(uint64_t ns, char *text);

/* Of a histogram, the first and the last bucket; false: it is empty. */
bool view_buckets(const uint64_t *hist, size_t *first, size_t *last,
		  uint64_t *most);
/* When a bucket begins, in ns; the last of a report's has all longer ones too. */
uint64_t view_bucket_ns(size_t bucket);

#endif
