// SPDX-License-Identifier: GPL-2.0-or-later
/* The picture of who waits for whom now. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph_draw.h"

/* A wait or a hold that a cycle consists of. */
struct part {
	bool is_hold;
	size_t thread, lock;
	bool drawn;
};

struct drawing {
	FILE *out;
	const struct graph_report *report;
	bool *wait_shown, *hold_shown, *thread_shown, *lock_shown;
	bool *thread_red, *lock_red;
	uint64_t *lock_ns; /* of all waits for it */
	size_t *lock_waits;
	struct part *parts;
	size_t part_count;
	uint64_t most_ns;
	size_t shown_count; /* waits */
};

/* ------------------------------------------------------------------------ */
/* Cycles                                                                    */

static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->is_hold != b->is_hold)
		return a->is_hold ? 1 : -1;
	if (a->thread != b->thread)
		return a->thread > b->thread ? 1 : -1;
	return (a->lock > b->lock) - (a->lock < b->lock);
}

static struct part *find_part(const struct drawing *drawing, bool is_hold,
			      size_t thread, size_t lock)
{
	const struct part wanted = { .is_hold = is_hold,
				     .thread = thread,
				     .lock = lock };

	return bsearch(&wanted, drawing->parts, drawing->part_count,
		       sizeof(wanted), compare_parts);
}

static bool find_cycles(struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;
	size_t count = 0, kept = 0;
	struct part *parts;

	for (size_t i = 0; i < report->cycle_count; i++)
		count += 2 * report->cycles[i].count;
	parts = drawing->parts = calloc(count + 1, sizeof(*parts));
	if (!parts)
		return false;
	count = 0;
	for (size_t i = 0; i < report->cycle_count; i++) {
		const struct graph_cycle *cycle = &report->cycles[i];

		for (size_t j = 0; j < cycle->count; j++) {
			size_t holder = cycle->threads[(j + 1) % cycle->count];

			parts[count++] =
				(struct part){ false, cycle->threads[j],
					       cycle->locks[j], false };
			parts[count++] = (struct part){ true, holder,
							cycle->locks[j],
							false };
			drawing->thread_red[holder] = true;
			drawing->lock_red[cycle->locks[j]] = true;
		}
	}
	qsort(parts, count, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < count; i++)
		if (!i || compare_parts(parts + i, parts + kept - 1) != 0)
			parts[kept++] = parts[i];
	drawing->part_count = kept;
	return true;
}

/* ------------------------------------------------------------------------ */
/* What is shown                                                             */

/* Waits by their thread, holds by their lock. */
struct ways {
	struct keyed *waits, *holds;
	size_t *queue; /* of waits */
	size_t queued;
};

static void show_wait(struct drawing *drawing, struct ways *ways, size_t at)
{
	if (drawing->wait_shown[at])
		return;
	drawing->wait_shown[at] = true;
	drawing->shown_count++;
	ways->queue[ways->queued++] = at;
}

/* What the wait waits behind. */
static void follow(struct drawing *drawing, struct ways *ways, size_t at)
{
	const struct graph_report *report = drawing->report;
	size_t lock = report->waits[at].lock;

	for (size_t i = keyed_find(ways->holds, report->hold_count, lock);
	     i < report->hold_count && ways->holds[i].key == lock; i++) {
		size_t hold = ways->holds[i].at;
		size_t thread = report->holds[hold].thread;

		if (drawing->hold_shown[hold])
			continue;
		drawing->hold_shown[hold] = true;
		for (size_t j = keyed_find(ways->waits, report->wait_count,
					   thread);
		     j < report->wait_count && ways->waits[j].key == thread;
		     j++)
			show_wait(drawing, ways, ways->waits[j].at);
	}
}

static void choose(struct drawing *drawing, struct ways *ways,
		   struct keyed *sizes, uint64_t top)
{
	const struct graph_report *report = drawing->report;

	for (size_t i = 0; i < report->wait_count; i++) {
		ways->waits[i] = (struct keyed){ report->waits[i].thread, i };
		/* The longest first. */
		sizes[i] =
			(struct keyed){ UINT64_MAX - report->waits[i].wait_ns,
					i };
	}
	for (size_t i = 0; i < report->hold_count; i++)
		ways->holds[i] = (struct keyed){ report->holds[i].lock, i };
	keyed_sort(ways->waits, report->wait_count);
	keyed_sort(ways->holds, report->hold_count);
	keyed_sort(sizes, report->wait_count);
	for (size_t i = 0; i < top && i < report->wait_count; i++)
		show_wait(drawing, ways, sizes[i].at);
	for (size_t i = 0; i < report->wait_count; i++)
		if (find_part(drawing, false, report->waits[i].thread,
			      report->waits[i].lock))
			show_wait(drawing, ways, i);
	for (size_t i = 0; i < ways->queued; i++)
		follow(drawing, ways, ways->queue[i]);
}

static bool choose_some(struct drawing *drawing, uint64_t top)
{
	const struct graph_report *report = drawing->report;
	struct ways ways = {
		.waits = calloc(report->wait_count + 1, sizeof(struct keyed)),
		.holds = calloc(report->hold_count + 1, sizeof(struct keyed)),
		.queue = calloc(report->wait_count + 1, sizeof(size_t)),
	};
	struct keyed *sizes =
		calloc(report->wait_count + 1, sizeof(struct keyed));
	bool good = ways.waits && ways.holds && ways.queue && sizes;

	if (good)
		choose(drawing, &ways, sizes, top);
	free(ways.waits);
	free(ways.holds);
	free(ways.queue);
	free(sizes);
	return good;
}

static void choose_all(struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;

	memset(drawing->wait_shown, true, report->wait_count);
	memset(drawing->hold_shown, true, report->hold_count);
	drawing->shown_count = report->wait_count;
}

static void add_time(uint64_t *sum, uint64_t ns)
{
	*sum = *sum + ns < ns ? UINT64_MAX : *sum + ns;
}

/* The ends of what is shown, and how wide the widest is. */
static void measure(struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;

	for (size_t i = 0; i < report->wait_count; i++) {
		const struct graph_wait *wait = &report->waits[i];

		add_time(&drawing->lock_ns[wait->lock], wait->wait_ns);
		drawing->lock_waits[wait->lock]++;
		if (!drawing->wait_shown[i])
			continue;
		drawing->thread_shown[wait->thread] = true;
		drawing->lock_shown[wait->lock] = true;
		if (wait->wait_ns > drawing->most_ns)
			drawing->most_ns = wait->wait_ns;
	}
	for (size_t i = 0; i < report->hold_count; i++) {
		const struct graph_hold *hold = &report->holds[i];

		if (!drawing->hold_shown[i])
			continue;
		drawing->thread_shown[hold->thread] = true;
		drawing->lock_shown[hold->lock] = true;
		if (drawing->lock_ns[hold->lock] > drawing->most_ns)
			drawing->most_ns = drawing->lock_ns[hold->lock];
	}
	for (size_t i = 0; i < drawing->part_count; i++) {
		drawing->thread_shown[drawing->parts[i].thread] = true;
		drawing->lock_shown[drawing->parts[i].lock] = true;
	}
}

/* ------------------------------------------------------------------------ */
/* Nodes                                                                     */

static void quote_thread(struct quote *quote, const struct graph_thread *thread)
{
	quote_text(quote, *thread->comm ? thread->comm : "?");
	quote_text(quote, "/");
	quote_number(quote, (uint64_t)thread->tid);
}

static void quote_lock(struct quote *quote, const struct graph_lock *lock)
{
	quote_text(quote, draw_lock_name(lock->kind, lock->name));
	if (draw_lock_name(lock->kind, lock->name) == lock->name) {
		quote_text(quote, " ");
		quote_text(quote, lock->kind);
	}
	if (*lock->address) {
		quote_text(quote, " ");
		quote_text(quote, lock->address);
	}
}

static void draw_thread(const struct drawing *drawing, size_t at)
{
	const struct graph_thread *thread = &drawing->report->threads[at];
	bool red = drawing->thread_red[at];
	struct quote quote;

	fprintf(drawing->out,
		"\tt%" PRId64
		" [shape=box style=\"rounded,filled\" fillcolor=\"#e8f0fa\" class=\"thread%s\"",
		thread->tid, red ? " cycle" : "");
	if (red)
		fputs(" color=\"" DRAW_RED "\" penwidth=2", drawing->out);
	quote_open(&quote, drawing->out, "label");
	quote_short(&quote, thread->comm);
	quote_text(&quote, "/");
	quote_number(&quote, (uint64_t)thread->tid);
	if (*thread->state) {
		quote_line(&quote);
		quote_short(&quote, thread->state);
	}
	quote_close(&quote);
	quote_open(&quote, drawing->out, "tooltip");
	quote_thread(&quote, thread);
	if (thread->pid >= 0) {
		quote_text(&quote, ", process ");
		quote_number(&quote, (uint64_t)thread->pid);
	}
	quote_text(&quote, *thread->state ? ", " : "");
	quote_text(&quote, thread->state);
	quote_stack(&quote, &thread->stack);
	quote_close(&quote);
	fputs("]\n", drawing->out);
}

static void draw_node(const struct drawing *drawing, size_t at)
{
	const struct graph_lock *lock = &drawing->report->locks[at];
	struct quote quote;

	draw_lock(drawing->out, at, lock->kind, lock->name, lock->address,
		  drawing->lock_red[at]);
	quote_open(&quote, drawing->out, "tooltip");
	quote_lock(&quote, lock);
	quote_line(&quote);
	if (drawing->lock_waits[at]) {
		quote_things(&quote, drawing->lock_waits[at], "wait");
		quote_text(&quote, ", ");
		quote_time(&quote, drawing->lock_ns[at]);
	} else {
		quote_text(&quote, "no waits");
	}
	quote_close(&quote);
	fputs("]\n", drawing->out);
}

/* ------------------------------------------------------------------------ */
/* Edges                                                                     */

static bool put_red(struct part *part, FILE *out)
{
	if (!part)
		return false;
	part->drawn = true;
	fputs(" color=\"" DRAW_RED "\" fontcolor=\"" DRAW_RED "\"", out);
	return true;
}

static void quote_mode(struct quote *quote, const char *mode)
{
	if (!*mode || strcmp(mode, "x") == 0)
		return;
	quote_text(quote, " (");
	quote_short(quote, mode);
	quote_text(quote, ")");
}

static void put_tooltip(const struct drawing *drawing,
			const struct graph_wait *wait, const char *attribute)
{
	const struct graph_report *report = drawing->report;
	struct quote quote;

	quote_open(&quote, drawing->out, attribute);
	quote_thread(&quote, &report->threads[wait->thread]);
	quote_text(&quote, " has waited ");
	quote_time(&quote, wait->wait_ns);
	quote_text(&quote, " for ");
	quote_lock(&quote, &report->locks[wait->lock]);
	if (*wait->caller) {
		quote_line(&quote);
		quote_text(&quote, "in ");
		quote_text(&quote, wait->caller);
	}
	quote_stack(&quote, &wait->stack);
	quote_close(&quote);
}

static void draw_wait(struct drawing *drawing, const struct graph_wait *wait)
{
	FILE *out = drawing->out;
	struct quote quote;
	bool red;

	fprintf(out, "\tt%" PRId64 " -> l%zu [",
		drawing->report->threads[wait->thread].tid, wait->lock);
	red = put_red(find_part(drawing, false, wait->thread, wait->lock), out);
	fprintf(out, " class=\"wait%s\"", red ? " cycle" : "");
	draw_width(out, wait->wait_ns, drawing->most_ns);
	quote_open(&quote, out, "label");
	quote_time(&quote, wait->wait_ns);
	quote_mode(&quote, wait->mode);
	quote_close(&quote);
	put_tooltip(drawing, wait, "tooltip");
	put_tooltip(drawing, wait, "labeltooltip");
	fputs("]\n", out);
}

static void put_hold_tooltip(const struct drawing *drawing,
			     const struct graph_hold *hold,
			     const char *attribute)
{
	const struct graph_report *report = drawing->report;
	struct quote quote;

	quote_open(&quote, drawing->out, attribute);
	quote_lock(&quote, &report->locks[hold->lock]);
	quote_text(&quote, hold->proven ? " is held by " :
					  " is held, as it seems, by ");
	quote_thread(&quote, &report->threads[hold->thread]);
	quote_close(&quote);
}

static void draw_hold(struct drawing *drawing, const struct graph_hold *hold)
{
	FILE *out = drawing->out;
	struct quote quote;
	bool red;

	fprintf(out, "\tl%zu -> t%" PRId64 " [", hold->lock,
		drawing->report->threads[hold->thread].tid);
	red = put_red(find_part(drawing, true, hold->thread, hold->lock), out);
	fprintf(out, " class=\"hold%s%s\"", hold->proven ? "" : " unproven",
		red ? " cycle" : "");
	if (!hold->proven)
		fputs(" style=dashed", out);
	draw_width(out, drawing->lock_ns[hold->lock], drawing->most_ns);
	quote_open(&quote, out, "label");
	quote_text(&quote, hold->proven ? "held by" : "held by?");
	quote_mode(&quote, hold->mode);
	quote_close(&quote);
	put_hold_tooltip(drawing, hold, "tooltip");
	put_hold_tooltip(drawing, hold, "labeltooltip");
	fputs("]\n", out);
}

/* Of a cycle that is no more: its waits and holds are not in the report. */
static void draw_past(const struct drawing *drawing, const struct part *part)
{
	int64_t tid = drawing->report->threads[part->thread].tid;

	if (part->is_hold)
		fprintf(drawing->out, "\tl%zu -> t%" PRId64, part->lock, tid);
	else
		fprintf(drawing->out, "\tt%" PRId64 " -> l%zu", tid,
			part->lock);
	fprintf(drawing->out,
		" [class=\"%s cycle\" label=\"%s\" tooltip=\"when the cycle closed; not now\" color=\"" DRAW_RED
		"\" fontcolor=\"" DRAW_RED "\"]\n",
		part->is_hold ? "hold" : "wait",
		part->is_hold ? "was held by" : "waited");
}

/* ------------------------------------------------------------------------ */

static void put_title(const struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;
	struct quote quote;

	fputs("\tgraph [", drawing->out);
	quote_open(&quote, drawing->out, "label");
	quote_text(&quote, "Waits for locks: ");
	quote_things(&quote, report->wait_count, "wait");
	if (report->cycle_count) {
		quote_text(&quote, ", ");
		quote_things(&quote, report->cycle_count, "deadlock");
	}
	if (drawing->shown_count < report->wait_count) {
		quote_line(&quote);
		quote_text(&quote, "the longest, with those they are behind: ");
		quote_number(&quote, drawing->shown_count);
		quote_text(&quote, " shown");
	}
	quote_close(&quote);
	fputs("]\n", drawing->out);
}

static void draw(struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;

	draw_begin(drawing->out, "chain");
	put_title(drawing);
	for (size_t i = 0; i < report->thread_count; i++)
		if (drawing->thread_shown[i])
			draw_thread(drawing, i);
	for (size_t i = 0; i < report->lock_count; i++)
		if (drawing->lock_shown[i])
			draw_node(drawing, i);
	for (size_t i = 0; i < report->wait_count; i++)
		if (drawing->wait_shown[i])
			draw_wait(drawing, &report->waits[i]);
	for (size_t i = 0; i < report->hold_count; i++)
		if (drawing->hold_shown[i])
			draw_hold(drawing, &report->holds[i]);
	for (size_t i = 0; i < drawing->part_count; i++)
		if (!drawing->parts[i].drawn)
			draw_past(drawing, &drawing->parts[i]);
	draw_end(drawing->out, report);
}

bool draw_waits(FILE *out, const struct graph_report *report, uint64_t top)
{
	struct drawing drawing = {
		.out = out,
		.report = report,
		.wait_shown = calloc(report->wait_count + 1, sizeof(bool)),
		.hold_shown = calloc(report->hold_count + 1, sizeof(bool)),
		.thread_shown = calloc(report->thread_count + 1, sizeof(bool)),
		.thread_red = calloc(report->thread_count + 1, sizeof(bool)),
		.lock_shown = calloc(report->lock_count + 1, sizeof(bool)),
		.lock_red = calloc(report->lock_count + 1, sizeof(bool)),
		.lock_ns = calloc(report->lock_count + 1, sizeof(uint64_t)),
		.lock_waits = calloc(report->lock_count + 1, sizeof(size_t)),
	};
	bool good = drawing.wait_shown && drawing.hold_shown &&
		    drawing.thread_shown && drawing.thread_red &&
		    drawing.lock_shown && drawing.lock_red && drawing.lock_ns &&
		    drawing.lock_waits && find_cycles(&drawing);

	if (good && top && top < report->wait_count)
		good = choose_some(&drawing, top);
	else if (good)
		choose_all(&drawing);
	if (good) {
		measure(&drawing);
		draw(&drawing);
	}
	free(drawing.wait_shown);
	free(drawing.hold_shown);
	free(drawing.thread_shown);
	free(drawing.thread_red);
	free(drawing.lock_shown);
	free(drawing.lock_red);
	free(drawing.lock_ns);
	free(drawing.lock_waits);
	free(drawing.parts);
	return good;
}
