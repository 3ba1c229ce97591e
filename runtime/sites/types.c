// SPDX-License-Identifier: GPL-2.0-or-later
/* What lies at an offset of a type: the members on the way to a lock. */
#include <dwarf.h>
#include <string.h>

#include "sites_private.h"

/* Typedefs of typedefs and structures in structures end sooner than this. */
#define MAX_TYPE_DEPTH 32

/* Members looked at for one lock; only damaged types have more on the way. */
#define MAX_MEMBERS 20000

bool sites_type_of(const Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die from = *die;

	return dwarf_attr_integrate(&from, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, type);
}

/* Without typedefs, const, volatile and the like. */
bool sites_peel(Dwarf_Die *type)
{
	for (int depth = 0; depth < MAX_TYPE_DEPTH; depth++) {
		Dwarf_Die next;

		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!sites_type_of(type, &next))
				return false;
			*type = next;
			break;
		default:
			return true;
		}
	}
	return false;
}

bool sites_is_pointer(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return true;
	}
	return false;
}

bool sites_pointee(Dwarf_Die *type, Dwarf_Die *target)
{
	Dwarf_Die peeled = *type;

	return sites_peel(&peeled) && sites_is_pointer(&peeled) &&
	       sites_type_of(&peeled, target);
}

/* Peeled first: libdw follows typedefs without end if they go in a circle. */
uint64_t sites_size_of(const Dwarf_Die *type)
{
	Dwarf_Die peeled = *type, element;
	Dwarf_Word size;
	int depth = 0;

	if (!sites_peel(&peeled))
		return 0;
	for (element = peeled; dwarf_tag(&element) == DW_TAG_array_type;)
		if (++depth > MAX_TYPE_DEPTH ||
		    !sites_type_of(&element, &element) || !sites_peel(&element))
			return 0;
	return dwarf_aggregate_size(&peeled, &size) == 0 ? size : 0;
}

bool sites_is_float(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding;

	return dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attribute),
			       &encoding) == 0 &&
	       (encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
		encoding == DW_ATE_imaginary_float ||
		encoding == DW_ATE_decimal_float);
}

bool sites_is_lock(const Dwarf_Die *type, enum sites_lock_kind kind)
{
	Dwarf_Die at = *type;

	for (int depth = 0; depth < MAX_TYPE_DEPTH; depth++) {
		Dwarf_Die next;

		switch (dwarf_tag(&at)) {
		case DW_TAG_typedef:
		case DW_TAG_structure_type:
			if (sites_lock_type(dwarf_diename(&at)) == (int)kind)
				return true;
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return false;
		}
		if (dwarf_tag(&at) == DW_TAG_structure_type ||
		    !sites_type_of(&at, &next))
			return false;
		at = next;
	}
	return false;
}

/* The name of a structure, or of the typedef that an unnamed one has. */
const char *sites_type_name(const Dwarf_Die *type)
{
	const char *name = NULL;
	Dwarf_Die at = *type;

	for (int depth = 0; depth < MAX_TYPE_DEPTH; depth++) {
		Dwarf_Die next;

		switch (dwarf_tag(&at)) {
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			return dwarf_diename(&at) ? dwarf_diename(&at) : name;
		case DW_TAG_typedef:
			if (!name)
				name = dwarf_diename(&at);
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return NULL;
		}
		if (!sites_type_of(&at, &next))
			return NULL;
		at = next;
	}
	return NULL;
}

static bool append(struct sites_path *path, const char *separator,
		   const char *name)
{
	size_t room = sizeof(path->text) - path->length;
	size_t gap = path->length ? strlen(separator) : 0;
	size_t length = strlen(name);

	if (gap >= room || length >= room - gap)
		return false;
	memcpy(path->text + path->length, separator, gap);
	memcpy(path->text + path->length + gap, name, length + 1);
	path->length += gap + length;
	return true;
}

bool sites_path_add(struct sites_path *path, const char *member)
{
	path->members++;
	return append(path, ".", member);
}

static bool member_place(Dwarf_Die *member, uint64_t *offset, uint64_t *size,
			 Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!sites_type_of(member, type))
		return false;
	/* Bit fields hold no locks and no pointers. */
	if (dwarf_hasattr(member, DW_AT_bit_size))
		return false;
	if (dwarf_attr(member, DW_AT_data_member_location, &attribute) &&
	    dwarf_formudata(&attribute, &value) != 0)
		return false;
	*offset = value;
	*size = sites_size_of(type);
	return true;
}

/* What is looked for at an offset: a kind's lock, or any pointer. */
struct search {
	int kind; /* -1: a pointer */
	Dwarf_Die *pointer; /* its type */
	unsigned int members; /* looked at */
};

static bool look(struct search *search, Dwarf_Die *type, uint64_t offset,
		 struct sites_path *path, int depth);

static bool look_in_array(struct search *search, Dwarf_Die *type,
			  uint64_t offset, struct sites_path *path, int depth)
{
	Dwarf_Die element;
	uint64_t size;

	if (!sites_type_of(type, &element) || !(size = sites_size_of(&element)))
		return false;
	if (dwarf_tag(&element) != DW_TAG_array_type && !append(path, "", "[]"))
		return false;
	return look(search, &element, offset % size, path, depth + 1);
}

static bool look_in_members(struct search *search, Dwarf_Die *type,
			    uint64_t offset, struct sites_path *path, int depth)
{
	bool is_union = dwarf_tag(type) == DW_TAG_union_type, found = false;
	Dwarf_Die member, found_pointer;
	struct sites_path best;
	bool more = dwarf_child(type, &member) == 0;

	for (; more; more = sites_next(&member)) {
		struct sites_path tried = *path;
		uint64_t begin, size;
		const char *name;
		Dwarf_Die inner;

		if (++search->members > MAX_MEMBERS)
			return false;
		/* A base class is a member without a name. */
		if ((dwarf_tag(&member) != DW_TAG_member &&
		     dwarf_tag(&member) != DW_TAG_inheritance) ||
		    !member_place(&member, &begin, &size, &inner) ||
		    offset < begin)
			continue;
		/* A last array without bounds has no size. */
		if (size ? offset - begin >= size : false)
			continue;
		name = dwarf_diename(&member);
		if (name && !sites_path_add(&tried, name))
			return false;
		if (!look(search, &inner, offset - begin, &tried, depth + 1))
			continue;
		/* Two members of a union: which one is meant is not known. */
		if (found && strcmp(best.text, tried.text) != 0)
			return false;
		found = true;
		best = tried;
		if (search->pointer)
			found_pointer = *search->pointer;
		if (!is_union)
			break;
	}
	if (!found)
		return false;
	*path = best;
	if (search->pointer)
		*search->pointer = found_pointer;
	return true;
}

static bool look(struct search *search, Dwarf_Die *type, uint64_t offset,
		 struct sites_path *path, int depth)
{
	Dwarf_Die peeled = *type;

	if (depth > MAX_TYPE_DEPTH)
		return false;
	if (search->kind >= 0 && !offset &&
	    sites_is_lock(type, (enum sites_lock_kind)search->kind))
		return true;
	if (!sites_peel(&peeled))
		return false;
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		if (search->kind >= 0 || offset)
			return false;
		*search->pointer = peeled;
		return true;
	case DW_TAG_array_type:
		return look_in_array(search, &peeled, offset, path, depth);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return look_in_members(search, &peeled, offset, path, depth);
	}
	return false;
}

bool sites_lock_at(Dwarf_Die *type, uint64_t offset, enum sites_lock_kind kind,
		   struct sites_path *path)
{
	struct search search = { .kind = (int)kind };
	struct sites_path tried = *path;

	if (!look(&search, type, offset, &tried, 0))
		return false;
	*path = tried;
	return true;
}

bool sites_pointer_at(Dwarf_Die *type, uint64_t offset, struct sites_path *path,
		      Dwarf_Die *pointer)
{
	struct search search = { .kind = -1, .pointer = pointer };
	struct sites_path tried = *path;

	if (!look(&search, type, offset, &tried, 0))
		return false;
	*path = tried;
	return true;
}
