// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows as stacks. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "report_stack.h"

struct maker {
	struct report_set *set;
	const struct report *report;
	struct report_stack *stacks;
	size_t count;
};

bool report_has_stacks(const struct report *report)
{
	static const char *const columns[] = { "stack", "holder_stack",
					       "waiter_stack" };

	if (report->kind == REPORT_CHAIN)
		return true;
	for (size_t i = 0; i < report->row_count; i++)
		for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++)
			if (report_has(report, &report->rows[i], columns[c]))
				return true;
	return false;
}

/* ------------------------------------------------------------------------ */
/* Frames                                                                    */

static bool add_frame(struct report_stack *stack, const char *frame)
{
	if (frame)
		stack->frames[stack->count++] = frame;
	return frame != NULL;
}

static size_t count_frames(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == ';';
	return count;
}

static bool add_frames(struct maker *maker, struct report_stack *stack,
		       const char *text)
{
	for (;;) {
		size_t length = strcspn(text, ";");

		if (!add_frame(stack, report_print(maker->set, "%.*s",
						   (int)length, text)))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

static bool add_stack(struct maker *maker, struct report_stack *stack,
		      const char *stack_column, const char *code_column)
{
	const struct report *report = maker->report;
	const char *text = report_text(report, stack->row, stack_column);

	if (strcmp(text, "-") != 0)
		return add_frames(maker, stack, text);
	return add_frame(
		stack,
		report_function(maker->set,
				report_text(report, stack->row, "kind"),
				report_text(report, stack->row, code_column)));
}

/* What stands on top. */
static bool add_lock(struct maker *maker, struct report_stack *stack)
{
	const struct report *report = maker->report;

	stack->has_lock = true;
	return add_frame(stack,
			 report_print(maker->set, "%s (%s)",
				      report_text(report, stack->row, "name"),
				      report_text(report, stack->row, "kind")));
}

/* ------------------------------------------------------------------------ */
/* Rows                                                                      */

static bool is_hold(const char *word)
{
	size_t length = strlen(word);

	return length > 5 && strcmp(word + length - 5, "_hold") == 0;
}

/* Has the row a part in these stacks? */
static bool is_wanted(const struct maker *maker, enum stacks_of of,
		      const struct report_row *row)
{
	switch (maker->report->kind) {
	case REPORT_CONTEND:
		return of != STACKS_HOLDERS;
	case REPORT_HOLD:
		return of != STACKS_WAITERS;
	case REPORT_STAT:
		return of == STACKS_WHOLE ||
		       is_hold(report_text(maker->report, row, "word")) ==
			       (of == STACKS_HOLDERS);
	default:
		return true;
	}
}

static bool fill_blame(struct maker *maker, struct report_stack *stack,
		       enum stacks_of of)
{
	const struct report *report = maker->report;

	if (of != STACKS_WAITERS &&
	    !add_stack(maker, stack, "holder_stack", "holder_caller"))
		return false;
	if (of == STACKS_WHOLE &&
	    !add_frame(stack,
		       report_print(maker->set, "-- waits for %s --",
				    report_text(report, stack->row, "name"))))
		return false;
	if (of != STACKS_HOLDERS &&
	    !add_stack(maker, stack, "waiter_stack", "waiter_caller"))
		return false;
	return of == STACKS_WHOLE || add_lock(maker, stack);
}

static bool fill(struct maker *maker, struct report_stack *stack,
		 enum stacks_of of)
{
	const struct report *report = maker->report;
	const struct report_row *row = stack->row;

	if (report->kind == REPORT_BLAME) {
		stack->times = report_number(report, row, "waits");
		return fill_blame(maker, stack, of);
	}
	stack->times = report_number(report, row,
				     report->kind == REPORT_CONTEND ?
					     "contended" :
				     report->kind == REPORT_HOLD ? "acquired" :
								   "count");
	if (report->kind == REPORT_STAT &&
	    !add_frame(stack, report_text(report, row, "word")))
		return false;
	if (!add_stack(maker, stack, "stack", "caller"))
		return false;
	return of == STACKS_WHOLE || add_lock(maker, stack);
}

static bool add_row(struct maker *maker, enum stacks_of of,
		    const struct report_row *row)
{
	const struct report *report = maker->report;
	struct report_stack *stack = &maker->stacks[maker->count];
	size_t room = 3;

	for (size_t i = 0; i < report->column_count; i++)
		if (report->columns[i].type == REPORT_STACK)
			room += count_frames(row->cells[i].text);
	*stack = (struct report_stack){ .row = row };
	stack->ns = report_number(report, row, "total_ns");
	stack->frames = report_alloc(maker->set, room * sizeof(*stack->frames));
	if (!stack->frames || !fill(maker, stack, of))
		return false;
	maker->count++;
	return true;
}

/* ------------------------------------------------------------------------ */
/* Chains: from the one that holds all up to the last waiter                 */

static bool add_end(struct maker *maker, struct report_stack *stack,
		    const struct report_row *rows, size_t count)
{
	const struct report *report = maker->report;
	const struct report_row *last = &rows[count - 1];
	uint64_t owner = report_number(report, last, "owner");

	for (size_t i = 0; owner && i < count; i++)
		if (report_number(report, &rows[i], "tid") == owner)
			return add_frame(stack, "[deadlock]");
	if (!report_has(report, last, "owner_comm"))
		return add_frame(stack, "?");
	return add_frame(stack, report_text(report, last, "owner_comm"));
}

static bool add_chain(struct maker *maker, const struct report_row *rows,
		      size_t count)
{
	const struct report *report = maker->report;
	struct report_stack *stack = &maker->stacks[maker->count];

	*stack = (struct report_stack){
		.row = rows,
		.times = report_number(report, rows, "count"),
		.ns = report_number(report, rows, "wait_ns"),
	};
	stack->frames = report_alloc(maker->set,
				     (2 * count + 1) * sizeof(*stack->frames));
	if (!stack->frames || !add_end(maker, stack, rows, count))
		return false;
	for (size_t i = count; i--;) {
		const char *lock =
			report_print(maker->set, "%s (%s)",
				     report_text(report, &rows[i], "name"),
				     report_text(report, &rows[i], "kind"));

		if (!add_frame(stack, lock) ||
		    !add_frame(stack, report_text(report, &rows[i], "comm")))
			return false;
	}
	maker->count++;
	return true;
}

static bool add_chains(struct maker *maker)
{
	const struct report *report = maker->report;

	for (size_t i = 0; i < report->row_count;) {
		const struct report_row *rows = &report->rows[i];
		uint64_t chain = report_number(report, rows, "chain");
		size_t count = 0;

		while (i + count < report->row_count &&
		       report_number(report, &rows[count], "chain") == chain)
			count++;
		i += count;
		if (strcmp(report_text(report, rows, "what"), "chain") == 0 &&
		    !add_chain(maker, rows, count))
			return false;
	}
	return true;
}

bool report_stacks(struct report_set *set, const struct report *report,
		   enum stacks_of of, struct report_stack **stacks,
		   size_t *count)
{
	struct maker maker = { .set = set, .report = report };
	bool good = true;

	maker.stacks = report_alloc(set, (report->row_count + 1) *
						 sizeof(*maker.stacks));
	if (!maker.stacks)
		return false;
	if (report->kind == REPORT_CHAIN) {
		good = of == STACKS_WAITERS || add_chains(&maker);
	} else if (report->kind != REPORT_ORDER) {
		for (size_t i = 0; good && i < report->row_count; i++)
			if (is_wanted(&maker, of, &report->rows[i]))
				good = add_row(&maker, of, &report->rows[i]);
	}
	*stacks = maker.stacks;
	*count = maker.count;
	return good;
}
