// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks of a program, reached in all the ways that a name can be found by.  At
 * the end of a line with a call stands what is to be found there: kind,
 * operation and name, of each call that the line leads to; behind -O0 without
 * optimisation.
 */
/* The comments belong to their lines. */
/* clang-format off */
/* clang-format off: the comments belong to their lines. */
#include <pthread.h>
#include <stdlib.h>

#define out_of_line __attribute__((noinline, noclone, noipa))
#define always_inline static inline __attribute__((always_inline))

struct inner {
	long pad;
	pthread_mutex_t deep;
};

struct thing {
	long pad[3];
	pthread_mutex_t mutex;
	struct inner in[3];
	union {
		struct inner first;
		long other;
	} either;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spin;
	struct thing *next;
	pthread_mutex_t *elsewhere;
	struct inner *inner;
};

typedef struct {
	int count;
	pthread_mutex_t guard;
} counter;

pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t many[8];
struct thing thing;
struct thing *pointer;
struct thing row[4];
pthread_mutex_t *to_lock;
pthread_spinlock_t spin;
volatile int sink;

/* Another file's static of the same name: see twice(). */
static pthread_mutex_t twin = PTHREAD_MUTEX_INITIALIZER;

out_of_line void work(void *place)
{
	sink += place != NULL;
}

out_of_line void globals(int i)
{
	pthread_mutex_lock(&global); // pthread_mutex lock global
	work(&global);
	pthread_mutex_unlock(&global); // pthread_mutex unlock global
	pthread_mutex_lock(&many[i]); // pthread_mutex lock many[]
	work(many);
	pthread_mutex_unlock(&many[i]); // pthread_mutex unlock many[]
	pthread_mutex_lock(&thing.mutex); // pthread_mutex lock thing.mutex
	work(&thing);
	pthread_mutex_unlock(&thing.mutex); // pthread_mutex unlock thing.mutex
	pthread_mutex_lock(&row[i].in[1].deep); // pthread_mutex lock row[].in[].deep
	work(row);
	pthread_mutex_unlock(&row[i].in[1].deep); // pthread_mutex unlock row[].in[].deep
	pthread_spin_lock(&spin); // pthread_spin lock spin
	work(NULL);
	pthread_spin_unlock(&spin); // pthread_spin unlock spin
	pthread_mutex_lock(&twin); // pthread_mutex lock twin
	work(NULL);
	pthread_mutex_unlock(&twin); // pthread_mutex unlock twin
	work(NULL);
}

out_of_line int members(struct thing *it, counter *number, int i)
{
	if (pthread_mutex_trylock(&it->mutex)) // pthread_mutex trylock thing.mutex
		return 1;
	work(it);
	pthread_mutex_unlock(&it->mutex); // pthread_mutex unlock thing.mutex
	pthread_mutex_lock(&it->in[i].deep); // pthread_mutex lock thing.in[].deep
	work(it);
	pthread_mutex_unlock(&it->in[i].deep); // pthread_mutex unlock thing.in[].deep
	pthread_mutex_lock(&it->either.first.deep); // pthread_mutex lock thing.either.first.deep
	work(it);
	pthread_mutex_unlock(&it->either.first.deep); // pthread_mutex unlock thing.either.first.deep
	pthread_rwlock_rdlock(&it->rwlock); // pthread_rwlock lock thing.rwlock
	work(it);
	pthread_rwlock_unlock(&it->rwlock); // pthread_rwlock unlock thing.rwlock
	pthread_rwlock_wrlock(&it->next->rwlock); // pthread_rwlock lock thing.rwlock
	work(it);
	pthread_rwlock_unlock(&it->next->rwlock); // pthread_rwlock unlock thing.rwlock
	pthread_spin_lock(&it->spin); // pthread_spin lock thing.spin
	work(it);
	pthread_spin_unlock(&it->spin); // pthread_spin unlock thing.spin
	pthread_mutex_lock(&it->inner->deep); // pthread_mutex lock inner.deep
	work(it);
	pthread_mutex_unlock(&it->inner->deep); // pthread_mutex unlock inner.deep
	pthread_mutex_lock(it->elsewhere); // pthread_mutex lock thing.elsewhere
	work(it);
	pthread_mutex_unlock(it->elsewhere); // pthread_mutex unlock thing.elsewhere
	pthread_mutex_lock(&number->guard); // pthread_mutex lock counter.guard
	number->count++;
	pthread_mutex_unlock(&number->guard); // pthread_mutex unlock counter.guard
	return number->count;
}

out_of_line void through_pointers(void)
{
	pthread_mutex_lock(&pointer->mutex); // pthread_mutex lock thing.mutex
	work(pointer);
	pthread_mutex_unlock(&pointer->mutex); // pthread_mutex unlock thing.mutex
	pthread_mutex_lock(to_lock); // pthread_mutex lock to_lock
	work(NULL);
	pthread_mutex_unlock(to_lock); // pthread_mutex unlock to_lock
	work(NULL);
}

/* Whose lock it is cannot be known here, but where it is called. */
out_of_line void unknown(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex); // pthread_mutex lock ?
	work(NULL);
	pthread_mutex_unlock(mutex); // pthread_mutex unlock ?
	work(NULL);
}

/* One of two: not to be guessed. */
out_of_line void either_of(struct thing *it, int which)
{
	pthread_mutex_t *mutex = which ? &it->mutex : &it->in[0].deep;

	pthread_mutex_lock(mutex); // pthread_mutex lock ?
	work(it);
	pthread_mutex_unlock(mutex); // pthread_mutex unlock ?
	work(it);
}

/* The cases of a switch fall into each other; another way leads in between. */
out_of_line void by_switch(struct thing *it, struct thing *other, int which)
{
	pthread_mutex_t *mutex = &it->mutex;

	switch (which) {
	case 0:
		sink = 1;
		/* fall through */
	case 1:
		mutex = &other->in[1].deep;
		sink = 2;
		/* fall through */
	case 2:
		sink = 3;
		pthread_mutex_lock(mutex); // pthread_mutex lock ?
		break;
	case 3:
		sink = 5;
		break;
	case 4:
		sink = 7;
		break;
	case 5:
		sink = 8;
		break;
	case 6:
		sink = 10;
	}
	work(it);
}

always_inline void lock_it(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex); // pthread_mutex lock global -O0 pthread_mutex lock ?
}

always_inline void unlock_thing(struct thing *it)
{
	pthread_mutex_unlock(&it->mutex); // pthread_mutex unlock thing.mutex pthread_mutex unlock thing.mutex
}

out_of_line void inlined(struct thing *it)
{
	unlock_thing(it);
	work(it);
	unlock_thing(it->next);
	work(it);
}

out_of_line void statics(void)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&once); // pthread_mutex lock once
	work(NULL);
	pthread_mutex_unlock(&once); // pthread_mutex unlock once
	work(NULL);
}

out_of_line void local(void)
{
	struct thing here = { 0 };
	pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;

	work(&here);
	work(&alone);
	pthread_mutex_lock(&here.mutex); // pthread_mutex lock thing.mutex
	work(&here);
	pthread_mutex_unlock(&here.mutex); // pthread_mutex unlock thing.mutex
	pthread_mutex_lock(&alone); // pthread_mutex lock alone
	work(&alone);
	pthread_mutex_unlock(&alone); // pthread_mutex unlock alone
	work(&here);
}

/* A pointer that somebody else may change meanwhile. */
out_of_line void replace(void *place)
{
	*(struct inner **)place = thing.inner;
}

out_of_line void changed(struct thing *it)
{
	void *place = it;

	replace(&place);
	pthread_mutex_lock((pthread_mutex_t *)((char *)place + 8)); // pthread_mutex lock ?
	work(it);
}

/* The last call becomes a jump. */
out_of_line int tail(struct thing *it)
{
	work(it);
	return pthread_mutex_unlock(&it->mutex); // pthread_mutex unlock thing.mutex
}

out_of_line void list(struct thing *head)
{
	for (struct thing *at = head; at; at = at->next) {
		pthread_mutex_lock(&at->mutex); // pthread_mutex lock thing.mutex
		work(at);
		pthread_mutex_unlock(&at->mutex); // pthread_mutex unlock thing.mutex
	}
}

void twice(void);

#ifdef SHARED
void library(void)
#else
int main(int argc, char **argv)
#endif
{
#ifdef SHARED
	int argc = 1;
#else
	(void)argv;
#endif
	counter number = { 0, PTHREAD_MUTEX_INITIALIZER };

	pointer = &thing;
	to_lock = &global;
	globals(argc);
	members(&thing, &number, argc);
	through_pointers();
	unknown(&global); // pthread_mutex lock global
	either_of(&thing, argc);
	by_switch(&thing, row, argc);
	lock_it(&global);
	inlined(&thing);
	statics();
	local();
	changed(&thing);
	tail(&thing);
	list(&thing);
	twice();
#ifndef SHARED
	return 0;
#endif
}
