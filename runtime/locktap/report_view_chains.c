// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports of chains and orders as they are shown. */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#include "report_view.h"
#include "report_view_make.h"

/* ------------------------------------------------------------------------ */
/* Chains                                                                    */

static const struct view_column chain_columns[] = {
	{ "TOTAL", "waited", VIEW_MAIN, true, false },
	{ "WAITS", "waits", VIEW_PLAIN, true, false },
	{ "LONGEST", "longest", VIEW_PLAIN, true, false },
	{ "CHAIN", "chain", VIEW_NAME, false, false },
	{ "LOCK", "waits for", VIEW_PLAIN, false, true },
	{ "KIND", "kind", VIEW_KIND, false, false },
	{ "CALLER", "in", VIEW_CODE, false, true },
};

enum { CHAIN_NAME = 3, CHAIN_LOCK, CHAIN_KIND, CHAIN_CALLER };

static const struct {
	const char *what, *title, *one, *many, *none;
	bool alarm;
} chain_parts[] = {
	{ "chain", "Chains of waits", "shape of chain", "shapes of chains",
	  "no thread waited", false },
	{ "now", "Waits at the end of the report", "chain of waits",
	  "chains of waits", "no thread waits now", false },
	{ "deadlock", "Deadlocks", "deadlock", "deadlocks",
	  "no deadlock was seen", true },
};

static bool is_what(const struct report *report, const struct report_row *row,
		    const char *what)
{
	return strcmp(report_text(report, row, "what"), what) == 0;
}

static void make_link(struct maker *maker, const struct report_row *row,
		      size_t parent, bool alarm)
{
	const struct report *report = maker->report;
	struct view_line *line = make_line(maker, parent);
	const char *kind = report_text(report, row, "kind");

	if (!line)
		return;
	line->row = row;
	line->alarm = alarm;
	line->cells[CHAIN_NAME] = make_task(maker,
					    report_text(report, row, "comm"),
					    report_number(report, row, "tid"));
	line->cells[CHAIN_LOCK] = report_text(report, row, "name");
	line->cells[CHAIN_KIND] =
		make_kind(maker, kind, report_text(report, row, "mode"));
	line->cells[CHAIN_CALLER] =
		make_function(maker, kind, report_text(report, row, "caller"));
	if (parent != VIEW_TOP)
		return;
	line->weight = report_number(report, row, "wait_ns");
	line->cells[0] = make_time(maker, line->weight);
	line->cells[1] = make_text(
		maker, report_print(maker->set, "%" PRIu64,
				    report_number(report, row, "count")));
	line->cells[2] = make_time(maker, report_number(report, row, "max_ns"));
}

/* Who holds the last lock of a chain, whose links are `first' to `last'. */
static void make_holder(struct maker *maker, size_t first, size_t last,
			size_t parent, bool alarm)
{
	const struct report *report = maker->report;
	const struct report_row *row = &report->rows[last];
	const char *text = "? (the lock does not tell its holder)";
	struct view_line *line;

	if (report_has(report, row, "owner_comm"))
		text = make_text(
			maker,
			report_print(
				maker->set, "%s%s, %s",
				report_number(report, row, "proven") ?
					"" :
					"perhaps ",
				make_task(maker,
					  report_text(report, row, "owner_comm"),
					  report_number(report, row, "owner")),
				report_text(report, row, "owner_state")));
	for (size_t i = first; i <= last; i++)
		if (report_number(report, row, "owner") &&
		    report_number(report, &report->rows[i], "tid") ==
			    report_number(report, row, "owner")) {
			text = make_text(
				maker,
				report_print(
					maker->set, "%s: a deadlock",
					make_task(maker,
						  report_text(report, row,
							      "owner_comm"),
						  report_number(report, row,
								"owner"))));
			alarm = true;
		}
	line = make_line(maker, parent);
	if (!line)
		return;
	line->cells[CHAIN_NAME] = text;
	line->alarm = alarm;
}

/* The links of the chain that begins with this row; returns the row behind it. */
static size_t make_chain(struct maker *maker, size_t first, bool alarm)
{
	const struct report *report = maker->report;
	uint64_t chain = report_number(report, &report->rows[first], "chain");
	size_t parent = VIEW_TOP, row = first;

	for (; row < report->row_count && !maker->failed; row++) {
		if (report_number(report, &report->rows[row], "chain") != chain)
			break;
		make_link(maker, &report->rows[row], parent, alarm);
		parent = maker->view->line_count - 1;
		make_parts(maker, parent, CHAIN_NAME, "with the stack",
			   report_text(report, &report->rows[row], "stack"));
	}
	if (!maker->failed)
		make_holder(maker, first, row - 1, parent, alarm);
	return row;
}

static void make_chain_view(struct maker *maker, size_t part)
{
	const struct report *report = maker->report;
	struct view *view = maker->view;
	size_t chains = 0;

	view->title = chain_parts[part].title;
	view->none = chain_parts[part].none;
	make_columns(maker, chain_columns,
		     sizeof(chain_columns) / sizeof(*chain_columns));
	for (size_t row = 0; row < report->row_count && !maker->failed;) {
		const struct report_row *at = &report->rows[row];
		bool is_first = !report_number(report, at, "depth");

		if (!is_what(report, at, chain_parts[part].what)) {
			row++;
			continue;
		}
		if (is_first) {
			chains++;
			view->weight += report_number(report, at, "wait_ns");
		}
		if (!is_first || (maker->top && chains > maker->top)) {
			view->more += is_first;
			row++;
			continue;
		}
		row = make_chain(maker, row, chain_parts[part].alarm);
	}
	view->summary = make_text(
		maker, report_print(maker->set, "%zu %s, %s of waits", chains,
				    chains == 1 ? chain_parts[part].one :
						  chain_parts[part].many,
				    make_time(maker, view->weight)));
}

size_t make_chains(struct maker *maker)
{
	size_t count = 0;

	for (size_t i = 0; i < VIEWS && !maker->failed; i++, count++) {
		make_chain_view(maker, i);
		maker->view++;
	}
	return count;
}

/* ------------------------------------------------------------------------ */
/* Orders                                                                    */

static const struct view_column order_columns[] = {
	{ "ORDER", "order", VIEW_NAME, false, false },
	{ "COUNT", "times", VIEW_MAIN, true, false },
	{ "TASK", "task", VIEW_PLAIN, false, false },
	{ "CALLER", "in", VIEW_CODE, false, true },
};

enum { ORDER_NAME, ORDER_COUNT, ORDER_TASK, ORDER_CALLER };

static bool is_harmless(const struct report *report,
			const struct report_row *row)
{
	return report_has(report, row, "gate");
}

static size_t make_order(struct maker *maker, const struct report_row *row,
			 size_t parent)
{
	const struct report *report = maker->report;
	struct view_line *line = make_line(maker, parent);
	const char *first_kind = report_text(report, row, "first_kind");
	const char *then_kind = report_text(report, row, "then_kind");
	size_t at = maker->view->line_count - 1;

	if (!line)
		return at;
	line->row = row;
	line->weight = report_number(report, row, "count");
	line->alarm = report_number(report, row, "inversion") &&
		      !is_harmless(report, row);
	line->faded = report_number(report, row, "inversion") && !line->alarm;
	line->cells[ORDER_NAME] = make_text(
		maker,
		report_print(maker->set, "%s %s, then %s %s",
			     make_kind(maker, first_kind,
				       report_text(report, row, "first_mode")),
			     report_text(report, row, "first_name"),
			     make_kind(maker, then_kind,
				       report_text(report, row, "then_mode")),
			     report_text(report, row, "then_name")));
	line->cells[ORDER_COUNT] = make_text(
		maker, report_print(maker->set, "%" PRIu64, line->weight));
	line->cells[ORDER_TASK] = make_task(maker,
					    report_text(report, row, "comm"),
					    report_number(report, row, "tid"));
	line->cells[ORDER_CALLER] = make_function(
		maker, then_kind, report_text(report, row, "then_caller"));
	make_parts(maker, at, ORDER_NAME, "first taken in",
		   report_text(report, row, "first_stack"));
	make_parts(maker, at, ORDER_NAME, "then in",
		   report_text(report, row, "then_stack"));
	return at;
}

static size_t make_inversion(struct maker *maker, const struct report_row *row)
{
	const struct report *report = maker->report;
	struct view_line *line = make_line(maker, VIEW_TOP);
	bool harmless = is_harmless(report, row);
	bool same = strcmp(report_text(report, row, "same"), "locks") == 0;

	if (!line)
		return 0;
	line->alarm = !harmless;
	line->faded = harmless;
	line->cells[ORDER_NAME] = make_text(
		maker,
		harmless ? report_print(maker->set,
					"harmless %" PRIu64
					", %s is held around it",
					report_number(report, row, "inversion"),
					report_text(report, row, "gate")) :
			   report_print(maker->set, "inversion %" PRIu64 ", %s",
					report_number(report, row, "inversion"),
					same ? "of the same locks" :
					       "of locks of these names"));
	return maker->view->line_count - 1;
}

/* Inversions first, then the other orders; each a top line. */
static void make_order_lines(struct maker *maker, size_t *inversions,
			     size_t *harmless)
{
	const struct report *report = maker->report;
	uint64_t inversion = 0;
	size_t parent = VIEW_TOP, tops = 0;

	for (size_t i = 0; i < report->row_count && !maker->failed; i++) {
		const struct report_row *row = &report->rows[i];
		uint64_t number = report_number(report, row, "inversion");
		bool is_new = !number || number != inversion;

		tops += is_new;
		if (number && is_new) {
			*inversions += 1;
			*harmless += is_harmless(report, row);
		}
		inversion = number;
		if (maker->top && tops > maker->top) {
			maker->view->more += is_new;
			continue;
		}
		if (is_new)
			parent = number ? make_inversion(maker, row) : VIEW_TOP;
		if (!maker->failed)
			make_order(maker, row, parent);
	}
}

void make_orders(struct maker *maker)
{
	struct view *view = maker->view;
	size_t inversions = 0, harmless = 0;

	view->title = "Orders of locks";
	view->none = "no lock was taken in both orders";
	make_columns(maker, order_columns,
		     sizeof(order_columns) / sizeof(*order_columns));
	make_order_lines(maker, &inversions, &harmless);
	view->summary = make_text(
		maker,
		report_print(maker->set,
			     "%zu inversion%s, %zu of them harmless",
			     inversions, inversions == 1 ? "" : "s", harmless));
}
