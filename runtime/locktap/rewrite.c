// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the probe points of a script and writes lock.KIND(var="NAME") as
 * lock.KIND.var.NAME; blocks lock ($var) { } are left to rewrite_guard.c.
 *
 * The words are told apart as stap's own lexer does it.  Whatever is no such
 * probe point is copied as it is: what is wrong there, stap tells best.
 */
#include <config.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "rewrite_event.h"
#include "rewrite_private.h"

/* ------------------------------------------------------------------------ */
/* Tokens                                                                    */

static int char_at(const struct scanner *s, size_t at)
{
	return at < s->length ? (unsigned char)s->text[at] : -1;
}

static size_t after_line(const struct scanner *s, size_t at)
{
	while (at < s->length && s->text[at] != '\n')
		at++;
	return at;
}

/* Behind the next `first second', or the end. */
static size_t after_pair(const struct scanner *s, size_t at, char first,
			 char second)
{
	for (; at + 1 < s->length; at++)
		if (s->text[at] == first && s->text[at + 1] == second)
			return at + 2;
	return s->length;
}

static size_t skip_blanks(const struct scanner *s, size_t at)
{
	for (;;) {
		int c = char_at(s, at), next = char_at(s, at + 1);

		if (c >= 0 && isspace(c))
			at++;
		else if (c == '#' || (c == '/' && next == '/'))
			at = after_line(s, at);
		else if (c == '/' && next == '*')
			at = after_pair(s, at + 2, '*', '/');
		else
			return at;
	}
}

static bool begins_word(int c)
{
	return c >= 0 && (isalpha(c) || c == '_' || c == '$' || c == '@');
}

static bool continues_word(int c)
{
	return c >= 0 && (isalnum(c) || c == '_' || c == '$');
}

/* A string ends at the end of its line at the latest. */
static size_t after_string(const struct scanner *s, size_t at, bool *closed)
{
	*closed = false;
	for (; at < s->length && s->text[at] != '\n'; at++) {
		if (s->text[at] == '\\') {
			at++;
		} else if (s->text[at] == '"') {
			*closed = true;
			return at + 1;
		}
	}
	return at < s->length ? at : s->length;
}

/* The operators of several characters that matter here. */
static size_t operator_length(int c, int next)
{
	static const char *const pairs[] = {
		"==", "!=", "<=", ">=", "=~", "!~", "+=", "-=", "*=",
		"/=", "%=", "&=", "^=", "|=", ".=", "&&", "||", "++",
		"--", "->", "<<", ">>", "%(", "%?", "%:", "%)",
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (c == pairs[i][0] && next == pairs[i][1])
			return 2;
	return 1;
}

void next_token(struct scanner *s)
{
	size_t at = skip_blanks(s, s->at);
	int c = char_at(s, at), next = char_at(s, at + 1);
	struct token token = { .begin = at };

	if (c < 0) {
		token.type = TOKEN_END;
	} else if ((c == '$' || c == '@') && next == '#') {
		token.type = TOKEN_ARGUMENT;
		at += 2;
	} else if ((c == '$' || c == '@') && next >= 0 && isdigit(next)) {
		token.type = TOKEN_ARGUMENT;
		for (at++;
		     at < s->length && isdigit((unsigned char)s->text[at]);)
			at++;
	} else if (begins_word(c)) {
		token.type = TOKEN_WORD;
		for (at++; continues_word(char_at(s, at));)
			at++;
	} else if (isdigit(c)) {
		token.type = TOKEN_NUMBER;
		for (at++;
		     at < s->length && isalnum((unsigned char)s->text[at]);)
			at++;
	} else if (c == '"') {
		token.type = TOKEN_STRING;
		at = after_string(s, at + 1, &token.closed);
	} else if (c == '%' && next == '{') {
		token.type = TOKEN_CODE;
		at = after_pair(s, at + 2, '%', '}');
	} else {
		token.type = TOKEN_OPERATOR;
		at += operator_length(c, next);
	}
	token.end = at;
	s->at = at;
	s->token = token;
}

bool is_token(const struct scanner *s, const char *text)
{
	size_t length = strlen(text);

	return (s->token.type == TOKEN_WORD ||
		s->token.type == TOKEN_OPERATOR) &&
	       s->token.end - s->token.begin == length &&
	       memcmp(s->text + s->token.begin, text, length) == 0;
}

/* ------------------------------------------------------------------------ */
/* What is told                                                              */

static void tell_place(const struct scanner *s, size_t at)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < at && i < s->length; i++) {
		column++;
		if (s->text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	fprintf(stderr, "%s:%zu:%zu: ", s->out->name, line, column);
}

static void tell_source(const struct scanner *s, size_t at)
{
	size_t begin = at < s->length ? at : s->length, end;

	while (begin && s->text[begin - 1] != '\n')
		begin--;
	end = after_line(s, begin);
	fprintf(stderr, "  %.*s\n  ", (int)(end - begin), s->text + begin);
	for (size_t i = begin; i < at; i++)
		fputc(s->text[i] == '\t' ? '\t' : ' ', stderr);
	fputs("^\n", stderr);
}

bool refuse(struct scanner *s, size_t at, const char *format, ...)
{
	va_list arguments;

	tell_place(s, at);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	tell_source(s, at);
	s->out->errors++;
	return false;
}

/* ------------------------------------------------------------------------ */
/* The result                                                                */

static void add_text(struct scanner *s, const char *text, size_t length)
{
	struct rewrite *out = s->out;

	if (out->length + length + 1 > s->room) {
		size_t room = 2 * (out->length + length + 1);
		char *larger = realloc(out->text, room);

		if (!larger) {
			out->out_of_memory = true;
			return;
		}
		out->text = larger;
		s->room = room;
	}
	memcpy(out->text + out->length, text, length);
	out->length += length;
	out->text[out->length] = '\0';
}

static void copy_until(struct scanner *s, size_t at)
{
	if (at > s->copied)
		add_text(s, s->text + s->copied, at - s->copied);
	s->copied = at;
}

void replace(struct scanner *s, size_t begin, size_t end, const char *words)
{
	size_t length = strlen(words), width = after_line(s, begin);

	copy_until(s, begin);
	add_text(s, words, length);
	width = (width < end ? width : end) - begin;
	for (size_t i = length < width ? length : width; i < end - begin; i++)
		add_text(s, s->text[begin + i] == '\n' ? "\n" : " ", 1);
	s->copied = end;
	/* Words that are longer take what blanks there are behind them. */
	for (size_t i = width;
	     begin + width == end && i < length &&
	     char_at(s, s->copied) == ' ' && char_at(s, s->copied + 1) == ' ';
	     i++)
		s->copied++;
	s->out->count++;
}

/* ------------------------------------------------------------------------ */
/* lock.KIND(var="NAME")                                                     */

static const char form[] = "write lock.KIND(var=\"NAME\") or "
			   "lock(var=\"NAME\"), with .OPERATION behind it";

/* Whether a word can be, with its wildcards, one of the kinds. */
static bool is_kind(const char *word)
{
	static const char *const kinds[] = {
		"spin",		 "rwlock",	   "mutex",	   "rwsem",
		"sem",		 "rtmutex",	   "percpu_rwsem", "futex",
		"pthread_mutex", "pthread_rwlock", "pthread_spin",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (name_matches(word, kinds[i]))
			return true;
	return false;
}

static bool is_operation(const char *word)
{
	static const char *const operations[] = {
		"acquire",	     "acquired",	 "release",
		"tryfail",	     "contention_begin", "contention_end",
		"contended_release",
	};

	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(word, operations[i]))
			return true;
	return false;
}

/* A kind that is a { } of several is stap's to check. */
static bool check_kind(struct scanner *s, size_t begin, size_t end)
{
	char word[64];

	if (!end)
		return true;
	snprintf(word, sizeof(word), "%.*s", (int)(end - begin),
		 s->text + begin);
	if (is_kind(word))
		return true;
	if (is_operation(word))
		return refuse(s, begin,
			      "the operation comes last: "
			      "lock(var=\"NAME\").%s",
			      word);
	return refuse(
		s, begin,
		"there is no kind of lock \"%s\"; kinds are spin, rwlock, "
		"mutex, rwsem, sem, rtmutex, percpu_rwsem, and in programs "
		"futex, pthread_mutex, pthread_rwlock",
		word);
}

/* N of @N; a number too large for any argument stays so. */
static size_t argument_number(const struct scanner *s)
{
	size_t number = 0;

	for (size_t i = s->token.begin + 1; i < s->token.end; i++)
		if (number < 100000)
			number = number * 10 + (size_t)(s->text[i] - '0');
	return number;
}

/* The text of a string token, or of the argument that @1 stands for. */
static char *string_value(struct scanner *s)
{
	const struct token *token = &s->token;
	char *value = NULL;

	if (token->type == TOKEN_STRING) {
		if (!token->closed) {
			refuse(s, token->begin, "the string has no end");
			return NULL;
		}
		value = strndup(s->text + token->begin + 1,
				token->end - token->begin - 2);
	} else {
		size_t number = argument_number(s);

		if (number < 1 || number > s->out->argument_count) {
			refuse(s, token->begin,
			       "there is no argument %.*s: the script was given %zu",
			       (int)(token->end - token->begin),
			       s->text + token->begin, s->out->argument_count);
			return NULL;
		}
		value = strdup(s->out->arguments[number - 1]);
		if (number <= 64)
			s->out->arguments_used |= 1ull << (number - 1);
	}
	if (!value)
		s->out->out_of_memory = true;
	return value;
}

/* The current token as the NAME, in the words of a probe point. */
static char *read_name(struct scanner *s)
{
	size_t begin = s->token.begin;
	bool is_string = s->token.type == TOKEN_STRING;
	struct name_error error;
	char *value = string_value(s), *name;

	if (!value)
		return NULL;
	if (!*value) {
		refuse(s, begin,
		       "the lock's name is empty; locktap sites --names lists "
		       "all there are");
		free(value);
		return NULL;
	}
	name = name_to_probe(value, &error);
	if (!name && error.text)
		refuse(s, is_string ? begin + 1 + error.at : begin,
		       "var=\"%s\": %s", value, error.text);
	else if (!name)
		s->out->out_of_memory = true;
	free(value);
	return name;
}

/* Behind the `(': var = "NAME" ) */
static char *read_argument(struct scanner *s)
{
	size_t begin;
	char *name;

	next_token(s);
	begin = s->token.begin;
	if (is_token(s, ")")) {
		refuse(s, begin, "which lock? %s", form);
		return NULL;
	}
	if (s->token.type != TOKEN_WORD) {
		refuse(s, begin, "%s",
		       s->token.type == TOKEN_END ? "the ) is missing" : form);
		return NULL;
	}
	if (!is_token(s, "var")) {
		refuse(s, begin, "there is no argument \"%.*s\", only var: %s",
		       (int)(s->token.end - begin), s->text + begin, form);
		return NULL;
	}
	next_token(s);
	if (!is_token(s, "=")) {
		refuse(s, s->token.begin, "a = is missing: %s", form);
		return NULL;
	}
	next_token(s);
	begin = s->token.begin;
	if (s->token.type == TOKEN_NUMBER) {
		refuse(s, begin,
		       "a lock's name is wanted, in quotes, not a number");
		return NULL;
	}
	if (s->token.type != TOKEN_STRING &&
	    !(s->token.type == TOKEN_ARGUMENT && s->text[begin] == '@' &&
	      s->text[begin + 1] != '#')) {
		refuse(s, begin,
		       "a lock's name is wanted, in quotes (or @1, the script's "
		       "first argument)");
		return NULL;
	}
	name = read_name(s);
	if (!name)
		return NULL;
	next_token(s);
	if (is_token(s, ")"))
		return name;
	free(name);
	refuse(s, s->token.begin, "%s",
	       is_token(s, ",") ? "there is one argument only, var" :
				  "a ) is missing");
	return NULL;
}

/*
 * A wildcard at the end of a name would take the operations of other names for
 * its last part: *.* is also inode.release.  What a point without operation
 * stands for is then written out.
 */
static bool takes_operations(struct scanner *s, const char *name)
{
	const char *last = strrchr(name, '.');
	size_t at = s->at;
	bool follows;

	if (!strchr(last ? last : name, '*'))
		return false;
	next_token(s);
	follows = is_token(s, ".");
	s->at = at;
	return !follows;
}

/*
 * The scanner is behind the `('.  Whatever is wrong, it is then behind the
 * `)', so that one mistake is told once.  `is_whole': all of the point's
 * components are here, none behind a }.
 */
static void rewrite_argument(struct scanner *s, size_t open, const char *before,
			     bool is_whole)
{
	static const char operations[] = ".{acquired,release}";
	char *name = read_argument(s), *words;
	size_t end = s->token.end;

	if (!name) {
		while (s->token.type != TOKEN_END && !is_token(s, ")") &&
		       !is_token(s, "{"))
			next_token(s);
		if (!is_token(s, ")"))
			s->at = s->token.begin;
		return;
	}
	words = malloc(strlen(before) + strlen(name) + sizeof(operations));
	if (!words) {
		s->out->out_of_memory = true;
		free(name);
		return;
	}
	strcpy(words, before);
	strcat(words, name);
	if (is_whole && takes_operations(s, name))
		strcat(words, operations);
	free(name);
	replace(s, open, end, words);
	free(words);
}

/* Behind a `(': up to its `)'. */
static void skip_parentheses(struct scanner *s)
{
	int level = 1;

	while (level) {
		next_token(s);
		if (s->token.type == TOKEN_END)
			return;
		level += is_token(s, "(");
		level -= is_token(s, ")");
	}
}

/* ------------------------------------------------------------------------ */
/* Probe points                                                              */

/* Where in a probe point we are. */
struct place {
	bool component; /* a component comes next */
	bool is_lock; /* the first component is `lock' */
	bool in_group; /* more may follow behind its } */
	bool has_name; /* by an argument list */
	int index; /* how many components there were */
	size_t kind, kind_end; /* the text of the last one, if it is known */
};

static const struct place point_begin = { .component = true };

#define MAX_GROUPS 16

/* Where in a list of probe points we are. */
struct points {
	struct place now;
	/* What each member of an open { } goes on from. */
	struct place group[MAX_GROUPS];
	bool named[MAX_GROUPS]; /* one of its members has a name */
	int groups;
	bool narrowed; /* something in the open { } */
	struct place conditional; /* what stood before a %( */
};

/* A component: words and wildcards without a blank between. */
static void read_component(struct scanner *s, struct place *place)
{
	size_t begin = s->token.begin, end = s->token.end, at;

	if (!place->index)
		place->is_lock = is_token(s, "lock");
	for (;;) {
		at = s->at;
		next_token(s);
		if (s->token.begin != end ||
		    (s->token.type != TOKEN_WORD && !is_token(s, "*")))
			break;
		end = s->token.end;
		if (!place->index)
			place->is_lock = false;
	}
	s->at = at;
	place->component = false;
	place->index++;
	place->kind = begin;
	place->kind_end = end;
}

/* The next token, which stays the next one. */
static struct token peek(struct scanner *s)
{
	struct token now = s->token, next;
	size_t at = s->at;

	next_token(s);
	next = s->token;
	s->token = now;
	s->at = at;
	return next;
}

static bool next_is(struct scanner *s, const char *operator)
{
	struct token next = peek(s);
	size_t length = strlen(operator);

	return next.type == TOKEN_OPERATOR && next.end - next.begin == length &&
	       memcmp(s->text + next.begin, operator, length) == 0;
}

/*
 * What a probe on all locks becomes where one is wanted.  contention_begin and
 * contention_end stay as they are: they cost nothing while nobody waits.
 */
static const struct narrowed {
	const char *word;
	const char *operations[4];
	const char *wide; /* a part of it that stays as it is */
} narrowed[] = {
	{ .word = "acquire", .operations = { "acquire" } },
	{ .word = "acquired", .operations = { "acquired" } },
	{ .word = "release", .operations = { "release" } },
	{ .word = "tryfail", .operations = { "tryfail" } },
	{ .word = "wait_recorded",
	  .operations = { "tryfail" },
	  .wide = "contention_end" },
	{ .word = "hold_recorded", .operations = { "release", "tryfail" } },
	{ .word = "stat",
	  .operations = { "contention_end", "release", "tryfail" } },
	{ .word = "stat_recorded",
	  .operations = { "contention_end", "release", "tryfail" } },
	{ .word = "blame",
	  .operations = { "contention_begin", "contention_end", "release" } },
};

static const struct narrowed *find_narrowed(const char *word)
{
	for (size_t i = 0; i < sizeof(narrowed) / sizeof(*narrowed); i++)
		if (!strcmp(narrowed[i].word, word))
			return &narrowed[i];
	return NULL;
}

/* lock.KIND.var.NAME.OPERATION for each of them, without the first `lock.'. */
static char *narrow_words(const struct narrowed *to, const char *kind,
			  const char *name, bool optional)
{
	char *words = NULL, *more;

	if (to->wide && !(words = strdup(to->wide)))
		return NULL;
	for (const char *const *op = to->operations; *op; op++) {
		if (asprintf(&more, "%s%s%svar.%s.%s%s", words ? words : "",
			     words ? ", lock." : "", kind, name, *op,
			     optional || op[1] ? "?" : "") < 0)
			more = NULL;
		free(words);
		words = more;
		if (!words)
			return NULL;
	}
	return words;
}

static void add_operation(struct rewrite *out, const char *kind,
			  const char *name)
{
	struct rewrite_operation *list = realloc(
		out->operations, (out->operation_count + 1) * sizeof(*list));

	if (!list) {
		out->out_of_memory = true;
		return;
	}
	out->operations = list;
	list += out->operation_count++;
	snprintf(list->kind, sizeof(list->kind), "%s", kind);
	snprintf(list->name, sizeof(list->name), "%s", name);
}

/*
 * lock.release or lock.spin.release becomes that of `only'.  Not every lock
 * has each operation, so it may be missing; of a { } that is said behind it.
 */
static void narrow(struct scanner *s, struct points *points,
		   const struct place *before)
{
	const struct place *place = &points->now;
	bool has_kind = place->index == 3;
	char operation[24], kind[32] = "*", prefix[40];
	const struct narrowed *to;
	char *words;

	if (!place->is_lock || place->has_name || place->index < 2 ||
	    place->index > 3 || next_is(s, ".") || next_is(s, "("))
		return;
	snprintf(operation, sizeof(operation), "%.*s",
		 (int)(place->kind_end - place->kind), s->text + place->kind);
	to = find_narrowed(operation);
	if (!to || ((to->operations[1] || to->wide) && place->in_group) ||
	    (to->wide && has_kind))
		return;
	if (has_kind && before->kind_end) {
		snprintf(kind, sizeof(kind), "%.*s",
			 (int)(before->kind_end - before->kind),
			 s->text + before->kind);
		if (!is_kind(kind))
			return;
	}
	for (const char *const *op = to->operations; *op; op++)
		add_operation(s->out, kind, *op);
	if (!s->out->only)
		return;
	/* Behind a kind, the first point has it already. */
	snprintf(prefix, sizeof(prefix), "%s.", kind);
	words = narrow_words(to, prefix, s->out->only,
			     !place->in_group && !next_is(s, "?") &&
				     !next_is(s, "!"));
	if (!words) {
		s->out->out_of_memory = true;
		return;
	}
	replace(s, place->kind, place->kind_end,
		words + (has_kind ? strlen(prefix) : 0));
	free(words);
	points->narrowed |= place->in_group;
}

/* All that a { } stands for may be missing. */
static void narrow_group(struct scanner *s, struct points *points)
{
	if (!points->narrowed || points->groups)
		return;
	points->narrowed = false;
	if (!next_is(s, "?") && !next_is(s, "!") && !next_is(s, "."))
		replace(s, s->token.begin, s->token.end, "}?");
}

/* Whether `name =' follows. */
static bool argument_follows(struct scanner *s)
{
	size_t at = s->at;
	bool follows;

	next_token(s);
	follows = s->token.type == TOKEN_WORD;
	next_token(s);
	follows = follows && is_token(s, "=");
	s->at = at;
	return follows;
}

/* lkst(EVENT), ltt(EVENT) */
static void rewrite_event_argument(struct scanner *s, size_t open)
{
	struct rewrite_event event = { .text = s->text,
				       .length = s->length,
				       .open = open };

	if (rewrite_event(&event, s->out))
		replace(s, open, event.end, event.words);
	else
		refuse(s, event.problem_at, "%s", event.problem);
	s->at = event.end;
	if (event.problem)
		skip_parentheses(s);
}

/* The argument list of a component, behind the `('. */
static void read_arguments(struct scanner *s, struct place *place)
{
	/* Who lists what there is, wants all that the pattern takes. */
	bool is_whole = !place->in_group && !s->out->is_point;
	size_t open = s->token.begin;

	place->has_name = true;
	if (place->index == 1 && place->kind_end &&
	    rewrite_is_event(s->text + place->kind,
			     place->kind_end - place->kind)) {
		rewrite_event_argument(s, open);
		return;
	}
	if (place->is_lock && place->index == 1) {
		rewrite_argument(s, open, ".*.var.", is_whole);
		return;
	}
	if (place->is_lock && place->index == 2 &&
	    check_kind(s, place->kind, place->kind_end)) {
		rewrite_argument(s, open, ".var.", is_whole);
		return;
	}
	if (place->is_lock && place->index > 2 && argument_follows(s))
		refuse(s, open, "this cannot stand here: %s", form);
	skip_parentheses(s);
}

/* %( condition %?: what follows is the script's text again. */
static void skip_condition(struct scanner *s)
{
	do
		next_token(s);
	while (s->token.type != TOKEN_END && !is_token(s, "%?"));
}

/* { within a list of points: lock.{spin,mutex}.release */
static void open_group(struct points *points)
{
	points->now.in_group = true;
	if (points->groups < MAX_GROUPS) {
		points->group[points->groups] = points->now;
		points->named[points->groups] = points->now.has_name;
	}
	points->groups++;
}

/* At the end of a { }'s member. */
static void end_member(struct points *points)
{
	if (points->groups && points->groups <= MAX_GROUPS)
		points->named[points->groups - 1] |= points->now.has_name;
}

static void close_group(struct points *points)
{
	end_member(points);
	points->groups--;
	if (points->groups < MAX_GROUPS) {
		points->now = points->group[points->groups];
		points->now.has_name = points->named[points->groups];
	}
	points->now.component = false;
	points->now.in_group = points->groups > 0;
	/* What comes behind {lock,other} is not of one kind. */
	points->now.is_lock = points->now.is_lock && points->now.index;
	points->now.index++;
	points->now.kind_end = 0;
}

static void next_point(struct points *points)
{
	end_member(points);
	if (!points->groups)
		points->now = point_begin;
	else if (points->groups <= MAX_GROUPS)
		points->now = points->group[points->groups - 1];
}

/* Whether the token is no part of a list of points; the { of a body is. */
static bool ends_points(const struct scanner *s, const struct points *points)
{
	if (s->token.type == TOKEN_END)
		return true;
	if (is_token(s, "{"))
		return !points->now.component;
	if (is_token(s, "}"))
		return !points->groups;
	return !points->now.component &&
	       (is_token(s, "probe") || is_token(s, "global") ||
		is_token(s, "function") || is_token(s, "private"));
}

static void read_point_token(struct scanner *s, struct points *points)
{
	struct place *now = &points->now;

	if (is_token(s, "%(")) {
		points->conditional = *now;
		skip_condition(s);
	} else if (is_token(s, "%:")) {
		*now = points->conditional;
	} else if (is_token(s, "{")) {
		open_group(points);
	} else if (is_token(s, "}")) {
		close_group(points);
		narrow_group(s, points);
	} else if (is_token(s, ".")) {
		now->component = true;
	} else if (is_token(s, ",") || is_token(s, "=") || is_token(s, "+=")) {
		next_point(points);
	} else if (is_token(s, "(")) {
		read_arguments(s, now);
	} else if (now->component &&
		   (s->token.type == TOKEN_WORD || is_token(s, "*"))) {
		struct place before = *now;

		read_component(s, now);
		narrow(s, points, &before);
	} else if (is_token(s, "if")) {
		next_token(s);
		if (is_token(s, "("))
			skip_parentheses(s);
	} else {
		now->component = false;
	}
	s->out->has_locks = s->out->has_locks || now->is_lock;
}

/*
 * Reads from behind `probe' up to the { of the body.  Text that is no list
 * of probe points is left to stap.
 */
static void read_points(struct scanner *s)
{
	struct points points = { .now = point_begin };

	for (;;) {
		size_t at = s->at;

		next_token(s);
		if (ends_points(s, &points)) {
			s->at = at;
			return;
		}
		read_point_token(s, &points);
	}
}

/* ------------------------------------------------------------------------ */
/* Globals                                                                   */

static void add_global(struct scanner *s, bool is_private)
{
	struct rewrite *out = s->out;
	struct rewrite_global *list =
		realloc(out->globals, (out->global_count + 1) * sizeof(*list));
	char *name = strndup(s->text + s->token.begin,
			     s->token.end - s->token.begin);

	if (list)
		out->globals = list;
	if (!list || !name) {
		free(name);
		out->out_of_memory = true;
		return;
	}
	list[out->global_count].name = name;
	list[out->global_count++].is_private = is_private;
}

/* Behind `global': a, b[10], c = 3, d% [5] */
static void read_globals(struct scanner *s, bool is_private)
{
	size_t at;

	do {
		next_token(s);
		if (s->token.type != TOKEN_WORD)
			return;
		add_global(s, is_private);
		/* The size, the initial value. */
		do {
			at = s->at;
			next_token(s);
		} while (s->token.type != TOKEN_END && !is_token(s, ",") &&
			 !is_token(s, ";") && s->token.type != TOKEN_WORD &&
			 s->token.type != TOKEN_CODE);
	} while (is_token(s, ","));
	s->at = at;
}

/* ------------------------------------------------------------------------ */

static void add_line(struct rewrite *out, const char *before,
		     size_t before_length, const char *after,
		     size_t after_length)
{
	struct rewrite_line *list =
		realloc(out->lines, (out->line_count + 1) * sizeof(*list));
	struct rewrite_line line;

	if (!list) {
		out->out_of_memory = true;
		return;
	}
	out->lines = list;
	line.before = strndup(before, before_length);
	line.after = strndup(after, after_length);
	if (!line.before || !line.after)
		out->out_of_memory = true;
	list[out->line_count++] = line;
}

static size_t line_length(const char *text, size_t length)
{
	const char *end = memchr(text, '\n', length);

	return end ? (size_t)(end - text) : length;
}

/* The lines that differ; both texts have the same number of lines. */
static void compare_lines(struct rewrite *out, const char *text, size_t length)
{
	const char *before = text, *after = out->text;

	while (before < text + length && !out->out_of_memory) {
		size_t before_length =
			line_length(before, (size_t)(text + length - before));
		size_t after_length = line_length(
			after, (size_t)(out->text + out->length - after));

		if (before_length != after_length ||
		    memcmp(before, after, after_length) != 0)
			add_line(out, before, before_length, after,
				 after_length);
		before += before_length + 1;
		after += after_length + 1;
	}
}

/* stap warns of arguments of which it sees no use. */
static void use_arguments(struct scanner *s)
{
	char words[64];

	for (int i = 0; i < 64; i++) {
		if (!(s->out->arguments_used & 1ull << i))
			continue;
		snprintf(words, sizeof(words), "\n%%( @%d == @%d %%? %%)",
			 i + 1, i + 1);
		add_text(s, words, strlen(words));
	}
}

bool rewrite_script(struct rewrite *rewrite, const char *text, size_t length)
{
	struct scanner scanner = { .out = rewrite,
				   .text = text,
				   .length = length };
	struct scanner *s = &scanner;
	bool is_private = false;

	if (rewrite->is_point)
		read_points(s);
	do {
		bool was_private = is_private;

		next_token(s);
		is_private = is_token(s, "private");
		if (is_token(s, "probe"))
			read_points(s);
		else if (is_token(s, "global"))
			read_globals(s, was_private);
		else if (is_token(s, "lock") || is_token(s, "spinlock"))
			rewrite_guard(s);
		else if (s->token.type == TOKEN_WORD &&
			 s->token.end - s->token.begin > 5 &&
			 !memcmp(s->text + s->token.begin, "lock_", 5))
			rewrite->has_locks = true;
	} while (s->token.type != TOKEN_END && !rewrite->out_of_memory);
	copy_until(s, length);
	use_arguments(s);
	add_text(s, "", 0);
	if (rewrite->out_of_memory) {
		fprintf(stderr, "locktap: out of memory\n");
		return false;
	}
	if (rewrite->count)
		compare_lines(rewrite, text, length);
	return rewrite->errors == 0;
}

void rewrite_free(struct rewrite *rewrite)
{
	for (size_t i = 0; i < rewrite->line_count; i++) {
		free(rewrite->lines[i].before);
		free(rewrite->lines[i].after);
	}
	free(rewrite->lines);
	for (size_t i = 0; i < rewrite->global_count; i++)
		free(rewrite->globals[i].name);
	free(rewrite->globals);
	free(rewrite->operations);
	free(rewrite->text);
}
