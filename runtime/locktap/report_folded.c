// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded stacks, as flame graph tools take them. */
#include <config.h>

#include <inttypes.h>

#include "report_formats.h"
#include "report_stack.h"

/* The ; between functions and the space before the number are the format's own. */
static void put_frame(FILE *out, const char *frame)
{
	for (; *frame; frame++)
		fputc(*frame == ';' ? ':' : *frame, out);
}

static void put_loss(FILE *out, const struct report *report)
{
	fputs("#loss", out);
	for (size_t i = 0; i < report->loss_count; i++) {
		const struct report_loss *loss = &report->loss[i];

		fprintf(out, " %s=", loss->key);
		if (loss->is_number)
			fprintf(out, "%" PRIu64, loss->number);
		else
			fputs(loss->text, out);
	}
	fputc('\n', out);
}

bool report_put_folded(FILE *out, struct report_set *set)
{
	const struct report *report = &set->reports[0];
	struct report_stack *stacks;
	size_t count;

	if (!report_stacks(set, report, STACKS_WHOLE, &stacks, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		/* Of failed trylocks, or of an event that takes no time. */
		if (!stacks[i].ns)
			continue;
		for (size_t f = 0; f < stacks[i].count; f++) {
			if (f)
				fputc(';', out);
			put_frame(out, stacks[i].frames[f]);
		}
		fprintf(out, " %" PRIu64 "\n", stacks[i].ns);
	}
	put_loss(out, report);
	return true;
}
