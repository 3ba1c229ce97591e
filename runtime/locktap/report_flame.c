// SPDX-License-Identifier: GPL-2.0-or-later
/* Flame graphs of the page. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "report_page.h"

enum { FRAME_PIXELS = 18 };

/* What is narrower than this part of the whole cannot be seen. */
#define NARROW 0.0004

/* A function at one place of the graph: the stacks from `first' to `end'. */
struct frame {
	size_t depth, first, end;
	uint64_t ns, times;
};

struct flame {
	FILE *out;
	const struct report_stack *stacks;
	size_t count, depth, narrow;
	uint64_t ns;
};

static int compare(const void *left, const void *right)
{
	const struct report_stack *a = left, *b = right;

	for (size_t i = 0; i < a->count && i < b->count; i++) {
		int order = strcmp(a->frames[i], b->frames[i]);

		if (order)
			return order;
	}
	return (a->count > b->count) - (a->count < b->count);
}

/* Colours tell neighbours apart, and a function is of one colour everywhere. */
static unsigned int colour_of(const char *name)
{
	unsigned int hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash % 5;
}

static void put_frame(struct flame *flame, const struct frame *frame,
		      uint64_t before_ns)
{
	const struct report_stack *stack = &flame->stacks[frame->first];
	const char *name = stack->frames[frame->depth];
	bool lock = stack->has_lock && frame->depth + 1 == stack->count;
	double x = 100.0 * (double)before_ns / (double)flame->ns;
	double width = 100.0 * (double)frame->ns / (double)flame->ns;
	char time[VIEW_TIME];

	fprintf(flame->out,
		"<svg class=\"frame\" data-x=\"%.4f\" data-w=\"%.4f\" x=\"%.4f%%\" width=\"%.4f%%\" y=\"%zu\" height=\"%d\"><title>",
		x, width, x, width,
		(flame->depth - 1 - frame->depth) * FRAME_PIXELS,
		FRAME_PIXELS - 1);
	page_text(flame->out, name);
	fprintf(flame->out,
		"\n%s, %.1f%%, %llu times</title><rect class=\"%s%u\" width=\"100%%\" height=\"100%%\"/>",
		view_time(frame->ns, time), width,
		(unsigned long long)frame->times, lock ? "lock c" : "c",
		colour_of(name));
	fputs("<text x=\"4\" y=\"13\">", flame->out);
	page_text(flame->out, name);
	fputs("</text></svg>\n", flame->out);
}

/* The frames above those of `below', which the graph has been drawn for. */
static void put_above(struct flame *flame, const struct frame *below,
		      uint64_t before_ns)
{
	struct frame frame = { .depth = below->depth + 1,
			       .first = below->first };

	while (frame.first < below->end) {
		const struct report_stack *first = &flame->stacks[frame.first];

		frame.end = frame.first;
		frame.ns = frame.times = 0;
		/* Stacks that end here stand before longer ones. */
		while (frame.end < below->end &&
		       (first->count <= frame.depth ?
				flame->stacks[frame.end].count <= frame.depth :
				flame->stacks[frame.end].count > frame.depth &&
					strcmp(flame->stacks[frame.end]
						       .frames[frame.depth],
					       first->frames[frame.depth]) ==
						0)) {
			frame.ns += flame->stacks[frame.end].ns;
			frame.times += flame->stacks[frame.end].times;
			frame.end++;
		}
		if (first->count > frame.depth) {
			if ((double)frame.ns < NARROW * (double)flame->ns) {
				flame->narrow++;
			} else {
				put_frame(flame, &frame, before_ns);
				put_above(flame, &frame, before_ns);
			}
		}
		before_ns += frame.ns;
		frame.first = frame.end;
	}
}

static void put_flame(struct flame *flame, const char *title, const char *class)
{
	const struct frame ground = { .depth = (size_t)-1,
				      .end = flame->count };
	char time[VIEW_TIME];

	fprintf(flame->out, "<figure class=\"flame %s\"><figcaption>", class);
	page_text(flame->out, title);
	fprintf(flame->out,
		": %s <button type=\"button\" hidden>whole graph</button></figcaption>\n<div class=\"stage\"><svg class=\"frames\" role=\"img\" aria-label=\"",
		view_time(flame->ns, time));
	page_text(flame->out, title);
	fprintf(flame->out, "\" width=\"100%%\" height=\"%zu\">\n",
		flame->depth * FRAME_PIXELS);
	put_above(flame, &ground, 0);
	fputs("</svg></div>\n<output>A click on a frame makes it as wide as the graph.</output>\n",
	      flame->out);
	if (flame->narrow)
		fprintf(flame->out,
			"<p class=\"quiet\">Too narrow to be drawn: %zu frames and what is on them.</p>\n",
			flame->narrow);
	fputs("</figure>\n", flame->out);
}

bool page_flame(FILE *out, struct report_set *set, const struct report *report,
		enum stacks_of of, const char *title, const char *class)
{
	struct flame flame = { .out = out };
	struct report_stack *stacks;
	size_t count;

	if (!report_stacks(set, report, of, &stacks, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!stacks[i].ns)
			continue;
		flame.ns += stacks[i].ns;
		if (stacks[i].count > flame.depth)
			flame.depth = stacks[i].count;
		stacks[flame.count++] = stacks[i];
	}
	if (!flame.count)
		return true;
	qsort(stacks, flame.count, sizeof(*stacks), compare);
	flame.stacks = stacks;
	put_flame(&flame, title, class);
	return true;
}
