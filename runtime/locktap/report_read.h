/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saved reports as they are in tsv: rows of typed cells, and the loss line. */
#ifndef LOCKTAP_REPORT_READ_H
#define LOCKTAP_REPORT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum report_kind {
	REPORT_CONTEND,
	REPORT_HOLD,
	REPORT_STAT,
	REPORT_BLAME,
	REPORT_CHAIN,
	REPORT_ORDER,
	REPORT_KINDS,
};

enum report_type {
	REPORT_TEXT,
	REPORT_NUMBER, /* not negative */
	REPORT_ID, /* of a task or the like, or none */
	REPORT_DECIMAL,
	REPORT_STACK, /* functions with ; between, the outermost first */
	REPORT_HIST, /* B:N,... : N times of 2^B ns at least, less than 2^(B+1) */
};

/* Times of 2^B ns, for each B. */
#define REPORT_BUCKETS 64

struct report_column {
	const char *name;
	enum report_type type;
};

/* What does not apply is "-" and 0. */
struct report_cell {
	const char *text; /* printable UTF-8 */
	uint64_t number; /* of NUMBER and ID */
};

struct report_row {
	struct report_cell *cells;
	uint64_t *hist; /* REPORT_BUCKETS of them, or NULL */
};

struct report_loss {
	const char *key, *text;
	uint64_t number;
	bool is_number;
};

struct report {
	enum report_kind kind;
	size_t source; /* which of the files it is from */
	struct report_column *columns;
	struct report_row *rows;
	struct report_loss *loss;
	size_t column_count, row_count, loss_count;
};

/* Memory that is freed at once. */
struct report_pool;

struct report_set {
	struct report *reports;
	size_t count, room;
	size_t source_count;
	struct report_pool *pool;
};

/*
 * Reads a file's reports behind those that the set has; `number': up to that one
 * of the set, counted from 1, 0: all. Tells what is wrong, with what was
 * read before it. LOCKTAP_DONE or LOCKTAP_FAILED. The caller frees the set,
 * also after a failure.
 */
int report_read(FILE *in, const char *name, uint64_t number,
		struct report_set *set);
void report_set_free(struct report_set *set);

/* Zeroed, until the set is freed; NULL: out of memory. */
void *report_alloc(struct report_set *set, size_t size);
/* The reports of the array have room for one more; false: out of memory. */
bool report_set_grow(struct report_set *set);
/* Text as printf makes it, until the set is freed; NULL: out of memory. */
char *report_print(struct report_set *set, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * A place in the code without its offset, as f of f+0x12; of a lock of a program,
 * by its kind, the place itself, which is all that is known. NULL: out of memory.
 */
const char *report_function(struct report_set *set, const char *kind,
			    const char *code);

/*
 * The sum of the reports of each kind, in `sum', which lives no longer than `set':
 * rows that stand for the same are one. LOCKTAP_DONE or LOCKTAP_FAILED.
 */
int report_merge(struct report_set *set, struct report_set *sum);

/*
 * The sums of the rows of each lock, or each lock and event, of a report that has rows
 * of locks; the largest first. False: out of memory.
 */
bool report_by_lock(struct report_set *set, struct report *report,
		    struct report *sum);
/* Have the rows of the report one sum? */
bool report_same_lock(const struct report *report, const struct report_row *a,
		      const struct report_row *b);

/* "contend", ... */
const char *report_kind_name(enum report_kind kind);

/* Where the column is; -1: the report has none of that name. */
int report_column(const struct report *report, const char *name);
/* Of a row, by the column's name; "-" and 0 if the report has no such column. */
const char *report_text(const struct report *report,
			const struct report_row *row, const char *name);
uint64_t report_number(const struct report *report,
		       const struct report_row *row, const char *name);
/* Is there something, not "-"? */
bool report_has(const struct report *report, const struct report_row *row,
		const char *name);
/* A number of the loss line, 0 if it is not there. */
uint64_t report_loss(const struct report *report, const char *key);

#endif
