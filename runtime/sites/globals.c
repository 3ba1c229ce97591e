// SPDX-License-Identifier: GPL-2.0-or-later
/* Variables with a fixed address, and what is at an address. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

static bool add(struct sites_globals *globals,
		const struct sites_global *global, struct sites_error *error)
{
	void *list = globals->list;

	if (!sites_grow(&list, globals->count, sizeof(*global), error))
		return false;
	globals->list = list;
	globals->list[globals->count++] = *global;
	return true;
}

bool sites_global_add(struct sites_globals *globals, Dwarf_Die *variable,
		      struct sites_error *error)
{
	struct sites_global global = { 0 };
	Dwarf_Attribute attribute;
	Dwarf_Block block;
	Dwarf_Op *ops;
	size_t count;

	/* By far the most have another location, which need not be read. */
	if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
	    dwarf_formblock(&attribute, &block) != 0 || !block.length ||
	    (block.data[0] != DW_OP_addr && block.data[0] != DW_OP_addrx &&
	     block.data[0] != DW_OP_GNU_addr_index) ||
	    dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 1 ||
	    !sites_op_address(&attribute, &ops[0], &global.address))
		return true;
	global.name = dwarf_diename(variable);
	if (!global.name || !sites_type_of(variable, &global.type))
		return true;
	global.typed = true;
	global.die = *variable;
	global.place = dwarf_dieoffset(variable);
	global.size = sites_size_of(&global.type);
	/* `struct foo array[]' has its size in the symbol table only. */
	return add(globals, &global, error);
}

struct symbols {
	struct sites_image *image;
	struct sites_globals *globals;
	size_t typed;
	struct sites_error *error;
	bool failed;
};

static int compare(const void *left, const void *right)
{
	const struct sites_global *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* The one with a type, then the larger one, is what is found. */
	if (a->typed != b->typed)
		return a->typed ? 1 : -1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	/* Always the same one. */
	if (a->typed && a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* How many of the sorted variables begin at the address or before it. */
static size_t begin_until(const struct sites_global *list, size_t count,
			  uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The typed variable that begins at the address. */
static struct sites_global *typed_at(struct sites_globals *globals,
				     size_t count, uint64_t address)
{
	size_t until = begin_until(globals->list, count, address);

	return until && globals->list[until - 1].address == address ?
		       &globals->list[until - 1] :
		       NULL;
}

static bool add_symbol(const struct sites_symbol *symbol, void *argument)
{
	struct symbols *symbols = argument;
	struct sites_global *typed, global = {
		.address = symbol->sym.st_value,
		.size = symbol->sym.st_size,
		.name = symbol->name,
	};

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_OBJECT || !global.size ||
	    symbol->section == SHN_UNDEF || symbol->section >= SHN_LORESERVE)
		return true;
	if (sites_kind(symbols->image) == SITES_MODULE) {
		GElf_Shdr header;
		Elf_Scn *section =
			elf_getscn(symbols->image->symbols, symbol->section);

		if (!section || !gelf_getshdr(section, &header))
			return true;
		global.address += header.sh_addr;
	}
	typed = typed_at(symbols->globals, symbols->typed, global.address);
	if (typed) {
		if (!typed->size)
			typed->size = global.size;
		return true;
	}
	symbols->failed = !add(symbols->globals, &global, symbols->error);
	return !symbols->failed;
}

bool sites_globals_finish(struct sites_image *image,
			  struct sites_globals *globals,
			  struct sites_error *error)
{
	struct symbols symbols = {
		.image = image,
		.globals = globals,
		.error = error,
	};

	if (globals->count)
		qsort(globals->list, globals->count, sizeof(*globals->list),
		      compare);
	symbols.typed = globals->count;
	if (image->symtab &&
	    (!sites_each_symbol(image, add_symbol, &symbols, error) ||
	     symbols.failed))
		return false;
	if (globals->count)
		qsort(globals->list, globals->count, sizeof(*globals->list),
		      compare);
	return true;
}

const struct sites_global *sites_global_at(const struct sites_globals *globals,
					   uint64_t address)
{
	size_t low = begin_until(globals->list, globals->count, address);

	/* Aliases begin at one address; the last has a type if any has. */
	if (!low || address - globals->list[low - 1].address >=
			    globals->list[low - 1].size)
		return NULL;
	return &globals->list[low - 1];
}
