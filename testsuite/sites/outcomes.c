// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trylocks, and what follows on them: lines that only those get to who have
 * the lock end in "taken", those of the others in "failed", those of both in
 * "either".
 */
/* clang-format off: the comments belong to their lines. */
#include <pthread.h>

struct thing {
	long pad;
	pthread_mutex_t mutex;
	pthread_mutex_t other;
	pthread_spinlock_t spin;
	long counts[4];
};

void work(struct thing *it);
int ask(struct thing *it);

int plain(struct thing *it)
{
	if (pthread_mutex_trylock(&it->mutex)) {
		it->counts[0]++; // failed
		work(it); // failed
		return 1;
	}
	it->counts[1]++; // taken
	work(it); // taken
	pthread_mutex_unlock(&it->mutex); // taken
	return 2;
}

/* The result is kept, and looked at later. */
int kept(struct thing *it)
{
	int result = pthread_mutex_trylock(&it->mutex);

	it->pad = result; // either
	if (!result) {
		it->counts[1] += 5; // taken
		work(it); // taken
		pthread_mutex_unlock(&it->mutex); // taken
	} else {
		it->counts[0] += 7; // failed
		work(it); // failed
	}
	return result;
}

/* Others get to where a failure leads. */
int shared(struct thing *it)
{
	if (ask(it))
		goto out;
	if (pthread_spin_trylock(&it->spin))
		goto out;
	it->counts[1] += 3; // taken
	work(it); // taken
	pthread_spin_unlock(&it->spin); // taken
	return 0;
out:
	it->counts[2]++; // either
	work(it); // either
	return 1;
}

/* Something else is tested. */
int unasked(struct thing *it)
{
	int result = pthread_mutex_trylock(&it->other);

	if (it->pad) {
		it->counts[2] += 9; // either
		work(it); // either
	} else {
		it->counts[3] += 9; // either
		work(it); // either
	}
	return result;
}
