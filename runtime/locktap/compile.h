/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A compiled module and its description, NAME.locktap. */
#ifndef LOCKTAP_COMPILE_H
#define LOCKTAP_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sha256.h"

struct module {
	/* To be given: */
	char name[80]; /* without .ko */
	const char *release;
	const char *build; /* the folder of the kernel's headers */
	const char *directory; /* where it is, or will be */
	char *script; /* its path */
	char *options; /* of stap, and the script's arguments */
	const char *const *arguments; /* the script's */
	size_t argument_count;

	/* What module_look finds: */
	char script_sum[SHA256_TEXT];
	char tapset_sum[SHA256_TEXT];
	char kernel_sum[SHA256_TEXT]; /* of its image; "?" if it is not here */
	char *globals; /* the options that it takes, with blanks between */
	bool is_prepared; /* with what the kernel's debug information tells */
};

/*
 * Looks at what the module is made from.  The script's mistakes are told, as are
 * files that cannot be read: LOCKTAP_FAILED.
 */
int module_look(struct module *module);

/* Whether the module that lies in the folder was made from the same. */
bool module_is_current(const struct module *module);

/* Sets is_prepared, by what locktap prep has left. */
void module_find_prepared(struct module *module);

/*
 * Writes the description, by way of the folder, which is on the same file system.
 * Returns LOCKTAP_DONE, or LOCKTAP_FAILED with the reason told.
 */
int module_describe(const struct module *module, const char *folder);

void module_free(struct module *module);

/* Whether it is the name of a script's file. */
static inline bool ends_with_stp(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".stp") == 0;
}

#endif
