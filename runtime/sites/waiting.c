// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of a C library that wait: in the library's file, or in a
 * program that it has been linked into.
 */
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

/* What a C library calls the parts of such a function, behind its name. */
static const char *const parts[] = { "_full", "_common", "_slow", "_fast",
				     "64" };

/* What it has in front of it. */
static const char *const fronts[] = { "new_", "old_", "" };

static const char *skip_parts(const char *text)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts);) {
		size_t length = strlen(parts[i]);

		if (strncmp(text, parts[i], length) == 0) {
			text += length;
			i = 0;
		} else {
			i++;
		}
	}
	return text;
}

/*
 * Names that only the library knows: the mutex is taken again behind a
 * condition, and joins have a function of their own.
 */
static const struct {
	const char *name;
	const char *as;
} others[] = {
	{ "pthread_mutex_cond_lock", "pthread_mutex_lock" },
	{ "pthread_clockjoin_ex", "pthread_join" },
	{ "pthread_timedjoin_ex", "pthread_join" },
	{ "pthread_tryjoin_np", "pthread_join" },
	{ "pthread_detach", "pthread_join" },
};

/* The operation of a name or of a part of one; *exact: the program's name. */
static const struct sites_operation *operation_of(const char *symbol,
						  bool *exact)
{
	const char *name = symbol + strspn(symbol, "_");

	*exact = false;
	for (size_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++) {
		size_t front = strlen(fronts[i]);
		char text[64];

		if (strncmp(name, fronts[i], front) != 0)
			continue;
		/* The longest beginning that is an operation. */
		for (size_t length = strlen(name + front); length; length--) {
			const struct sites_operation *operation;
			const char *rest = skip_parts(name + front + length);

			if (length >= sizeof(text) ||
			    (*rest && *rest != '.' && *rest != '@'))
				continue;
			memcpy(text, name + front, length);
			text[length] = '\0';
			operation = sites_operation(text, true);
			for (size_t j = 0;
			     !operation && j < sizeof(others) / sizeof(*others);
			     j++)
				if (strcmp(text, others[j].name) == 0)
					operation = sites_operation(
						others[j].as, true);
			if (!operation)
				continue;
			*exact = strcmp(symbol, operation->name) == 0;
			return operation;
		}
	}
	return NULL;
}

struct search {
	struct sites_image *image;
	struct sites_waiting *list;
	size_t count;
	bool exact; /* a function has the name that programs use */
	struct sites_error *error;
	bool failed;
};

static bool add(struct search *search, const struct sites_waiting *function)
{
	void *list = search->list;

	if (!sites_grow(&list, search->count, sizeof(*function),
			search->error)) {
		search->failed = true;
		return false;
	}
	search->list = list;
	search->list[search->count++] = *function;
	return true;
}

static bool add_symbol(const struct sites_symbol *symbol, void *argument)
{
	struct search *search = argument;
	const struct sites_operation *operation;
	bool exact;

	if ((GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC &&
	     GELF_ST_TYPE(symbol->sym.st_info) != STT_GNU_IFUNC) ||
	    symbol->section == SHN_UNDEF || !symbol->sym.st_size)
		return true;
	operation = operation_of(symbol->name, &exact);
	if (!operation || operation->op == SITES_UNLOCK)
		return true;
	search->exact |= exact;
	return add(search, &(struct sites_waiting){
				   .range = { symbol->sym.st_value,
					      symbol->sym.st_value +
						      symbol->sym.st_size },
				   .op = operation->op,
				   .kind = operation->kind,
				   .mode = operation->mode,
			   });
}

static struct sites_waiting *function_at(const struct search *search,
					 uint64_t address)
{
	for (size_t i = 0; i < search->count; i++)
		if (address >= search->list[i].range.low &&
		    address < search->list[i].range.high)
			return &search->list[i];
	return NULL;
}

/* Where a jump at an offset of some code leads to. */
static bool leads_to(const unsigned char *code, size_t size, size_t at,
		     uint64_t *distance)
{
	size_t opcode = 0;
	int32_t relative;

	if (code[at] == 0xe9)
		opcode = 1;
	else if (at + 1 < size && code[at] == 0x0f &&
		 (code[at + 1] & 0xf0) == 0x80)
		opcode = 2;
	if (!opcode || size - at < opcode + 4)
		return false;
	memcpy(&relative, code + at + opcode, 4);
	*distance = at + opcode + 4 + (uint64_t)relative;
	return true;
}

/* The same of a short one, which is but two bytes that may be anything. */
static bool leads_near(const unsigned char *code, size_t size, size_t at,
		       uint64_t *distance)
{
	if (size - at < 2 || (code[at] != 0xeb && (code[at] & 0xf0) != 0x70))
		return false;
	*distance = at + 2 + (uint64_t)(int8_t)code[at + 1];
	return true;
}

/*
 * What a function ends with by a jump is part of it: nobody else's frame is on
 * the stack then. Where that begins another function tells that it is a jump,
 * and not bytes that look like one.
 */
static bool add_jumps(struct search *search, size_t number,
		      const struct sites_range *frames, size_t frame_count)
{
	struct sites_waiting function = search->list[number];
	size_t size, bytes = function.range.high - function.range.low;
	const unsigned char *code =
		sites_code_at(search->image, function.range.low, &size);

	if (!code)
		return true;
	if (size > bytes)
		size = bytes;
	for (size_t at = 0; at < size; at++) {
		const struct sites_range *to;
		uint64_t distance;

		if (!leads_to(code, size, at, &distance) &&
		    !leads_near(code, size, at, &distance))
			continue;
		to = sites_frame_at(frames, frame_count,
				    function.range.low + distance);
		if (!to || to->low != function.range.low + distance ||
		    function_at(search, to->low))
			continue;
		function.range = *to;
		if (!add(search, &function))
			return false;
		function = search->list[number];
	}
	return true;
}

static bool same_wait(const struct sites_waiting *a,
		      const struct sites_waiting *b)
{
	return (a->op == SITES_WAIT) == (b->op == SITES_WAIT) &&
	       (a->op == SITES_WAIT ||
		(a->kind == b->kind && a->mode == b->mode));
}

/*
 * Takes out what others call as well, who may wait for something else; that is
 * looked for in the code of one section.
 */
static void check_jumps(struct search *search, size_t symbols,
			const unsigned char *code, size_t size,
			uint64_t address)
{
	for (size_t at = 0; at < size; at++) {
		struct sites_waiting *to;
		const struct sites_waiting *from;
		uint64_t distance;
		int32_t relative;

		if (code[at] == 0xe8 && size - at >= 5) {
			memcpy(&relative, code + at + 1, 4);
			distance = at + 5 + (uint64_t)relative;
		} else if (!leads_to(code, size, at, &distance)) {
			continue;
		}
		to = function_at(search, address + distance);
		if (!to || to->range.low != address + distance ||
		    to - search->list < (ptrdiff_t)symbols)
			continue;
		from = function_at(search, address + at);
		if (!from || !same_wait(from, to))
			to->op = SITES_UNLOCK;
	}
}

static void check_all_jumps(struct search *search, size_t symbols)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (search->count == symbols)
		return;
	while ((section = elf_nextscn(search->image->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) ||
		    header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_EXECINSTR))
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf)
			check_jumps(search, symbols, data->d_buf, data->d_size,
				    header.sh_addr);
	}
}

/* Of two that overlap the first and then the longer one is kept. */
static int compare(const void *left, const void *right)
{
	const struct sites_waiting *a = left, *b = right;

	if (a->range.low != b->range.low)
		return a->range.low < b->range.low ? -1 : 1;
	if (a->range.high != b->range.high)
		return a->range.high > b->range.high ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static void sort(struct search *search)
{
	size_t kept = 0;

	if (search->count)
		qsort(search->list, search->count, sizeof(*search->list),
		      compare);
	for (size_t i = 0; i < search->count; i++)
		if (search->list[i].op != SITES_UNLOCK &&
		    (!kept || search->list[i].range.low >=
				      search->list[kept - 1].range.high))
			search->list[kept++] = search->list[i];
	search->count = kept;
}

bool sites_waiting(struct sites_image *image, struct sites_waiting **list,
		   size_t *count, struct sites_error *error)
{
	struct search search = { .image = image, .error = error };
	struct sites_range *frames = NULL;
	size_t frame_count = 0, symbols;
	bool good = true;

	*list = NULL;
	*count = 0;
	if (image->symtab)
		good = sites_each_symbol(image, add_symbol, &search, error) &&
		       !search.failed;
	if (good)
		good = sites_each_dynamic(image, add_symbol, &search, error) &&
		       !search.failed;
	/* A program may have a static sem_wait_all(), but not the library. */
	if (good && search.exact)
		good = sites_frames(image, &frames, &frame_count, error);
	if (!search.exact)
		search.count = 0;
	sort(&search);
	symbols = search.count;
	for (size_t i = 0; good && i < symbols; i++)
		good = add_jumps(&search, i, frames, frame_count);
	if (good)
		check_all_jumps(&search, symbols);
	sort(&search);
	free(frames);
	if (!good) {
		free(search.list);
		return false;
	}
	*list = search.list;
	*count = search.count;
	return true;
}
