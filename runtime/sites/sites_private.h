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

/* Threads that work at once; each maps the file once more. */
#define SITES_WORKERS 2

struct sites_image {
	char *path;
	char *build_id;
	char *release;
	enum sites_kind kind;
	Dwfl *dwfl;
	Dwarf *dwarf;
	/* The same file again, for other threads. */
	struct sites_image *helpers[SITES_WORKERS];
	Elf *elf; /* the file itself */
	Elf *symbols; /* the file that has the symbol table, or NULL */
	Elf_Scn *symtab;
	regex_t refused[SITES_REFUSED];
	int refused_count;
	struct sites_relocation *relocations; /* of a module's code, by place */
	size_t relocation_count;
	bool relocations_read;
	GElf_Shdr code_header; /* of the section that was asked for last */
	Elf_Data *code;
};

/* image.c */

/* The image itself (0) or another on the same file; NULL if it has changed. */
struct sites_image *sites_image_of(struct sites_image *image, size_t number);

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

/* The same where what is damaged may simply end. */
bool sites_next(Dwarf_Die *die);

/* Like sites_sibling, for the first child. */
int sites_child(struct sites_image *image, Dwarf_Die *die, Dwarf_Die *child,
		struct sites_error *error);

/* Nesting deeper than any compiler's is corrupt. */
#define SITES_MAX_DEPTH 256

/* The address that an operation of a location stands for. */
bool sites_op_address(Dwarf_Attribute *location, const Dwarf_Op *op,
		      uint64_t *address);

/* Whether a unit is written in C, where names are not nested. */
bool sites_is_c(Dwarf_Die *unit);

/* The function that a call site calls. */
bool sites_callee(Dwarf_Die *call, Dwarf_Die *callee);

/* The file that declares something, or NULL. */
const char *sites_decl_file(const Dwarf_Die *die);

/* Where an inlined function is called. */
void sites_call_place(Dwarf_Die *unit, Dwarf_Die *die, const char **file,
		      int *line);

/* lines.c */

/* Whether stap refuses to probe what has a name (NULL: it does not). */
bool sites_name_refused(struct sites_image *image, enum sites_refused kind,
			const char *name);
bool sites_refused_init(struct sites_image *image, struct sites_error *error);
void sites_refused_done(struct sites_image *image);

/* operations.c */

struct sites_operation {
	const char *name;
	enum sites_lock_kind kind;
	enum sites_op op;
	char mode;
	enum sites_success success;
	/*
	 * Not NULL: it is that operation only where it is called by an inlined
	 * one of this name, with the address of a member of the lock.
	 */
	const char *within;
	const char *member;
};

/* The lock operation that a function is, in the kernel or in a program; or NULL. */
const struct sites_operation *sites_operation(const char *function,
					      bool is_program);

/* Whether a function is only the lock headers' wrapping of an operation. */
bool sites_is_wrapper(const char *function);

/* The kind (enum sites_lock_kind) of locks of a type's name, or -1. */
int sites_lock_type(const char *name);
/* The same of a class of the C++ library, if it is one of its. */
int sites_library_type(const char *name);

/* types.c */

/* A name being put together: `inode.i_rwsem', `hk_obj.in[].deep'. */
struct sites_path {
	size_t length;
	unsigned int members;
	char text[200];
};

/* The type of a variable, a member, a pointer's target, … */
bool sites_type_of(const Dwarf_Die *die, Dwarf_Die *type);
/* Goes through typedefs and qualifiers. */
bool sites_peel(Dwarf_Die *type);
/* Whether a peeled type is a pointer or a reference. */
bool sites_is_pointer(Dwarf_Die *type);
/* In bytes, 0 if it is not told. */
uint64_t sites_size_of(const Dwarf_Die *type);
/* What a pointer type points to. */
bool sites_pointee(Dwarf_Die *type, Dwarf_Die *target);
/* Whether a base type is one of floating point. */
bool sites_is_float(Dwarf_Die *type);
bool sites_is_lock(const Dwarf_Die *type, enum sites_lock_kind kind);
/*
 * Whether a structure is little more than a lock of the kind: what a program
 * makes of a lock for its own use, with a name that says nothing of which.
 */
bool sites_wraps_lock(Dwarf_Die *type, enum sites_lock_kind kind);
/* How large a program's lock of the kind is; 0: not known. */
uint64_t sites_lock_bytes(enum sites_lock_kind kind);
/* The name of a structure, or its typedef's, or NULL. */
const char *sites_type_name(const Dwarf_Die *type);
/* A path that begins with a structure's name, or is a variable's. */
bool sites_path_begin(struct sites_path *path, const Dwarf_Die *type);
bool sites_path_begin_variable(struct sites_path *path, Dwarf_Die *variable);
bool sites_path_begin_symbol(struct sites_path *path, const char *symbol);
bool sites_path_add(struct sites_path *path, const char *member);
/*
 * Takes the members off the end that are internal to the C++ library; false if
 * no others are left.
 */
bool sites_path_drop_internal(struct sites_path *path);

/*
 * Whether a lock of the kind begins at an offset of a type: adds the members
 * that lead to it (nothing if the type itself is the lock).
 */
bool sites_lock_at(Dwarf_Die *type, uint64_t offset, enum sites_lock_kind kind,
		   struct sites_path *path);
/* The same for a pointer, whose type it gives. */
bool sites_pointer_at(Dwarf_Die *type, uint64_t offset, struct sites_path *path,
		      Dwarf_Die *pointer);

/* symbols.c */

struct sites_symbol {
	const char *name;
	GElf_Sym sym;
	size_t section;
};

/* Where a symbol is in memory; those of sections are relative in a module. */
bool sites_symbol_place(struct sites_image *image,
			const struct sites_symbol *symbol, uint64_t *address);

/* Calls `each' for the symbols that have a name, until it returns false. */
bool sites_each_symbol(struct sites_image *image,
		       bool (*each)(const struct sites_symbol *symbol,
				    void *argument),
		       void *argument, struct sites_error *error);

/* Those that other files see, if the file has some. */
bool sites_each_dynamic(struct sites_image *image,
			bool (*each)(const struct sites_symbol *symbol,
				     void *argument),
			void *argument, struct sites_error *error);

/* The name of the section that has the address in memory, or NULL. */
const char *sites_section_at(struct sites_image *image, uint64_t address);

/* Up to `size' bytes of what the file has at an address; how many it had. */
size_t sites_bytes_at(struct sites_image *image, uint64_t address,
		      unsigned char *bytes, size_t size);

/* Where a section is in memory; false if there is none of that name. */
bool sites_section_named(struct sites_image *image, const char *name,
			 uint64_t *begin, uint64_t *end);

/* What the file has from an address to the end of its section, or NULL. */
const unsigned char *sites_code_at(struct sites_image *image, uint64_t address,
				   size_t *size);

/*
 * What a module's loader puts into the code at [address, address + size):
 * symbol plus addend, or the addend alone with the symbol's name if another
 * file has the symbol.  False if nothing.  `symbol' and `value' may be NULL.
 */
bool sites_relocation_at(struct sites_image *image, uint64_t address,
			 size_t size, const char **symbol, uint64_t *value);
/* Whether it is the place of the symbol's address, and not the symbol's. */
bool sites_relocation_is_got(struct sites_image *image, uint64_t address,
			     size_t size);
/* Where in that range it is put. */
uint64_t sites_relocation_place(struct sites_image *image, uint64_t address,
				size_t size);

/* globals.c */

/* A variable with a fixed address; in a per-CPU variable that of the section. */
struct sites_global {
	uint64_t address;
	uint64_t size;
	const char *name;
	Dwarf_Die die; /* where it is declared, if it has a type */
	bool typed;
	Dwarf_Off place; /* of the die */
	Dwarf_Die type;
};

struct sites_globals {
	struct sites_global *list;
	size_t count;
};

bool sites_global_add(struct sites_globals *globals, Dwarf_Die *variable,
		      struct sites_error *error);
/* Adds those that only the symbol table has, and makes the list usable. */
bool sites_globals_finish(struct sites_image *image,
			  struct sites_globals *globals,
			  struct sites_error *error);
/* The variable that has the address. */
const struct sites_global *sites_global_at(const struct sites_globals *globals,
					   uint64_t address);

/* frames.c */

/* The functions' code by .eh_frame, ascending; free() gives it back. */
bool sites_frames(struct sites_image *image, struct sites_range **ranges,
		  size_t *count, struct sites_error *error);
/* The one that has the address, or NULL. */
const struct sites_range *sites_frame_at(const struct sites_range *ranges,
					 size_t count, uint64_t address);

/* strings.c */

/* Each text once. */
struct sites_strings *sites_strings_new(struct sites_error *error);
void sites_strings_free(struct sites_strings *strings);
/* Takes over the memory of others, whose texts may be there once more. */
void sites_strings_join(struct sites_strings *strings,
			struct sites_strings *other);
const char *sites_string(struct sites_strings *strings, const char *text,
			 struct sites_error *error);
/* Memory that lasts as long. */
void *sites_strings_room(struct sites_strings *strings, size_t size,
			 struct sites_error *error);

#endif
