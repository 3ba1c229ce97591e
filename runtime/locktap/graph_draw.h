/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pictures have in common. */
#ifndef LOCKTAP_GRAPH_DRAW_H
#define LOCKTAP_GRAPH_DRAW_H

#include "graph.h"

/* Something that is larger than others, or is looked up by a number. */
struct keyed {
	uint64_t key;
	size_t at;
};

/* By key, then by place. */
void keyed_sort(struct keyed *list, size_t count);
/* The first that has at least this key. */
size_t keyed_find(const struct keyed *list, size_t count, uint64_t key);

/*
 * A text between quotes. Its methods put whatever text so that it is shown as
 * it is.
 */
struct quote {
	FILE *out;
	bool is_tooltip;
	size_t left; /* dot(1) has a limit for a text's bytes */
};

void quote_open(struct quote *quote, FILE *out, const char *attribute);
void quote_close(struct quote *quote);
void quote_text(struct quote *quote, const char *text);
/* Shortened in the middle, so that it fits; ? for none. */
void quote_short(struct quote *quote, const char *text);
void quote_line(struct quote *quote);
void quote_time(struct quote *quote, uint64_t ns);
void quote_number(struct quote *quote, uint64_t number);
/* "1 thing", "2 things" */
void quote_things(struct quote *quote, uint64_t number, const char *thing);
void quote_stack(struct quote *quote, const struct graph_stack *stack);

#define DRAW_RED "#cc0000"
#define DRAW_GREY "#999999"

void draw_begin(FILE *out, const char *name);
/* The loss, for the pointer, and the end. */
void draw_end(FILE *out, const struct graph_report *report);
void draw_empty(FILE *out, const char *text);
/* Wider by what part of `most' it is. */
void draw_width(FILE *out, uint64_t part, uint64_t most);
/* NAME, or KIND without one. */
const char *draw_lock_name(const char *kind, const char *name);
/* A lock's node, its class and its label; the tooltip is left to the caller. */
void draw_lock(FILE *out, size_t number, const char *kind, const char *name,
	       const char *address, bool red);

/* The pictures; false if out of memory. */
bool draw_waits(FILE *out, const struct graph_report *report, uint64_t top);
bool draw_chains(FILE *out, const struct graph_report *report, uint64_t top);
bool draw_orders(FILE *out, const struct graph_report *report, uint64_t top);

#endif
