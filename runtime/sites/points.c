// SPDX-License-Identifier: GPL-2.0-or-later
/* Where, around a lock call, a probe can be put, and where the lock is then. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"

/* Instructions tried to either side of a call; blocks are seldom longer. */
#define MAX_TRIED 24

/* The innermost function at an address. */
static const char *function_at(struct function *function, uint64_t address)
{
	const struct range *best = NULL;

	for (size_t i = 0; i < function->range_count; i++) {
		const struct range *range = &function->ranges[i];

		if (address < range->low || address >= range->high)
			continue;
		/* A scope comes after the one that it is in. */
		if (!best || range->scope > best->scope)
			best = range;
	}
	return best ? sites_die_name(&function->scopes[best->scope].die) : NULL;
}

/* Only functions count: blocks have no name. */
static bool read_ranges(struct function *function)
{
	if (function->ranges_read)
		return true;
	function->ranges_read = true;
	for (size_t i = 0; i < function->scope_count; i++) {
		struct scope *scope = &function->scopes[i];
		Dwarf_Addr base, low, high;
		ptrdiff_t offset = 0;

		if (!scope->is_inline && scope->parent >= 0)
			continue;
		while ((offset = dwarf_ranges(&scope->die, offset, &base, &low,
					      &high)) > 0) {
			void *list = function->ranges;

			if (low >= high)
				continue;
			if (!sites_grow(&list, function->range_count,
					sizeof(*function->ranges),
					function->finder->error))
				return false;
			function->ranges = list;
			function->ranges[function->range_count++] =
				(struct range){ low, high, (int)i };
		}
	}
	return true;
}

/* Names are few and long-lived; asking the expression each time is slow. */
static bool name_refused(struct finder *finder, enum sites_refused kind,
			 const char *name)
{
	struct refusal *slot =
		&finder->refusals[((uintptr_t)name >> 2) % REFUSALS];

	if (!name)
		return false;
	if (slot->name != name || slot->kind != kind) {
		slot->name = name;
		slot->kind = kind;
		slot->refused = sites_name_refused(finder->image, kind, name);
	}
	return slot->refused;
}

/* What sites_can_probe() says, of an address in this function. */
static bool can_probe(struct function *function, uint64_t address)
{
	struct finder *finder = function->finder;
	Dwarf_Line *line = dwarf_getsrc_die(&function->unit, address);
	Dwarf_Addr begin;
	bool end;

	if (!line || dwarf_lineaddr(line, &begin) != 0 || begin != address ||
	    dwarf_lineendsequence(line, &end) != 0 || end)
		return false;
	if (name_refused(finder, SITES_REFUSED_FUNCTION,
			 function_at(function, address)) ||
	    name_refused(finder, SITES_REFUSED_FILE,
			 dwarf_linesrc(line, NULL, NULL)))
		return false;
	/* Sections are few: this one is kept. */
	if (address < finder->section_low || address >= finder->section_high) {
		struct sites_range range;
		const char *name =
			sites_section(finder->image, address, &range);

		finder->section_low = range.low;
		finder->section_high = range.high;
		finder->section_refused = sites_name_refused(
			finder->image, SITES_REFUSED_SECTION, name);
	}
	return !finder->section_refused;
}

/* The first of the addresses that can be probed and where the lock is known. */
static void find_point(struct function *function, const struct call *call,
		       uint64_t at, const uint64_t *addresses, size_t count,
		       struct sites_point *point)
{
	point->state = count ? SITES_NO_ROW : SITES_NO_BLOCK;
	for (size_t i = 0; i < count; i++) {
		if (!can_probe(function, addresses[i]))
			continue;
		point->state = SITES_NO_LOCK;
		point->address = addresses[i];
		if (!sites_reach_at(function, at, call->past, addresses[i],
				    &point->reach))
			continue;
		point->state = SITES_GOOD;
		return;
	}
}

/*
 * The inlined percpu_down_read() or percpu_up_read() that a call is in, NULL:
 * there is none, or it is one that may fail.
 */
static Dwarf_Die *find_instance(struct function *function, int scope)
{
	Dwarf_Die *instance = NULL;

	for (; scope >= 0; scope = function->scopes[scope].parent) {
		Dwarf_Die *die = &function->scopes[scope].die;
		const char *name = sites_die_name(die);

		if (!function->scopes[scope].is_inline)
			continue;
		if (strcmp(name, "percpu_down_read_trylock") == 0)
			return NULL;
		if (strncmp(name, "percpu_down_read", 16) != 0 &&
		    strncmp(name, "percpu_up_read", 14) != 0)
			break;
		instance = die;
	}
	return instance;
}

/* Readers call a function only while a writer is about. */
static void find_reader_points(struct function *function,
			       const struct call *found_call,
			       struct sites_call *call)
{
	Dwarf_Die *instance = find_instance(function, found_call->scope);
	bool call_does = !found_call->operation->within;
	uint64_t addresses[MAX_TRIED];
	size_t count = 0;

	if (instance)
		count = sites_around(function, instance, call->address,
				     call_does, false, addresses, MAX_TRIED);
	find_point(function, found_call, call->address, addresses, count,
		   &call->before);
	count = 0;
	if (instance)
		count = sites_around(function, instance, call->address,
				     call_does, true, addresses, MAX_TRIED);
	find_point(function, found_call, call->address, addresses, count,
		   &call->behind);
	call->success = SITES_ALWAYS;
}

bool sites_find_points(struct function *function, const struct call *found_call,
		       struct sites_call *call)
{
	const struct sites_operation *operation = found_call->operation;
	uint64_t addresses[MAX_TRIED];
	size_t count;

	if (!read_ranges(function))
		return false;
	if (operation->kind == SITES_PERCPU_RWSEM && operation->mode == 'r') {
		find_reader_points(function, found_call, call);
		return true;
	}
	count = sites_before(function, call->address, addresses, MAX_TRIED);
	find_point(function, found_call, call->address, addresses, count,
		   &call->before);
	call->behind.state = SITES_NO_BLOCK;
	if (call->tail)
		return true;
	count = sites_behind(function, call->after,
			     operation->success != SITES_ALWAYS, addresses,
			     MAX_TRIED);
	find_point(function, found_call, call->address, addresses, count,
		   &call->behind);
	if (operation->success == SITES_ALWAYS)
		return true;
	count = sites_decided(function, call->after,
			      operation->success == SITES_ZERO, addresses,
			      MAX_TRIED);
	find_point(function, found_call, call->address, addresses, count,
		   &call->taken);
	count = sites_decided(function, call->after,
			      operation->success != SITES_ZERO, addresses,
			      MAX_TRIED);
	find_point(function, found_call, call->address, addresses, count,
		   &call->failed);
	return true;
}
