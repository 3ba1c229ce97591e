/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON that is built piece by piece.  Each function takes the value that it is
 * given, also if it fails; false or NULL: no memory.
 */
#ifndef LOCKTAP_OBJECTS_H
#define LOCKTAP_OBJECTS_H

#include <json.h>
#include <stdbool.h>
#include <stdint.h>

/* A value that is NULL is one that could not be made. */
bool object_put(struct json_object *object, const char *key,
		struct json_object *value);
bool object_put_text(struct json_object *object, const char *key,
		     const char *text);
/* null if there is no text. */
bool object_put_text_or_null(struct json_object *object, const char *key,
			     const char *text);
bool object_put_number(struct json_object *object, const char *key,
		       uint64_t number);
bool object_put_bool(struct json_object *object, const char *key, bool value);
bool list_append(struct json_object *list, struct json_object *value);

/* An empty list of that name in the object, which owns it. */
struct json_object *object_new_list(struct json_object *object,
				    const char *key);
/* An empty object at the list's end, which owns it. */
struct json_object *list_new_object(struct json_object *list);

#endif
