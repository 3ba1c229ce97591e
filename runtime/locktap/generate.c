// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes an image's lock calls as a tapset: the probes, and the name table. */
#include <config.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "name.h"
#include "texts.h"

/* ------------------------------------------------------------------------ */
/* The name table                                                            */

/* What a C string may hold as it is. */
static bool is_plain(const char *name)
{
	return strspn(name,
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		      "0123456789_.$[]") == strlen(name);
}

/* Only who takes a lock can wait for it; a jump leaves no return address. */
static bool may_wait(const struct sites_call *call)
{
	return call->how != SITES_UNKNOWN && call->op != SITES_UNLOCK &&
	       !call->tail && is_plain(call->name);
}

static bool read_texts(struct texts *texts, const struct sites_calls *calls)
{
	const char **names = calloc(calls->count + 1, sizeof(*names));
	size_t count = 0;
	bool good;

	for (size_t i = 0; names && i < calls->count; i++)
		if (may_wait(&calls->list[i]))
			names[count++] = calls->list[i].name;
	good = names && texts_make(texts, names, count);
	free(names);
	return good;
}

struct pair {
	uint64_t address;
	size_t text;
	bool returns; /* the address is a return address */
};

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* What of the pairs of one address, up to end, counts; NULL: it is ambiguous. */
static const struct pair *one_pair(const struct pair *first,
				   const struct pair *end)
{
	for (const struct pair *pair = first; pair < end; pair++)
		if (pair->returns)
			return pair;
	for (const struct pair *pair = first; pair < end; pair++)
		if (pair->text != first->text)
			return NULL;
	return first;
}

/* Addresses in a range, from its begin, with the offset of the name's text. */
static size_t write_pairs(FILE *out, const char *what, const char *tag,
			  size_t number, struct pair *pairs, size_t pair_count,
			  uint64_t from)
{
	size_t written = 0;

	if (pair_count)
		qsort(pairs, pair_count, sizeof(*pairs), compare_pairs);
	fprintf(out, "static const unsigned int lk_%s_%s_%zu[][2] = {\n", what,
		tag, number);
	for (size_t i = 0, end; i < pair_count; i = end) {
		const struct pair *pair;

		for (end = i + 1;
		     end < pair_count && pairs[end].address == pairs[i].address;
		     end++)
			;
		pair = one_pair(&pairs[i], &pairs[end]);
		if (!pair)
			continue;
		fprintf(out, "\t{ 0x%" PRIx64 ", %zu },\n",
			pair->address - from, pair->text);
		written++;
	}
	/* C has no empty arrays. */
	if (!written)
		fputs("\t{ 0, 0 },\n", out);
	fputs("};\n", out);
	return written;
}

/* One section's part: where it is found at run time, and its addresses. */
struct part {
	const char *anchor;
	uint64_t anchor_at;
	struct sites_range range;
};

/* By which addresses a call is known: where it returns to, and its probes'. */
#define CALL_ADDRESSES 3

static size_t call_pairs(const struct sites_call *call,
			 const struct texts *texts, const struct part *part,
			 struct pair *pairs)
{
	const struct sites_point *points[] = { &call->behind, &call->failed };
	size_t text = texts_offset(texts, call->name), count = 0;

	if (call->after > part->range.low && call->after <= part->range.high)
		pairs[count++] = (struct pair){ call->after, text, true };
	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
		if (points[i]->state == SITES_GOOD &&
		    points[i]->address > part->range.low &&
		    points[i]->address <= part->range.high)
			pairs[count++] = (struct pair){ points[i]->address,
							text, false };
	return count;
}

static size_t write_sites(FILE *out, const struct sites_calls *calls,
			  const struct texts *texts, const struct part *part,
			  const char *tag, size_t number, struct pair *pairs)
{
	size_t pair_count = 0;

	for (size_t i = 0; i < calls->count; i++)
		if (may_wait(&calls->list[i]))
			pair_count += call_pairs(&calls->list[i], texts, part,
						 pairs + pair_count);
	return write_pairs(out, "sites", tag, number, pairs, pair_count,
			   part->range.low);
}

/* Locks at fixed addresses, in a range or (not) in it. */
static size_t write_fixed(FILE *out, const struct sites_calls *calls,
			  const struct texts *texts, const char *what,
			  const char *tag, size_t number,
			  const struct sites_range *range, struct pair *pairs)
{
	size_t pair_count = 0;

	for (size_t i = 0; i < calls->count; i++) {
		const struct sites_call *call = &calls->list[i];

		if (may_wait(call) && call->fixed &&
		    call->fixed >= range->low && call->fixed < range->high)
			pairs[pair_count++] =
				(struct pair){ call->fixed,
					       texts_offset(texts, call->name),
					       false };
	}
	return write_pairs(out, what, tag, number, pairs, pair_count,
			   range->low);
}

static void write_part(FILE *out, struct sites_image *image,
		       const struct sites_calls *calls,
		       const struct texts *texts, const struct part *part,
		       const char *tag, size_t number, struct pair *pairs,
		       FILE *table)
{
	struct sites_range percpu = { 0, 0 }, data = { 0, 0 };
	size_t sites, fixed, per_cpu;

	/* A module's variables have their symbols. */
	if (sites_kind(image) == SITES_KERNEL) {
		sites_percpu_area(image, &percpu);
		data.low = part->range.low;
		data.high = UINT64_MAX;
	}
	sites = write_sites(out, calls, texts, part, tag, number, pairs);
	fixed = write_fixed(out, calls, texts, "fixed", tag, number, &data,
			    pairs);
	per_cpu = write_fixed(out, calls, texts, "per_cpu", tag, number,
			      &percpu, pairs);
	fprintf(table,
		"\t{ (unsigned long)\"%s%s%s\", 0x%" PRIx64 "ul, 0x%" PRIx64
		"ul, (unsigned long)lk_text_%s,\n"
		"\t  (unsigned long)lk_sites_%s_%zu, %zu,"
		" (unsigned long)lk_fixed_%s_%zu, %zu,\n"
		"\t  (unsigned long)lk_per_cpu_%s_%zu, %zu },\n",
		sites_kind(image) == SITES_KERNEL ? "" : tag,
		sites_kind(image) == SITES_KERNEL ? "" : ":", part->anchor,
		part->anchor_at, part->range.low, tag, tag, number, sites, tag,
		number, fixed, tag, number, per_cpu);
}

/* The next section with lock calls, from an address on. */
static bool next_part(struct sites_image *image,
		      const struct sites_calls *calls, uint64_t from,
		      struct part *part)
{
	for (size_t i = 0; i < calls->count; i++) {
		const struct sites_call *call = &calls->list[i];

		if (call->address < from || !may_wait(call) ||
		    !sites_section(image, call->address, &part->range))
			continue;
		part->anchor =
			sites_anchor(image, &part->range, &part->anchor_at);
		if (part->anchor)
			return true;
		from = part->range.high;
	}
	return false;
}

static size_t write_parts(FILE *out, struct sites_image *image,
			  const struct sites_calls *calls,
			  const struct texts *texts, const char *tag,
			  struct pair *pairs, FILE *table)
{
	struct part part = { .anchor = "_stext" };
	uint64_t from = 0;
	size_t number = 0;

	/* The kernel is moved as a whole. */
	if (sites_kind(image) == SITES_KERNEL) {
		if (!sites_symbol_address(image, "_stext", &part.anchor_at))
			return 0;
		part.range.low = part.anchor_at;
		part.range.high = UINT64_MAX;
		write_part(out, image, calls, texts, &part, tag, 0, pairs,
			   table);
		return 1;
	}
	while (next_part(image, calls, from, &part)) {
		write_part(out, image, calls, texts, &part, tag, number++,
			   pairs, table);
		from = part.range.high;
	}
	return number;
}

bool generate_names(FILE *out, struct sites_image *image,
		    const struct sites_calls *calls, const char *tag)
{
	struct pair *pairs =
		calloc(CALL_ADDRESSES * calls->count + 1, sizeof(*pairs));
	struct texts texts = { 0 };
	char *rows = NULL;
	size_t bytes = 0, parts = 0;
	FILE *table = open_memstream(&rows, &bytes);
	bool done = pairs && table && read_texts(&texts, calls);

	if (done) {
		fputs("\n%{\n/* The locks that are waited for, by return address. */\n",
		      out);
		texts_write(out, &texts, "lk_text", tag);
		parts = write_parts(out, image, calls, &texts, tag, pairs,
				    table);
	}
	if (table && fclose(table) != 0)
		done = false;
	if (done) {
		fprintf(out,
			"static unsigned long lk_names_%s[][10] = {\n%s\t{ 0 }\n};\n%%}\n",
			tag, rows);
		fprintf(out,
			"function __lk_names_%s:long() %%{ /* pure */\n"
			"\tSTAP_RETVALUE = (long)lk_names_%s;\n%%}\n"
			"function __lk_names_nr_%s:long() %%{ /* pure */\n"
			"\tSTAP_RETVALUE = %zu;\n%%}\n"
			"function __lk_is_named_%s:long(name:string) {\n"
			"\treturn __lk_is_named(__lk_names_%s(), %zu, name)\n}\n",
			tag, tag, tag, parts, tag, tag, parts);
	}
	free(rows);
	texts_free(&texts);
	free(pairs);
	return done;
}

/* ------------------------------------------------------------------------ */
/* Probes                                                                    */

enum event { ACQUIRE, ACQUIRED, RELEASE, TRYFAIL, EVENTS };

static const char *const event_names[EVENTS] = { "acquire", "acquired",
						 "release", "tryfail" };

/* One probe address of one lock variable's operation. */
struct entry {
	enum sites_lock_kind kind;
	char *name; /* without [] */
	bool in_variable; /* a fixed address, not an object's member */
	const char *declared; /* of several variables of one name, else NULL */
	enum event event;
	char mode;
	enum sites_success test; /* what rax has to be */
	const struct sites_point *point; /* NULL: cannot be armed */
	size_t group; /* number of the alias it is in, */
	size_t part; /* and of the one that this is in */
};

/* A source file as the debug information and as the source tree has it. */
struct file {
	const char *raw;
	char *name;
};

struct entries {
	struct entry *list;
	size_t count;
	size_t room;
	struct source_tree tree;
	struct file *files;
	size_t file_count;
};

void generate_count_trylocks(const struct sites_calls *calls,
			     enum sites_lock_kind kind, size_t *trylocks,
			     size_t *unseen)
{
	*trylocks = *unseen = 0;
	for (size_t i = 0; i < calls->count; i++) {
		const struct sites_call *call = &calls->list[i];

		if (call->op != SITES_TRYLOCK || call->kind != kind)
			continue;
		++*trylocks;
		if (call->failed.state != SITES_GOOD &&
		    call->behind.state != SITES_GOOD)
			++*unseen;
	}
}

/* The name in a probe point: without the [] of arrays. */
static char *plain_name(const char *name)
{
	char *plain = malloc(strlen(name) + 1), *to = plain;

	if (!plain)
		return NULL;
	for (; *name; name++)
		if (*name != '[' && *name != ']')
			*to++ = *name;
	*to = '\0';
	return plain;
}

/* Whether each part of the name is an identifier. */
static bool can_be_point(const char *name)
{
	bool begins = true;

	for (; *name; name++) {
		if (*name == '.') {
			if (begins)
				return false;
			begins = true;
			continue;
		}
		if (!isalpha((unsigned char)*name) && *name != '_' &&
		    (begins || !isdigit((unsigned char)*name)))
			return false;
		begins = false;
	}
	return !begins;
}

static bool add(struct entries *entries, const struct entry *entry)
{
	if (entries->count == entries->room) {
		size_t room = entries->room ? 2 * entries->room : 1024;
		struct entry *list =
			reallocarray(entries->list, room, sizeof(*list));

		if (!list)
			return false;
		entries->list = list;
		entries->room = room;
	}
	entries->list[entries->count] = *entry;
	entries->list[entries->count].name = strdup(entry->name);
	return entries->list[entries->count++].name != NULL;
}

static const struct sites_point *good(const struct sites_point *point)
{
	return point->state == SITES_GOOD ? point : NULL;
}

static enum sites_success opposite(enum sites_success success)
{
	return success == SITES_ZERO ? SITES_NONZERO : SITES_ZERO;
}

/* Where a call has taken its lock: what it returned is tested, if it may fail. */
static void place_acquired(struct entry *entry, const struct sites_call *call)
{
	entry->event = ACQUIRED;
	entry->point = good(&call->behind);
	entry->test = call->success;
	if (entry->point || !good(&call->taken))
		return;
	entry->point = good(&call->taken);
	entry->test = SITES_ALWAYS;
}

/* Where it has not: better where nobody else comes, so that others pay nothing. */
static void place_tryfail(struct entry *entry, const struct sites_call *call)
{
	entry->event = TRYFAIL;
	entry->point = good(&call->failed);
	entry->test = SITES_ALWAYS;
	if (entry->point)
		return;
	entry->point = good(&call->behind);
	entry->test = opposite(call->success);
}

/* False if out of memory; *name is NULL where the file is not known. */
static bool file_name(struct entries *entries, const char *raw,
		      const char **name)
{
	struct file *files;

	*name = NULL;
	if (!raw)
		return true;
	for (size_t i = 0; !*name && i < entries->file_count; i++)
		if (strcmp(entries->files[i].raw, raw) == 0)
			*name = entries->files[i].name;
	if (*name)
		return true;
	files = reallocarray(entries->files, entries->file_count + 1,
			     sizeof(*files));
	if (!files)
		return false;
	entries->files = files;
	files[entries->file_count].raw = raw;
	files[entries->file_count].name = source_tree_name(&entries->tree, raw);
	*name = files[entries->file_count].name;
	if (*name)
		entries->file_count++;
	return *name != NULL;
}

/*
 * Readers of a percpu_rwsem enter no function that could be probed for all of
 * them, so theirs are found by their kind.
 */
static bool is_reader(enum sites_lock_kind kind, char mode)
{
	return kind == SITES_PERCPU_RWSEM && mode == 'r';
}

static void place_release(struct entry *entry, const struct sites_call *call)
{
	entry->event = RELEASE;
	entry->point = good(&call->before);
	if (!entry->point)
		entry->point = good(&call->behind);
}

static bool add_call(struct entries *entries, const struct sites_call *call,
		     const char *name)
{
	struct entry entry = {
		.kind = call->kind,
		.name = (char *)name,
		.in_variable = call->how == SITES_BY_SYMBOL,
		.mode = call->mode,
		.event = RELEASE,
	};

	if (!file_name(entries, call->declared, &entry.declared))
		return false;
	switch (call->op) {
	case SITES_UNLOCK:
		place_release(&entry, call);
		return add(entries, &entry);
	case SITES_LOCK:
	case SITES_TRYLOCK:
		entry.event = ACQUIRE;
		entry.point = good(&call->before);
		if (!add(entries, &entry))
			return false;
		place_acquired(&entry, call);
		if (!add(entries, &entry))
			return false;
		if (call->op == SITES_LOCK)
			return true;
		place_tryfail(&entry, call);
		return add(entries, &entry);
	default:
		return true;
	}
}

/* A lock without a name has no probes of its own, only those of its kind. */
static bool add_unnamed(struct entries *entries, const struct sites_call *call)
{
	struct entry entry = {
		.kind = call->kind,
		.name = (char *)"?",
		.mode = call->mode,
	};

	if (call->op == SITES_UNLOCK && is_reader(call->kind, call->mode)) {
		place_release(&entry, call);
		return add(entries, &entry);
	}
	if (call->op != SITES_LOCK && call->op != SITES_TRYLOCK)
		return true;
	place_acquired(&entry, call);
	if (!add(entries, &entry))
		return false;
	if (call->op == SITES_LOCK)
		return true;
	place_tryfail(&entry, call);
	return add(entries, &entry);
}

static bool collect(struct entries *entries, const struct sites_calls *calls)
{
	for (size_t i = 0; i < calls->count; i++)
		if (!source_tree_add(&entries->tree, calls->list[i].file))
			return false;
	for (size_t i = 0; i < calls->count; i++) {
		const struct sites_call *call = &calls->list[i];
		char *name;
		bool added;

		if (call->how == SITES_UNKNOWN) {
			if (!add_unnamed(entries, call))
				return false;
			continue;
		}
		name = plain_name(call->name);
		if (!name)
			return false;
		added = !can_be_point(name) || add_call(entries, call, name);
		free(name);
		if (!added)
			return false;
	}
	return true;
}

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

static int compare_names(const struct entry *a, const struct entry *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_reaches(const struct sites_reach *a,
			   const struct sites_reach *b)
{
	if (a->base != b->base)
		return a->base < b->base ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->reg != b->reg)
		return a->reg - b->reg;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->loaded != b->loaded)
		return a->loaded - b->loaded;
	if (a->then != b->then)
		return a->then < b->then ? -1 : 1;
	return 0;
}

/* Those that can share an alias come together. */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int result = compare_names(a, b);

	if (!result)
		result = (int)a->event - (int)b->event;
	if (!result)
		result = compare_texts(a->declared, b->declared);
	if (!result)
		result = a->mode - b->mode;
	if (!result)
		result = (int)a->test - (int)b->test;
	if (!result)
		result = !!b->point - !!a->point;
	if (!result && a->point)
		result = compare_reaches(&a->point->reach, &b->point->reach);
	if (!result && a->point && a->point->address != b->point->address)
		result = a->point->address < b->point->address ? -1 : 1;
	return result;
}

static bool same_group(const struct entry *a, const struct entry *b)
{
	return a->point && b->point && !compare_names(a, b) &&
	       a->event == b->event &&
	       !compare_texts(a->declared, b->declared) && a->mode == b->mode &&
	       a->test == b->test &&
	       !compare_reaches(&a->point->reach, &b->point->reach);
}

/* Only where one name means several variables does the file matter. */
static void forget_single_files(struct entries *entries)
{
	size_t begin = 0;

	for (size_t i = 0; i <= entries->count; i++) {
		const char *file = NULL;
		bool several = false;

		if (i < entries->count && i > begin &&
		    !compare_names(&entries->list[begin], &entries->list[i]))
			continue;
		for (size_t j = begin; j < i; j++) {
			const char *other = entries->list[j].declared;

			several |= file && other && strcmp(file, other) != 0;
			file = file ? file : other;
		}
		for (size_t j = begin; !several && j < i; j++)
			entries->list[j].declared = NULL;
		begin = i;
	}
}

/* What the aliases of one image have in common. */
struct target {
	struct sites_image *image;
	const char *tag;
	const char *module; /* NULL: the kernel */
	const char *pattern; /* how stap finds the module */
	uint64_t stext; /* the kernel's _stext */
};

/* An address in the file: the kernel's by a symbol, a module's by a section. */
static void write_fixed_lock(FILE *out, const struct target *target,
			     uint64_t address)
{
	struct sites_range range = { .low = target->stext };
	const char *section = "_stext";

	if (target->module)
		section = sites_section(target->image, address, &range);
	fprintf(out, "__lk_fixed(\"%s\", \"%s\", %" PRId64 ")",
		target->module ? target->module : "kernel",
		section ? section : "", (int64_t)(address - range.low));
}

static void write_lock(FILE *out, const struct target *target,
		       const struct sites_reach *reach)
{
	if (reach->base == SITES_FIXED)
		write_fixed_lock(out, target, reach->address);
	else if (reach->loaded)
		fprintf(out, "__lk_at_loaded(%d,%" PRId64 ",%" PRId64 ")",
			reach->reg, reach->offset, reach->then);
	else
		fprintf(out, "__lk_at(%d,%" PRId64 ")", reach->reg,
			reach->offset);
}

static const char *test_text(enum sites_success test)
{
	switch (test) {
	case SITES_NONZERO:
		return "if(!__lk_result())next ";
	case SITES_ZERO:
		return "if(__lk_result())next ";
	default:
		return "";
	}
}

static void write_point(FILE *out, const char *module, uint64_t address)
{
	if (module)
		fprintf(out, "module(\"%s\").", module);
	else
		fputs("kernel.", out);
	fprintf(out, "statement(0x%" PRIx64 ")?", address);
}

/* The sites that have the lock in the same place, as one alias. */
static void write_group(FILE *out, const struct target *target,
			const struct entry *first, const struct entry *end)
{
	fprintf(out, "probe __lk_site.%s_%zu=", target->tag, first->group);
	for (const struct entry *entry = first; entry < end; entry++) {
		/* Two calls may share a place, with nothing between them. */
		if (entry > first &&
		    entry->point->address == entry[-1].point->address)
			continue;
		if (entry > first)
			fputs(",\n", out);
		write_point(out, target->pattern, entry->point->address);
	}
	fprintf(out, "{%slock=", test_text(first->test));
	write_lock(out, target, &first->point->reach);
	fputs("}\n", out);
}

static bool same_part(const struct entry *a, const struct entry *b)
{
	return a->point && b->point && !compare_names(a, b) &&
	       a->event == b->event &&
	       !compare_texts(a->declared, b->declared) && a->mode == b->mode;
}

/*
 * Those where a lock has been taken, or not, are found by their kind as well:
 * lock.KIND.sites, and what the tapset makes of failed trylocks.
 */
static void write_part_name(FILE *out, const struct entry *entry,
			    const char *tag)
{
	bool reads = is_reader(entry->kind, entry->mode);

	if (reads || entry->event == ACQUIRED || entry->event == TRYFAIL)
		fprintf(out, "__lk_%s.%s.%s%s_%zu", event_names[entry->event],
			sites_kind_name(entry->kind), reads ? "r_" : "", tag,
			entry->part);
	else
		fprintf(out, "__lk_part.%s_%zu", tag, entry->part);
}

/* The sites of one operation of one variable, in one mode. */
static void write_mode(FILE *out, const struct target *target,
		       const struct entry *first, const struct entry *end)
{
	fputs("probe ", out);
	write_part_name(out, first, target->tag);
	for (const struct entry *entry = first; entry < end; entry++) {
		if (entry > first && entry->group == entry[-1].group)
			continue;
		fprintf(out, "%s__lk_site.%s_%zu", entry > first ? "," : "=",
			target->tag, entry->group);
	}
	fprintf(out,
		"{op=\"%s\" mode=\"%c\" kind=\"%s\" name=\"%s\""
		" caller=__lk_site_address()%s}\n",
		event_names[first->event], first->mode,
		sites_kind_name(first->kind), first->name,
		first->event == ACQUIRED ? " ret=0" : "");
}

static void write_groups(FILE *out, const struct target *target,
			 struct entries *entries)
{
	size_t end, groups = 0;

	for (size_t i = 0; i < entries->count; i = end) {
		end = i + 1;
		if (!entries->list[i].point)
			continue;
		while (end < entries->count &&
		       same_group(&entries->list[i], &entries->list[end]))
			end++;
		for (size_t j = i; j < end; j++)
			entries->list[j].group = groups;
		write_group(out, target, &entries->list[i],
			    &entries->list[end]);
		groups++;
	}
}

static void write_modes(FILE *out, const struct target *target,
			struct entries *entries)
{
	size_t end, parts = 0;

	for (size_t i = 0; i < entries->count; i = end) {
		end = i + 1;
		if (!entries->list[i].point)
			continue;
		while (end < entries->count &&
		       same_part(&entries->list[i], &entries->list[end]))
			end++;
		for (size_t j = i; j < end; j++)
			entries->list[j].part = parts;
		write_mode(out, target, &entries->list[i], &entries->list[end]);
		parts++;
	}
}

/* A source file's path as part of a probe point. */
static void write_path(FILE *out, const char *path)
{
	for (; *path; path++)
		putc(isalnum((unsigned char)*path) ? *path : '_', out);
}

/* Some of the entries of one name, and what they are called. */
struct variable {
	const struct entry *first;
	const struct entry *end;
	const char
		*prefix; /* a module's name in front of its variables', or "" */
	const char *declared; /* only those of this file, NULL: all */
	const char *tag;
	size_t *number; /* of the next variable */
};

static void write_name(FILE *out, const struct variable *variable)
{
	fprintf(out, "probe lock.%s.var.%s%s%s",
		sites_kind_name(variable->first->kind), variable->prefix,
		*variable->prefix ? "." : "", variable->first->name);
	if (variable->declared) {
		fputs(".at.", out);
		write_path(out, variable->declared);
	}
}

static bool is_in(const struct variable *variable, const struct entry *entry,
		  unsigned int events)
{
	return (events & 1u << entry->event) &&
	       (!variable->declared ||
		!compare_texts(variable->declared, entry->declared));
}

static void count(const struct variable *variable, unsigned int events,
		  size_t *armed, size_t *unarmed)
{
	*armed = *unarmed = 0;
	for (const struct entry *entry = variable->first; entry < variable->end;
	     entry++) {
		if (!is_in(variable, entry, events))
			continue;
		if (entry->point)
			++*armed;
		else
			++*unarmed;
	}
}

/* The parts that make some operations of a variable. */
static void write_part_list(FILE *out, const struct variable *variable,
			    unsigned int events)
{
	const char *before = "=";
	size_t last = (size_t)-1;

	for (const struct entry *entry = variable->first; entry < variable->end;
	     entry++) {
		if (!entry->point || entry->part == last ||
		    !is_in(variable, entry, events))
			continue;
		last = entry->part;
		fputs(before, out);
		write_part_name(out, entry, variable->tag);
		before = ",";
	}
}

static void write_unarmed_part(FILE *out, const struct variable *variable,
			       unsigned int events)
{
	size_t armed, unarmed;

	count(variable, events, &armed, &unarmed);
	if (unarmed)
		fprintf(out, ",__lk_unarmed.%s_%zu", variable->tag, unarmed);
	fputs("{}\n", out);
}

/* The probe of an operation: of a name, of a file, of a module. */
static void write_probe(FILE *out, const struct variable *variable,
			enum event event, const char *body)
{
	size_t armed, unarmed;

	count(variable, 1u << event, &armed, &unarmed);
	if (!armed)
		return;
	write_name(out, variable);
	fprintf(out, ".%s", event_names[event]);
	write_part_list(out, variable, 1u << event);
	if (unarmed)
		fprintf(out, ",__lk_unarmed.%s_%zu", variable->tag, unarmed);
	fprintf(out, "{%s}\n", body);
}

/*
 * Where a variable's locks are taken and let go the core keeps who holds them
 * (runtime/kernel/lk_hold.h); a release alone needs the acquisitions too. All
 * variables of both are set in each, since one probe may be made of both.
 */
static void write_holds(FILE *out, const struct variable *variable,
			size_t number)
{
	int kind = (int)variable->first->kind;
	size_t got, gave, unarmed;

	count(variable, 1u << ACQUIRED, &got, &unarmed);
	count(variable, 1u << RELEASE, &gave, &unarmed);
	if (got) {
		fprintf(out, "probe __lk_got.%s_%zu", variable->tag, number);
		write_part_list(out, variable, 1u << ACQUIRED);
		fprintf(out,
			"{if(!__lk_got(lock,%d,mode))next "
			"wait_ns=__lk_wait_ns() spin_ns=__lk_spin_ns() "
			"block_ns=__lk_block_ns() hold_ns=0}\n",
			kind);
		write_name(out, variable);
		fprintf(out, ".acquired=__lk_got.%s_%zu", variable->tag,
			number);
		write_unarmed_part(out, variable, 1u << ACQUIRED);
	}
	if (gave) {
		if (got) {
			fprintf(out, "probe __lk_kept.%s_%zu", variable->tag,
				number);
			write_part_list(out, variable, 1u << ACQUIRED);
			fprintf(out,
				"{__lk_got(lock,%d,mode) hold_ns=0 recorded=0 next}\n",
				kind);
		}
		fprintf(out, "probe __lk_gave.%s_%zu", variable->tag, number);
		write_part_list(out, variable, 1u << RELEASE);
		fprintf(out,
			"{if(!__lk_gave(lock,%d,mode))next "
			"hold_ns=__lk_hold_ns() wait_ns=0 spin_ns=0 "
			"block_ns=0 ret=0 recorded=0}\n",
			kind);
		write_name(out, variable);
		fputs(".release=", out);
		if (got)
			fprintf(out, "__lk_kept.%s_%zu,", variable->tag,
				number);
		fprintf(out, "__lk_gave.%s_%zu", variable->tag, number);
		write_unarmed_part(out, variable, 1u << RELEASE);
	}
	if (!got && !gave)
		return;
	write_name(out, variable);
	fputc('=', out);
	if (got)
		fprintf(out, "__lk_got.%s_%zu%s", variable->tag, number,
			gave ? "," : "");
	if (gave)
		fprintf(out, "__lk_gave.%s_%zu", variable->tag, number);
	write_unarmed_part(out, variable, 1u << ACQUIRED | 1u << RELEASE);
}

/* The waits of one name's callers. */
static void write_waits(FILE *out, const struct variable *variable)
{
	static const char *const waits[] = { "contention_begin",
					     "contention_end" };
	size_t armed, unarmed;

	count(variable, 1u << ACQUIRE, &armed, &unarmed);
	if (!armed && !unarmed)
		return;
	for (size_t i = 0; i < 2; i++) {
		write_name(out, variable);
		fprintf(out,
			".%s=lock.%s.%s"
			"{if(!__lk_is_named_%s(\"%s\"))next}\n",
			waits[i], sites_kind_name(variable->first->kind),
			waits[i], variable->tag, variable->first->name);
	}
}

static void write_variable(FILE *out, struct variable *variable)
{
	char failed[80];

	snprintf(failed, sizeof(failed),
		 "if(!__lk_try_failed(lock,%d,mode))next recorded=0",
		 (int)variable->first->kind);
	write_probe(out, variable, ACQUIRE, "");
	write_probe(out, variable, TRYFAIL, failed);
	write_holds(out, variable, (*variable->number)++);
	/* The callers of one name's variables are not told apart. */
	if (!variable->declared)
		write_waits(out, variable);
}

/* The variables of one name that are told apart by their files. */
static void write_files(FILE *out, struct variable variable)
{
	for (const struct entry *entry = variable.first; entry < variable.end;
	     entry++) {
		bool before = false;

		if (!entry->declared)
			continue;
		for (const struct entry *other = variable.first; other < entry;
		     other++)
			before |= !compare_texts(other->declared,
						 entry->declared);
		variable.declared = entry->declared;
		if (!before)
			write_variable(out, &variable);
	}
}

/* How many sites the probes of a name leave out, each number once. */
static void note_unarmed(const struct variable *variable, bool *numbers)
{
	size_t armed, unarmed;

	for (unsigned int event = 0; event < EVENTS; event++) {
		count(variable, 1u << event, &armed, &unarmed);
		numbers[unarmed] = true;
	}
	count(variable, 1u << ACQUIRED | 1u << RELEASE, &armed, &unarmed);
	numbers[unarmed] = true;
}

/* Calls `each' for every name. */
static void each_name(const struct entries *entries, struct variable variable,
		      void (*each)(struct variable *variable, void *argument),
		      void *argument)
{
	size_t begin = 0;

	for (size_t i = 0; i < entries->count; i = begin) {
		variable.first = &entries->list[i];
		for (begin = i;
		     begin < entries->count &&
		     !compare_names(variable.first, &entries->list[begin]);
		     begin++)
			;
		variable.end = &entries->list[begin];
		if (strcmp(variable.first->name, "?") != 0)
			each(&variable, argument);
	}
}

static void note_name(struct variable *variable, void *argument)
{
	bool *numbers = argument;

	note_unarmed(variable, numbers);
	for (const struct entry *entry = variable->first; entry < variable->end;
	     entry++) {
		struct variable part = *variable;

		part.declared = entry->declared;
		if (part.declared)
			note_unarmed(&part, numbers);
	}
}

/* The aliases that only count what cannot be armed. */
static bool write_unarmed(FILE *out, const struct entries *entries,
			  const char *tag)
{
	struct variable variable = { .prefix = "", .tag = tag };
	bool *numbers = calloc(entries->count + 1, sizeof(*numbers));

	if (!numbers)
		return false;
	each_name(entries, variable, note_name, numbers);
	for (size_t i = 1; i <= entries->count; i++)
		if (numbers[i])
			fprintf(out,
				"probe __lk_unarmed.%s_%zu = __lk_count_unarmed\n"
				"{\n\t__lk_add_unarmed(%zu)\n\tlock = 0\n"
				"\tkind = mode = op = name = \"?\"\n"
				"\tcaller = ret = hold_ns = wait_ns = spin_ns = block_ns = 0\n"
				"\trecorded = 0\n"
				"\tnext\n}\n",
				tag, i, i);
	free(numbers);
	return true;
}

struct output {
	FILE *out;
	const char *module;
	struct generated *told;
};

static void write_one(struct variable *variable, void *argument)
{
	struct output *output = argument;
	size_t armed, unarmed;

	output->told->names++;
	count(variable, 1u << ACQUIRED | 1u << RELEASE, &armed, &unarmed);
	output->told->armed += armed;
	output->told->unarmed += unarmed;
	write_variable(output->out, variable);
	write_files(output->out, *variable);
	/* A module's own variables have its name in front as well. */
	if (output->module && variable->first->in_variable) {
		struct variable prefixed = *variable;

		prefixed.prefix = output->module;
		write_variable(output->out, &prefixed);
		write_files(output->out, prefixed);
	}
}

static void free_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->list[i].name);
	free(entries->list);
	for (size_t i = 0; i < entries->file_count; i++)
		free(entries->files[i].name);
	free(entries->files);
	source_tree_free(&entries->tree);
}

bool generate_probes(FILE *out, struct sites_image *image,
		     const struct sites_calls *calls, const char *tag,
		     const char *module, const char *pattern,
		     struct generated *told)
{
	struct entries entries = { .tree = { .is_kernel = true } };
	size_t number = 0;
	struct variable variable = { .prefix = "",
				     .tag = tag,
				     .number = &number };
	struct output output = { out, module, told };
	struct target target = { image, tag, module, pattern, 0 };
	bool done;

	memset(told, 0, sizeof(*told));
	told->calls = calls->count;
	for (size_t i = 0; i < calls->count; i++)
		told->named += calls->list[i].how != SITES_UNKNOWN;
	if (!module)
		sites_symbol_address(image, "_stext", &target.stext);
	done = collect(&entries, calls);
	if (done && entries.count) {
		qsort(entries.list, entries.count, sizeof(*entries.list),
		      compare_entries);
		forget_single_files(&entries);
		qsort(entries.list, entries.count, sizeof(*entries.list),
		      compare_entries);
		write_groups(out, &target, &entries);
		write_modes(out, &target, &entries);
		done = write_unarmed(out, &entries, tag);
		each_name(&entries, variable, write_one, &output);
	}
	free_entries(&entries);
	return done;
}
