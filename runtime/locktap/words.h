/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of words in one text. */
#ifndef LOCKTAP_WORDS_H
#define LOCKTAP_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a word is in a list that has this character between its words. */
bool words_have(const char *list, char between, const char *word,
		size_t length);

#endif
