// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of words in one text. */
#include <config.h>

#include <string.h>

#include "words.h"

bool words_have(const char *list, char between, const char *word, size_t length)
{
	const char separators[] = { between, '\0' };

	while (*list) {
		size_t here = strcspn(list, separators);

		if (here == length && memcmp(list, word, length) == 0)
			return true;
		list += here + (list[here] == between);
	}
	return false;
}
