// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Renders each of the FILEs in each format, in one process that the sanitizers
 * watch. Prints how many could be rendered; fails if any ended in another way
 * than rendered, or refused with one message.
 */
#include <stdio.h>
#include <string.h>

#include "watched.h"

static int render(char *format, char *file)
{
	char *arguments[] = { (char[]){ "locktap report" },
			      format,
			      (char[]){ "--output=/dev/null" },
			      file,
			      file,
			      NULL };
	/* Twice, which makes sums. */
	int told = messages, status = locktap_report(5, arguments);

	if (status == LOCKTAP_DONE   ? messages == told :
	    status == LOCKTAP_FAILED ? messages == told + 1 :
				       0)
		return status == LOCKTAP_DONE;
	fprintf(stderr, "%s of %s: status %d, %d messages\n", format, file,
		status, messages - told);
	return -1;
}

int main(int argc, char **argv)
{
	char formats[][20] = { "--format=table",      "--format=json",
			       "--format=folded",     "--format=pprof",
			       "--format=prometheus", "--format=html" };
	int rendered = 0;

	for (int i = 1; i < argc; i++)
		for (size_t f = 0; f < sizeof(formats) / sizeof(*formats);
		     f++) {
			int good = render(formats[f], argv[i]);

			if (good < 0)
				return 1;
			rendered += good;
		}
	printf("%d\n", rendered);
	return 0;
}
