/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `locktap prep' writes of an image's lock calls. */
#ifndef LOCKTAP_GENERATE_H
#define LOCKTAP_GENERATE_H

#include <stdio.h>

#include <sites/sites.h>

/* What has been written, to be told. */
struct generated {
	size_t calls; /* lock calls in the image */
	size_t named;
	size_t names; /* different ones */
	size_t armed; /* places for probes */
	size_t unarmed; /* … that none could be found for */
};

/*
 * The name table: for each address behind a call that may wait, the lock's
 * name.  `tag' is part of the C and tapset names: "kernel", or the module's.
 * False when out of memory.
 */
bool generate_names(FILE *out, struct sites_image *image,
		    const struct sites_calls *calls, const char *tag);

/*
 * How many trylocks of a kind there are, and at how many of them nothing tells
 * that they have failed.
 */
void generate_count_trylocks(const struct sites_calls *calls,
			     enum sites_lock_kind kind, size_t *count,
			     size_t *unseen);

/*
 * The probes of one variable each.  `module' is NULL for the kernel; `pattern'
 * is what stap finds the module by: its name, or its path where it is not
 * among the kernel's modules.  False when out of memory.
 */
bool generate_probes(FILE *out, struct sites_image *image,
		     const struct sites_calls *calls, const char *tag,
		     const char *module, const char *pattern,
		     struct generated *told);

#endif
