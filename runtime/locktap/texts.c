// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in one C string, each once. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "texts.h"

struct text {
	const char *name;
	size_t offset;
};

static int compare(const void *left, const void *right)
{
	return strcmp(((const struct text *)left)->name,
		      ((const struct text *)right)->name);
}

bool texts_make(struct texts *texts, const char *const *names, size_t count)
{
	size_t kept = 0;

	texts->list = calloc(count + 1, sizeof(*texts->list));
	if (!texts->list)
		return false;
	for (size_t i = 0; i < count; i++)
		texts->list[i].name = names[i];
	qsort(texts->list, count, sizeof(*texts->list), compare);
	texts->bytes = 1; /* offset 0 is the empty name */
	for (size_t i = 0; i < count; i++) {
		if (kept && !compare(&texts->list[kept - 1], &texts->list[i]))
			continue;
		texts->list[kept].name = texts->list[i].name;
		texts->list[kept].offset = texts->bytes;
		texts->bytes += strlen(texts->list[kept++].name) + 1;
	}
	texts->count = kept;
	return true;
}

void texts_free(struct texts *texts)
{
	free(texts->list);
}

size_t texts_offset(const struct texts *texts, const char *name)
{
	struct text key = { .name = name };
	const struct text *found =
		bsearch(&key, texts->list, texts->count, sizeof(key), compare);

	return found ? found->offset : 0;
}

void texts_write(FILE *out, const struct texts *texts, const char *variable,
		 const char *tag)
{
	fprintf(out, "static const char %s_%s[] = \"\\0\"\n", variable, tag);
	for (size_t i = 0; i < texts->count; i++)
		fprintf(out, "\t\"%s\\0\"\n", texts->list[i].name);
	fputs("\t;\n", out);
}
