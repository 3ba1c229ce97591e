// SPDX-License-Identifier: GPL-2.0-or-later
/* A report in JSON, in the form that the scripts have. */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "report_formats.h"

/* ------------------------------------------------------------------------ */
/* Values                                                                    */

/* The innermost function first. */
static bool put_stack(struct json_object *object, const char *key,
		      const char *stack)
{
	struct json_object *list = object_new_list(object, key);
	size_t end = strlen(stack);

	while (list) {
		size_t begin = end;

		while (begin && stack[begin - 1] != ';')
			begin--;
		if (!list_append(list,
				 json_object_new_string_len(
					 stack + begin, (int)(end - begin))))
			return false;
		if (!begin)
			return true;
		end = begin - 1;
	}
	return false;
}

static bool put_hist(struct json_object *object, const char *key,
		     const uint64_t *hist)
{
	struct json_object *list = object_new_list(object, key);
	size_t count = REPORT_BUCKETS;

	while (count && hist && !hist[count - 1])
		count--;
	for (size_t i = 0; list && hist && i < count; i++)
		if (!list_append(list, json_object_new_uint64(hist[i])))
			return false;
	return list != NULL;
}

/* ------------------------------------------------------------------------ */
/* Rows as they are                                                          */

static bool put_cell(struct json_object *object,
		     const struct report_column *column,
		     const struct report_cell *cell,
		     const struct report_row *row)
{
	bool none = strcmp(cell->text, "-") == 0;

	switch (column->type) {
	case REPORT_NUMBER:
		return object_put_number(object, column->name, cell->number);
	case REPORT_ID:
		return none ||
		       object_put_number(object, column->name, cell->number);
	case REPORT_DECIMAL:
		return object_put(
			object, column->name,
			json_object_new_double_s(strtod(cell->text, NULL),
						 cell->text));
	case REPORT_STACK:
		return none || put_stack(object, column->name, cell->text);
	case REPORT_HIST:
		return !row->hist || put_hist(object, column->name, row->hist);
	default:
		/* Without an id there is no name of a task either. */
		if (none && strcmp(column->name, "comm") == 0)
			return true;
		return object_put_text(object, column->name, cell->text);
	}
}

static bool put_rows(struct json_object *top, const struct report *report)
{
	struct json_object *rows = object_new_list(top, "rows");

	for (size_t i = 0; rows && i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		struct json_object *object = list_new_object(rows);

		for (size_t c = 0; object && c < report->column_count; c++)
			if (!put_cell(object, &report->columns[c],
				      &row->cells[c], row))
				return false;
		if (!object)
			return false;
	}
	return rows != NULL;
}

/* ------------------------------------------------------------------------ */
/* Chains                                                                    */

/* Lists of a chain or order report, and which of their members are there. */
struct lists {
	const struct report *report;
	struct json_object *top, *known;
	struct json_object *threads, *locks, *waits, *holds, *cycles, *chains;
	struct json_object *orders, *inversions;
};

/* True the first time. */
static bool is_new(struct lists *lists, const char *key, bool *good)
{
	if (json_object_object_get_ex(lists->known, key, NULL))
		return false;
	*good = *good && object_put_number(lists->known, key, 1);
	return true;
}

static bool put_thread(struct lists *lists, uint64_t tid, uint64_t pid,
		       const char *comm, const char *state)
{
	struct json_object *thread;
	char key[40];
	bool good = true;

	snprintf(key, sizeof(key), "thread %" PRIu64, tid);
	if (!is_new(lists, key, &good))
		return good;
	thread = list_new_object(lists->threads);
	return good && thread && object_put_number(thread, "tid", tid) &&
	       (!pid || object_put_number(thread, "pid", pid)) &&
	       object_put_text(thread, "comm", comm) &&
	       object_put_text(thread, "state", state);
}

/*
 * The id of a lock, which is one of the list then. Without addresses those of one
 * name that one thread holds are one. NULL: out of memory; the caller frees it.
 */
static char *lock_id(struct lists *lists, const char *kind, const char *name,
		     const char *address, const char *owner)
{
	struct json_object *lock;
	bool good = true;
	char *id;

	if (asprintf(&id, "%s %s %s", kind, name,
		     strcmp(address, "-") == 0 ? owner : address) < 0)
		return NULL;
	if (is_new(lists, id, &good)) {
		lock = list_new_object(lists->locks);
		good = good && lock && object_put_text(lock, "id", id) &&
		       object_put_text(lock, "kind", kind) &&
		       object_put_text(lock, "name", name) &&
		       (strcmp(address, "-") == 0 ||
			object_put_text(lock, "lock", address));
	}
	if (good)
		return id;
	free(id);
	return NULL;
}

static char *row_lock(struct lists *lists, const struct report_row *row)
{
	const struct report *report = lists->report;

	return lock_id(lists, report_text(report, row, "kind"),
		       report_text(report, row, "name"),
		       report_text(report, row, "lock"),
		       report_text(report, row, "owner"));
}

static bool row_threads(struct lists *lists, const struct report_row *row)
{
	const struct report *report = lists->report;

	return put_thread(lists, report_number(report, row, "tid"),
			  report_number(report, row, "pid"),
			  report_text(report, row, "comm"), "waiting") &&
	       (!report_has(report, row, "owner_comm") ||
		put_thread(lists, report_number(report, row, "owner"), 0,
			   report_text(report, row, "owner_comm"),
			   report_text(report, row, "owner_state")));
}

static bool put_wait(struct lists *lists, const struct report_row *row,
		     const char *lock)
{
	const struct report *report = lists->report;
	struct json_object *wait;
	char key[40];
	bool good = true;

	/* Chains with the same end have it each. */
	snprintf(key, sizeof(key), "wait %" PRIu64,
		 report_number(report, row, "tid"));
	if (!is_new(lists, key, &good))
		return good;
	wait = list_new_object(lists->waits);
	return good && wait &&
	       object_put_number(wait, "tid",
				 report_number(report, row, "tid")) &&
	       object_put_text(wait, "lock", lock) &&
	       object_put_text(wait, "mode",
			       report_text(report, row, "mode")) &&
	       object_put_number(wait, "wait_ns",
				 report_number(report, row, "wait_ns")) &&
	       object_put_text(wait, "caller",
			       report_text(report, row, "caller")) &&
	       (!report_has(report, row, "stack") ||
		put_stack(wait, "stack", report_text(report, row, "stack")));
}

static bool put_hold(struct lists *lists, const struct report_row *row,
		     const char *lock)
{
	const struct report *report = lists->report;
	struct json_object *hold;
	bool good = true, fresh;
	char *key;

	if (!report_has(report, row, "owner_comm"))
		return true;
	if (asprintf(&key, "hold %s %s", report_text(report, row, "owner"),
		     lock) < 0)
		return false;
	fresh = is_new(lists, key, &good);
	free(key);
	if (!fresh)
		return good;
	hold = list_new_object(lists->holds);
	return good && hold &&
	       object_put_number(hold, "tid",
				 report_number(report, row, "owner")) &&
	       object_put_text(hold, "lock", lock) &&
	       object_put_bool(hold, "proven",
			       report_number(report, row, "proven") != 0);
}

static bool put_now(struct lists *lists, const struct report_row *row)
{
	char *lock = row_lock(lists, row);
	bool good = lock && row_threads(lists, row) &&
		    put_wait(lists, row, lock) && put_hold(lists, row, lock);

	free(lock);
	return good;
}

static bool put_cycle(struct lists *lists, const struct report_row *rows,
		      size_t count)
{
	const struct report *report = lists->report;
	struct json_object *cycle = list_new_object(lists->cycles);
	struct json_object *tids = cycle ? object_new_list(cycle, "tids") :
					   NULL;
	struct json_object *locks = tids ? object_new_list(cycle, "locks") :
					   NULL;

	for (size_t i = 0; locks && i < count; i++) {
		char *lock = row_lock(lists, &rows[i]);
		bool good =
			lock && row_threads(lists, &rows[i]) &&
			list_append(tids, json_object_new_uint64(report_number(
						  report, &rows[i], "tid"))) &&
			list_append(locks, json_object_new_string(lock));

		free(lock);
		if (!good)
			return false;
	}
	return locks &&
	       object_put_number(cycle, "found_ns",
				 report_number(report, rows, "found_ns"));
}

static bool put_link(struct lists *lists, struct json_object *links,
		     const struct report_row *row,
		     const struct report_row *before)
{
	const struct report *report = lists->report;
	struct json_object *link = list_new_object(links);

	return link &&
	       object_put_text(link, "comm",
			       report_text(report, row, "comm")) &&
	       object_put_number(link, "tid",
				 report_number(report, row, "tid")) &&
	       (!before || object_put_bool(link, "proven",
					   report_number(report, before,
							 "proven") != 0)) &&
	       object_put_text(link, "kind",
			       report_text(report, row, "kind")) &&
	       object_put_text(link, "mode",
			       report_text(report, row, "mode")) &&
	       object_put_text(link, "name",
			       report_text(report, row, "name")) &&
	       object_put_text(link, "caller",
			       report_text(report, row, "caller")) &&
	       (!report_has(report, row, "stack") ||
		put_stack(link, "stack", report_text(report, row, "stack")));
}

/* Who holds the last lock, unless it is a thread of the chain or not known. */
static bool put_last_link(struct lists *lists, struct json_object *links,
			  const struct report_row *row)
{
	const struct report *report = lists->report;
	struct json_object *link;

	if (!report_has(report, row, "owner_comm"))
		return true;
	link = list_new_object(links);
	return link &&
	       object_put_text(link, "comm",
			       report_text(report, row, "owner_comm")) &&
	       object_put_number(link, "tid",
				 report_number(report, row, "owner")) &&
	       object_put_bool(link, "proven",
			       report_number(report, row, "proven") != 0) &&
	       object_put_text(link, "state",
			       report_text(report, row, "owner_state"));
}

static bool put_chain(struct lists *lists, const struct report_row *rows,
		      size_t count)
{
	const struct report *report = lists->report;
	struct json_object *chain = list_new_object(lists->chains), *links;
	uint64_t owner = report_number(report, &rows[count - 1], "owner");
	size_t back = 0;

	while (back < count &&
	       (!owner || report_number(report, &rows[back], "tid") != owner))
		back++;
	if (!chain ||
	    !object_put_number(chain, "count",
			       report_number(report, rows, "count")) ||
	    !object_put_number(chain, "total_ns",
			       report_number(report, rows, "wait_ns")) ||
	    !object_put_number(chain, "max_ns",
			       report_number(report, rows, "max_ns")) ||
	    !object_put_bool(chain, "cycle", back < count) ||
	    (back < count && !object_put_number(chain, "back", back)))
		return false;
	links = object_new_list(chain, "links");
	for (size_t i = 0; links && i < count; i++)
		if (!put_link(lists, links, &rows[i], i ? &rows[i - 1] : NULL))
			return false;
	return links &&
	       (back < count || put_last_link(lists, links, &rows[count - 1]));
}

static size_t chain_length(const struct report *report, size_t first)
{
	uint64_t chain = report_number(report, &report->rows[first], "chain");
	size_t count = 1;

	while (first + count < report->row_count &&
	       report_number(report, &report->rows[first + count], "chain") ==
		       chain)
		count++;
	return count;
}

static bool put_chains(struct lists *lists)
{
	const struct report *report = lists->report;

	lists->threads = object_new_list(lists->top, "threads");
	lists->locks = object_new_list(lists->top, "locks");
	lists->waits = object_new_list(lists->top, "waits");
	lists->holds = object_new_list(lists->top, "holds");
	lists->cycles = object_new_list(lists->top, "cycles");
	lists->chains = object_new_list(lists->top, "chains");
	if (!lists->threads || !lists->locks || !lists->waits ||
	    !lists->holds || !lists->cycles || !lists->chains)
		return false;
	for (size_t i = 0; i < report->row_count;) {
		const struct report_row *rows = &report->rows[i];
		const char *what = report_text(report, rows, "what");
		size_t count = chain_length(report, i);
		bool good = true;

		if (strcmp(what, "chain") == 0)
			good = put_chain(lists, rows, count);
		else if (strcmp(what, "deadlock") == 0)
			good = put_cycle(lists, rows, count);
		else
			for (size_t at = 0; good && at < count; at++)
				good = put_now(lists, &rows[at]);
		if (!good)
			return false;
		i += count;
	}
	return true;
}

/* ------------------------------------------------------------------------ */
/* Orders                                                                    */

/* Where the order of this row is in the list; -1: out of memory. */
static int64_t put_order(struct lists *lists, const struct report_row *row,
			 const char *first, const char *then)
{
	const struct report *report = lists->report;
	const char *first_mode = report_text(report, row, "first_mode");
	const char *then_mode = report_text(report, row, "then_mode");
	struct json_object *place = NULL, *order;
	int64_t at = (int64_t)json_object_array_length(lists->orders);
	bool good;
	char *key;

	/* An order can be a part of several inversions. */
	if (asprintf(&key, "order %s\t%s\t%s\t%s", first, first_mode, then,
		     then_mode) < 0)
		return -1;
	if (json_object_object_get_ex(lists->known, key, &place)) {
		free(key);
		return json_object_get_int64(place);
	}
	good = object_put_number(lists->known, key, (uint64_t)at);
	free(key);
	order = list_new_object(lists->orders);
	good = good && order && object_put_text(order, "first", first) &&
	       object_put_text(order, "then", then) &&
	       object_put_text(order, "first_mode", first_mode) &&
	       object_put_text(order, "then_mode", then_mode) &&
	       object_put_number(order, "count",
				 report_number(report, row, "count")) &&
	       object_put_text(order, "comm",
			       report_text(report, row, "comm")) &&
	       object_put_number(order, "tid",
				 report_number(report, row, "tid")) &&
	       (!report_has(report, row, "first_stack") ||
		put_stack(order, "first_stack",
			  report_text(report, row, "first_stack"))) &&
	       (!report_has(report, row, "then_stack") ||
		put_stack(order, "then_stack",
			  report_text(report, row, "then_stack")));
	return good ? at : -1;
}

static int64_t put_order_row(struct lists *lists, const struct report_row *row)
{
	const struct report *report = lists->report;
	char *first, *then;
	int64_t at = -1;

	/* All locks of a name are one. */
	first = lock_id(lists, report_text(report, row, "first_kind"),
			report_text(report, row, "first_name"), "-", "");
	then = lock_id(lists, report_text(report, row, "then_kind"),
		       report_text(report, row, "then_name"), "-", "");
	if (first && then)
		at = put_order(lists, row, first, then);
	free(first);
	free(then);
	return at;
}

/* The inversion that this row is the first of; its list of orders. */
static struct json_object *put_inversion(struct lists *lists,
					 const struct report_row *row)
{
	const struct report *report = lists->report;
	struct json_object *inversion = list_new_object(lists->inversions),
			   *orders;
	bool harmless = report_has(report, row, "gate"), good;
	char *gate = NULL;

	orders = inversion ? object_new_list(inversion, "orders") : NULL;
	good = orders && object_put_bool(inversion, "harmless", harmless) &&
	       object_put_text(inversion, "same",
			       report_text(report, row, "same"));
	if (good && harmless) {
		gate = lock_id(lists, "", report_text(report, row, "gate"), "-",
			       "");
		good = gate && object_put_text(inversion, "gate", gate);
	}
	free(gate);
	return good ? orders : NULL;
}

static bool put_orders(struct lists *lists)
{
	const struct report *report = lists->report;
	struct json_object *members = NULL;
	uint64_t before = 0;

	lists->locks = object_new_list(lists->top, "locks");
	lists->orders = object_new_list(lists->top, "orders");
	lists->inversions = object_new_list(lists->top, "inversions");
	if (!lists->locks || !lists->orders || !lists->inversions)
		return false;
	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		uint64_t number = report_number(report, row, "inversion");
		int64_t at = put_order_row(lists, row);

		if (at < 0)
			return false;
		if (number && number != before)
			members = put_inversion(lists, row);
		before = number;
		if (number &&
		    (!members ||
		     !list_append(members, json_object_new_int64(at))))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------ */

static bool put_loss(struct json_object *top, const struct report *report)
{
	struct json_object *loss = json_object_new_object();

	if (!object_put(top, "loss", loss))
		return false;
	for (size_t i = 0; i < report->loss_count; i++) {
		const struct report_loss *one = &report->loss[i];

		if (!(one->is_number ?
			      object_put_number(loss, one->key, one->number) :
			      object_put_text(loss, one->key, one->text)))
			return false;
	}
	return true;
}

static bool put_lists(struct json_object *top, const struct report *report)
{
	struct lists lists = { .report = report,
			       .top = top,
			       .known = json_object_new_object() };
	bool good = lists.known &&
		    (report->kind == REPORT_CHAIN ? put_chains(&lists) :
						    put_orders(&lists));

	json_object_put(lists.known);
	return good;
}

struct json_object *report_json(const struct report *report)
{
	struct json_object *top = json_object_new_object();
	bool good =
		top && object_put_number(top, "locktap", 1) &&
		object_put_text(top, "report", report_kind_name(report->kind));

	if (report->kind == REPORT_CHAIN || report->kind == REPORT_ORDER)
		good = good && put_lists(top, report);
	else
		good = good && put_rows(top, report);
	if (good && put_loss(top, report))
		return top;
	json_object_put(top);
	return NULL;
}

/* ------------------------------------------------------------------------ */
/* Text: an object of a list is a line                                       */

#define JSON_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

static bool write_value(FILE *out, struct json_object *value)
{
	const char *text = json_object_to_json_string_ext(value, JSON_FLAGS);

	return text && fputs(text, out) >= 0;
}

static bool write_member(FILE *out, struct json_object *value)
{
	size_t count;

	if (!json_object_is_type(value, json_type_array))
		return write_value(out, value);
	count = json_object_array_length(value);
	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		fputs(i ? ",\n" : "\n", out);
		if (!write_value(out, json_object_array_get_idx(value, i)))
			return false;
	}
	fputc(']', out);
	return true;
}

bool report_put_json(FILE *out, const struct report *report)
{
	struct json_object *top = report_json(report);
	const char *before = "{";
	bool good = top != NULL;

	if (!top)
		return false;
	json_object_object_foreach(top, key, value)
	{
		fprintf(out, "%s\"%s\":", before, key);
		good = good && write_member(out, value);
		before = json_object_is_type(value, json_type_array) ? ",\n" :
								       ",";
	}
	fputs("}\n", out);
	json_object_put(top);
	return good;
}
