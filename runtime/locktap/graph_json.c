// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a report in JSON; the form is described in locktap(1). */
#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "locktap.h"

/* ------------------------------------------------------------------------ */
/* Messages                                                                  */

/* A thread by its tid, or a lock by its id. */
struct entry {
	int64_t number;
	const char *text;
	size_t at;
};

struct reader {
	const struct graph_source *source;
	size_t number; /* of the report in the file, from 1 on */
	struct graph_report *report;
	struct entry *threads, *locks;
	bool failed;
};

/* An object of the document, and its place there. */
struct item {
	struct reader *reader;
	struct json_object *object;
	char place[96];
};

__attribute__((format(printf, 3, 4))) static void
wrong(const struct item *item, const char *key, const char *format, ...)
{
	struct reader *reader = item->reader;
	char text[200];
	va_list arguments;

	if (reader->failed)
		return;
	reader->failed = true;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	locktap_fail(
		"%s: report %zu: %s%s%s: %s; the file is damaged or made by another program: make it again with -G format=json",
		reader->source->file, reader->number, item->place,
		*item->place && *key ? "." : "", key, text);
}

static void out_of_memory(struct reader *reader)
{
	if (!reader->failed)
		locktap_fail("out of memory");
	reader->failed = true;
}

/* ------------------------------------------------------------------------ */
/* Values                                                                    */

static const char *type_name(enum json_type type)
{
	switch (type) {
	case json_type_boolean:
		return "true or false";
	case json_type_double:
		return "a number with a fraction";
	case json_type_int:
		return "a number";
	case json_type_object:
		return "an object";
	case json_type_array:
		return "a list";
	case json_type_string:
		return "a text";
	default:
		return "null";
	}
}

/* NULL where there is none. */
static struct json_object *get(const struct item *item, const char *key,
			       enum json_type type, bool needed)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(item->object, key, &value);
	if (!value && needed)
		wrong(item, key, "is missing");
	if (!value || json_object_is_type(value, type))
		return value;
	wrong(item, key, "must be %s, not %s", type_name(type),
	      type_name(json_object_get_type(value)));
	return NULL;
}

static const char *get_text(const struct item *item, const char *key)
{
	struct json_object *value = get(item, key, json_type_string, false);

	return value ? json_object_get_string(value) : "";
}

static int64_t get_number(const struct item *item, const char *key, bool needed,
			  int64_t otherwise)
{
	struct json_object *value = get(item, key, json_type_int, needed);
	int64_t number = value ? json_object_get_int64(value) : otherwise;

	if (value && number < 0) {
		wrong(item, key, "is negative");
		return otherwise;
	}
	return number;
}

static uint64_t get_count(const struct item *item, const char *key)
{
	return (uint64_t)get_number(item, key, false, 0);
}

static bool get_bool(const struct item *item, const char *key, bool otherwise)
{
	struct json_object *value = get(item, key, json_type_boolean, false);

	return value ? json_object_get_boolean(value) : otherwise;
}

/* The element of a list as an item of its own; false if it is no object. */
static bool get_element(const struct item *item, const char *key,
			struct json_object *list, size_t at,
			struct item *element)
{
	element->reader = item->reader;
	element->object = json_object_array_get_idx(list, at);
	snprintf(element->place, sizeof(element->place), "%.40s%s%.20s[%zu]",
		 item->place, *item->place ? "." : "", key, at);
	if (json_object_is_type(element->object, json_type_object))
		return true;
	wrong(element, "", "must be an object, not %s",
	      type_name(json_object_get_type(element->object)));
	return false;
}

/*
 * A list of objects, each of which `read' makes a structure of. What has been
 * read is returned after a failure too.
 */
static void *get_list(const struct item *item, const char *key, size_t size,
		      void (*read)(const struct item *element, void *to),
		      size_t *count)
{
	struct json_object *list = get(item, key, json_type_array, false);
	struct item element;
	char *all;

	*count = 0;
	if (item->reader->failed)
		return NULL;
	all = calloc((list ? json_object_array_length(list) : 0) + 1, size);
	if (!all) {
		out_of_memory(item->reader);
		return NULL;
	}
	if (!list)
		return all;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		if (!get_element(item, key, list, i, &element))
			return all;
		*count = i + 1;
		read(&element, all + i * size);
		if (item->reader->failed)
			return all;
	}
	return all;
}

static void get_stack(const struct item *item, const char *key,
		      struct graph_stack *stack)
{
	struct json_object *list = get(item, key, json_type_array, false);
	size_t length = list ? json_object_array_length(list) : 0;

	if (!length)
		return;
	stack->frames = calloc(length, sizeof(*stack->frames));
	if (!stack->frames) {
		out_of_memory(item->reader);
		return;
	}
	for (size_t i = 0; i < length; i++) {
		struct json_object *frame = json_object_array_get_idx(list, i);

		if (!json_object_is_type(frame, json_type_string)) {
			wrong(item, key, "has something else than texts");
			return;
		}
		stack->frames[stack->count++] = json_object_get_string(frame);
	}
}

/* ------------------------------------------------------------------------ */
/* Threads and locks, and what refers to them                                */

static int compare_threads(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static int compare_locks(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return strcmp(a->text, b->text);
}

static size_t find_thread(const struct item *item, const char *key,
			  struct json_object *value)
{
	const struct reader *reader = item->reader;
	struct entry wanted = { 0 }, *found;

	if (!json_object_is_type(value, json_type_int)) {
		wrong(item, key, "must be a number, not %s",
		      type_name(json_object_get_type(value)));
		return 0;
	}
	wanted.number = json_object_get_int64(value);
	found = bsearch(&wanted, reader->threads, reader->report->thread_count,
			sizeof(wanted), compare_threads);
	if (found)
		return found->at;
	wrong(item, key, "%" PRId64 " is not in \"threads\"", wanted.number);
	return 0;
}

static size_t find_lock(const struct item *item, const char *key,
			struct json_object *value)
{
	const struct reader *reader = item->reader;
	struct entry wanted = { 0 }, *found;
	char plain[40];

	if (!json_object_is_type(value, json_type_string)) {
		wrong(item, key, "must be a text, not %s",
		      type_name(json_object_get_type(value)));
		return 0;
	}
	wanted.text = json_object_get_string(value);
	found = bsearch(&wanted, reader->locks, reader->report->lock_count,
			sizeof(wanted), compare_locks);
	if (found)
		return found->at;
	wrong(item, key, "\"%s\" is not in \"locks\"",
	      graph_plain(wanted.text, plain, sizeof(plain)));
	return 0;
}

static size_t find_order(const struct item *item, const char *key,
			 struct json_object *value)
{
	size_t count = item->reader->report->order_count;
	int64_t number;

	if (!json_object_is_type(value, json_type_int)) {
		wrong(item, key, "must be a number, not %s",
		      type_name(json_object_get_type(value)));
		return 0;
	}
	number = json_object_get_int64(value);
	if (number >= 0 && (uint64_t)number < count)
		return (size_t)number;
	wrong(item, key, "there is no order %" PRId64 ", only %zu from 0 on",
	      number, count);
	return 0;
}

typedef size_t finder(const struct item *item, const char *key,
		      struct json_object *value);

static size_t get_reference(const struct item *item, const char *key,
			    finder *find)
{
	struct json_object *value = NULL;

	if (json_object_object_get_ex(item->object, key, &value) && value)
		return find(item, key, value);
	wrong(item, key, "is missing");
	return 0;
}

/* A list of references that is not empty. */
static size_t *get_references(const struct item *item, const char *key,
			      finder *find, size_t *count)
{
	struct json_object *list = get(item, key, json_type_array, true);
	size_t length = list ? json_object_array_length(list) : 0;
	size_t *all;

	*count = 0;
	if (list && !length)
		wrong(item, key, "is empty");
	if (!length)
		return NULL;
	all = calloc(length, sizeof(*all));
	if (!all) {
		out_of_memory(item->reader);
		return NULL;
	}
	for (size_t i = 0; i < length && !item->reader->failed; i++)
		all[i] = find(item, key, json_object_array_get_idx(list, i));
	*count = length;
	return all;
}

static void read_thread(const struct item *item, void *to)
{
	struct graph_thread *thread = to;

	thread->tid = get_number(item, "tid", true, 0);
	thread->pid = get_number(item, "pid", false, -1);
	thread->comm = get_text(item, "comm");
	thread->state = get_text(item, "state");
	get_stack(item, "stack", &thread->stack);
}

static void read_lock(const struct item *item, void *to)
{
	struct graph_lock *lock = to;

	get(item, "id", json_type_string, true);
	lock->id = get_text(item, "id");
	lock->kind = get_text(item, "kind");
	lock->name = get_text(item, "name");
	lock->address = get_text(item, "lock");
}

static bool sort_threads(const struct item *item)
{
	struct graph_report *report = item->reader->report;
	struct entry *entries;

	entries = calloc(report->thread_count + 1, sizeof(*entries));
	item->reader->threads = entries;
	if (!entries)
		return false;
	for (size_t i = 0; i < report->thread_count; i++)
		entries[i] = (struct entry){ .number = report->threads[i].tid,
					     .at = i };
	qsort(entries, report->thread_count, sizeof(*entries), compare_threads);
	for (size_t i = 1; i < report->thread_count; i++)
		if (compare_threads(entries + i - 1, entries + i) == 0)
			wrong(item, "threads",
			      "thread %" PRId64 " is there twice",
			      entries[i].number);
	return true;
}

static bool sort_locks(const struct item *item)
{
	struct graph_report *report = item->reader->report;
	struct entry *entries;
	char plain[40];

	entries = calloc(report->lock_count + 1, sizeof(*entries));
	item->reader->locks = entries;
	if (!entries)
		return false;
	for (size_t i = 0; i < report->lock_count; i++)
		entries[i] =
			(struct entry){ .text = report->locks[i].id, .at = i };
	qsort(entries, report->lock_count, sizeof(*entries), compare_locks);
	for (size_t i = 1; i < report->lock_count; i++)
		if (compare_locks(entries + i - 1, entries + i) == 0)
			wrong(item, "locks", "lock \"%s\" is there twice",
			      graph_plain(entries[i].text, plain,
					  sizeof(plain)));
	return true;
}

/* ------------------------------------------------------------------------ */
/* The chain report                                                          */

static void read_wait(const struct item *item, void *to)
{
	struct graph_wait *wait = to;

	wait->thread = get_reference(item, "tid", find_thread);
	wait->lock = get_reference(item, "lock", find_lock);
	wait->mode = get_text(item, "mode");
	wait->wait_ns = get_count(item, "wait_ns");
	wait->caller = get_text(item, "caller");
	get_stack(item, "stack", &wait->stack);
}

static void read_hold(const struct item *item, void *to)
{
	struct graph_hold *hold = to;

	hold->thread = get_reference(item, "tid", find_thread);
	hold->lock = get_reference(item, "lock", find_lock);
	hold->mode = get_text(item, "mode");
	hold->proven = get_bool(item, "proven", false);
}

static void read_cycle(const struct item *item, void *to)
{
	struct graph_cycle *cycle = to;
	size_t lock_count;

	cycle->threads =
		get_references(item, "tids", find_thread, &cycle->count);
	cycle->locks = get_references(item, "locks", find_lock, &lock_count);
	cycle->at_ns = get_count(item, "at_ns");
	if (cycle->count != lock_count)
		wrong(item, "locks", "must be as many as \"tids\"");
}

static void read_link(const struct item *item, void *to)
{
	struct graph_link *link = to;

	link->comm = get_text(item, "comm");
	link->kind = get_text(item, "kind");
	link->name = get_text(item, "name");
	link->caller = get_text(item, "caller");
}

static void read_chain(const struct item *item, void *to)
{
	struct graph_chain *chain = to;

	chain->count = get_count(item, "count");
	chain->total_ns = get_count(item, "total_ns");
	chain->max_ns = get_count(item, "max_ns");
	get(item, "links", json_type_array, true);
	chain->links = get_list(item, "links", sizeof(*chain->links), read_link,
				&chain->link_count);
}

/* ------------------------------------------------------------------------ */
/* The order report                                                          */

static void read_order(const struct item *item, void *to)
{
	struct graph_order *order = to;

	order->first = get_reference(item, "first", find_lock);
	order->then = get_reference(item, "then", find_lock);
	order->first_mode = get_text(item, "first_mode");
	order->then_mode = get_text(item, "then_mode");
	order->count = get_count(item, "count");
	order->comm = get_text(item, "comm");
	order->tid = get_number(item, "tid", false, -1);
	get_stack(item, "first_stack", &order->first_stack);
	get_stack(item, "then_stack", &order->then_stack);
}

static void read_inversion(const struct item *item, void *to)
{
	struct graph_inversion *inversion = to;
	struct json_object *gate = NULL;

	inversion->orders =
		get_references(item, "orders", find_order, &inversion->count);
	inversion->gate = GRAPH_NONE;
	if (json_object_object_get_ex(item->object, "gate", &gate) && gate)
		inversion->gate = find_lock(item, "gate", gate);
	inversion->harmless =
		get_bool(item, "harmless", inversion->gate != GRAPH_NONE);
}

/* ------------------------------------------------------------------------ */
/* The document                                                              */

static void read_loss(const struct item *top)
{
	struct json_object *loss = get(top, "loss", json_type_object, false);
	struct graph_report *report = top->reader->report;
	size_t room = loss ? (size_t)json_object_object_length(loss) : 0;

	if (!room)
		return;
	report->loss = calloc(room, sizeof(*report->loss));
	if (!report->loss) {
		out_of_memory(top->reader);
		return;
	}
	json_object_object_foreach(loss, key, value)
	{
		enum json_type type = json_object_get_type(value);

		if (type != json_type_int && type != json_type_string)
			continue;
		report->loss[report->loss_count].key = key;
		report->loss[report->loss_count++].value =
			json_object_get_string(value);
	}
}

static void read_head(const struct item *top)
{
	struct json_object *number = NULL;
	const char *name = get_text(top, "report");
	char plain[40];

	if (top->reader->failed)
		return;
	if (!json_object_object_get_ex(top->object, "locktap", &number)) {
		wrong(top, "locktap", "is missing, so this is no report");
	} else if (!json_object_is_type(number, json_type_int) ||
		   json_object_get_int64(number) != 1) {
		wrong(top, "locktap",
		      "only the form 1 is known, this may need a later locktap");
	} else if (strcmp(name, "chain") != 0 && strcmp(name, "order") != 0) {
		wrong(top, "report",
		      "\"%s\" cannot be drawn, only \"chain\" (lockchain.stp) and \"order\" (lockorder.stp) can",
		      graph_plain(name, plain, sizeof(plain)));
	}
	top->reader->report->is_order = strcmp(name, "order") == 0;
}

static void read_report(struct reader *reader)
{
	struct graph_report *report = reader->report;
	struct item top = { .reader = reader, .object = report->json };

	if (!json_object_is_type(report->json, json_type_object)) {
		wrong(&top, "", "must be an object, not %s",
		      type_name(json_object_get_type(report->json)));
		return;
	}
	read_head(&top);
	if (reader->failed)
		return;
	report->elapsed_ns = get_count(&top, "elapsed_ns");
	report->threads = get_list(&top, "threads", sizeof(*report->threads),
				   read_thread, &report->thread_count);
	report->locks = get_list(&top, "locks", sizeof(*report->locks),
				 read_lock, &report->lock_count);
	if (reader->failed)
		return;
	if (!sort_threads(&top) || !sort_locks(&top)) {
		out_of_memory(reader);
		return;
	}
	report->waits = get_list(&top, "waits", sizeof(*report->waits),
				 read_wait, &report->wait_count);
	report->holds = get_list(&top, "holds", sizeof(*report->holds),
				 read_hold, &report->hold_count);
	report->cycles = get_list(&top, "cycles", sizeof(*report->cycles),
				  read_cycle, &report->cycle_count);
	report->chains = get_list(&top, "chains", sizeof(*report->chains),
				  read_chain, &report->chain_count);
	report->orders = get_list(&top, "orders", sizeof(*report->orders),
				  read_order, &report->order_count);
	report->inversions = get_list(&top, "inversions",
				      sizeof(*report->inversions),
				      read_inversion, &report->inversion_count);
	if (!reader->failed)
		read_loss(&top);
}

/* ------------------------------------------------------------------------ */
/* The documents of a file                                                   */

static size_t skip_blanks(const struct graph_source *source, size_t at)
{
	while (at < source->length && strchr(" \t\r\n", source->text[at]) &&
	       source->text[at])
		at++;
	return at;
}

static int tell_syntax(const struct graph_source *source, size_t at,
		       size_t number, enum json_tokener_error error)
{
	size_t line = 1, column = 1;
	char remedy[80] = "";

	for (size_t i = 0; i < at; i++) {
		column++;
		if (source->text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	if (number > 1)
		snprintf(remedy, sizeof(remedy),
			 ", or take --report=%zu, the last whole one",
			 number - 1);
	return locktap_fail(
		"%s:%zu:%zu: report %zu %s%s; make the file again with -G format=json%s",
		source->file, line, column, number,
		error == json_tokener_continue ?
			"is cut off: the file ends in the middle of it" :
			"is not JSON: ",
		error == json_tokener_continue ? "" :
						 json_tokener_error_desc(error),
		remedy);
}

/* Parses the document at *at, which moves behind it. */
static int parse_next(const struct graph_source *source, size_t *at,
		      size_t number, struct json_object **json)
{
	struct json_tokener *tokener = json_tokener_new();
	enum json_tokener_error error;
	size_t end;

	if (!tokener)
		return locktap_fail("out of memory");
	json_tokener_set_flags(tokener,
			       JSON_TOKENER_STRICT |
				       JSON_TOKENER_ALLOW_TRAILING_CHARS);
	*json = json_tokener_parse_ex(tokener, source->text + *at,
				      (int)(source->length - *at));
	error = json_tokener_get_error(tokener);
	end = *at + json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
	/* A byte 0 looks like the end to the parser. */
	if (error == json_tokener_continue && end < source->length)
		error = json_tokener_error_parse_unexpected;
	/* A lone null is no error to the parser. */
	if (error == json_tokener_success && (!*json || end == *at))
		error = json_tokener_error_parse_unexpected;
	if (error != json_tokener_success) {
		json_object_put(*json);
		*json = NULL;
		return tell_syntax(source, end, number, error);
	}
	*at = end;
	return LOCKTAP_DONE;
}

int graph_read_json(const struct graph_source *source, size_t number,
		    struct graph_report *report)
{
	struct reader reader = { .source = source, .report = report };
	size_t at = skip_blanks(source, 0);

	while (at < source->length && (!number || reader.number < number)) {
		struct json_object *json;

		if (parse_next(source, &at, reader.number + 1, &json) !=
		    LOCKTAP_DONE)
			return LOCKTAP_FAILED;
		json_object_put(report->json);
		report->json = json;
		reader.number++;
		at = skip_blanks(source, at);
	}
	if (number > reader.number)
		return locktap_fail("%s: there is no report %zu, only %zu",
				    source->file, number, reader.number);
	read_report(&reader);
	free(reader.threads);
	free(reader.locks);
	return reader.failed ? LOCKTAP_FAILED : LOCKTAP_DONE;
}

void graph_report_free(struct graph_report *report)
{
	for (size_t i = 0; i < report->thread_count; i++)
		free(report->threads[i].stack.frames);
	for (size_t i = 0; i < report->wait_count; i++)
		free(report->waits[i].stack.frames);
	for (size_t i = 0; i < report->cycle_count; i++) {
		free(report->cycles[i].threads);
		free(report->cycles[i].locks);
	}
	for (size_t i = 0; i < report->chain_count; i++)
		free(report->chains[i].links);
	for (size_t i = 0; i < report->order_count; i++) {
		free(report->orders[i].first_stack.frames);
		free(report->orders[i].then_stack.frames);
	}
	for (size_t i = 0; i < report->inversion_count; i++)
		free(report->inversions[i].orders);
	free(report->threads);
	free(report->locks);
	free(report->waits);
	free(report->holds);
	free(report->cycles);
	free(report->chains);
	free(report->orders);
	free(report->inversions);
	free(report->loss);
	json_object_put(report->json);
	memset(report, 0, sizeof(*report));
}
