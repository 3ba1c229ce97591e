/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chain or order report, and how it becomes a picture. */
#ifndef LOCKTAP_GRAPH_H
#define LOCKTAP_GRAPH_H

#include <json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ------------------------------------------------------------------------ */
/* A report; texts are those of the JSON document and "" where it has none.  */

#define GRAPH_NONE ((size_t)-1)

struct graph_stack {
	const char **frames; /* the innermost first */
	size_t count;
};

struct graph_thread {
	int64_t tid, pid; /* pid: -1 if not told */
	const char *comm, *state;
	struct graph_stack stack;
};

struct graph_lock {
	const char *id, *kind, *name, *address;
};

struct graph_wait {
	size_t thread, lock; /* where in the report's lists */
	const char *mode, *caller;
	uint64_t wait_ns;
	struct graph_stack stack;
};

struct graph_hold {
	size_t thread, lock;
	const char *mode;
	bool proven;
};

/* threads[i] waits for locks[i], which threads[i + 1] holds. */
struct graph_cycle {
	size_t *threads, *locks;
	size_t count;
	uint64_t at_ns;
};

/* A thread, and the lock that it waits for (kind and name "": for none). */
struct graph_link {
	const char *comm, *kind, *name, *caller;
};

struct graph_chain {
	uint64_t count, total_ns, max_ns;
	struct graph_link *links;
	size_t link_count;
};

struct graph_order {
	size_t first, then; /* locks */
	const char *first_mode, *then_mode, *comm;
	int64_t tid; /* -1 if not told */
	uint64_t count;
	struct graph_stack first_stack, then_stack;
};

struct graph_inversion {
	size_t *orders;
	size_t count;
	size_t gate; /* a lock, or GRAPH_NONE */
	bool harmless;
};

/* What the report says of lost events. */
struct graph_loss {
	const char *key, *value;
};

struct graph_report {
	bool is_order;
	uint64_t elapsed_ns;
	struct graph_thread *threads;
	struct graph_lock *locks;
	struct graph_wait *waits;
	struct graph_hold *holds;
	struct graph_cycle *cycles;
	struct graph_chain *chains;
	struct graph_order *orders;
	struct graph_inversion *inversions;
	struct graph_loss *loss;
	size_t thread_count, lock_count, wait_count, hold_count, cycle_count,
		chain_count, order_count, inversion_count, loss_count;
	struct json_object *json;
};

/* ------------------------------------------------------------------------ */

/*
 * Each of these tells what is wrong, if something is, and then returns
 * LOCKTAP_FAILED.
 */

/* Where the report is from, for messages. */
struct graph_source {
	const char *file;
	const char *text;
	size_t length;
};

/*
 * Reads the document `number' (0: the last one) of the text into *report,
 * which the caller frees, also after a failure.
 */
int graph_read_json(const struct graph_source *source, size_t number,
		    struct graph_report *report);
void graph_report_free(struct graph_report *report);

/* Finds the graph `number' (0: the last one) of a text in DOT. */
int graph_find_dot(const struct graph_source *source, size_t number,
		   const char **begin, size_t *length);

/* Writes a report in DOT; top: only so many of the largest, 0: all. */
int graph_draw(FILE *out, const struct graph_report *report, uint64_t top);

/* Has dot(1) make SVG of DOT. The caller frees *svg, also after a failure. */
int graph_render(const char *dot, size_t dot_length, char **svg,
		 size_t *svg_length);

/* ------------------------------------------------------------------------ */
/* Text from elsewhere                                                       */

/* Room for one character, UTF-8, and the end. */
#define GRAPH_CHAR_BYTES 8

/*
 * The next character of *text, which moves on; 0 at the end. What is not
 * UTF-8, or not allowed in SVG or on a terminal, is replaced.
 */
size_t graph_next_char(const char **text, char *character);

/* A text for a message, not longer than `size'. Returns `to'. */
const char *graph_plain(const char *text, char *to, size_t size);

#endif
