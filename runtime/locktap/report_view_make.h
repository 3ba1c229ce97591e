/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What views are made with. */
#ifndef LOCKTAP_REPORT_VIEW_MAKE_H
#define LOCKTAP_REPORT_VIEW_MAKE_H

#include "report_view.h"

struct maker {
	struct report_set *set;
	const struct report *report;
	struct view *view; /* the one that is made */
	uint64_t top;
	uint64_t event, whole; /* of stat: this event's sum, if it is not 0 */
	bool failed; /* out of memory */
};

/* Texts that live as long as the set. */
const char *make_text(struct maker *maker, const char *text);
const char *make_time(struct maker *maker, uint64_t ns);
const char *make_percent(struct maker *maker, uint64_t part, uint64_t whole);
const char *make_kind(struct maker *maker, const char *kind, const char *mode);
const char *make_task(struct maker *maker, const char *comm, uint64_t id);
/* A place in the code without its offset; `kind' of the lock. */
const char *make_function(struct maker *maker, const char *kind,
			  const char *code);

void make_columns(struct maker *maker, const struct view_column *columns,
		  size_t count);
/* NULL: out of memory, which the maker knows. */
struct view_line *make_line(struct maker *maker, size_t parent);
/* A line of one cell; returns where it is. */
size_t make_part(struct maker *maker, size_t parent, size_t column,
		 const char *text);
/* A line for each frame, the innermost first; "-": none. */
void make_stack(struct maker *maker, size_t parent, size_t column,
		const char *stack);
/* The same below a line of its own. */
void make_parts(struct maker *maker, size_t parent, size_t column,
		const char *title, const char *stack);

/* The views of chains; returns how many. */
size_t make_chains(struct maker *maker);
void make_orders(struct maker *maker);

#endif
