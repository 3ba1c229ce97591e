/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in one C string, each once: what `locktap prep' writes them as. */
#ifndef LOCKTAP_TEXTS_H
#define LOCKTAP_TEXTS_H

#include <stdbool.h>
#include <stdio.h>

struct text;

struct texts {
	struct text *list;
	size_t count;
	size_t bytes;
};

/* From names in any order, which have to last; false when out of memory. */
bool texts_make(struct texts *texts, const char *const *names, size_t count);
void texts_free(struct texts *texts);

/* Where a name begins; 0, which is the empty name, if it is none of them. */
size_t texts_offset(const struct texts *texts, const char *name);

/* As the array `VARIABLE_TAG' of the C code. */
void texts_write(FILE *out, const struct texts *texts, const char *variable,
		 const char *tag);

#endif
