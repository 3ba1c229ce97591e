// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes lkst(PROCESS_WAKEUP) as lkst.process_wakeup, and ltt(EVENT) likewise. */
#include <config.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rewrite_event.h"

bool rewrite_is_event(const char *word, size_t length)
{
	return (length == 4 && !memcmp(word, "lkst", 4)) ||
	       (length == 3 && !memcmp(word, "ltt", 3));
}

static bool fail(struct rewrite_event *event, size_t at, const char *problem)
{
	event->problem = problem;
	event->problem_at = at;
	return false;
}

static size_t after_blanks(const struct rewrite_event *event, size_t at)
{
	while (at < event->length && isspace((unsigned char)event->text[at]))
		at++;
	return at;
}

static bool is_at(const struct rewrite_event *event, size_t at, char c)
{
	return at < event->length && event->text[at] == c;
}

/* What a component of a probe point can be, wildcards among it. */
static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '*' || c == '?';
}

/* The name in small letters, after the `.' that is there already. */
static bool put_name(struct rewrite_event *event, size_t at, const char *name,
		     size_t length)
{
	if (!length)
		return fail(event, at, "which event? lkst(7) has their names");
	if (length + 2 > sizeof(event->words))
		return fail(event, at, "no event has so long a name");
	for (size_t i = 0; i < length; i++) {
		if (!is_part(name[i]))
			return fail(event, at,
				    "an event's name is wanted, of letters, "
				    "digits and _: lkst(7) has them");
		event->words[i + 1] = (char)tolower((unsigned char)name[i]);
	}
	event->words[length + 1] = '\0';
	return true;
}

/* ... "event" */
static bool read_string(struct rewrite_event *event, size_t at)
{
	const char *name = event->text + at + 1;
	size_t length = 0, left = event->length - at - 1;

	while (length < left && name[length] != '"' && name[length] != '\n')
		length++;
	event->end = at + 1 + length;
	if (!is_at(event, event->end, '"'))
		return fail(event, at, "the string has no end");
	event->end++;
	return put_name(event, at, name, length);
}

/* ... @1 */
static bool read_number(struct rewrite_event *event, size_t at,
			struct rewrite *out)
{
	size_t number = 0;

	for (event->end = at + 1;
	     event->end < event->length &&
	     isdigit((unsigned char)event->text[event->end]);
	     event->end++)
		if (number < 100000)
			number = number * 10 +
				 (size_t)(event->text[event->end] - '0');
	if (number < 1 || number > out->argument_count)
		return fail(event, at, "the script was given no such argument");
	if (number <= 64)
		out->arguments_used |= 1ull << (number - 1);
	return put_name(event, at, out->arguments[number - 1],
			strlen(out->arguments[number - 1]));
}

/* ... EVENT */
static bool read_word(struct rewrite_event *event, size_t at)
{
	for (event->end = at;
	     event->end < event->length && is_part(event->text[event->end]);
	     event->end++)
		;
	if (event->end == at && !is_at(event, at, ')'))
		return fail(event, at,
			    "an event is wanted: lkst(PROCESS_WAKEUP), "
			    "lkst(\"process_wakeup\") or lkst(@1)");
	return put_name(event, at, event->text + at, event->end - at);
}

bool rewrite_event(struct rewrite_event *event, struct rewrite *out)
{
	size_t at = after_blanks(event, event->open + 1);
	bool good;

	event->problem = NULL;
	event->end = at;
	strcpy(event->words, ".");
	if (is_at(event, at, '"'))
		good = read_string(event, at);
	else if (is_at(event, at, '@'))
		good = read_number(event, at, out);
	else
		good = read_word(event, at);
	if (!good)
		return false;
	at = after_blanks(event, event->end);
	event->end = at;
	if (!is_at(event, at, ')'))
		return fail(event, at,
			    is_at(event, at, ',') ?
				    "there is one argument only, the event" :
				    "a ) is missing");
	event->end = at + 1;
	return true;
}
