/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the page. */
#ifndef LOCKTAP_REPORT_PAGE_H
#define LOCKTAP_REPORT_PAGE_H

#include "report_stack.h"
#include "report_view.h"

extern const char page_style[], page_script[];

/* Text that stays text, also in an attribute's quotes. */
void page_text(FILE *out, const char *text);

/* Each of these is false if memory ran out. */

/*
 * The stacks of a report as a flame graph, the outermost function at the bottom;
 * nothing if there are none. `title' is for all, `class' for the colours.
 */
bool page_flame(FILE *out, struct report_set *set, const struct report *report,
		enum stacks_of of, const char *title, const char *class);

/* Who waits for what, or the orders of locks, as locktap graph draws them. */
bool page_graph(FILE *out, const struct report *report);

#endif
