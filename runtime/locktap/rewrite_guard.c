// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks lock ($var) { } and spinlock ($var) { }, in words that stap has.
 *
 * The target variables that the block reads are read together while the lock
 * is held, by tapset/lock_guard.stp, and the block then runs on copies.  For
 * the path $a->b->c: what leads to its last step is followed before, each step
 * into a variable of its own, which keeps its type with stap, and under the
 * lock each pointer on the way must still be what it was.  Of the last step a
 * part of the object it is in is copied, and read by its name in a variable of
 * that object's type, placed so that the member falls on its copy.
 */
#include <config.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite_private.h"

/* Of an array; other members are shorter. */
#define MEMBER_BYTES 64
/* More than one read takes: an object is copied as a whole or not at all. */
#define OBJECT_BYTES (1 << 20)

/* A part of a path: $a, or one of ->b and [3] behind another. */
struct step {
	size_t from; /* the step before: its index; its own of the first one */
	char *path; /* up to here, without blanks */
	const char *name; /* the end of that: ->b, [3] */
	bool leads; /* other steps follow */
	bool is_read; /* more than its address */
	size_t part; /* where it is read: the number of its copy */
};

/* Where the block has a path. */
struct place {
	size_t begin, end;
	size_t step;
	bool address; /* behind & */
};

struct block {
	struct scanner *s;
	size_t number;
	struct step *steps;
	size_t step_count;
	struct place *places;
	size_t place_count;
};

static void *grow(struct block *block, void *list, size_t count, size_t size)
{
	void *larger = realloc(list, (count + 1) * size);

	if (!larger)
		block->s->out->out_of_memory = true;
	return larger;
}

static void free_block(struct block *block)
{
	for (size_t i = 0; i < block->step_count; i++)
		free(block->steps[i].path);
	free(block->steps);
	free(block->places);
}

/* ------------------------------------------------------------------------ */
/* What the block reads                                                      */

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

static bool token_is(const struct scanner *s, struct token token,
		     const char *text)
{
	size_t length = strlen(text);

	return token.end - token.begin == length &&
	       token.type != TOKEN_STRING &&
	       !memcmp(s->text + token.begin, text, length);
}

/* The step of that path; a new one behind `from', or SIZE_MAX: no memory. */
static size_t find_step(struct block *block, size_t from, const char *name)
{
	const char *before = block->step_count ? block->steps[from].path : "";
	bool first = *name != '-' && *name != '[';
	struct step *step;
	char *path;

	if (asprintf(&path, "%s%s", first ? "" : before, name) < 0) {
		block->s->out->out_of_memory = true;
		return SIZE_MAX;
	}
	for (size_t i = 0; i < block->step_count; i++) {
		if (strcmp(block->steps[i].path, path) != 0)
			continue;
		free(path);
		return i;
	}
	step = grow(block, block->steps, block->step_count, sizeof(*step));
	if (!step) {
		free(path);
		return SIZE_MAX;
	}
	block->steps = step;
	step += block->step_count;
	*step = (struct step){
		.from = first ? block->step_count : from,
		.path = path,
		.name = path + strlen(path) - strlen(name),
	};
	return block->step_count++;
}

static char *token_text(const struct scanner *s, size_t begin, size_t end)
{
	return strndup(s->text + begin, end - begin);
}

/* Behind the `[': a number and the `]'. */
static char *read_index(struct scanner *s)
{
	char *name = NULL;

	next_token(s);
	if (s->token.type != TOKEN_NUMBER) {
		refuse(s, s->token.begin,
		       "the index of what is read under the lock must be a number, since all is read before the block runs; @lock_slice copies a part of an array");
		return NULL;
	}
	if (asprintf(&name, "[%.*s]", (int)(s->token.end - s->token.begin),
		     s->text + s->token.begin) < 0)
		name = NULL;
	next_token(s);
	if (name && !is_token(s, "]")) {
		free(name);
		refuse(s, s->token.begin, "a ] is missing");
		return NULL;
	}
	return name;
}

/* Behind the `->'. */
static char *read_member(struct scanner *s)
{
	char *name = NULL;

	next_token(s);
	if (s->token.type != TOKEN_WORD) {
		refuse(s, s->token.begin, "a member's name is missing");
		return NULL;
	}
	if (memchr(s->text + s->token.begin, '$',
		   s->token.end - s->token.begin)) {
		refuse(s, s->token.begin,
		       "what is printed as a whole ($) cannot be read under a lock: name its members");
		return NULL;
	}
	if (asprintf(&name, "->%.*s", (int)(s->token.end - s->token.begin),
		     s->text + s->token.begin) < 0)
		name = NULL;
	return name;
}

/* $name, or @var("name") up to its `)'. */
static char *read_variable(struct scanner *s)
{
	size_t begin = s->token.begin, length = s->token.end - begin;

	if (s->text[begin] == '$' &&
	    memchr(s->text + begin + 1, '$', length - 1)) {
		refuse(s, begin,
		       "what is printed as a whole ($) cannot be read under a lock: name what you need");
		return NULL;
	}
	if (is_token(s, "@var"))
		while (s->token.type != TOKEN_END && !is_token(s, ")"))
			next_token(s);
	return token_text(s, begin, s->token.end);
}

static bool is_variable(const struct scanner *s)
{
	return s->token.type == TOKEN_WORD &&
	       (s->text[s->token.begin] == '$' || is_token(s, "@var"));
}

static void add_place(struct block *block, size_t begin, size_t step,
		      bool address)
{
	struct place *place =
		grow(block, block->places, block->place_count, sizeof(*place));

	if (!place)
		return;
	block->places = place;
	place[block->place_count++] = (struct place){
		.begin = begin,
		.end = block->s->token.end,
		.step = step,
		.address = address,
	};
	if (!address)
		block->steps[step].is_read = true;
}

/* A target variable with all its steps; the scanner is at its last token. */
static void read_path(struct block *block, bool address)
{
	struct scanner *s = block->s;
	size_t begin = s->token.begin, step, next;
	char *name = read_variable(s);

	if (!name)
		return;
	step = find_step(block, 0, name);
	free(name);
	while (step != SIZE_MAX) {
		struct token behind = peek(s);

		if (token_is(s, behind, "->")) {
			next_token(s);
			name = read_member(s);
		} else if (token_is(s, behind, "[")) {
			next_token(s);
			name = read_index(s);
		} else {
			break;
		}
		if (!name)
			return;
		next = find_step(block, step, name);
		free(name);
		if (next != SIZE_MAX)
			block->steps[step].leads = true;
		step = next;
	}
	if (step != SIZE_MAX)
		add_place(block, begin, step, address);
}

static bool writes(const struct scanner *s, struct token token)
{
	static const char *const operators[] = {
		"=",  "+=", "-=",  "*=",  "/=", "%=", "&=",
		"^=", "|=", "<<=", ">>=", ".=", "++", "--",
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (token_is(s, token, operators[i]))
			return true;
	return false;
}

/* `<<=' comes as two tokens. */
static bool is_written(struct scanner *s)
{
	struct token next = peek(s);

	return writes(s, next) ||
	       (next.end + 1 < s->length && s->text[next.end] == '=' &&
		(token_is(s, next, "<<") ||
		 !strncmp(s->text + next.begin, ">>=", 3)));
}

/* A & before a variable takes its address, unless it is behind a value. */
static bool ends_value(const struct scanner *s, struct token token)
{
	return token.type == TOKEN_NUMBER || token.type == TOKEN_STRING ||
	       token.type == TOKEN_ARGUMENT || token_is(s, token, ")") ||
	       token_is(s, token, "]") ||
	       (token.type == TOKEN_WORD && !token_is(s, token, "return") &&
		!token_is(s, token, "in"));
}

/* Up to the `)' of `@defined(...)' and the like. */
static void skip_parentheses(struct scanner *s)
{
	int level = 0;

	do {
		next_token(s);
		level += is_token(s, "(");
		level -= is_token(s, ")");
	} while (level > 0 && s->token.type != TOKEN_END);
}

static void refuse_unguarded(struct scanner *s)
{
	refuse(s, s->token.begin,
	       "this would be read without the lock: only target variables ($var, @var) are read under it; @lock_read copies an object of any type");
	if (is_token(s, "@cast"))
		skip_parentheses(s);
	else
		next_token(s);
	while (token_is(s, peek(s), "->")) {
		next_token(s);
		next_token(s);
	}
}

static void read_target(struct block *block, struct token before,
			struct token earlier)
{
	struct scanner *s = block->s;
	size_t begin = s->token.begin, errors = s->out->errors;

	read_path(block, token_is(s, before, "&") && !ends_value(s, earlier));
	if (s->out->errors == errors &&
	    (is_written(s) || token_is(s, before, "++") ||
	     token_is(s, before, "--")))
		refuse(s, begin,
		       "a block under a lock cannot write to target variables");
}

/* Macros that have macros in them; more are not looked into. */
#define MOST_MACROS 8

static bool macro_reads(const struct scanner *user, int depth);

/* Behind `@define NAME': up to the `%)' of its text. */
static bool text_reads(struct scanner *s, int depth)
{
	int level = 0;

	do {
		next_token(s);
		level += is_token(s, "%(");
		level -= is_token(s, "%)");
		if (level && (is_variable(s) || is_token(s, "@cast") ||
			      is_token(s, "->") || macro_reads(s, depth + 1)))
			return true;
	} while (s->token.type != TOKEN_END && (level || !is_token(s, "%)")));
	return false;
}

/*
 * Whether the scanner is at the name of one of the script's own macros that
 * has in its text what the block would then read without the lock.
 */
static bool macro_reads(const struct scanner *user, int depth)
{
	struct scanner s = *user;
	struct token name = user->token;

	if (name.type != TOKEN_WORD || s.text[name.begin] != '@' ||
	    depth > MOST_MACROS)
		return false;
	for (s.at = 0, next_token(&s); s.token.type != TOKEN_END;
	     next_token(&s)) {
		if (!is_token(&s, "@define"))
			continue;
		next_token(&s);
		if (s.token.end - s.token.begin == name.end - name.begin - 1 &&
		    !memcmp(s.text + s.token.begin, s.text + name.begin + 1,
			    s.token.end - s.token.begin))
			return text_reads(&s, depth);
	}
	return false;
}

static void read_token(struct block *block, struct token before,
		       struct token earlier)
{
	struct scanner *s = block->s;

	if (is_variable(s))
		read_target(block, before, earlier);
	else if (is_token(s, "@defined")) /* it reads nothing */
		skip_parentheses(s);
	else if (is_token(s, "@cast") || is_token(s, "->"))
		refuse_unguarded(s);
	else if ((is_token(s, "lock") || is_token(s, "spinlock")) &&
		 token_is(s, peek(s), "("))
		refuse(s, s->token.begin,
		       "a block under a lock cannot take a second lock");
	else if (macro_reads(s, 0))
		refuse(s, s->token.begin,
		       "this macro would read without the lock: write out here what it reads");
}

/* Behind the `{': up to its `}', where the scanner then is. */
static bool read_block(struct block *block, size_t open)
{
	struct scanner *s = block->s;
	struct token before = s->token, earlier = before;
	int level = 1;

	for (;;) {
		next_token(s);
		if (s->token.type == TOKEN_END)
			return refuse(s, open,
				      "the } of this block is missing");
		level += is_token(s, "{");
		level -= is_token(s, "}");
		if (!level)
			return true;
		read_token(block, before, earlier);
		earlier = before;
		before = s->token;
	}
}

/* ------------------------------------------------------------------------ */
/* What it becomes                                                           */

/* How stap calls what a step stands for, by the variable of the step before. */
static void put_step(const struct block *block, FILE *out, size_t at)
{
	const struct step *step = &block->steps[at];

	if (step->from == at)
		fputs(step->path, out);
	else
		fprintf(out, "(__lkg%zu_%zu)%s", block->number, step->from,
			step->name);
}

/* A variable for what the step leads to: a pointer's value, else its address. */
static void put_leading(const struct block *block, FILE *out, size_t at)
{
	const char *path = block->steps[at].path;

	fprintf(out, " __lkg%zu_%zu = (@defined(%s) ? ", block->number, at,
		path);
	put_step(block, out, at);
	fputs(" : &", out);
	put_step(block, out, at);
	fprintf(out, "); if (@defined(%s) && @defined(&%s)) __lk_guard_link(&",
		path, path);
	put_step(block, out, at);
	fprintf(out, ", __lkg%zu_%zu);", block->number, at);
}

/* Where a copy begins, in the object: a bit field has no address of its own. */
static void put_begin(const struct block *block, FILE *out, size_t at)
{
	fprintf(out, "(@defined(&%s) ? &", block->steps[at].path);
	put_step(block, out, at);
	fprintf(out, " : __lkg%zu_%zu)", block->number, block->steps[at].from);
}

static void put_part(struct block *block, FILE *out, size_t at, size_t part)
{
	const struct step *step = &block->steps[at];

	block->steps[at].part = part;
	if (step->from == at) {
		/* One that is in no memory, nobody else changes. */
		fprintf(out,
			" __lkg%zu_c%zu = (@defined(&%s) ? &%s : 0); __lk_guard_part(__lkg%zu_c%zu, (@defined(&%s) ? &(__lkg%zu_c%zu)[1] - __lkg%zu_c%zu : 0), %d);",
			block->number, at, step->path, step->path,
			block->number, at, step->path, block->number, at,
			block->number, at, MEMBER_BYTES);
		return;
	}
	fputs(" __lk_guard_part(", out);
	put_begin(block, out, at);
	if (step->name[0] == '[')
		fprintf(out, ", &(__lkg%zu_%zu)[%ld] - &(__lkg%zu_%zu)%s, %d);",
			block->number, step->from,
			strtol(step->name + 1, NULL, 0) + 1, block->number,
			step->from, step->name, OBJECT_BYTES);
	else {
		fprintf(out, ", &(__lkg%zu_%zu)[1] - ", block->number,
			step->from);
		put_begin(block, out, at);
		fprintf(out, ", (@defined(&%s) ? %d : %d));", step->path,
			MEMBER_BYTES, OBJECT_BYTES);
	}
}

/* A variable of the object's type, so placed that the member is in its copy. */
static void put_copy(const struct block *block, FILE *out, size_t at)
{
	const struct step *step = &block->steps[at];

	if (step->from == at) {
		fprintf(out,
			" __lkg%zu_c%zu = (@defined(&%s) ? __lk_guard_part_copy(%zu) : 0);",
			block->number, at, step->path, step->part);
		return;
	}
	fprintf(out,
		" __lkg%zu_c%zu = __lkg%zu_%zu; __lkg%zu_c%zu = __lk_guard_part_copy(%zu) - (",
		block->number, at, block->number, step->from, block->number, at,
		step->part);
	put_begin(block, out, at);
	fprintf(out, " - __lkg%zu_%zu);", block->number, step->from);
}

/* The beginning, up to the block's own {. */
static void put_beginning(struct block *block, FILE *out, const char *lock,
			  bool spins)
{
	size_t parts = 0;

	fprintf(out, "{ __lk_guard_plan(@__lock_guard%s(%s));",
		spins ? "_spin" : "", lock);
	for (size_t i = 0; i < block->step_count; i++) {
		if (block->steps[i].leads)
			put_leading(block, out, i);
		if (block->steps[i].is_read)
			put_part(block, out, i, parts++);
	}
	fputs(" if (__lk_guard_take()) {", out);
	for (size_t i = 0; i < block->step_count; i++)
		if (block->steps[i].is_read)
			put_copy(block, out, i);
}

static char *beginning(struct block *block, const char *lock, bool spins)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out) {
		put_beginning(block, out, lock, spins);
		fclose(out);
	}
	return text;
}

static char *place_words(const struct block *block, const struct place *place)
{
	const struct step *step = &block->steps[place->step];
	bool first = step->from == place->step;
	char *words = NULL;
	int done;

	if (place->address)
		done = first ? asprintf(&words, "%s", step->path) :
			       asprintf(&words, "(__lkg%zu_%zu)%s",
					block->number, step->from, step->name);
	else if (first)
		done = asprintf(&words,
				"(@defined(&%s) ? (__lkg%zu_c%zu)[0] : %s)",
				step->path, block->number, place->step,
				step->path);
	else
		done = asprintf(&words, "(__lkg%zu_c%zu)%s", block->number,
				place->step, step->name);
	return done < 0 ? NULL : words;
}

static void put_words(struct block *block, size_t begin, size_t end,
		      char *words)
{
	if (words)
		replace(block->s, begin, end, words);
	else
		block->s->out->out_of_memory = true;
	free(words);
}

/* The whole block, from `lock' to the `}' that the scanner is at. */
static void put_block(struct block *block, size_t begin, size_t open,
		      const char *lock, bool spins)
{
	struct token close = block->s->token;
	char *end = strdup("} } }");

	put_words(block, begin, open, beginning(block, lock, spins));
	for (size_t i = 0; i < block->place_count; i++)
		put_words(block, block->places[i].begin, block->places[i].end,
			  place_words(block, &block->places[i]));
	put_words(block, close.begin, close.end, end);
}

/* ------------------------------------------------------------------------ */

/* The lock, between ( and ), without blanks; NULL: this is no block. */
static char *read_lock(struct scanner *s)
{
	char *text = NULL;
	size_t length;
	FILE *out;
	int level = 1;

	next_token(s);
	if (!is_token(s, "("))
		return NULL;
	next_token(s);
	if (!is_variable(s) && !is_token(s, "@cast"))
		return NULL;
	out = open_memstream(&text, &length);
	while (out && s->token.type != TOKEN_END) {
		level += is_token(s, "(");
		level -= is_token(s, ")");
		if (!level)
			break;
		fprintf(out, "%.*s", (int)(s->token.end - s->token.begin),
			s->text + s->token.begin);
		next_token(s);
	}
	if (out)
		fclose(out);
	else
		s->out->out_of_memory = true;
	return text;
}

void rewrite_guard(struct scanner *s)
{
	struct block block = { .s = s, .number = s->blocks };
	size_t begin = s->token.begin, at = s->at, open;
	struct token word = s->token;
	bool spins = is_token(s, "spinlock");
	char *lock = read_lock(s);
	size_t errors = s->out->errors;

	if (lock)
		next_token(s);
	if (!lock || !is_token(s, "{")) {
		/* A function's name, for instance. */
		s->at = at;
		s->token = word;
		free(lock);
		return;
	}
	s->blocks++;
	open = s->token.begin;
	if (read_block(&block, open) && s->out->errors == errors &&
	    !s->out->out_of_memory) {
		put_block(&block, begin, open, lock, spins);
		if (token_is(s, peek(s), "else"))
			refuse(s, peek(s).begin,
			       "a block under a lock has no else: set a variable in it");
	}
	free_block(&block);
	free(lock);
}
