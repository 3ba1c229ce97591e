// SPDX-License-Identifier: GPL-2.0-or-later
/* What lies at an offset of a type: the members on the way to a lock. */
#include <dwarf.h>
#include <stdlib.h>
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

/* What is looked for at an offset: a kind's lock, or any pointer. */
struct search {
	int kind; /* -1: a pointer */
	Dwarf_Die *pointer; /* its type */
	unsigned int members; /* looked at */
};

static bool look_in_members(struct search *search, Dwarf_Die *type,
			    uint64_t offset, struct sites_path *path,
			    int depth);

/*
 * Members that only a C++ library's own code knows; the locks of the library
 * are what it wraps around a pthread lock.
 */
static bool is_internal(const char *member)
{
	return strncmp(member, "_M_", 3) == 0 || strncmp(member, "__", 2) == 0;
}

/* Whether a class of the C++ library is a lock: std::mutex and the like. */
static bool is_library_lock(Dwarf_Die *type, enum sites_lock_kind kind)
{
	struct search search = { .kind = (int)kind };
	struct sites_path path = { 0 };
	const char *name = dwarf_diename(type), *member;

	if (!name || sites_library_type(name) != (int)kind ||
	    !look_in_members(&search, type, 0, &path, 0))
		return false;
	/* None: a base class is the lock. */
	for (member = path.length ? path.text : NULL; member;
	     member = strchr(member, '.')) {
		member += *member == '.';
		if (!is_internal(member))
			return false;
	}
	return true;
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
			if (dwarf_tag(&at) == DW_TAG_structure_type)
				return is_library_lock(&at, kind);
			break;
		case DW_TAG_class_type:
			return is_library_lock(&at, kind);
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return false;
		}
		if (!sites_type_of(&at, &next))
			return false;
		at = next;
	}
	return false;
}

/* A structure that has a name, or the typedef that an unnamed one has. */
static bool named_type(const Dwarf_Die *type, Dwarf_Die *named,
		       const char **name)
{
	Dwarf_Die at = *type;

	*name = NULL;
	for (int depth = 0; depth < MAX_TYPE_DEPTH; depth++) {
		Dwarf_Die next;

		switch (dwarf_tag(&at)) {
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			if (dwarf_diename(&at)) {
				*named = at;
				*name = dwarf_diename(&at);
			}
			return *name != NULL;
		case DW_TAG_typedef:
			if (!*name) {
				*named = at;
				*name = dwarf_diename(&at);
			}
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return false;
		}
		if (!sites_type_of(&at, &next))
			return false;
		at = next;
	}
	return false;
}

const char *sites_type_name(const Dwarf_Die *type)
{
	Dwarf_Die named;
	const char *name;

	return named_type(type, &named, &name) ? name : NULL;
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

bool sites_path_drop_internal(struct sites_path *path)
{
	unsigned int members = path->members;

	while (path->members) {
		char *dot = strrchr(path->text, '.');

		/* A std::unique_ptr's is at the end of what it points to. */
		if (!dot || strncmp(dot + 1, "_M_", 3) != 0)
			break;
		*dot = '\0';
		path->length = (size_t)(dot - path->text);
		path->members--;
	}
	return path->members || !members;
}

/* Types and variables in a namespace or a class have its name in front. */
static bool add_qualifiers(struct sites_path *path, Dwarf_Die *unit,
			   Dwarf_Off offset)
{
	Dwarf_Die outer = *unit, child, next;
	int depth = 0;
	bool more;

	if (sites_is_c(unit))
		return true;
	for (more = dwarf_child(&outer, &child) == 0; more; child = next) {
		bool is_last;

		next = child;
		is_last = !sites_next(&next);
		if (dwarf_dieoffset(&child) >= offset)
			return true;
		if (!is_last && dwarf_dieoffset(&next) <= offset)
			continue;
		switch (dwarf_tag(&child)) {
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			break;
		default:
			return true;
		}
		/* One without a name adds none. */
		if (dwarf_diename(&child) &&
		    (!append(path, "", dwarf_diename(&child)) ||
		     !append(path, "", "::")))
			return false;
		if (++depth > MAX_TYPE_DEPTH)
			return false;
		more = dwarf_child(&child, &next) == 0;
	}
	return true;
}

/* Names with all their parameters can be very long. */
#define MAX_START 100

static bool begin_with(struct sites_path *path, Dwarf_Die *die,
		       const char *name)
{
	Dwarf_Die unit;
	size_t length = strlen(name);
	bool good;

	memset(path, 0, sizeof(*path));
	if (!dwarf_diecu(die, &unit, NULL, NULL) ||
	    !add_qualifiers(path, &unit, dwarf_dieoffset(die)))
		return false;
	if (length > MAX_START && strchr(name, '<')) {
		char cut[MAX_START];
		size_t kept = strcspn(name, "<");

		if (kept >= sizeof(cut))
			return false;
		memcpy(cut, name, kept);
		cut[kept] = '\0';
		good = append(path, "", cut) && append(path, "", "<...>");
	} else {
		good = append(path, "", name);
	}
	return good;
}

bool sites_path_begin(struct sites_path *path, const Dwarf_Die *type)
{
	const char *name;
	Dwarf_Die named;

	return named_type(type, &named, &name) &&
	       begin_with(path, &named, name);
}

/* The names in a C++ symbol: _ZN3net5tableE is net::table. */
static bool add_mangled(struct sites_path *path, const char *symbol)
{
	bool nested = symbol[2] == 'N', first = true;

	for (symbol += nested ? 3 : 2; *symbol && *symbol != 'E';
	     first = false) {
		unsigned long length;
		char name[100], *end;

		/* A static. */
		if (*symbol == 'L')
			symbol++;
		if (*symbol < '0' || *symbol > '9' || (!nested && !first))
			return false;
		length = strtoul(symbol, &end, 10);
		if (length >= sizeof(name) || strlen(end) < length)
			return false;
		memcpy(name, end, length);
		name[length] = '\0';
		symbol = end + length;
		/* A namespace without a name. */
		if (strncmp(name, "_GLOBAL__N", 10) == 0)
			continue;
		if (!append(path, "::", name))
			return false;
	}
	return path->length != 0;
}

bool sites_path_begin_symbol(struct sites_path *path, const char *symbol)
{
	char *dot;

	memset(path, 0, sizeof(*path));
	path->members = 1;
	if (strncmp(symbol, "_Z", 2) == 0)
		return add_mangled(path, symbol);
	if (!append(path, "", symbol))
		return false;
	/* A static of a function has a number behind its name. */
	dot = strchr(path->text, '.');
	if (dot && dot > path->text) {
		*dot = '\0';
		path->length = (size_t)(dot - path->text);
	}
	return true;
}

bool sites_path_begin_variable(struct sites_path *path, Dwarf_Die *variable)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declared = *variable;
	const char *name = dwarf_diename(variable);

	if (!name)
		return false;
	/* Where it stands in its class or namespace. */
	if (dwarf_attr(variable, DW_AT_specification, &attribute) &&
	    !dwarf_formref_die(&attribute, &declared))
		return false;
	if (!begin_with(path, &declared, name))
		return false;
	path->members = 1;
	return true;
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

/* What a lock of the kind has in bytes: the same in all C libraries seen. */
uint64_t sites_lock_bytes(enum sites_lock_kind kind)
{
	switch (kind) {
	case SITES_PTHREAD_MUTEX:
		return 40;
	case SITES_PTHREAD_RWLOCK:
		return 56;
	case SITES_PTHREAD_SPIN:
		return 4;
	case SITES_PTHREAD_COND:
		return 48;
	case SITES_PTHREAD_BARRIER:
	case SITES_PTHREAD_SEM:
		return 32;
	default:
		return 0;
	}
}

bool sites_wraps_lock(Dwarf_Die *type, enum sites_lock_kind kind)
{
	uint64_t size = sites_size_of(type), least = sites_lock_bytes(kind);
	struct sites_path path = { 0 };

	return least && size >= least && size <= least + 16 &&
	       sites_lock_at(type, 0, kind, &path);
}
