// SPDX-License-Identifier: GPL-2.0-or-later
/* Names come from programs and may be any bytes: what can be shown of them. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Length of the UTF-8 sequence that begins here, 0 for none. */
static size_t sequence(const unsigned char *text, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length;

	if (text[0] < 0x80) {
		*code = text[0];
		return 1;
	}
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	*code = text[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3f);
	}
	return *code < least[length] ? 0 : length;
}

static bool is_shown(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	/* Those that turn the direction of the text around them. */
	if ((code >= 0x202a && code <= 0x202e) ||
	    (code >= 0x2066 && code <= 0x2069))
		return false;
	return !(code >= 0xd800 && code < 0xe000) &&
	       (code & 0xfffe) != 0xfffe && code <= 0x10ffff;
}

size_t graph_next_char(const char **text, char *character)
{
	uint32_t code;
	size_t length;

	if (!**text)
		return 0;
	length = sequence((const unsigned char *)*text, &code);
	if (!length || !is_shown(code)) {
		*text += length ? length : 1;
		strcpy(character, "?");
		return 1;
	}
	memcpy(character, *text, length);
	character[length] = '\0';
	*text += length;
	return length;
}

const char *graph_plain(const char *text, char *to, size_t size)
{
	char character[GRAPH_CHAR_BYTES];
	size_t at = 0, length;

	while ((length = graph_next_char(&text, character)) != 0) {
		if (at + length + sizeof("...") > size) {
			strcpy(to + at, "...");
			return to;
		}
		memcpy(to + at, character, length);
		at += length;
	}
	to[at] = '\0';
	return to;
}
