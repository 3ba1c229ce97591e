/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lkst(EVENT) and ltt(EVENT), in words that stap's grammar has. */
#ifndef LOCKTAP_REWRITE_EVENT_H
#define LOCKTAP_REWRITE_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "rewrite.h"

struct rewrite_event {
	/* To be given: the script, and where its `(' stands. */
	const char *text;
	size_t length;
	size_t open;

	/* The result: */
	char words[80]; /* .event, for the parentheses and what is in them */
	const char *problem; /* or what is wrong, NULL if nothing is */
	size_t problem_at;
	size_t end; /* behind the `)', or where reading has ended */
};

/* Whether this word, in front of a `(', is one that takes an event. */
bool rewrite_is_event(const char *word, size_t length);

/*
 * Reads (EVENT), ("event") or (@1).  Whether there is such an event, stap
 * tells best.  `out' has the arguments, and keeps which were taken.
 */
bool rewrite_event(struct rewrite_event *event, struct rewrite *out);

#endif
