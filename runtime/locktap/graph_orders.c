// SPDX-License-Identifier: GPL-2.0-or-later
/* The picture of the orders in which locks are taken. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph_draw.h"

/* What the inversions make of an order; the worst counts. */
enum state { STATE_PLAIN, STATE_HARMLESS, STATE_INVERTED };

struct drawing {
	FILE *out;
	const struct graph_report *report;
	enum state *states;
	size_t *gates; /* of the harmless ones; locks or GRAPH_NONE */
	bool *order_shown, *lock_shown, *lock_red;
	struct keyed *largest;
	uint64_t most;
	size_t shown_count, real_count;
};

/* ------------------------------------------------------------------------ */

static void judge(struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;

	for (size_t i = 0; i < report->order_count; i++)
		drawing->gates[i] = GRAPH_NONE;
	for (size_t i = 0; i < report->inversion_count; i++) {
		const struct graph_inversion *inversion =
			&report->inversions[i];
		enum state state = inversion->harmless ? STATE_HARMLESS :
							 STATE_INVERTED;

		drawing->real_count += !inversion->harmless;
		for (size_t j = 0; j < inversion->count; j++) {
			size_t order = inversion->orders[j];

			if (state > drawing->states[order])
				drawing->states[order] = state;
			if (inversion->gate != GRAPH_NONE)
				drawing->gates[order] = inversion->gate;
			if (inversion->harmless)
				continue;
			drawing->lock_red[report->orders[order].first] = true;
			drawing->lock_red[report->orders[order].then] = true;
		}
	}
}

static void show(struct drawing *drawing, size_t at)
{
	const struct graph_order *order = &drawing->report->orders[at];

	if (drawing->order_shown[at])
		return;
	drawing->order_shown[at] = true;
	drawing->shown_count++;
	drawing->lock_shown[order->first] = true;
	drawing->lock_shown[order->then] = true;
	if (order->count > drawing->most)
		drawing->most = order->count;
}

static void choose(struct drawing *drawing, uint64_t top)
{
	const struct graph_report *report = drawing->report;

	for (size_t i = 0; i < report->order_count; i++)
		drawing->largest[i] =
			(struct keyed){ UINT64_MAX - report->orders[i].count,
					i };
	keyed_sort(drawing->largest, report->order_count);
	for (size_t i = 0; i < report->order_count && (!top || i < top); i++)
		show(drawing, drawing->largest[i].at);
	for (size_t i = 0; i < report->order_count; i++)
		if (drawing->states[i] != STATE_PLAIN)
			show(drawing, i);
}

/* ------------------------------------------------------------------------ */

static void quote_lock(struct quote *quote, const struct graph_lock *lock,
		       const char *mode)
{
	quote_text(quote, draw_lock_name(lock->kind, lock->name));
	if (!*mode)
		return;
	quote_text(quote, " (");
	quote_text(quote, mode);
	quote_text(quote, ")");
}

static void draw_node(const struct drawing *drawing, size_t at)
{
	const struct graph_lock *lock = &drawing->report->locks[at];
	struct quote quote;

	draw_lock(drawing->out, at, lock->kind, lock->name, lock->address,
		  drawing->lock_red[at]);
	quote_open(&quote, drawing->out, "tooltip");
	quote_lock(&quote, lock, "");
	quote_text(&quote, ", kind ");
	quote_text(&quote, *lock->kind ? lock->kind : "?");
	quote_close(&quote);
	fputs("]\n", drawing->out);
}

static void quote_taken(struct quote *quote, const struct graph_lock *lock,
			const struct graph_stack *stack)
{
	if (!stack->count)
		return;
	quote_line(quote);
	quote_lock(quote, lock, "");
	quote_text(quote, " taken in");
	quote_stack(quote, stack);
}

static void put_tooltip(const struct drawing *drawing, size_t at,
			const char *attribute)
{
	const struct graph_order *order = &drawing->report->orders[at];
	const struct graph_lock *locks = drawing->report->locks;
	size_t gate = drawing->gates[at];
	struct quote quote;

	quote_open(&quote, drawing->out, attribute);
	quote_lock(&quote, &locks[order->first], order->first_mode);
	quote_text(&quote, ", then ");
	quote_lock(&quote, &locks[order->then], order->then_mode);
	quote_text(&quote, ": ");
	quote_things(&quote, order->count, "time");
	if (*order->comm || order->tid >= 0) {
		quote_text(&quote, ", by ");
		quote_text(&quote, *order->comm ? order->comm : "?");
	}
	if (order->tid >= 0) {
		quote_text(&quote, "/");
		quote_number(&quote, (uint64_t)order->tid);
	}
	if (drawing->states[at] != STATE_PLAIN) {
		quote_line(&quote);
		quote_text(
			&quote,
			drawing->states[at] == STATE_INVERTED ?
				"elsewhere in the other order" :
				"elsewhere in the other order, but harmless");
	}
	if (gate != GRAPH_NONE) {
		quote_line(&quote);
		quote_text(&quote, "both while holding ");
		quote_lock(&quote, &locks[gate], "");
	}
	quote_taken(&quote, &locks[order->first], &order->first_stack);
	quote_taken(&quote, &locks[order->then], &order->then_stack);
	quote_close(&quote);
}

static void draw_order(const struct drawing *drawing, size_t at)
{
	static const char *const styles[] = {
		[STATE_PLAIN] = " class=order",
		[STATE_HARMLESS] =
			" class=\"order harmless\" color=\"" DRAW_GREY
			"\" fontcolor=\"" DRAW_GREY "\"",
		[STATE_INVERTED] = " class=\"order inverted\" color=\"" DRAW_RED
				   "\" fontcolor=\"" DRAW_RED "\"",
	};
	const struct graph_order *order = &drawing->report->orders[at];
	struct quote quote;

	fprintf(drawing->out, "\tl%zu -> l%zu [%s", order->first, order->then,
		styles[drawing->states[at]] + 1);
	draw_width(drawing->out, order->count, drawing->most);
	quote_open(&quote, drawing->out, "label");
	quote_things(&quote, order->count, "time");
	if (drawing->states[at] == STATE_HARMLESS &&
	    drawing->gates[at] != GRAPH_NONE) {
		const struct graph_lock *gate =
			&drawing->report->locks[drawing->gates[at]];

		quote_line(&quote);
		quote_text(&quote, "while holding ");
		quote_short(&quote, draw_lock_name(gate->kind, gate->name));
	}
	quote_close(&quote);
	put_tooltip(drawing, at, "tooltip");
	put_tooltip(drawing, at, "labeltooltip");
	fputs("]\n", drawing->out);
}

static void put_title(const struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;
	size_t harmless = report->inversion_count - drawing->real_count;
	struct quote quote;

	fputs("\tgraph [", drawing->out);
	quote_open(&quote, drawing->out, "label");
	quote_text(&quote, "Locks, first to then: ");
	quote_things(&quote, report->order_count, "order");
	quote_text(&quote, ", ");
	quote_things(&quote, drawing->real_count, "inversion");
	if (harmless) {
		quote_text(&quote, ", harmless ones: ");
		quote_number(&quote, harmless);
	}
	if (drawing->shown_count < report->order_count) {
		quote_line(&quote);
		quote_text(&quote, "the most frequent, and inversions: ");
		quote_number(&quote, drawing->shown_count);
		quote_text(&quote, " shown");
	}
	quote_close(&quote);
	fputs("]\n", drawing->out);
}

static void draw(struct drawing *drawing, uint64_t top)
{
	const struct graph_report *report = drawing->report;

	judge(drawing);
	choose(drawing, top);
	draw_begin(drawing->out, "order");
	if (report->order_count)
		put_title(drawing);
	else
		draw_empty(
			drawing->out,
			"No lock was taken while another was held in this report");
	for (size_t i = 0; i < report->lock_count; i++)
		if (drawing->lock_shown[i])
			draw_node(drawing, i);
	for (size_t i = 0; i < report->order_count; i++)
		if (drawing->order_shown[i])
			draw_order(drawing, i);
	draw_end(drawing->out, report);
}

bool draw_orders(FILE *out, const struct graph_report *report, uint64_t top)
{
	struct drawing drawing = {
		.out = out,
		.report = report,
		.states = calloc(report->order_count + 1, sizeof(enum state)),
		.gates = calloc(report->order_count + 1, sizeof(size_t)),
		.order_shown = calloc(report->order_count + 1, sizeof(bool)),
		.largest =
			calloc(report->order_count + 1, sizeof(struct keyed)),
		.lock_shown = calloc(report->lock_count + 1, sizeof(bool)),
		.lock_red = calloc(report->lock_count + 1, sizeof(bool)),
	};
	bool good = drawing.states && drawing.gates && drawing.order_shown &&
		    drawing.largest && drawing.lock_shown && drawing.lock_red;

	if (good)
		draw(&drawing, top);
	free(drawing.states);
	free(drawing.gates);
	free(drawing.order_shown);
	free(drawing.largest);
	free(drawing.lock_shown);
	free(drawing.lock_red);
	return good;
}
