// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads reports in tsv. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "graph.h"
#include "locktap.h"
#include "report_read.h"

/* ------------------------------------------------------------------------ */
/* What the reports have                                                     */

/* The columns that are needed; more may be there. */
static const struct {
	const char *name;
	const char *needed;
} kinds[REPORT_KINDS] = {
	[REPORT_CONTEND] = { "contend",
			     "kind mode name lock contended failed total_ns avg_ns min_ns max_ns spin_ns block_ns owner caller stack" },
	[REPORT_HOLD] = { "hold",
			  "kind mode name lock acquired contended tryfail total_ns avg_ns min_ns max_ns caller stack" },
	[REPORT_STAT] = { "stat",
			  "event kind mode name lock count rcnt total_ns avg_ns min_ns max_ns caller stack word" },
	[REPORT_BLAME] = { "blame",
			   "kind mode name lock waits total_ns run_ns runnable_ns sleep_ns lock_ns waits_for holder_tid holder_comm holder_caller holder_stack waiter_caller waiter_stack" },
	[REPORT_CHAIN] = { "chain",
			   "chain depth tid comm kind name lock owner owner_state wait_ns count mode owner_comm proven what max_ns caller stack" },
	[REPORT_ORDER] = { "order",
			   "first_kind first_mode first_name then_kind then_mode then_name count inversion same gate tid comm first_lock then_lock first_caller then_caller first_stack then_stack" },
};

/* All others are texts. */
static const struct report_column typed[] = {
	{ "acquired", REPORT_NUMBER },
	{ "avg_ns", REPORT_NUMBER },
	{ "block_ns", REPORT_NUMBER },
	{ "chain", REPORT_NUMBER },
	{ "contended", REPORT_NUMBER },
	{ "count", REPORT_NUMBER },
	{ "depth", REPORT_NUMBER },
	{ "event", REPORT_NUMBER },
	{ "failed", REPORT_NUMBER },
	{ "first_stack", REPORT_STACK },
	{ "found_ns", REPORT_NUMBER },
	{ "hist", REPORT_HIST },
	{ "holder_stack", REPORT_STACK },
	{ "holder_tid", REPORT_ID },
	{ "id", REPORT_ID },
	{ "inversion", REPORT_NUMBER },
	{ "lock_ns", REPORT_NUMBER },
	{ "max_ns", REPORT_NUMBER },
	{ "max_stack", REPORT_STACK },
	{ "min_ns", REPORT_NUMBER },
	{ "owner", REPORT_ID },
	{ "pid", REPORT_ID },
	{ "proven", REPORT_NUMBER },
	{ "raw_ns", REPORT_NUMBER },
	{ "rcnt", REPORT_DECIMAL },
	{ "run_ns", REPORT_NUMBER },
	{ "runnable_ns", REPORT_NUMBER },
	{ "sleep_ns", REPORT_NUMBER },
	{ "spin_ns", REPORT_NUMBER },
	{ "stack", REPORT_STACK },
	{ "then_stack", REPORT_STACK },
	{ "tid", REPORT_ID },
	{ "total_ns", REPORT_NUMBER },
	{ "tryfail", REPORT_NUMBER },
	{ "wait_ns", REPORT_NUMBER },
	{ "waiter_stack", REPORT_STACK },
	{ "waits", REPORT_NUMBER },
};

static enum report_type type_of(const char *column)
{
	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++)
		if (strcmp(typed[i].name, column) == 0)
			return typed[i].type;
	return REPORT_TEXT;
}

const char *report_kind_name(enum report_kind kind)
{
	return kinds[kind].name;
}

int report_column(const struct report *report, const char *name)
{
	for (size_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

const char *report_text(const struct report *report,
			const struct report_row *row, const char *name)
{
	int column = report_column(report, name);

	return column < 0 ? "-" : row->cells[column].text;
}

uint64_t report_number(const struct report *report,
		       const struct report_row *row, const char *name)
{
	int column = report_column(report, name);

	return column < 0 ? 0 : row->cells[column].number;
}

bool report_has(const struct report *report, const struct report_row *row,
		const char *name)
{
	return strcmp(report_text(report, row, name), "-") != 0;
}

uint64_t report_loss(const struct report *report, const char *key)
{
	for (size_t i = 0; i < report->loss_count; i++)
		if (strcmp(report->loss[i].key, key) == 0)
			return report->loss[i].number;
	return 0;
}

/* ------------------------------------------------------------------------ */
/* Memory                                                                    */

struct report_pool {
	struct report_pool *next;
	size_t used, size;
	/* Aligned for anything that is put there. */
	max_align_t room[];
};

#define POOL_BYTES ((size_t)65536)

void *report_alloc(struct report_set *set, size_t size)
{
	struct report_pool *pool = set->pool;
	size_t align = sizeof(max_align_t);
	char *place;

	size = (size + align - 1) / align * align;
	if (!pool || pool->size - pool->used < size) {
		size_t room = size > POOL_BYTES ? size : POOL_BYTES;

		pool = calloc(1, sizeof(*pool) + room);
		if (!pool)
			return NULL;
		pool->size = room;
		pool->next = set->pool;
		set->pool = pool;
	}
	place = (char *)pool->room + pool->used;
	pool->used += size;
	return place;
}

char *report_print(struct report_set *set, const char *format, ...)
{
	va_list arguments;
	char *text, *copy;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return NULL;
	copy = report_alloc(set, (size_t)length + 1);
	if (copy)
		memcpy(copy, text, (size_t)length + 1);
	free(text);
	return copy;
}

const char *report_function(struct report_set *set, const char *kind,
			    const char *code)
{
	const char *plus = strstr(code, "+0x");

	if (!plus || strcmp(kind, "futex") == 0 ||
	    strncmp(kind, "pthread_", 8) == 0)
		return code;
	return report_print(set, "%.*s%s", (int)(plus - code), code,
			    plus + 3 + strspn(plus + 3, "0123456789abcdef"));
}

bool report_set_grow(struct report_set *set)
{
	struct report *larger;

	if (set->count < set->room)
		return true;
	larger = realloc(set->reports,
			 (set->room * 2 + 8) * sizeof(*set->reports));
	if (!larger)
		return false;
	set->reports = larger;
	set->room = set->room * 2 + 8;
	return true;
}

void report_set_free(struct report_set *set)
{
	while (set->pool) {
		struct report_pool *next = set->pool->next;

		free(set->pool);
		set->pool = next;
	}
	free(set->reports);
	memset(set, 0, sizeof(*set));
}

/* ------------------------------------------------------------------------ */
/* Messages                                                                  */

struct reader {
	struct report_set *set;
	const char *name; /* of the file */
	char *at, *end; /* what is left of its text */
	size_t line; /* that was read last, from 1 */
	size_t first; /* of the set's reports the first one of this file */
	bool ended; /* that line had no newline */
	struct report *open; /* the report that is being read, or NULL */
	size_t row_room;
	uint64_t chain; /* that the last row was a link of */
	size_t links; /* of it, so far */
};

/*
 * The tapset keeps 64 frames of a stack and follows a chain over 16 waits.  What is made
 * of them calls itself for each.
 */
#define MOST_FRAMES 1024
#define MOST_LINKS 1024

static int out_of_memory(void)
{
	return locktap_fail("out of memory");
}

/* What was read before something was wrong, and how to get at it. */
static char *tell_read(const struct reader *reader, char *text, size_t size)
{
	size_t whole = reader->set->count - reader->first;
	int at = snprintf(text, size, "; read before it: ");

	if (whole)
		at += snprintf(text + at, size - (size_t)at,
			       "%zu whole report%s", whole,
			       whole == 1 ? "" : "s");
	if (reader->open)
		at += snprintf(text + at, size - (size_t)at,
			       "%s%zu row%s of a %s report",
			       whole ? " and " : "", reader->open->row_count,
			       reader->open->row_count == 1 ? "" : "s",
			       report_kind_name(reader->open->kind));
	if (!whole && !reader->open)
		*text = '\0';
	if (whole)
		snprintf(text + at, size - (size_t)at,
			 " (--report=%zu takes the last whole one)",
			 reader->set->count);
	return text;
}

__attribute__((format(printf, 2, 3))) static int
wrong(const struct reader *reader, const char *format, ...)
{
	char text[300], read[200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return locktap_fail("%s:%zu: %s%s", reader->name, reader->line, text,
			    tell_read(reader, read, sizeof(read)));
}

/* For the end of a file in the middle of something. */
static int cut_off(const struct reader *reader)
{
	return wrong(
		reader,
		"the report is cut off here, its loss line is missing: was the run killed, or the disk full?");
}

/* ------------------------------------------------------------------------ */
/* Lines and cells                                                           */

/* The next line, without its newline; NULL at the end. */
static char *next_line(struct reader *reader)
{
	char *line = reader->at, *newline;
	size_t left = (size_t)(reader->end - line);

	if (!left)
		return NULL;
	newline = memchr(line, '\n', left);
	reader->line++;
	reader->ended = !newline;
	if (!newline)
		newline = reader->end;
	reader->at = newline < reader->end ? newline + 1 : newline;
	*newline = '\0';
	if (newline > line && newline[-1] == '\r')
		newline[-1] = '\0';
	return line;
}

/* What cannot be shown becomes `?', in place: that is never longer. */
static void make_plain(char *text)
{
	char character[GRAPH_CHAR_BYTES];
	const char *from = text;
	size_t length;

	while ((length = graph_next_char(&from, character)) != 0) {
		memcpy(text, character, length);
		text += length;
	}
	*text = '\0';
}

/* The next cell of a line, which moves on to NULL behind the last one. */
static char *next_cell(char **line, char separator)
{
	char *cell = *line, *end;

	if (!cell)
		return NULL;
	end = strchr(cell, separator);
	*line = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return cell;
}

static size_t count_cells(const char *line, char separator)
{
	size_t count = 1;

	for (; *line; line++)
		count += *line == separator;
	return count;
}

/* ------------------------------------------------------------------------ */
/* Values                                                                    */

static bool read_number(const char *text, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* -1 and the like are nobody. */
static bool read_id(const char *text, uint64_t *number)
{
	bool negative = text[0] == '-' && text[1];

	if (strcmp(text, "-") == 0)
		return true;
	if (!read_number(text + negative, number))
		return false;
	if (negative)
		*number = 0;
	return true;
}

static bool is_decimal(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || (text[digits] && text[digits] != '.'))
		return false;
	if (!text[digits])
		return true;
	text += digits + 1;
	digits = strspn(text, "0123456789");
	return digits && !text[digits];
}

static bool read_buckets(const char *text, uint64_t *hist)
{
	for (;;) {
		unsigned long bucket;
		char *end;

		if (*text < '0' || *text > '9')
			return false;
		errno = 0;
		bucket = strtoul(text, &end, 10);
		if (*end != ':' || errno || bucket >= REPORT_BUCKETS ||
		    end[1] < '0' || end[1] > '9')
			return false;
		hist[bucket] += strtoull(end + 1, &end, 10);
		if (errno || (*end && *end != ','))
			return false;
		if (!*end)
			return true;
		text = end + 1;
	}
}

static int read_hist(struct reader *reader, const char *text,
		     struct report_row *row)
{
	/* A row of failed trylocks alone has nothing. */
	if (strcmp(text, "-") == 0 || !*text)
		return LOCKTAP_DONE;
	row->hist =
		report_alloc(reader->set, REPORT_BUCKETS * sizeof(*row->hist));
	if (!row->hist)
		return out_of_memory();
	if (read_buckets(text, row->hist))
		return LOCKTAP_DONE;
	return wrong(reader, "hist: \"%.60s\" is no list of BUCKET:COUNT",
		     text);
}

static int read_cell(struct reader *reader, const struct report_column *column,
		     struct report_cell *cell, struct report_row *row)
{
	switch (column->type) {
	case REPORT_NUMBER:
		if (read_number(cell->text, &cell->number))
			return LOCKTAP_DONE;
		break;
	case REPORT_ID:
		if (read_id(cell->text, &cell->number))
			return LOCKTAP_DONE;
		break;
	case REPORT_DECIMAL:
		if (is_decimal(cell->text))
			return LOCKTAP_DONE;
		break;
	case REPORT_HIST:
		return read_hist(reader, cell->text, row);
	case REPORT_STACK:
		if (count_cells(cell->text, ';') <= MOST_FRAMES)
			return LOCKTAP_DONE;
		return wrong(
			reader,
			"%s: more than %d frames in a stack: the file is damaged",
			column->name, MOST_FRAMES);
	default:
		return LOCKTAP_DONE;
	}
	return wrong(reader, "%s: \"%.60s\" is no number", column->name,
		     cell->text);
}

/* ------------------------------------------------------------------------ */
/* The parts of a report                                                     */

static struct report_row *new_row(struct reader *reader)
{
	struct report *report = reader->open;

	if (report->row_count == reader->row_room) {
		size_t room = reader->row_room * 2 + 16;
		struct report_row *larger =
			report_alloc(reader->set, room * sizeof(*larger));

		if (!larger)
			return NULL;
		if (report->row_count)
			memcpy(larger, report->rows,
			       report->row_count * sizeof(*larger));
		report->rows = larger;
		reader->row_room = room;
	}
	return &report->rows[report->row_count];
}

/* Rows with one number that follow one another are a chain. */
static int check_links(struct reader *reader, uint64_t chain)
{
	if (chain != reader->chain)
		reader->links = 0;
	reader->chain = chain;
	if (++reader->links <= MOST_LINKS)
		return LOCKTAP_DONE;
	return wrong(reader,
		     "more than %d links in a chain: the file is damaged",
		     MOST_LINKS);
}

static int read_row(struct reader *reader, char *line)
{
	struct report *report = reader->open;
	size_t cells = count_cells(line, '\t');
	struct report_row *row;

	if (reader->ended)
		return cut_off(reader);
	if (cells != report->column_count)
		return wrong(
			reader,
			"a row of %zu cells, but there are %zu columns: the file is damaged",
			cells, report->column_count);
	row = new_row(reader);
	if (!row)
		return out_of_memory();
	row->hist = NULL;
	row->cells = report_alloc(reader->set, cells * sizeof(*row->cells));
	if (!row->cells)
		return out_of_memory();
	for (size_t i = 0; i < cells; i++) {
		char *text = next_cell(&line, '\t');

		make_plain(text);
		row->cells[i].text = text;
		if (read_cell(reader, &report->columns[i], &row->cells[i],
			      row) != LOCKTAP_DONE)
			return LOCKTAP_FAILED;
	}
	if (report->kind == REPORT_CHAIN &&
	    check_links(reader, report_number(report, row, "chain")) !=
		    LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	report->row_count++;
	return LOCKTAP_DONE;
}

static int check_needed(const struct reader *reader)
{
	const char *needed = kinds[reader->open->kind].needed;

	while (*needed) {
		size_t length = strcspn(needed, " ");
		char name[40];

		snprintf(name, sizeof(name), "%.*s", (int)length, needed);
		if (report_column(reader->open, name) < 0)
			return wrong(
				reader,
				"the column %s is missing: the file is damaged or made by another version",
				name);
		needed += length + (needed[length] == ' ');
	}
	return LOCKTAP_DONE;
}

static int read_columns(struct reader *reader)
{
	struct report *report = reader->open;
	char *line = next_line(reader);

	if (!line || reader->ended)
		return cut_off(reader);
	if (*line != '#')
		return wrong(
			reader,
			"a line of # and the columns' names is missing here: the file is damaged");
	line++;
	report->column_count = count_cells(line, '\t');
	report->columns = report_alloc(
		reader->set, report->column_count * sizeof(*report->columns));
	if (!report->columns)
		return out_of_memory();
	for (size_t i = 0; i < report->column_count; i++) {
		char *name = next_cell(&line, '\t');

		make_plain(name);
		report->columns[i].name = name;
		report->columns[i].type = type_of(name);
	}
	return check_needed(reader);
}

static int read_loss(struct reader *reader, char *line)
{
	struct report *report = reader->open;
	size_t room = 1;
	char *cell;

	/* An incomplete number looks like a number. */
	if (reader->ended)
		return cut_off(reader);
	for (const char *c = line; *c; c++)
		room += *c == ' ';
	report->loss = report_alloc(reader->set, room * sizeof(*report->loss));
	if (!report->loss)
		return out_of_memory();
	while ((cell = next_cell(&line, ' ')) != NULL) {
		struct report_loss *loss = &report->loss[report->loss_count];
		char *value = strchr(cell, '=');

		if (!*cell)
			continue;
		if (!value || value == cell) {
			make_plain(cell);
			return wrong(
				reader,
				"the loss line has \"%.60s\", no KEY=VALUE: the file is damaged",
				cell);
		}
		*value++ = '\0';
		make_plain(cell);
		make_plain(value);
		loss->key = cell;
		loss->text = value;
		loss->is_number = read_number(value, &loss->number);
		report->loss_count++;
	}
	return LOCKTAP_DONE;
}

/* The first line of a report: #locktap 1 NAME. */
static int read_head(struct reader *reader, char *line)
{
	static const char magic[] = "#locktap ";
	struct report *report;
	char *name;
	int kind = 0;

	if (strncmp(line, magic, sizeof(magic) - 1) != 0)
		return wrong(
			reader,
			"#locktap 1 REPORT is wanted here: make the file with -G format=tsv");
	if (reader->ended)
		return cut_off(reader);
	name = line + sizeof(magic) - 1;
	if (strncmp(name, "1 ", 2) != 0)
		return wrong(
			reader,
			"only the form 1 of reports is known: this needs a later locktap");
	name += 2;
	while (kind < REPORT_KINDS && strcmp(kinds[kind].name, name) != 0)
		kind++;
	make_plain(name);
	if (kind == REPORT_KINDS)
		return wrong(
			reader,
			"\"%.40s\" cannot be rendered, only contend, hold, stat, blame, chain and order",
			name);
	if (!report_set_grow(reader->set))
		return out_of_memory();
	report = &reader->set->reports[reader->set->count];
	*report = (struct report){ .kind = kind,
				   .source = reader->set->source_count };
	reader->open = report;
	reader->row_room = 0;
	reader->links = 0;
	return read_columns(reader);
}

static int read_report(struct reader *reader, char *line)
{
	if (read_head(reader, line) != LOCKTAP_DONE)
		return LOCKTAP_FAILED;
	while ((line = next_line(reader)) != NULL) {
		if (strncmp(line, "#loss ", 6) == 0) {
			if (read_loss(reader, line + 6) != LOCKTAP_DONE)
				return LOCKTAP_FAILED;
			reader->open = NULL;
			reader->set->count++;
			return LOCKTAP_DONE;
		}
		if (!*line || *line == '#')
			return wrong(
				reader,
				"a row or the loss line is wanted here: the file is damaged");
		if (read_row(reader, line) != LOCKTAP_DONE)
			return LOCKTAP_FAILED;
	}
	return cut_off(reader);
}

static int read_reports(struct reader *reader, uint64_t number)
{
	char *line;

	while ((!number || reader->set->count < number) &&
	       (line = next_line(reader)) != NULL)
		if (*line && read_report(reader, line) != LOCKTAP_DONE)
			return LOCKTAP_FAILED;
	return LOCKTAP_DONE;
}

/* Before any line is looked at. */
static int check_text(const char *name, const char *text, size_t length)
{
	size_t blank = strspn(text, " \t\r\n");

	if (blank == length)
		return locktap_fail(
			"%s is empty: has the script that made it failed?",
			name);
	if (text[blank] == '{')
		return locktap_fail(
			"%s is in JSON: make it with -G format=tsv (`locktap graph' draws JSON)",
			name);
	if (strlen(text) != length)
		return locktap_fail(
			"%s is no text: a report in tsv is wanted, made with -G format=tsv",
			name);
	return LOCKTAP_DONE;
}

int report_read(FILE *in, const char *name, uint64_t number,
		struct report_set *set)
{
	struct reader reader = { .set = set,
				 .name = name,
				 .first = set->count };
	size_t length;
	char *text, *copy = NULL;
	int status = files_read(in, name, &text, &length);

	if (status == LOCKTAP_DONE)
		status = check_text(name, text, length);
	if (status == LOCKTAP_DONE) {
		copy = report_alloc(set, length + 1);
		status = copy ? LOCKTAP_DONE : out_of_memory();
	}
	if (status == LOCKTAP_DONE) {
		memcpy(copy, text, length + 1);
		reader.at = copy;
		reader.end = copy + length;
		status = read_reports(&reader, number);
	}
	free(text);
	set->source_count++;
	return status;
}
