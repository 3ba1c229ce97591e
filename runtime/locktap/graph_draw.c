// SPDX-License-Identifier: GPL-2.0-or-later
/* The language DOT, and what the pictures have in common. */
#include <config.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph_draw.h"
#include "locktap.h"

/* Characters of a name that are shown, bytes of a tooltip. */
enum { SHOWN_CHARS = 32, TOOLTIP_BYTES = 8000 };

#define ELLIPSIS "\xe2\x80\xa6"
#define WORD_JOINER "\xe2\x81\xa0"

/* ------------------------------------------------------------------------ */

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;

	if (a->key != b->key)
		return a->key > b->key ? 1 : -1;
	return (a->at > b->at) - (a->at < b->at);
}

void keyed_sort(struct keyed *list, size_t count)
{
	qsort(list, count, sizeof(*list), compare_keyed);
}

size_t keyed_find(const struct keyed *list, size_t count, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ------------------------------------------------------------------------ */
/* Text                                                                      */

void quote_open(struct quote *quote, FILE *out, const char *attribute)
{
	quote->out = out;
	quote->is_tooltip = strstr(attribute, "tooltip") != NULL;
	quote->left = TOOLTIP_BYTES;
	fprintf(out, " %s=\"", attribute);
}

void quote_close(struct quote *quote)
{
	fputc('"', quote->out);
}

static void put(struct quote *quote, const char *text)
{
	size_t length = strlen(text);

	if (!quote->left)
		return;
	if (length > quote->left) {
		fputs(ELLIPSIS, quote->out);
		quote->left = 0;
		return;
	}
	quote->left -= length;
	fputs(text, quote->out);
}

/*
 * graphviz reads \N and the like, and HTML's entities. Some of its versions read
 * a tooltip's \\ once more: nothing that means something may follow it there.
 */
static void put_char(struct quote *quote, const char *character, char next)
{
	switch (*character) {
	case '"':
		put(quote, "\\\"");
		break;
	case '&':
		put(quote, "&amp;");
		break;
	case '\\':
		put(quote, quote->is_tooltip && (next == '\\' ||
						 isalpha((unsigned char)next)) ?
				   "\\\\" WORD_JOINER :
				   "\\\\");
		break;
	default:
		put(quote, character);
	}
}

void quote_text(struct quote *quote, const char *text)
{
	char character[GRAPH_CHAR_BYTES];

	while (quote->left && graph_next_char(&text, character))
		put_char(quote, character, *text);
}

void quote_short(struct quote *quote, const char *text)
{
	const size_t tail = SHOWN_CHARS / 2, head = SHOWN_CHARS - tail - 1;
	char character[GRAPH_CHAR_BYTES];
	const char *rest = text;
	size_t count = 0;

	while (graph_next_char(&rest, character))
		count++;
	if (!count)
		put(quote, "?");
	for (size_t i = 0; graph_next_char(&text, character); i++) {
		if (count <= SHOWN_CHARS || i < head || i >= count - tail)
			put_char(quote, character, *text);
		else if (i == head)
			put(quote, ELLIPSIS);
	}
}

void quote_line(struct quote *quote)
{
	put(quote, "\\n");
}

void quote_number(struct quote *quote, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	put(quote, text);
}

void quote_time(struct quote *quote, uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	char text[40];
	size_t unit = 0;

	while (unit < 3 && value >= 1000) {
		value /= 1000;
		unit++;
	}
	snprintf(text, sizeof(text), "%.*f %s",
		 !unit || value >= 100 ? 0 :
		 value >= 10	       ? 1 :
					 2,
		 value, units[unit]);
	put(quote, text);
}

void quote_things(struct quote *quote, uint64_t number, const char *thing)
{
	quote_number(quote, number);
	put(quote, " ");
	put(quote, thing);
	if (number != 1)
		put(quote, "s");
}

void quote_stack(struct quote *quote, const struct graph_stack *stack)
{
	for (size_t i = 0; quote->left && i < stack->count; i++) {
		quote_line(quote);
		put(quote, "  ");
		quote_text(quote, stack->frames[i]);
	}
}

/* ------------------------------------------------------------------------ */
/* Parts of a graph                                                          */

void draw_begin(FILE *out, const char *name)
{
	fprintf(out,
		"digraph \"locktap %s\" {\n"
		"\tgraph [rankdir=LR labelloc=t labeljust=l bgcolor=white fontsize=14 fontname=\"Helvetica,Arial,sans-serif\"]\n"
		"\tnode [style=filled fontsize=11 margin=\"0.16,0.08\" fontname=\"Helvetica,Arial,sans-serif\"]\n"
		"\tedge [fontsize=9 arrowsize=0.7 color=\"#444444\" fontname=\"Helvetica,Arial,sans-serif\"]\n",
		name);
}

void draw_end(FILE *out, const struct graph_report *report)
{
	struct quote quote;

	fputs("\tgraph [", out);
	quote_open(&quote, out, "tooltip");
	quote_text(&quote,
		   report->loss_count ? "loss" : "no word of lost events");
	for (size_t i = 0; i < report->loss_count; i++) {
		quote_line(&quote);
		quote_text(&quote, report->loss[i].key);
		quote_text(&quote, " ");
		quote_text(&quote, report->loss[i].value);
	}
	quote_close(&quote);
	fputs("]\n}\n", out);
}

void draw_empty(FILE *out, const char *text)
{
	struct quote quote;

	fputs("\tempty [shape=plaintext style=\"\" fontsize=14 class=empty",
	      out);
	quote_open(&quote, out, "label");
	quote_text(&quote, text);
	quote_close(&quote);
	fputs("]\n", out);
}

void draw_width(FILE *out, uint64_t part, uint64_t most)
{
	fprintf(out, " penwidth=%.2f",
		1 + (most ? 4 * (double)part / (double)most : 0));
}

const char *draw_lock_name(const char *kind, const char *name)
{
	return *name && strcmp(name, "?") != 0 ? name : *kind ? kind : "?";
}

void draw_lock(FILE *out, size_t number, const char *kind, const char *name,
	       const char *address, bool red)
{
	struct quote quote;

	fprintf(out,
		"\tl%zu [shape=ellipse fillcolor=\"#fdf3d8\" class=\"lock%s\"",
		number, red ? " cycle" : "");
	if (red)
		fputs(" color=\"" DRAW_RED "\" penwidth=2", out);
	quote_open(&quote, out, "label");
	quote_short(&quote, name);
	quote_line(&quote);
	quote_short(&quote, kind);
	if (*address) {
		quote_text(&quote, " ");
		quote_short(&quote, address);
	}
	quote_close(&quote);
}

int graph_draw(FILE *out, const struct graph_report *report, uint64_t top)
{
	bool good;

	if (report->is_order)
		good = draw_orders(out, report, top);
	else if (!report->wait_count && !report->cycle_count)
		good = draw_chains(out, report, top);
	else
		good = draw_waits(out, report, top);
	return good ? LOCKTAP_DONE : locktap_fail("out of memory");
}
