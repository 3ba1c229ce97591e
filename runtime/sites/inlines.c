// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the places where a function has been inlined. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

struct search {
	struct sites_image *image;
	const char *function;
	const char *inside;
	Dwarf_Die unit;
	struct sites_inline *list;
	size_t count;
	struct sites_error *error;
};

static int compare_ranges(const void *left, const void *right)
{
	const struct sites_range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return 0;
}

static bool get_ranges(struct search *search, Dwarf_Die *die,
		       struct sites_inline *found)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	void *ranges = NULL;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		if (!sites_grow(&ranges, found->range_count,
				sizeof(*found->ranges), search->error)) {
			free(ranges);
			return false;
		}
		found->ranges = ranges;
		found->ranges[found->range_count++] =
			(struct sites_range){ low, high };
	}
	if (offset < 0) {
		free(ranges);
		return sites_fail(
			search->error,
			"%s: the ranges of %s in %s cannot be read: %s",
			search->image->path, search->function, search->inside,
			dwarf_errmsg(-1));
	}
	if (found->range_count)
		qsort(found->ranges, found->range_count, sizeof(*found->ranges),
		      compare_ranges);
	return true;
}

/* DWARF 5 also allows the entry point as a distance from the first range. */
static uint64_t entry_point(Dwarf_Die *die, const struct sites_inline *found)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr address;
	Dwarf_Word distance;

	if (dwarf_attr(die, DW_AT_entry_pc, &attribute)) {
		if (dwarf_formaddr(&attribute, &address) == 0)
			return address;
		if (dwarf_formudata(&attribute, &distance) == 0)
			return found->ranges[0].low + distance;
	}
	if (dwarf_lowpc(die, &address) == 0)
		return address;
	return found->ranges[0].low;
}

static bool add_instance(struct search *search, Dwarf_Die *die,
			 unsigned int depth)
{
	struct sites_inline found = {
		.function = sites_die_name(die),
		.inside = search->inside,
		.depth = depth,
	};
	void *list = search->list;

	if (!get_ranges(search, die, &found))
		return false;
	/* An instance that was optimised away altogether. */
	if (!found.range_count)
		return true;
	found.entry = entry_point(die, &found);
	sites_call_place(&search->unit, die, &found.call_file,
			 &found.call_line);
	if (!sites_grow(&list, search->count, sizeof(*search->list),
			search->error)) {
		free(found.ranges);
		return false;
	}
	search->list = list;
	search->list[search->count++] = found;
	return true;
}

static bool walk(struct search *search, Dwarf_Die *die, unsigned int depth,
		 unsigned int level)
{
	Dwarf_Die child;
	int result;

	if (level > SITES_MAX_DEPTH)
		return sites_fail(
			search->error,
			"%s: the debug information of %s is damaged: nested too deeply",
			search->image->path, search->inside);

	result = sites_child(search->image, die, &child, search->error);
	while (result == 0) {
		unsigned int below = depth;

		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			if (strcmp(sites_die_name(&child), search->function) ==
				    0 &&
			    !add_instance(search, &child, depth))
				return false;
			below++;
			/* fall through */
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (!walk(search, &child, below, level + 1))
				return false;
		}
		result = sites_sibling(search->image, &child, &child,
				       search->error);
	}
	return result > 0;
}

/* The out-of-line functions of the wanted name in one unit. */
static bool walk_unit(struct search *search)
{
	Dwarf_Die child;
	int result;

	result = sites_child(search->image, &search->unit, &child,
			     search->error);
	while (result == 0) {
		Dwarf_Addr base, low, high;

		if (dwarf_tag(&child) == DW_TAG_subprogram &&
		    strcmp(sites_die_name(&child), search->inside) == 0 &&
		    dwarf_ranges(&child, 0, &base, &low, &high) > 0) {
			/* The name that lasts as long as the image. */
			search->inside = sites_die_name(&child);
			if (!walk(search, &child, 0, 0))
				return false;
		}
		result = sites_sibling(search->image, &child, &child,
				       search->error);
	}
	return result > 0;
}

/* The units that have a function of the wanted name, by their offset. */
struct units {
	struct sites_image *image;
	const char *inside;
	Dwarf_Off *offsets;
	size_t count;
	struct sites_error *error;
	bool failed;
};

static bool add_unit(struct units *units, Dwarf_Off offset)
{
	void *offsets = units->offsets;

	for (size_t i = 0; i < units->count; i++)
		if (units->offsets[i] == offset)
			return true;
	if (!sites_grow(&offsets, units->count, sizeof(*units->offsets),
			units->error))
		return false;
	units->offsets = offsets;
	units->offsets[units->count++] = offset;
	return true;
}

/* gcc calls the copies of a function NAME.constprop.0, NAME.isra.0, … */
static bool names_function(const char *symbol, const char *function)
{
	size_t length = strlen(function);

	return strncmp(symbol, function, length) == 0 &&
	       (symbol[length] == '\0' || symbol[length] == '.');
}

static bool look_at_symbol(const struct sites_symbol *symbol, void *argument)
{
	struct units *units = argument;
	struct sites_error none;
	Dwarf_Die unit;

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC ||
	    symbol->section == SHN_UNDEF ||
	    !names_function(symbol->name, units->inside))
		return true;
	/* Functions written in assembler have no unit to look into. */
	if (!sites_unit_at(units->image, symbol->sym.st_value, &unit, &none))
		return true;
	if (add_unit(units, dwarf_dieoffset(&unit)))
		return true;
	units->failed = true;
	return false;
}

/* Without symbols, or where they do not help: all units, which takes longer. */
static bool add_all_units(struct units *units)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (dwarf_get_units(units->image->dwarf, cu, &cu, NULL, NULL, &die,
			       NULL) == 0) {
		if (dwarf_tag(&die) == DW_TAG_compile_unit &&
		    !add_unit(units, dwarf_dieoffset(&die)))
			return false;
	}
	return true;
}

static bool find_units(struct units *units)
{
	if (!units->image->symtab || units->image->kind == SITES_MODULE)
		return add_all_units(units);
	if (!sites_each_symbol(units->image, look_at_symbol, units,
			       units->error) ||
	    units->failed)
		return false;
	/* A kernel has all its symbols; elsewhere some may be stripped. */
	if (!units->count && units->image->kind != SITES_KERNEL)
		return add_all_units(units);
	return true;
}

bool sites_inlines(struct sites_image *image, const char *function,
		   const char *inside, struct sites_inline **list,
		   size_t *count, struct sites_error *error)
{
	struct units units = {
		.image = image,
		.inside = inside,
		.error = error,
	};
	struct search search = {
		.image = image,
		.function = function,
		.error = error,
	};
	bool good = find_units(&units);

	for (size_t i = 0; good && i < units.count; i++) {
		search.inside = inside;
		if (!dwarf_offdie(image->dwarf, units.offsets[i], &search.unit))
			good = sites_fail(error, "%s: %s", image->path,
					  dwarf_errmsg(-1));
		else
			good = walk_unit(&search);
	}
	free(units.offsets);
	*list = NULL;
	*count = 0;
	if (!good) {
		sites_inlines_free(search.list, search.count);
		return false;
	}
	*list = search.list;
	*count = search.count;
	return true;
}

void sites_inlines_free(struct sites_inline *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].ranges);
	free(list);
}
