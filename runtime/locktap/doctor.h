/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of `locktap doctor' share. */
#ifndef LOCKTAP_DOCTOR_H
#define LOCKTAP_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum finding_state {
	FINDING_OK,
	FINDING_NOTE, /* something rarely needed is missing */
	FINDING_WARN, /* reports work, and tell less */
	FINDING_FAIL, /* nothing works before this is mended */
};

struct finding {
	const char *check;
	enum finding_state state;
	char *text;
	char *remedy; /* a shell command, NULL: there is none */
};

enum distribution {
	DISTRIBUTION_UNKNOWN,
	DISTRIBUTION_DEBIAN,
	DISTRIBUTION_UBUNTU,
	DISTRIBUTION_FEDORA, /* and its relatives */
	DISTRIBUTION_SUSE,
};

struct doctor {
	const char *root; /* what stands before each path; "": this machine */
	const char *release;
	const char *user; /* who is to run the reports */
	bool is_running; /* the release is that of the running kernel here */
	enum distribution distribution;
	struct finding *list;
	size_t count;
	bool failed; /* no memory */
	char release_text[256], user_text[64];
};

/* ------------------------------------------------------------------------ */
/* doctor.c                                                                  */

/* Adds a finding; the remedy may be NULL and is freed with it. */
void doctor_add(struct doctor *doctor, const char *check,
		enum finding_state state, char *remedy, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* A text that the caller frees; NULL and doctor->failed: no memory. */
char *doctor_text(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* How many kernels have modules below the root, and the name of one. */
size_t doctor_count_kernels(struct doctor *doctor, char *last, size_t size);

/* ------------------------------------------------------------------------ */
/* doctor_system.c: files below the root, and what packages are called       */

/*
 * A path below the root, with the links in it followed there rather than from
 * this machine's root.  The caller frees it; NULL: no memory.
 */
char *doctor_path(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool doctor_has(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A file that can be read to its end: no pipe or device, and not endless. */
bool doctor_is_file(const char *path);
/* NULL: it cannot be read.  Closed by the caller. */
FILE *doctor_open(struct doctor *doctor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Its first line, without its end, for the caller to free; NULL: none. */
char *doctor_line(struct doctor *doctor, const char *path);
/* A program's path below the root, by PATH or its usual folders; NULL: none. */
char *doctor_program(struct doctor *doctor, const char *name);
/* The same path as the system below the root knows it. */
const char *doctor_inside(const struct doctor *doctor, const char *path);

enum distribution doctor_distribution(struct doctor *doctor);

/* The version that a text begins with: 506 for 5.6; 0: none. */
unsigned int doctor_version(const char *text);

/* What installs a package that has these names, for the caller to free. */
char *doctor_install(struct doctor *doctor, const char *debian,
		     const char *fedora, const char *suse);

/* ------------------------------------------------------------------------ */
/* The checks                                                                */

/* doctor_kernel.c */
void check_kernel(struct doctor *doctor);
void check_options(struct doctor *doctor);
void check_modules(struct doctor *doctor);
void check_lockdown(struct doctor *doctor);
void check_kprobes(struct doctor *doctor);
void check_addresses(struct doctor *doctor);
void check_headers(struct doctor *doctor);
void check_system_map(struct doctor *doctor);
void check_debug_information(struct doctor *doctor);
void check_prepared(struct doctor *doctor);

/* doctor_stap.c */
void check_stap(struct doctor *doctor);
void check_compiler(struct doctor *doctor);
void check_tapset(struct doctor *doctor);
void check_groups(struct doctor *doctor);
void check_c_library(struct doctor *doctor);
void check_graphviz(struct doctor *doctor);

#endif
