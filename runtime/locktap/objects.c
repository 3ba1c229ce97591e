// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON that is built piece by piece. */
#include <config.h>

#include "objects.h"

bool object_put(struct json_object *object, const char *key,
		struct json_object *value)
{
	if (value && json_object_object_add(object, key, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

bool object_put_text(struct json_object *object, const char *key,
		     const char *text)
{
	return object_put(object, key, json_object_new_string(text));
}

bool object_put_text_or_null(struct json_object *object, const char *key,
			     const char *text)
{
	return text ? object_put_text(object, key, text) :
		      json_object_object_add(object, key, NULL) == 0;
}

bool object_put_number(struct json_object *object, const char *key,
		       uint64_t number)
{
	return object_put(object, key, json_object_new_uint64(number));
}

bool object_put_bool(struct json_object *object, const char *key, bool value)
{
	return object_put(object, key, json_object_new_boolean(value));
}

bool list_append(struct json_object *list, struct json_object *value)
{
	if (value && json_object_array_add(list, value) == 0)
		return true;
	json_object_put(value);
	return false;
}

struct json_object *object_new_list(struct json_object *object, const char *key)
{
	struct json_object *list = json_object_new_array();

	return object_put(object, key, list) ? list : NULL;
}

struct json_object *list_new_object(struct json_object *list)
{
	struct json_object *object = json_object_new_object();

	return list_append(list, object) ? object : NULL;
}
