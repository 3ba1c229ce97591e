// SPDX-License-Identifier: GPL-2.0-or-later
/* What libdw leaves to its callers. */
#include <dwarf.h>

#include "sites_private.h"

const char *sites_die_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name ? name : "?";
}

/* .debug_aranges does not have every unit, or is not there at all. */
static bool search_units(struct sites_image *image, uint64_t address,
			 Dwarf_Die *unit)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	while (dwarf_get_units(image->dwarf, cu, &cu, NULL, NULL, &die, NULL) ==
	       0) {
		if (dwarf_haspc(&die, address) > 0) {
			*unit = die;
			return true;
		}
	}
	return false;
}

bool sites_unit_at(struct sites_image *image, uint64_t address, Dwarf_Die *unit,
		   struct sites_error *error)
{
	if (dwarf_addrdie(image->dwarf, address, unit))
		return true;
	if (search_units(image, address, unit))
		return true;
	return sites_fail(error,
			  "%s: no debug information for the code at 0x%llx",
			  image->path, (unsigned long long)address);
}

static int damaged(struct sites_image *image, Dwarf_Die *die,
		   struct sites_error *error)
{
	sites_fail(error, "%s: the debug information is damaged near 0x%llx",
		   image->path, (unsigned long long)dwarf_dieoffset(die));
	return -1;
}

int sites_sibling(struct sites_image *image, Dwarf_Die *die, Dwarf_Die *next,
		  struct sites_error *error)
{
	Dwarf_Off offset = dwarf_dieoffset(die);
	Dwarf_Die from = *die;
	int result = dwarf_siblingof(&from, next);

	if (result < 0 || (result == 0 && dwarf_dieoffset(next) <= offset))
		return damaged(image, &from, error);
	return result;
}

bool sites_next(Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > offset;
}

int sites_child(struct sites_image *image, Dwarf_Die *die, Dwarf_Die *child,
		struct sites_error *error)
{
	Dwarf_Die from = *die;
	int result = dwarf_child(&from, child);

	if (result < 0)
		return damaged(image, &from, error);
	return result;
}

bool sites_op_address(Dwarf_Attribute *location, const Dwarf_Op *op,
		      uint64_t *address)
{
	Dwarf_Attribute indirect;
	Dwarf_Addr value;

	switch (op->atom) {
	case DW_OP_addr:
		*address = op->number;
		return true;
	/* Split debug information has its addresses in the main file. */
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (dwarf_getlocation_attr(location, op, &indirect) != 0 ||
		    dwarf_formaddr(&indirect, &value) != 0)
			return false;
		*address = value;
		return true;
	}
	return false;
}

bool sites_is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return true;
	}
	return false;
}

bool sites_callee(Dwarf_Die *call, Dwarf_Die *callee)
{
	Dwarf_Attribute attribute;

	/* DWARF 5, and what compilers wrote before it. */
	return call->addr &&
	       (dwarf_attr(call, DW_AT_call_origin, &attribute) ||
		dwarf_attr(call, DW_AT_abstract_origin, &attribute)) &&
	       dwarf_formref_die(&attribute, callee);
}

/* The unit's file of a number, NULL if there is none. */
static const char *file_name(Dwarf_Die *unit, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute),
			    &value) != 0 ||
	    dwarf_getsrcfiles(unit, &files, &count) != 0 || value >= count)
		return NULL;
	return dwarf_filesrc(files, value, NULL, NULL);
}

/* dwarf_decl_file() gives up the whole program in some damaged files. */
const char *sites_decl_file(const Dwarf_Die *die)
{
	Dwarf_Die unit, from = *die;

	return dwarf_diecu(&from, &unit, NULL, NULL) ?
		       file_name(&unit, &from, DW_AT_decl_file) :
		       NULL;
}

void sites_call_place(Dwarf_Die *unit, Dwarf_Die *die, const char **file,
		      int *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	*file = file_name(unit, die, DW_AT_call_file);
	if (!*file)
		*file = "?";
	*line = dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute),
				&value) == 0 ?
			(int)value :
			0;
}
