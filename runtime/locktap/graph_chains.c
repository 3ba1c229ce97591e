// SPDX-License-Identifier: GPL-2.0-or-later
/* The picture of chains that were: threads by comm, locks by name. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "graph_draw.h"

/* A link, and the nodes of its thread and its lock. */
struct place {
	const struct graph_link *link;
	size_t chain, thread, lock; /* lock: GRAPH_NONE for none */
};

/* One chain's part of an edge; together they are the edge. */
struct strand {
	bool is_hold;
	size_t thread, lock, chain;
	const char *caller;
};

struct drawing {
	FILE *out;
	const struct graph_report *report;
	struct place *places, **sorted;
	size_t place_count;
	struct strand *strands;
	size_t strand_count;
	struct keyed *largest; /* chains */
	size_t shown_count;
};

/* What strands have in sum. */
struct sum {
	uint64_t total_ns, max_ns, count;
};

/* Callers that a tooltip tells. */
enum { TOLD_CALLERS = 8 };

/* ------------------------------------------------------------------------ */
/* Nodes: what has the same name is one                                      */

static int compare_threads(const void *left, const void *right)
{
	const struct place *const *a = left, *const *b = right;

	return strcmp((*a)->link->comm, (*b)->link->comm);
}

static int compare_locks(const void *left, const void *right)
{
	const struct place *const *a = left, *const *b = right;
	int names = strcmp((*a)->link->name, (*b)->link->name);

	return names ? names : strcmp((*a)->link->kind, (*b)->link->kind);
}

static bool has_lock(const struct graph_link *link)
{
	return *link->kind || *link->name;
}

static void number_nodes(struct drawing *drawing)
{
	struct place **sorted = drawing->sorted;
	size_t count = drawing->place_count, number = 0;

	qsort(sorted, count, sizeof(*sorted), compare_threads);
	for (size_t i = 0; i < count; i++) {
		number += i && compare_threads(sorted + i - 1, sorted + i) != 0;
		sorted[i]->thread = number;
	}
	number = 0;
	qsort(sorted, count, sizeof(*sorted), compare_locks);
	for (size_t i = 0; i < count; i++) {
		number += i && compare_locks(sorted + i - 1, sorted + i) != 0;
		sorted[i]->lock = has_lock(sorted[i]->link) ? number :
							      GRAPH_NONE;
	}
}

static void draw_nodes(const struct drawing *drawing)
{
	struct place **sorted = drawing->sorted;
	struct quote quote;

	/* Still in the order of the locks. */
	for (size_t i = 0; i < drawing->place_count; i++) {
		const struct graph_link *link = sorted[i]->link;

		if (sorted[i]->lock == GRAPH_NONE ||
		    (i && sorted[i]->lock == sorted[i - 1]->lock))
			continue;
		draw_lock(drawing->out, sorted[i]->lock, link->kind, link->name,
			  "", false);
		quote_open(&quote, drawing->out, "tooltip");
		quote_text(&quote, draw_lock_name(link->kind, link->name));
		quote_text(&quote, ", kind ");
		quote_text(&quote, *link->kind ? link->kind : "?");
		quote_close(&quote);
		fputs("]\n", drawing->out);
	}
	qsort(sorted, drawing->place_count, sizeof(*sorted), compare_threads);
	for (size_t i = 0; i < drawing->place_count; i++) {
		if (i && sorted[i]->thread == sorted[i - 1]->thread)
			continue;
		fprintf(drawing->out,
			"\tc%zu [shape=box style=\"rounded,filled\" fillcolor=\"#e8f0fa\" class=thread",
			sorted[i]->thread);
		quote_open(&quote, drawing->out, "label");
		quote_short(&quote, sorted[i]->link->comm);
		quote_close(&quote);
		quote_open(&quote, drawing->out, "tooltip");
		quote_text(&quote, "all threads named ");
		quote_text(&quote, sorted[i]->link->comm);
		quote_close(&quote);
		fputs("]\n", drawing->out);
	}
}

/* ------------------------------------------------------------------------ */
/* Edges: those with the same ends are one                                   */

static int compare_edges(const struct strand *a, const struct strand *b)
{
	if (a->is_hold != b->is_hold)
		return a->is_hold ? 1 : -1;
	if (a->thread != b->thread)
		return a->thread > b->thread ? 1 : -1;
	return (a->lock > b->lock) - (a->lock < b->lock);
}

static int compare_strands(const void *left, const void *right)
{
	const struct strand *a = left, *b = right;
	int edges = compare_edges(a, b);

	if (edges)
		return edges;
	return (a->chain > b->chain) - (a->chain < b->chain);
}

static void add_strands(struct drawing *drawing)
{
	for (size_t i = 0; i < drawing->place_count; i++) {
		const struct place *place = &drawing->places[i];

		if (place->lock == GRAPH_NONE)
			continue;
		drawing->strands[drawing->strand_count++] =
			(struct strand){ false, place->thread, place->lock,
					 place->chain, place->link->caller };
		if (i + 1 == drawing->place_count ||
		    place[1].chain != place->chain)
			continue;
		drawing->strands[drawing->strand_count++] =
			(struct strand){ true, place[1].thread, place->lock,
					 place->chain, "" };
	}
	qsort(drawing->strands, drawing->strand_count,
	      sizeof(*drawing->strands), compare_strands);
}

static void add(uint64_t *sum, uint64_t more)
{
	*sum = *sum + more < more ? UINT64_MAX : *sum + more;
}

/* The edge at `at'; returns the place of the next one. */
static size_t sum_edge(const struct drawing *drawing, size_t at,
		       struct sum *sum)
{
	const struct strand *strands = drawing->strands;
	size_t i = at;

	memset(sum, 0, sizeof(*sum));
	for (; i < drawing->strand_count &&
	       compare_edges(strands + at, strands + i) == 0;
	     i++) {
		const struct graph_chain *chain =
			&drawing->report->chains[strands[i].chain];

		/* A chain may pass here twice. */
		if (i > at && strands[i].chain == strands[i - 1].chain)
			continue;
		add(&sum->total_ns, chain->total_ns);
		add(&sum->count, chain->count);
		if (chain->max_ns > sum->max_ns)
			sum->max_ns = chain->max_ns;
	}
	return i;
}

static void quote_callers(struct quote *quote, const struct strand *strands,
			  size_t count)
{
	const char *told[TOLD_CALLERS];
	size_t told_count = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_new = *strands[i].caller;

		for (size_t j = 0; is_new && j < told_count; j++)
			is_new = strcmp(told[j], strands[i].caller) != 0;
		if (!is_new)
			continue;
		quote_line(quote);
		if (told_count == TOLD_CALLERS) {
			quote_text(quote, "in others too");
			return;
		}
		quote_text(quote, "in ");
		quote_text(quote, strands[i].caller);
		told[told_count++] = strands[i].caller;
	}
}

static void put_tooltip(const struct drawing *drawing, size_t at, size_t end,
			const struct sum *sum, const char *attribute)
{
	struct quote quote;

	quote_open(&quote, drawing->out, attribute);
	quote_things(&quote, sum->count, "wait");
	quote_text(&quote, ", ");
	quote_time(&quote, sum->total_ns);
	quote_text(&quote, " in chains through here, the longest ");
	quote_time(&quote, sum->max_ns);
	quote_callers(&quote, drawing->strands + at, end - at);
	quote_close(&quote);
}

static void draw_edge(const struct drawing *drawing, size_t at, size_t end,
		      const struct sum *sum, uint64_t most_ns)
{
	const struct strand *strand = &drawing->strands[at];
	FILE *out = drawing->out;
	struct quote quote;

	if (strand->is_hold)
		fprintf(out, "\tl%zu -> c%zu [class=hold", strand->lock,
			strand->thread);
	else
		fprintf(out, "\tc%zu -> l%zu [class=wait", strand->thread,
			strand->lock);
	draw_width(out, sum->total_ns, most_ns);
	quote_open(&quote, out, "label");
	if (strand->is_hold) {
		quote_text(&quote, "held by");
	} else {
		quote_time(&quote, sum->total_ns);
		quote_text(&quote, " in ");
		quote_number(&quote, sum->count);
	}
	quote_close(&quote);
	put_tooltip(drawing, at, end, sum, "tooltip");
	put_tooltip(drawing, at, end, sum, "labeltooltip");
	fputs("]\n", out);
}

static void draw_edges(const struct drawing *drawing)
{
	uint64_t most_ns = 0;
	struct sum sum;

	for (size_t i = 0; i < drawing->strand_count;) {
		i = sum_edge(drawing, i, &sum);
		if (sum.total_ns > most_ns)
			most_ns = sum.total_ns;
	}
	for (size_t i = 0; i < drawing->strand_count;) {
		size_t end = sum_edge(drawing, i, &sum);

		draw_edge(drawing, i, end, &sum, most_ns);
		i = end;
	}
}

/* ------------------------------------------------------------------------ */

static void choose(struct drawing *drawing, uint64_t top)
{
	const struct graph_report *report = drawing->report;

	for (size_t i = 0; i < report->chain_count; i++)
		drawing->largest[i] =
			(struct keyed){ UINT64_MAX - report->chains[i].total_ns,
					i };
	keyed_sort(drawing->largest, report->chain_count);
	drawing->shown_count = report->chain_count;
	if (top && top < report->chain_count)
		drawing->shown_count = (size_t)top;
	for (size_t i = 0; i < drawing->shown_count; i++) {
		size_t at = drawing->largest[i].at;
		const struct graph_chain *chain = &report->chains[at];

		for (size_t j = 0; j < chain->link_count; j++) {
			struct place *place =
				&drawing->places[drawing->place_count];

			place->link = &chain->links[j];
			place->chain = at;
			drawing->sorted[drawing->place_count++] = place;
		}
	}
}

static void put_title(const struct drawing *drawing)
{
	const struct graph_report *report = drawing->report;
	struct quote quote;

	fputs("\tgraph [", drawing->out);
	quote_open(&quote, drawing->out, "label");
	quote_text(&quote, "Chains of waits for locks: ");
	quote_number(&quote, report->chain_count);
	if (report->elapsed_ns) {
		quote_text(&quote, " in ");
		quote_time(&quote, report->elapsed_ns);
	}
	if (drawing->shown_count < report->chain_count) {
		quote_text(&quote, "; the largest ");
		quote_number(&quote, drawing->shown_count);
		quote_text(&quote, " shown");
	}
	quote_close(&quote);
	fputs("]\n", drawing->out);
}

static void draw(struct drawing *drawing, uint64_t top)
{
	draw_begin(drawing->out, "chains");
	choose(drawing, top);
	number_nodes(drawing);
	add_strands(drawing);
	if (drawing->place_count) {
		put_title(drawing);
		draw_nodes(drawing);
		draw_edges(drawing);
	} else {
		draw_empty(drawing->out,
			   "No thread waited for a lock in this report");
	}
	draw_end(drawing->out, drawing->report);
}

bool draw_chains(FILE *out, const struct graph_report *report, uint64_t top)
{
	struct drawing drawing = { .out = out, .report = report };
	size_t count = 1;
	bool good;

	for (size_t i = 0; i < report->chain_count; i++)
		count += report->chains[i].link_count;
	drawing.places = calloc(count, sizeof(*drawing.places));
	drawing.sorted = calloc(count, sizeof(*drawing.sorted));
	drawing.strands = calloc(2 * count, sizeof(*drawing.strands));
	drawing.largest =
		calloc(report->chain_count + 1, sizeof(*drawing.largest));
	good = drawing.places && drawing.sorted && drawing.strands &&
	       drawing.largest;
	if (good)
		draw(&drawing, top);
	free(drawing.places);
	free(drawing.sorted);
	free(drawing.strands);
	free(drawing.largest);
	return good;
}
