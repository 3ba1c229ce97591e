// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What programs make of pthread locks: functions around them, in line or not,
 * structures that are little more than a lock, and waits for what is no lock.
 * The comments are as in locks.c.
 */
/* The comments belong to their lines. */
/* clang-format off */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <threads.h>

#define out_of_line __attribute__((noinline, noclone, noipa))
#define always_inline static inline __attribute__((always_inline))

/* Says nothing of which lock it is. */
struct guard {
	pthread_mutex_t m;
	void *owner;
};

struct conn {
	long bytes;
	pthread_mutex_t lock;
	struct guard guard;
	pthread_cond_t cond;
	sem_t sem;
	mtx_t c11;
	cnd_t c11_cond;
	pthread_barrier_t barrier;
	pthread_rwlock_t rwlock;
	pthread_t thread;
};

/* Begins with a lock, but has more to it. */
struct cache {
	pthread_mutex_t lock;
	char *name;
	long size, free;
};

struct guard guard_open;
struct conn table[4];
struct conn *volatile last;
struct cache cache;

out_of_line int lock_any(pthread_mutex_t *mutex)
{
	return pthread_mutex_lock(mutex); // pthread_mutex lock ?
}

always_inline int guard_lock_inline(struct guard *guard)
{
	guard->owner = guard;
	return pthread_mutex_lock(&guard->m); // pthread_mutex lock conn.guard.m pthread_mutex lock guard_open.m -O0 pthread_mutex lock guard.m pthread_mutex lock guard.m
}

out_of_line int guard_lock(struct guard *guard)
{
	int result = pthread_mutex_lock(&guard->m); // pthread_mutex lock guard.m

	guard->owner = guard;
	return result;
}

out_of_line int guard_unlock(struct guard *guard)
{
	guard->owner = NULL;
	return pthread_mutex_unlock(&guard->m); // pthread_mutex unlock guard.m
}

/* A wrapper of a wrapper, with the lock elsewhere among its parameters. */
out_of_line int guard_lock_traced(int line, struct guard *guard)
{
	int result = guard_lock(guard); // pthread_mutex lock guard.m

	last = NULL;
	return result + line;
}

/* Compilers make a jump of its last call. */
out_of_line void take_last(void)
{
	last = NULL;
	pthread_mutex_lock(&guard_open.m); // pthread_mutex lock guard_open.m
}

/* Takes it, and lets it go: nothing that a caller waits for by itself. */
out_of_line void guard_pass(struct guard *guard)
{
	pthread_mutex_lock(&guard->m); // pthread_mutex lock guard.m
	guard->owner = NULL;
	pthread_mutex_unlock(&guard->m); // pthread_mutex unlock guard.m
	last = NULL;
}

/* The name is known here already. */
out_of_line int conn_lock(struct conn *conn)
{
	int result = pthread_mutex_lock(&conn->lock); // pthread_mutex lock conn.lock

	conn->bytes++;
	return result;
}

out_of_line int cache_lock(struct cache *it)
{
	int result = pthread_mutex_lock(&it->lock); // pthread_mutex lock cache.lock

	it->size++;
	return result;
}

/* Which of two its caller waits for, the place in the caller does not tell. */
out_of_line void lock_both(pthread_mutex_t *one, pthread_mutex_t *other)
{
	pthread_mutex_lock(one); // pthread_mutex lock ?
	last = NULL;
	pthread_mutex_lock(other); // pthread_mutex lock ?
	last = NULL;
}

/* Not what it was given, from the second time on. */
out_of_line void lock_all(struct guard *guard, int count)
{
	while (count--) {
		pthread_mutex_lock(&guard->m); // pthread_mutex lock guard.m
		guard = guard->owner;
	}
	last = NULL;
}

out_of_line void wrapped(struct conn *conn, int i)
{
	lock_any(&conn->lock); // pthread_mutex lock conn.lock
	conn->bytes++;
	guard_lock_inline(&conn->guard);
	conn->bytes++;
	guard_lock(&conn->guard); // pthread_mutex lock conn.guard.m
	conn->bytes++;
	guard_unlock(&conn->guard); // pthread_mutex unlock conn.guard.m
	conn->bytes++;
	guard_lock_traced(i, &table[i].guard); // pthread_mutex lock table[].guard.m
	conn->bytes++;
	guard_lock_inline(&guard_open);
	conn->bytes++;
	guard_lock(&guard_open); // pthread_mutex lock guard_open.m
	conn->bytes++;
	guard_pass(&guard_open);
	take_last();
	conn_lock(conn);
	cache_lock(&cache);
	lock_both(&conn->lock, &conn->guard.m);
	lock_all(&conn->guard, i);
	conn->bytes++;
}

out_of_line void waits(struct conn *conn, const struct timespec *until)
{
	pthread_cond_wait(&conn->cond, &conn->lock); // pthread_cond wait conn.cond
	conn->bytes++;
	pthread_cond_timedwait(&conn->cond, &conn->lock, until); // pthread_cond wait conn.cond
	conn->bytes++;
	sem_wait(&conn->sem); // pthread_sem wait conn.sem
	conn->bytes++;
	sem_timedwait(&conn->sem, until); // pthread_sem wait conn.sem
	conn->bytes++;
	pthread_barrier_wait(&conn->barrier); // pthread_barrier wait conn.barrier
	conn->bytes++;
	pthread_join(conn->thread, NULL); // pthread_join wait ?
	conn->bytes++;
	cnd_wait(&conn->c11_cond, &conn->c11); // pthread_cond wait conn.c11_cond
	conn->bytes++;
}

out_of_line void others(struct conn *conn, const struct timespec *until)
{
	mtx_lock(&conn->c11); // pthread_mutex lock conn.c11
	conn->bytes++;
	mtx_timedlock(&conn->c11, until); // pthread_mutex lock conn.c11
	conn->bytes++;
	mtx_unlock(&conn->c11); // pthread_mutex unlock conn.c11
	conn->bytes++;
	pthread_mutex_timedlock(&conn->lock, until); // pthread_mutex lock conn.lock
	conn->bytes++;
	pthread_rwlock_timedrdlock(&conn->rwlock, until); // pthread_rwlock lock conn.rwlock
	conn->bytes++;
	pthread_rwlock_tryrdlock(&conn->rwlock); // pthread_rwlock trylock conn.rwlock
	conn->bytes++;
}

out_of_line void each(int count)
{
	for (int i = 0; i < count; i++)
		pthread_mutex_lock(&table[i].lock); // pthread_mutex lock table[].lock
	last = NULL;
	for (int i = 0; i < count; i++)
		pthread_mutex_unlock(&table[i].lock); // pthread_mutex unlock table[].lock
	last = NULL;
}

int main(int argc, char **argv)
{
	struct timespec until = { argc, 0 };

	/* Nobody is to run it: only its code is looked at. */
	if (argc > 1 && argv) {
		wrapped(table, argc);
		waits(table, &until);
		others(table, &until);
		each(argc);
	}
	return 0;
}
