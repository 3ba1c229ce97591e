// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of contend, hold, stat and blame as they are shown; what views are made with. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_view.h"
#include "report_view_make.h"

/* ------------------------------------------------------------------------ */
/* Text                                                                      */

const char *view_time(uint64_t ns, char *text)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	size_t unit = 0;

	/* 999.6 would be written 1000. */
	while (unit < 3 && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	snprintf(text, VIEW_TIME, "%.*f%s",
		 !unit || value >= 99.95 ? 0 :
		 value >= 9.995		 ? 1 :
					   2,
		 value, units[unit]);
	return text;
}

bool view_buckets(const uint64_t *hist, size_t *first, size_t *last,
		  uint64_t *most)
{
	*most = 0;
	for (size_t i = 0; hist && i < REPORT_BUCKETS; i++) {
		if (!hist[i])
			continue;
		if (!*most)
			*first = i;
		*last = i;
		if (hist[i] > *most)
			*most = hist[i];
	}
	return *most != 0;
}

uint64_t view_bucket_ns(size_t bucket)
{
	if (bucket >= REPORT_BUCKETS)
		return UINT64_MAX;
	return bucket ? (uint64_t)1 << bucket : 0;
}

const char *make_text(struct maker *maker, const char *text)
{
	if (!text)
		maker->failed = true;
	return text ? text : "";
}

const char *make_time(struct maker *maker, uint64_t ns)
{
	char text[VIEW_TIME];

	return make_text(maker,
			 report_print(maker->set, "%s", view_time(ns, text)));
}

const char *make_percent(struct maker *maker, uint64_t part, uint64_t whole)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	return make_text(maker, report_print(maker->set, "%.1f%%", share));
}

const char *make_kind(struct maker *maker, const char *kind, const char *mode)
{
	if (strcmp(mode, "x") == 0 || strcmp(mode, "-") == 0)
		return kind;
	return make_text(maker, report_print(maker->set, "%s:%s", kind, mode));
}

const char *make_task(struct maker *maker, const char *comm, uint64_t id)
{
	if (strcmp(comm, "-") == 0)
		return id ? make_text(maker, report_print(maker->set,
							  "%" PRIu64, id)) :
			    "-";
	return make_text(maker,
			 report_print(maker->set, "%s/%" PRIu64, comm, id));
}

const char *make_function(struct maker *maker, const char *kind,
			  const char *code)
{
	return make_text(maker, report_function(maker->set, kind, code));
}

/* ------------------------------------------------------------------------ */
/* Lines                                                                     */

struct view_line *make_line(struct maker *maker, size_t parent)
{
	struct view *view = maker->view;
	struct view_line *line;

	if (view->line_count == view->line_room) {
		size_t room = view->line_room * 2 + 64;
		struct view_line *larger =
			report_alloc(maker->set, room * sizeof(*larger));

		if (!larger) {
			maker->failed = true;
			return NULL;
		}
		if (view->line_count)
			memcpy(larger, view->lines,
			       view->line_count * sizeof(*larger));
		view->lines = larger;
		view->line_room = room;
	}
	line = &view->lines[view->line_count];
	*line = (struct view_line){ .parent = parent };
	line->cells = report_alloc(maker->set,
				   view->column_count * sizeof(*line->cells));
	if (!line->cells) {
		maker->failed = true;
		return NULL;
	}
	view->line_count++;
	return line;
}

size_t make_part(struct maker *maker, size_t parent, size_t column,
		 const char *text)
{
	struct view_line *line = make_line(maker, parent);

	if (line)
		line->cells[column] = text;
	return maker->view->line_count - 1;
}

void make_stack(struct maker *maker, size_t parent, size_t column,
		const char *stack)
{
	size_t end = strlen(stack);

	if (strcmp(stack, "-") == 0)
		return;
	while (!maker->failed) {
		size_t begin = end;

		while (begin && stack[begin - 1] != ';')
			begin--;
		make_part(maker, parent, column,
			  make_text(maker, report_print(maker->set, "%.*s",
							(int)(end - begin),
							stack + begin)));
		if (!begin)
			return;
		end = begin - 1;
	}
}

void make_columns(struct maker *maker, const struct view_column *columns,
		  size_t count)
{
	struct view *view = maker->view;

	view->columns =
		report_alloc(maker->set, (count + 1) * sizeof(*view->columns));
	if (!view->columns) {
		maker->failed = true;
		return;
	}
	memcpy(view->columns, columns, count * sizeof(*columns));
	view->column_count = count;
}

/* ------------------------------------------------------------------------ */
/* Reports of rows                                                           */

enum what {
	CELL_TEXT,
	CELL_NUMBER,
	CELL_TIME,
	CELL_PART, /* of the row's total_ns */
	CELL_KIND,
	CELL_WHO,
	CELL_TASK,
	CELL_SHARE,
	CELL_WAITED, /* contended of acquired */
	CELL_FUNCTION,
};

/* A column: what it is called, and how its cells are made. */
struct spec {
	struct view_column column;
	enum what what;
	const char *from; /* a column of tsv */
	bool optional; /* only if a row has something there */
};

#define MOST_COLUMNS 20

#define TEXT(heading, words, role, what, from)                           \
	{                                                                \
		{ heading, words, role, false, true }, what, from, false \
	}
#define WORD(heading, words, role, what, from)                            \
	{                                                                 \
		{ heading, words, role, false, false }, what, from, false \
	}
#define MAYBE(heading, words, role, what, from)                         \
	{                                                               \
		{ heading, words, role, false, true }, what, from, true \
	}
#define FIGURE(heading, words, role, what, from)                         \
	{                                                                \
		{ heading, words, role, true, false }, what, from, false \
	}
#define MAYBE_FIGURE(heading, words, role, what, from)                  \
	{                                                               \
		{ heading, words, role, true, false }, what, from, true \
	}

static const struct spec contend_specs[] = {
	WORD("KIND", "kind", VIEW_KIND, CELL_KIND, "kind"),
	MAYBE("WHO", "who waited", VIEW_PLAIN, CELL_WHO, "comm"),
	MAYBE("LOCK", "address", VIEW_MINOR, CELL_TEXT, "lock"),
	TEXT("NAME", "lock", VIEW_NAME, CELL_TEXT, "name"),
	FIGURE("CONTENDED", "waits", VIEW_PLAIN, CELL_NUMBER, "contended"),
	MAYBE_FIGURE("FAILED", "without the lock", VIEW_MINOR, CELL_NUMBER,
		     "failed"),
	MAYBE_FIGURE("TRYFAIL", "failed trylocks", VIEW_MINOR, CELL_NUMBER,
		     "tryfail"),
	FIGURE("TOTAL", "waited", VIEW_MAIN, CELL_TIME, "total_ns"),
	FIGURE("AVG", "on average", VIEW_PLAIN, CELL_TIME, "avg_ns"),
	FIGURE("MAX", "longest", VIEW_PLAIN, CELL_TIME, "max_ns"),
	FIGURE("SHARE", "of all waiting", VIEW_MINOR, CELL_SHARE, "total_ns"),
	FIGURE("SPIN", "spinning", VIEW_MINOR, CELL_PART, "spin_ns"),
	FIGURE("OWNER", "thread that held it then", VIEW_MINOR, CELL_NUMBER,
	       "owner"),
	TEXT("CALLER", "waited for in", VIEW_CODE, CELL_FUNCTION, "caller"),
};

static const struct spec hold_specs[] = {
	WORD("KIND", "kind", VIEW_KIND, CELL_KIND, "kind"),
	MAYBE("WHO", "who held it", VIEW_PLAIN, CELL_WHO, "comm"),
	MAYBE("LOCK", "address", VIEW_MINOR, CELL_TEXT, "lock"),
	TEXT("NAME", "lock", VIEW_NAME, CELL_TEXT, "name"),
	FIGURE("ACQUIRED", "holds", VIEW_PLAIN, CELL_NUMBER, "acquired"),
	FIGURE("WAITED", "after a wait", VIEW_MINOR, CELL_WAITED, "contended"),
	MAYBE_FIGURE("TRYFAIL", "failed trylocks", VIEW_MINOR, CELL_NUMBER,
		     "tryfail"),
	FIGURE("TOTAL", "held", VIEW_MAIN, CELL_TIME, "total_ns"),
	FIGURE("AVG", "on average", VIEW_PLAIN, CELL_TIME, "avg_ns"),
	FIGURE("MAX", "longest", VIEW_PLAIN, CELL_TIME, "max_ns"),
	FIGURE("SHARE", "of all holding", VIEW_MINOR, CELL_SHARE, "total_ns"),
	MAYBE_FIGURE("TASK", "longest by thread", VIEW_MINOR, CELL_NUMBER,
		     "tid"),
	TEXT("CALLER", "taken in", VIEW_CODE, CELL_FUNCTION, "caller"),
};

static const struct spec stat_specs[] = {
	WORD("EVENT", "event", VIEW_PLAIN, CELL_TEXT, "word"),
	WORD("KIND", "kind", VIEW_KIND, CELL_KIND, "kind"),
	MAYBE("WHO", "who", VIEW_PLAIN, CELL_WHO, "comm"),
	MAYBE("LOCK", "address", VIEW_MINOR, CELL_TEXT, "lock"),
	TEXT("NAME", "lock", VIEW_NAME, CELL_TEXT, "name"),
	FIGURE("COUNT", "events", VIEW_MAIN, CELL_NUMBER, "count"),
	FIGURE("INDV", "of this event", VIEW_MINOR, CELL_SHARE, "count"),
	FIGURE("RCNT", "readers", VIEW_MINOR, CELL_TEXT, "rcnt"),
	FIGURE("TOTAL", "time", VIEW_PLAIN, CELL_TIME, "total_ns"),
	FIGURE("AVG", "on average", VIEW_PLAIN, CELL_TIME, "avg_ns"),
	FIGURE("MAX", "longest", VIEW_MINOR, CELL_TIME, "max_ns"),
	TEXT("CALLER", "in", VIEW_CODE, CELL_FUNCTION, "caller"),
};

static const struct spec blame_specs[] = {
	WORD("KIND", "kind", VIEW_KIND, CELL_KIND, "kind"),
	TEXT("NAME", "lock", VIEW_NAME, CELL_TEXT, "name"),
	FIGURE("WAITS", "waits", VIEW_PLAIN, CELL_NUMBER, "waits"),
	FIGURE("TOTAL", "others waited", VIEW_MAIN, CELL_TIME, "total_ns"),
	FIGURE("SHARE", "of all waiting", VIEW_MINOR, CELL_SHARE, "total_ns"),
	FIGURE("RUN", "holder ran", VIEW_MINOR, CELL_PART, "run_ns"),
	FIGURE("READY", "ready without a CPU", VIEW_MINOR, CELL_PART,
	       "runnable_ns"),
	FIGURE("SLEEP", "slept", VIEW_MINOR, CELL_PART, "sleep_ns"),
	FIGURE("LOCK", "waited for a lock", VIEW_MINOR, CELL_PART, "lock_ns"),
	MAYBE("WHO", "who held it", VIEW_PLAIN, CELL_WHO, "comm"),
	TEXT("TASK", "held by", VIEW_PLAIN, CELL_TASK, "holder_comm"),
	TEXT("HOLDER", "held in", VIEW_PLAIN, CELL_FUNCTION, "holder_caller"),
	MAYBE("WAITS-FOR", "the holder's own wait", VIEW_MINOR, CELL_TEXT,
	      "waits_for"),
	TEXT("WAITER", "waited for in", VIEW_CODE, CELL_FUNCTION,
	     "waiter_caller"),
};

/* The sum that a row is a share of. */
static uint64_t whole_of(struct maker *maker, const struct report_row *row,
			 const char *column)
{
	const struct report *report = maker->report;
	uint64_t event = report_number(report, row, "event");

	if (report->kind != REPORT_STAT)
		return maker->view->weight;
	/* Of stat that of its event, whose rows stand together. */
	if (maker->whole && maker->event == event)
		return maker->whole;
	maker->event = event;
	maker->whole = 0;
	for (size_t i = 0; i < report->row_count; i++)
		if (report_number(report, &report->rows[i], "event") == event)
			maker->whole +=
				report_number(report, &report->rows[i], column);
	return maker->whole;
}

static const char *make_cell(struct maker *maker, const struct spec *spec,
			     const struct report_row *row)
{
	const struct report *report = maker->report;
	uint64_t number = report_number(report, row, spec->from);
	const char *text = report_text(report, row, spec->from);

	switch (spec->what) {
	case CELL_NUMBER:
		return number ? make_text(maker,
					  report_print(maker->set, "%" PRIu64,
						       number)) :
				"-";
	case CELL_TIME:
		return number ? make_time(maker, number) : "-";
	case CELL_PART:
		return make_percent(maker, number,
				    report_number(report, row, "total_ns"));
	case CELL_KIND:
		return make_kind(maker, text, report_text(report, row, "mode"));
	case CELL_WHO:
		return make_task(maker, text, report_number(report, row, "id"));
	case CELL_TASK:
		return make_task(maker, text,
				 report_number(report, row, "holder_tid"));
	case CELL_SHARE:
		return make_percent(maker, number,
				    whole_of(maker, row, spec->from));
	case CELL_WAITED:
		return make_percent(maker, number,
				    report_number(report, row, "acquired"));
	case CELL_FUNCTION:
		return make_function(maker, report_text(report, row, "kind"),
				     text);
	default:
		return text;
	}
}

/* Are there two rows of one name and kind, by each lock's address? */
static int compare_names(const void *left, const void *right, void *context)
{
	static const char *const columns[] = { "name",	"kind", "mode", "stack",
					       "event", "id",	"comm" };
	const struct report_row *const *a = left, *const *b = right;
	int order = 0;

	for (size_t i = 0; !order && i < sizeof(columns) / sizeof(*columns);
	     i++)
		order = strcmp(report_text(context, *a, columns[i]),
			       report_text(context, *b, columns[i]));
	return order;
}

static bool names_repeat(struct maker *maker)
{
	const struct report *report = maker->report;
	const struct report_row **rows =
		calloc(report->row_count + 1, sizeof(*rows));
	bool repeat = false;

	if (!rows) {
		maker->failed = true;
		return false;
	}
	for (size_t i = 0; i < report->row_count; i++)
		rows[i] = &report->rows[i];
	qsort_r(rows, report->row_count, sizeof(*rows), compare_names,
		(void *)report);
	for (size_t i = 1; !repeat && i < report->row_count; i++)
		repeat = compare_names(&rows[i - 1], &rows[i],
				       (void *)report) == 0 &&
			 strcmp(report_text(report, rows[i - 1], "lock"),
				report_text(report, rows[i], "lock")) != 0 &&
			 /* Other stacks, which are not known. */
			 *report_text(report, rows[i], "stack") != '[';
	free(rows);
	return repeat;
}

static bool is_wanted(struct maker *maker, const struct spec *spec)
{
	const struct report *report = maker->report;

	if (!spec->optional)
		return true;
	if (strcmp(spec->from, "lock") == 0)
		return names_repeat(maker);
	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];

		if (spec->column.right ?
			    report_number(report, row, spec->from) != 0 :
			    report_has(report, row, spec->from))
			return true;
	}
	return false;
}

/* A row, and below it its stacks; the code stands in the last column. */
static void make_row(struct maker *maker, const struct spec *const *specs,
		     size_t count, const struct report_row *row,
		     const char *weight)
{
	const struct report *report = maker->report;
	struct view_line *line = make_line(maker, VIEW_TOP);
	size_t at = maker->view->line_count - 1;

	if (!line)
		return;
	line->row = row;
	line->weight = report_number(report, row, weight);
	for (size_t i = 0; i < count; i++)
		line->cells[i] = make_cell(maker, specs[i], row);
	if (report->kind != REPORT_BLAME) {
		make_stack(maker, at, count - 1,
			   report_text(report, row, "stack"));
		return;
	}
	make_parts(maker, at, count - 1, "held by",
		   report_text(report, row, "holder_stack"));
	make_parts(maker, at, count - 1, "waited for by",
		   report_text(report, row, "waiter_stack"));
}

static void make_rows(struct maker *maker, const struct spec *specs,
		      size_t count, const char *weight)
{
	const struct spec *wanted[MOST_COLUMNS];
	struct view_column columns[MOST_COLUMNS];
	const struct report *report = maker->report;
	struct view *view = maker->view;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (is_wanted(maker, &specs[i])) {
			columns[n] = specs[i].column;
			wanted[n++] = &specs[i];
		}
	make_columns(maker, columns, n);
	for (size_t i = 0; i < report->row_count; i++)
		view->weight += report_number(report, &report->rows[i], weight);
	for (size_t i = 0; i < report->row_count && !maker->failed; i++) {
		if (maker->top && i >= maker->top) {
			view->more = report->row_count - i;
			return;
		}
		make_row(maker, wanted, n, &report->rows[i], weight);
	}
}

void make_parts(struct maker *maker, size_t parent, size_t column,
		const char *title, const char *stack)
{
	size_t at;

	if (strcmp(stack, "-") == 0)
		return;
	at = make_part(maker, parent, column, title);
	if (!maker->failed)
		make_stack(maker, at, column, stack);
}

static uint64_t sum_of(const struct report *report, const char *column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < report->row_count; i++)
		sum += report_number(report, &report->rows[i], column);
	return sum;
}

#define ROWS(maker, specs, weight) \
	make_rows(maker, specs, sizeof(specs) / sizeof(*(specs)), weight)

static void make_contend(struct maker *maker)
{
	maker->view->title = "Waits for locks";
	maker->view->none = "nobody waited";
	ROWS(maker, contend_specs, "total_ns");
	maker->view->summary = make_text(
		maker, report_print(maker->set,
				    "%" PRIu64 " contended waits, %s in all",
				    sum_of(maker->report, "contended"),
				    make_time(maker, maker->view->weight)));
}

static void make_hold(struct maker *maker)
{
	maker->view->title = "Holds of locks";
	maker->view->none = "no lock was held";
	ROWS(maker, hold_specs, "total_ns");
	maker->view->summary = make_text(
		maker,
		report_print(maker->set,
			     "%" PRIu64 " acquisitions, held for %s in all",
			     sum_of(maker->report, "acquired"),
			     make_time(maker, maker->view->weight)));
}

static void make_stat(struct maker *maker)
{
	maker->view->title = "Events";
	maker->view->none = "no events";
	ROWS(maker, stat_specs, "count");
	maker->view->summary =
		make_text(maker, report_print(maker->set, "%" PRIu64 " events",
					      maker->view->weight));
}

static void make_blame(struct maker *maker)
{
	const struct report *report = maker->report;
	uint64_t handed_ns = 0;

	maker->view->title = "Who made others wait";
	maker->view->none = "nobody waited";
	ROWS(maker, blame_specs, "total_ns");
	for (size_t i = 0; i < report->row_count; i++)
		if (strcmp(report_text(report, &report->rows[i],
				       "holder_caller"),
			   "(handed over)") == 0)
			handed_ns += report_number(report, &report->rows[i],
						   "total_ns");
	maker->view->summary = make_text(
		maker,
		report_print(maker->set,
			     "%s of waits; for %s of it nobody held the lock",
			     make_time(maker, maker->view->weight),
			     make_time(maker, handed_ns)));
}

bool view_make(struct report_set *set, const struct report *report,
	       uint64_t top, struct view *views, size_t *count)
{
	struct maker maker = {
		.set = set, .report = report, .view = views, .top = top
	};

	memset(views, 0, VIEWS * sizeof(*views));
	*count = 1;
	switch (report->kind) {
	case REPORT_CONTEND:
		make_contend(&maker);
		break;
	case REPORT_HOLD:
		make_hold(&maker);
		break;
	case REPORT_STAT:
		make_stat(&maker);
		break;
	case REPORT_BLAME:
		make_blame(&maker);
		break;
	case REPORT_CHAIN:
		*count = make_chains(&maker);
		break;
	default:
		make_orders(&maker);
	}
	return !maker.failed;
}
