// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors by value, and the one way in which lists grow. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sites_private.h"

bool sites_fail(struct sites_error *error, const char *format, ...)
{
	va_list arguments;

	error->failure = SITES_FAILED;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return false;
}

bool sites_grow(void **array, size_t count, size_t size,
		struct sites_error *error)
{
	void *grown;

	/* Full at each power of two. */
	if (count & (count - 1))
		return true;
	grown = reallocarray(*array, count ? 2 * count : 1, size);
	if (!grown)
		return sites_fail(error, "out of memory");
	*array = grown;
	return true;
}
