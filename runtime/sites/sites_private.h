/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of libsites share; not for users of the library. */
#ifndef SITES_PRIVATE_H
#define SITES_PRIVATE_H

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libelf.h>
#include <regex.h>

#include "sites.h"

/* What stap refuses to probe, by the name of … */
enum sites_refused {
	SITES_REFUSED_FUNCTION,
	SITES_REFUSED_FILE,
	SITES_REFUSED_SECTION,
	SITES_REFUSED, /* how many there are */
};

struct sites_image {
	char *path;
	char *build_id;
	char *release;
	enum sites_kind kind;
	Dwfl *dwfl;
	Dwarf *dwarf;
	Elf *elf; /* the file itself */
	Elf *symbols; /* the file that has the symbol table, or NULL */
	Elf_Scn *symtab;
	regex_t refused[SITES_REFUSED];
	int refused_count;
};

/* error.c */

/* Sets the text and returns false. */
bool sites_fail(struct sites_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Grows an array of `size'-byte elements to hold one more than `count'. */
bool sites_grow(void **array, size_t count, size_t size,
		struct sites_error *error);

/* dwarf.c */

/* Like dwarf_diename, "?" if there is no name. */
const char *sites_die_name(Dwarf_Die *die);

/* The unit that has code at the address. */
bool sites_unit_at(struct sites_image *image, uint64_t address, Dwarf_Die *unit,
		   struct sites_error *error);

/*
 * The next sibling.  Returns 0, 1 at the end, -1 with the error set.  Corrupt
 * sibling references that lead backwards, and so nowhere, are told.
 */
int sites_sibling(struct sites_image *image, Dwarf_Die *die, Dwarf_Die *next,
		  struct sites_error *error);

/* Like sites_sibling, for the first child. */
int sites_child(struct sites_image *image, Dwarf_Die *die, Dwarf_Die *child,
		struct sites_error *error);

/* Nesting deeper than any compiler's is corrupt. */
#define SITES_MAX_DEPTH 256

/* Where an inlined function is called. */
void sites_call_place(Dwarf_Die *unit, Dwarf_Die *die, const char **file,
		      int *line);

/* lines.c */

bool sites_refused_init(struct sites_image *image, struct sites_error *error);
void sites_refused_done(struct sites_image *image);

/* symbols.c */

struct sites_symbol {
	const char *name;
	GElf_Sym sym;
	size_t section;
};

/* Calls `each' for the symbols that have a name, until it returns false. */
bool sites_each_symbol(struct sites_image *image,
		       bool (*each)(const struct sites_symbol *symbol,
				    void *argument),
		       void *argument, struct sites_error *error);

/* The name of the section that has the address in memory, or NULL. */
const char *sites_section_at(struct sites_image *image, uint64_t address);

/* Up to `size' bytes of what the file has at an address; how many it had. */
size_t sites_bytes_at(struct sites_image *image, uint64_t address,
		      unsigned char *bytes, size_t size);

#endif
