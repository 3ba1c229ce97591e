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

/* A program or library, for generate_program.c. */
struct program {
	const char *tag; /* for the C and tapset names */
	const char *file; /* the last part of its path */
	uint64_t bytes; /* its size */
	uint64_t low; /* the lowest address, which the tables count from */
	struct sites_segment code;
	const struct sites_calls *calls;
	const struct sites_waiting *waiting;
	size_t waiting_count;
};

/* What has been written of it, to be told. */
struct generated_program {
	size_t waits; /* calls that may wait */
	size_t named;
	size_t by_caller; /* in functions whose callers know the name */
	size_t names; /* different ones */
	size_t sites, fixed, functions;
};

/* The whole of a program's file. False when out of memory. */
bool generate_program(FILE *out, const struct program *program,
		      struct generated_program *told);

#endif
