// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a program's lock calls as what runtime/kernel/lk_user_names.h reads:
 * struct lk_user_names and its tables.
 */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "texts.h"

/* As in lk_user_names.h. */
enum { UOP_NONE, UOP_MUTEX, UOP_RDLOCK, UOP_WRLOCK, UOP_IDLE };

static int user_op(enum sites_op op, enum sites_lock_kind kind, char mode)
{
	if (op == SITES_WAIT)
		return UOP_IDLE;
	/* Who lets go does not wait. */
	if (op != SITES_LOCK && op != SITES_TRYLOCK)
		return UOP_NONE;
	switch (kind) {
	case SITES_PTHREAD_MUTEX:
		return UOP_MUTEX;
	case SITES_PTHREAD_RWLOCK:
		return mode == 'r' ? UOP_RDLOCK : UOP_WRLOCK;
	default:
		return UOP_NONE;
	}
}

/* What the C library does within its own functions is its callers' wait. */
static bool is_inside(const struct program *program, uint64_t address)
{
	size_t low = 0, high = program->waiting_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (program->waiting[middle].range.high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < program->waiting_count &&
	       program->waiting[low].range.low <= address;
}

/*
 * A jump leaves no return address, but it is what names the lock where its function
 * is known by address.
 */
static bool may_wait(const struct program *program,
		     const struct sites_call *call)
{
	return (!call->tail || call->entry) &&
	       user_op(call->op, call->kind, call->mode) != UOP_NONE &&
	       call->after >= program->low &&
	       call->after - program->low <= UINT32_MAX &&
	       !is_inside(program, call->address);
}

/*
 * What a C string, in a text that ends at a percent sign with a brace, may hold
 * as it is.
 */
static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (*name < ' ' || *name > '~' || strchr("\"\\%?", *name))
			return false;
	return true;
}

/* "" where the caller of the function that the call is in knows it. */
static const char *name_of(const struct sites_call *call)
{
	if (call->by_caller)
		return "";
	return call->how == SITES_UNKNOWN || !is_plain(call->name) ? "?" :
								     call->name;
}

static bool has_name(const struct sites_call *call)
{
	return *name_of(call) && strcmp(name_of(call), "?") != 0;
}

/* The tables count from `low' in 32 bits. */
static bool in_reach(const struct program *program, uint64_t address)
{
	return address >= program->low && address - program->low <= UINT32_MAX;
}

static bool read_texts(struct texts *texts, const struct program *program)
{
	const struct sites_calls *calls = program->calls;
	const char **names = calloc(calls->count + 1, sizeof(*names));
	size_t count = 0;
	bool good;

	for (size_t i = 0; names && i < calls->count; i++)
		if (*name_of(&calls->list[i]))
			names[count++] = name_of(&calls->list[i]);
	good = names && texts_make(texts, names, count);
	free(names);
	return good;
}

static size_t write_sites(FILE *out, const struct program *program,
			  const struct texts *texts,
			  struct generated_program *told)
{
	const struct sites_calls *calls = program->calls;
	size_t written = 0;

	fprintf(out, "static const unsigned int lk_user_sites_%s[][2] = {\n",
		program->tag);
	for (size_t i = 0; i < calls->count; i++) {
		const struct sites_call *call = &calls->list[i];

		if (!may_wait(program, call))
			continue;
		told->waits++;
		told->named += has_name(call);
		told->by_caller += call->by_caller;
		fprintf(out, "\t{ 0x%" PRIx64 ", %zu },\n",
			call->after - program->low,
			texts_offset(texts, name_of(call)));
		written++;
	}
	/* C has no empty arrays. */
	if (!written)
		fputs("\t{ 0, 0 },\n", out);
	fprintf(out,
		"};\n"
		"static const unsigned char lk_user_ops_%s[] = {\n",
		program->tag);
	for (size_t i = 0; i < calls->count; i++) {
		const struct sites_call *call = &calls->list[i];

		if (may_wait(program, call))
			fprintf(out, "\t%d,\n",
				user_op(call->op, call->kind, call->mode));
	}
	if (!written)
		fputs("\t0,\n", out);
	fputs("};\n", out);
	return written;
}

static int compare_fixed(const void *left, const void *right)
{
	const struct sites_call *a = *(struct sites_call *const *)left;
	const struct sites_call *b = *(struct sites_call *const *)right;

	return a->fixed < b->fixed ? -1 : a->fixed > b->fixed;
}

/* Whether the calls of one address have one name. */
static bool is_clear(struct sites_call *const *first,
		     struct sites_call *const *end)
{
	for (; first + 1 < end; first++)
		if (strcmp(first[0]->name, first[1]->name) != 0)
			return false;
	return true;
}

/* Variables: also those that are only let go in this file. */
static bool write_fixed(FILE *out, const struct program *program,
			const struct texts *texts, size_t *written)
{
	const struct sites_calls *calls = program->calls;
	struct sites_call **list = calloc(calls->count + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return false;
	for (size_t i = 0; i < calls->count; i++)
		if (calls->list[i].fixed && has_name(&calls->list[i]) &&
		    in_reach(program, calls->list[i].fixed))
			list[count++] = &calls->list[i];
	qsort(list, count, sizeof(*list), compare_fixed);
	*written = 0;
	fprintf(out, "static const unsigned int lk_user_fixed_%s[][2] = {\n",
		program->tag);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1;
		     end < count && list[end]->fixed == list[i]->fixed; end++)
			;
		if (!is_clear(&list[i], &list[end]))
			continue;
		fprintf(out, "\t{ 0x%" PRIx64 ", %zu },\n",
			list[i]->fixed - program->low,
			texts_offset(texts, name_of(list[i])));
		++*written;
	}
	if (!*written)
		fputs("\t{ 0, 0 },\n", out);
	fputs("};\n", out);
	free(list);
	return true;
}

struct function {
	uint64_t low, high;
	int op;
	uint64_t jump; /* what its site is known by; 0: a C library's own, or not clear */
	const char *name;
};

static int compare_functions(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

/* One function that may end in several lock functions tells what they have in common. */
static void merge_functions(struct function *list, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		struct function *last = kept ? &list[kept - 1] : NULL;

		if (!last || list[i].low != last->low) {
			list[kept++] = list[i];
			continue;
		}
		if (list[i].op != last->op)
			last->op = UOP_NONE;
		if (!last->name || !list[i].name ||
		    strcmp(last->name, list[i].name) != 0)
			last->jump = 0;
		if (list[i].high > last->high)
			last->high = list[i].high;
	}
	*count = kept;
}

static void add_function(const struct program *program, struct function *list,
			 size_t *count, const struct function *function)
{
	if (function->op != UOP_NONE && function->low < function->high &&
	    in_reach(program, function->low) &&
	    in_reach(program, function->high))
		list[(*count)++] = *function;
}

/*
 * A function that ends with a jump to a lock function leaves no return address of
 * its own: to the waiter's stack it is that lock function.
 */
static void add_tails(const struct program *program, struct function *list,
		      size_t *count)
{
	for (size_t i = 0; i < program->calls->count; i++) {
		const struct sites_call *call = &program->calls->list[i];

		if (call->tail && call->entry && may_wait(program, call))
			add_function(program, list, count,
				     &(struct function){
					     call->entry, call->after,
					     user_op(call->op, call->kind,
						     call->mode),
					     call->after, name_of(call) });
	}
}

static bool write_functions(FILE *out, const struct program *program,
			    size_t *written)
{
	struct function *list =
		calloc(program->waiting_count + program->calls->count + 1,
		       sizeof(*list));
	size_t count = 0;
	uint64_t end = 0;

	if (!list)
		return false;
	for (size_t i = 0; i < program->waiting_count; i++) {
		const struct sites_waiting *function = &program->waiting[i];

		add_function(program, list, &count,
			     &(struct function){
				     function->range.low, function->range.high,
				     user_op(function->op, function->kind,
					     function->mode),
				     0, NULL });
	}
	add_tails(program, list, &count);
	qsort(list, count, sizeof(*list), compare_functions);
	merge_functions(list, &count);
	*written = 0;
	fprintf(out,
		"static const unsigned int lk_user_functions_%s[][4] = {\n",
		program->tag);
	for (size_t i = 0; i < count; i++) {
		if (list[i].low < end || list[i].op == UOP_NONE)
			continue;
		end = list[i].high;
		fprintf(out,
			"\t{ 0x%" PRIx64 ", 0x%" PRIx64 ", %d, 0x%" PRIx64
			" },\n",
			list[i].low - program->low, list[i].high - program->low,
			list[i].op,
			list[i].jump ? list[i].jump - program->low : 0);
		++*written;
	}
	if (!*written)
		fputs("\t{ 0, 0, 0, 0 },\n", out);
	fputs("};\n", out);
	free(list);
	return true;
}

bool generate_program(FILE *out, const struct program *program,
		      struct generated_program *told)
{
	const struct sites_segment *code = &program->code;
	const char *tag = program->tag;
	struct texts texts = { 0 };
	bool good;

	memset(told, 0, sizeof(*told));
	if (!read_texts(&texts, program)) {
		texts_free(&texts);
		return false;
	}
	fprintf(out,
		"\nprobe __lock.prepared_program.%s = begin(-9223372036854775799)\n"
		"{\n"
		"\tuser_names = __lk_user_names_%s()\n"
		"\tuser_names_nr = 1\n"
		"}\n"
		"\n%%{\n",
		tag, tag);
	texts_write(out, &texts, "lk_user_text", tag);
	told->names = texts.count - !!texts_offset(&texts, "?");
	told->sites = write_sites(out, program, &texts, told);
	good = write_fixed(out, program, &texts, &told->fixed);
	good = write_functions(out, program, &told->functions) && good;
	fprintf(out,
		"static unsigned long lk_user_names_%s[] = {\n"
		"\t(unsigned long)\"%s\", %" PRIu64 "ul,\n"
		"\t0x%" PRIx64 "ul, 0x%" PRIx64 "ul, 0x%" PRIx64 "ul,\n"
		"\t(unsigned long)lk_user_text_%s,\n"
		"\t(unsigned long)lk_user_sites_%s, (unsigned long)lk_user_ops_%s, %zu,\n"
		"\t(unsigned long)lk_user_fixed_%s, %zu,\n"
		"\t(unsigned long)lk_user_functions_%s, %zu,\n"
		"\t0x%" PRIx64 "ul\n"
		"};\n%%}\n",
		tag, program->file, program->bytes, code->address, code->offset,
		code->bytes, tag, tag, tag, told->sites, tag, told->fixed, tag,
		told->functions, program->low);
	fprintf(out,
		"function __lk_user_names_%s:long() %%{ /* pure */\n"
		"\tSTAP_RETVALUE = (long)lk_user_names_%s;\n%%}\n",
		tag, tag);
	texts_free(&texts);
	return good;
}
