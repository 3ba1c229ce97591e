/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens of a script, and what becomes of them: for the files rewrite*.c. */
#ifndef LOCKTAP_REWRITE_PRIVATE_H
#define LOCKTAP_REWRITE_PRIVATE_H

#include "rewrite.h"

enum token_type {
	TOKEN_END,
	TOKEN_WORD, /* names and keywords; $name, @name */
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_ARGUMENT, /* $1, @1, $#, @# */
	TOKEN_CODE, /* %{ ... %} */
	TOKEN_OPERATOR,
};

struct token {
	enum token_type type;
	size_t begin, end; /* in the text */
	bool closed; /* of a string: it has its second quote */
};

struct scanner {
	struct rewrite *out;
	const char *text;
	size_t length;
	size_t at;
	struct token token; /* the one that was read last */
	size_t copied; /* how much of the text is in the result */
	size_t room;
	size_t blocks; /* of the form lock ($var) { } */
};

/* The next token becomes the scanner's. */
void next_token(struct scanner *s);
/* Whether that is this word or operator. */
bool is_token(const struct scanner *s, const char *text);
/* Tells what is wrong at that place, and counts it; false. */
bool refuse(struct scanner *s, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Puts words for the text from `begin' to `end'.  Its other characters become
 * blanks, so that what follows keeps its line and column.
 */
void replace(struct scanner *s, size_t begin, size_t end, const char *words);

/*
 * Where the scanner is behind `lock' or `spinlock' in a body, and a block with
 * target variables follows: rewrites the block, and the scanner is behind it.
 */
void rewrite_guard(struct scanner *s);

#endif
