// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as pprof reads it: a message Profile of profile.proto in protocol
 * buffers' wire format, gzipped.
 */
#include <config.h>

#include <json.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report_formats.h"
#include "report_stack.h"
#include "report_view.h"

/* Numbers of the fields, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE = 1,
	VALUE_UNIT = 2,

	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LABEL_NUMBER = 3,

	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7,

	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
};

/* ------------------------------------------------------------------------ */
/* Wire format                                                               */

struct bytes {
	unsigned char *data;
	size_t length, room;
	bool failed; /* out of memory */
};

static void put_byte(struct bytes *bytes, unsigned char byte)
{
	if (bytes->length == bytes->room) {
		size_t room = bytes->room * 2 + 256;
		unsigned char *larger = realloc(bytes->data, room);

		if (!larger) {
			bytes->failed = true;
			return;
		}
		bytes->data = larger;
		bytes->room = room;
	}
	bytes->data[bytes->length++] = byte;
}

static void put_varint(struct bytes *bytes, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		put_byte(bytes, (unsigned char)(number | 0x80));
	put_byte(bytes, (unsigned char)number);
}

static void put_number(struct bytes *bytes, unsigned int field, uint64_t number)
{
	put_varint(bytes, field << 3);
	put_varint(bytes, number);
}

static void put_block(struct bytes *bytes, unsigned int field, const void *data,
		      size_t length)
{
	put_varint(bytes, field << 3 | 2);
	put_varint(bytes, length);
	for (size_t i = 0; i < length; i++)
		put_byte(bytes, ((const unsigned char *)data)[i]);
}

/* Puts a message into another, and makes it empty. */
static void put_message(struct bytes *bytes, unsigned int field,
			struct bytes *message)
{
	put_block(bytes, field, message->data, message->length);
	bytes->failed |= message->failed;
	message->length = 0;
}

/* ------------------------------------------------------------------------ */
/* Profile                                                                   */

struct profile {
	struct bytes all, part, inner;
	struct json_object *strings; /* text: its place in the table */
	struct json_object *functions; /* name: its number, from 1 */
	uint64_t string_count, function_count;
	bool failed;
};

/* The number of a text, the next one if it is new. */
static uint64_t number_of(struct profile *profile, struct json_object *known,
			  const char *text, uint64_t next, bool *is_new)
{
	struct json_object *number = NULL;

	*is_new = !json_object_object_get_ex(known, text, &number);
	if (!*is_new)
		return json_object_get_uint64(number);
	number = json_object_new_uint64(next);
	if (!number || json_object_object_add(known, text, number) != 0) {
		json_object_put(number);
		profile->failed = true;
	}
	return next;
}

static uint64_t string_of(struct profile *profile, const char *text)
{
	bool is_new;
	uint64_t number = number_of(profile, profile->strings, text,
				    profile->string_count, &is_new);

	if (is_new) {
		profile->string_count++;
		put_block(&profile->all, PROFILE_STRING_TABLE, text,
			  strlen(text));
	}
	return number;
}

/* A function and its only location, of one number. */
static uint64_t function_of(struct profile *profile, const char *name)
{
	struct bytes *part = &profile->part, *inner = &profile->inner;
	bool is_new;
	uint64_t number = number_of(profile, profile->functions, name,
				    profile->function_count + 1, &is_new);

	if (!is_new)
		return number;
	profile->function_count++;
	put_number(part, FUNCTION_ID, number);
	put_number(part, FUNCTION_NAME, string_of(profile, name));
	put_message(&profile->all, PROFILE_FUNCTION, part);
	put_number(inner, LINE_FUNCTION, number);
	put_number(part, LOCATION_ID, number);
	put_number(part, LOCATION_MAPPING, 1);
	put_message(part, LOCATION_LINE, inner);
	put_message(&profile->all, PROFILE_LOCATION, part);
	return number;
}

static void put_type(struct profile *profile, unsigned int field,
		     const char *type, const char *unit)
{
	put_number(&profile->part, VALUE_TYPE, string_of(profile, type));
	put_number(&profile->part, VALUE_UNIT, string_of(profile, unit));
	put_message(&profile->all, field, &profile->part);
}

static void put_label(struct profile *profile, struct bytes *sample,
		      const char *key, const char *text)
{
	if (strcmp(text, "-") == 0)
		return;
	put_number(&profile->inner, LABEL_KEY, string_of(profile, key));
	put_number(&profile->inner, LABEL_TEXT, string_of(profile, text));
	put_message(sample, SAMPLE_LABEL, &profile->inner);
}

static void put_labels(struct profile *profile, struct bytes *sample,
		       const struct report *report,
		       const struct report_row *row)
{
	put_label(profile, sample, "lock", report_text(report, row, "name"));
	put_label(profile, sample, "kind", report_text(report, row, "kind"));
	put_label(profile, sample, "mode", report_text(report, row, "mode"));
	put_label(profile, sample, "task",
		  report_text(report, row,
			      report->kind == REPORT_BLAME ? "holder_comm" :
							     "comm"));
}

static void put_sample(struct profile *profile, struct bytes *sample,
		       const struct report *report,
		       const struct report_stack *stack)
{
	struct bytes *inner = &profile->inner;
	uint64_t *numbers = calloc(stack->count + 1, sizeof(*numbers));

	if (!numbers) {
		profile->failed = true;
		return;
	}
	for (size_t i = 0; i < stack->count; i++)
		numbers[i] = function_of(profile, stack->frames[i]);
	/* The innermost first. */
	for (size_t i = stack->count; i--;)
		put_varint(inner, numbers[i]);
	free(numbers);
	put_message(sample, SAMPLE_LOCATION, inner);
	put_varint(inner, stack->times);
	put_varint(inner, stack->ns);
	put_message(sample, SAMPLE_VALUE, inner);
	put_labels(profile, sample, report, stack->row);
	put_message(&profile->all, PROFILE_SAMPLE, sample);
}

/* What is counted, and what its time is called. */
static const struct {
	const char *count, *time;
} types[REPORT_KINDS] = {
	[REPORT_CONTEND] = { "contentions", "delay" },
	[REPORT_HOLD] = { "acquisitions", "held" },
	[REPORT_STAT] = { "events", "time" },
	[REPORT_BLAME] = { "contentions", "delay" },
	[REPORT_CHAIN] = { "contentions", "delay" },
};

static void put_head(struct profile *profile, const struct report *report,
		     const char *loss)
{
	const char *count = types[report->kind].count;
	const char *time = types[report->kind].time;

	/* The first string must be empty. */
	string_of(profile, "");
	put_type(profile, PROFILE_SAMPLE_TYPE, count, "count");
	put_type(profile, PROFILE_SAMPLE_TYPE, time, "nanoseconds");
	put_type(profile, PROFILE_PERIOD_TYPE, count, "count");
	put_number(&profile->all, PROFILE_PERIOD, 1);
	put_number(&profile->all, PROFILE_DEFAULT_SAMPLE_TYPE,
		   string_of(profile, time));
	put_number(&profile->all, PROFILE_COMMENT,
		   string_of(profile, "made by " PACKAGE_STRING));
	put_number(&profile->all, PROFILE_COMMENT, string_of(profile, loss));
	/* Without one, readers look for a program to take names from. */
	put_number(&profile->part, MAPPING_ID, 1);
	put_number(&profile->part, MAPPING_FILE,
		   string_of(profile, "[kernel]"));
	put_number(&profile->part, MAPPING_HAS_FUNCTIONS, 1);
	put_message(&profile->all, PROFILE_MAPPING, &profile->part);
}

/* ------------------------------------------------------------------------ */

static bool compress_to(FILE *out, const struct bytes *bytes)
{
	unsigned char buffer[65536];
	z_stream stream = { .next_in = bytes->data,
			    .avail_in = (uInt)bytes->length };
	int status;

	/* 16: with gzip's head and end. */
	if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED,
			 MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	do {
		stream.next_out = buffer;
		stream.avail_out = sizeof(buffer);
		status = deflate(&stream, Z_FINISH);
		fwrite(buffer, 1, sizeof(buffer) - stream.avail_out, out);
	} while (status == Z_OK || status == Z_BUF_ERROR);
	deflateEnd(&stream);
	return status == Z_STREAM_END;
}

static bool make(struct profile *profile, struct report_set *set)
{
	const struct report *report = &set->reports[0];
	const char *loss = view_loss(set, report);
	struct report_stack *stacks;
	struct bytes sample = { 0 };
	size_t count;

	if (!loss || !profile->strings || !profile->functions ||
	    !report_stacks(set, report, STACKS_WHOLE, &stacks, &count))
		return false;
	put_head(profile, report, loss);
	for (size_t i = 0; i < count; i++)
		if (stacks[i].times || stacks[i].ns)
			put_sample(profile, &sample, report, &stacks[i]);
	free(sample.data);
	return !profile->failed && !profile->all.failed;
}

bool report_put_pprof(FILE *out, struct report_set *set)
{
	struct profile profile = { .strings = json_object_new_object(),
				   .functions = json_object_new_object() };
	bool good = make(&profile, set) && compress_to(out, &profile.all);

	free(profile.all.data);
	free(profile.part.data);
	free(profile.inner.data);
	json_object_put(profile.strings);
	json_object_put(profile.functions);
	return good;
}
