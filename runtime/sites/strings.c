// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts that are kept once each, and freed together. */
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

#define PIECE_BYTES ((size_t)64 * 1024)

struct piece {
	struct piece *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct sites_strings {
	struct piece *pieces;
	const char **slots; /* open addressing, a power of two */
	size_t slot_count;
	size_t used;
};

struct sites_strings *sites_strings_new(struct sites_error *error)
{
	struct sites_strings *strings = calloc(1, sizeof(*strings));

	if (strings) {
		strings->slot_count = 1024;
		strings->slots =
			calloc(strings->slot_count, sizeof(*strings->slots));
	}
	if (!strings || !strings->slots) {
		free(strings);
		sites_fail(error, "out of memory");
		return NULL;
	}
	return strings;
}

void sites_strings_free(struct sites_strings *strings)
{
	if (!strings)
		return;
	while (strings->pieces) {
		struct piece *next = strings->pieces->next;

		free(strings->pieces);
		strings->pieces = next;
	}
	free(strings->slots);
	free(strings);
}

void sites_strings_join(struct sites_strings *strings,
			struct sites_strings *other)
{
	struct piece **end = &strings->pieces;

	/* What is free in the first piece stays in use. */
	while (*end)
		end = &(*end)->next;
	*end = other->pieces;
	other->pieces = NULL;
}

void *sites_strings_room(struct sites_strings *strings, size_t size,
			 struct sites_error *error)
{
	struct piece *piece = strings->pieces;
	void *room;

	size = (size + 7) & ~(size_t)7;
	if (!piece || piece->size - piece->used < size) {
		size_t bytes = size > PIECE_BYTES ? size : PIECE_BYTES;

		piece = malloc(sizeof(*piece) + bytes);
		if (!piece) {
			sites_fail(error, "out of memory");
			return NULL;
		}
		piece->next = strings->pieces;
		piece->used = 0;
		piece->size = bytes;
		strings->pieces = piece;
	}
	room = piece->bytes + piece->used;
	piece->used += size;
	return room;
}

/* FNV-1a */
static size_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return (size_t)(hash ^ hash >> 32);
}

static const char **slot_of(const struct sites_strings *strings,
			    const char *text)
{
	size_t at = hash_of(text) & (strings->slot_count - 1);

	while (strings->slots[at] && strcmp(strings->slots[at], text) != 0)
		at = (at + 1) & (strings->slot_count - 1);
	return &strings->slots[at];
}

static bool grow(struct sites_strings *strings, struct sites_error *error)
{
	struct sites_strings grown = *strings;

	grown.slot_count *= 2;
	grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
	if (!grown.slots)
		return sites_fail(error, "out of memory");
	for (size_t i = 0; i < strings->slot_count; i++)
		if (strings->slots[i])
			*slot_of(&grown, strings->slots[i]) = strings->slots[i];
	free(strings->slots);
	strings->slots = grown.slots;
	strings->slot_count = grown.slot_count;
	return true;
}

const char *sites_string(struct sites_strings *strings, const char *text,
			 struct sites_error *error)
{
	const char **slot = slot_of(strings, text);
	char *copy;

	if (*slot)
		return *slot;
	copy = sites_strings_room(strings, strlen(text) + 1, error);
	if (!copy)
		return NULL;
	strcpy(copy, text);
	*slot = copy;
	if (2 * ++strings->used > strings->slot_count && !grow(strings, error))
		return NULL;
	return copy;
}
