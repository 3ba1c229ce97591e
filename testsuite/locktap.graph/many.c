// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Draws each of the FILEs as DOT, in one process that the sanitizers watch.
 * Prints how many could be drawn; fails if any ended with another status than
 * drawn or failed.
 */
#include <stdio.h>

#include "watched.h"

int main(int argc, char **argv)
{
	int drawn = 0;

	for (int i = 1; i < argc; i++) {
		char *arguments[] = { (char[]){ "locktap graph" },
				      (char[]){ "--dot" },
				      (char[]){ "--output=/dev/null" },
				      (char[]){ "--top=2" },
				      argv[i],
				      NULL };
		int told = messages, status;
		/* Each second one without --top. */
		int count = i % 2 ? 5 : 4;

		if (count == 4)
			arguments[3] = argv[i];
		arguments[count] = NULL;
		status = locktap_graph(count, arguments);
		drawn += status == LOCKTAP_DONE;
		if (status < 0 || status > LOCKTAP_FAILED ||
		    messages - told != (status == LOCKTAP_FAILED)) {
			fprintf(stderr, "%s: status %d, %d messages\n", argv[i],
				status, messages - told);
			return 1;
		}
	}
	printf("%d\n", drawn);
	return 0;
}
