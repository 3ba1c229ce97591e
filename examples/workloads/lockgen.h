/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of lockgen share.  What it does is told in lockgen.c.
 */
#ifndef LOCKGEN_H
#define LOCKGEN_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_USEC 1000ULL

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A caller that can be told apart: identical functions are not merged. */
#ifdef __clang__
#define OWN_FUNCTION __attribute__((noinline))
#else
#define OWN_FUNCTION __attribute__((noinline, noclone, no_icf))
#endif

enum scenario {
	CONVOY,
	FREE,
	MANY,
	NESTED,
	SIGNAL,
	TRYLOCK,
	THROUGHPUT,
	CHAIN,
	DEADLOCK,
	ORDER,
	POOL,
	HOLDERS,
	SCENARIOS
};

enum key_id {
	K_KIND,
	K_MODE,
	K_BEHIND,
	K_INNER_KIND,
	K_HOLD,
	K_WAITERS,
	K_ROUNDS,
	K_HOLD_US,
	K_TIMEOUT_US,
	K_LOCKS,
	K_TRIES,
	K_THREADS,
	K_ITERATIONS,
	K_INNER,
	K_COUNT,
	K_DETAIL,
	/* Of chain, deadlock, order and pool: some have a name once more. */
	K_LINK_KIND,
	K_PLACE,
	K_LENGTH,
	K_CHAINS,
	K_MORE,
	K_BUILD,
	K_STAND,
	K_STAND_US,
	K_FEW_ROUNDS,
	K_ORDER_LOCKS,
	K_PATH_THREADS,
	K_MODES,
	K_GATE,
	K_TRY,
	K_SAME,
	K_WORKERS,
	K_ITEMS,
	K_STATE,
	K_READERS,
	K_QUEUE,
	KEYS
};

/* What was asked for: the scenario, and a value for each of its keys. */
struct request {
	enum scenario scenario;
	const int *value;
	const bool *given;
};

/* A scenario in a file of its own. */
struct plan {
	/* Says what is wrong; false: all is well. */
	bool (*refuse)(const struct request *rq, char *why, size_t size);
	/* Runs it and prints its truth; an errno, or 0. */
	int (*perform)(const struct request *rq);
};

extern const struct plan plan_chain;
extern const struct plan plan_order;
extern const struct plan plan_pool;
extern const struct plan plan_holders;

/* The words of their keys. */
extern const char *const link_words[];
extern const char *const place_words[];
extern const char *const build_words[];
extern const char *const order_words[];
extern const char *const modes_words[];
extern const char *const gate_words[];
extern const char *const try_words[];
extern const char *const state_words[];

/* Set by a signal: all comes to its end, and no truth is told. */
extern atomic_bool stopped;

/* An error of a call that cannot fail is a mistake in this program. */
void must(int error);

/* What the system call of a thread of this process is. */
int open_syscall(int tid);
/* 1: it sleeps in this one, with this first argument; 0 no, -1 not told. */
int in_syscall(int fd, long *nr, unsigned long *first);

/* chain.c: until a signal, or a line on the standard input. */
void stand(void);

static inline uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t since(uint64_t start)
{
	return now() - start;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / NSEC_PER_SEC),
			       (long)(ns % NSEC_PER_SEC) };

	nanosleep(&ts, NULL);
}

/* So long from now, in the clock that time-outs are given in. */
static inline struct timespec deadline_in(clockid_t clock, uint64_t ns)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ns += (uint64_t)ts.tv_nsec;
	ts.tv_sec += (time_t)(ns / NSEC_PER_SEC);
	ts.tv_nsec = (long)(ns % NSEC_PER_SEC);
	return ts;
}

static inline struct timespec deadline_after(uint64_t ns)
{
	return deadline_in(CLOCK_REALTIME, ns);
}

/* Wait for a condition; false when the run was stopped first. */
#define await(condition)                                   \
	({                                                 \
		unsigned int turns = 0;                    \
		bool met;                                  \
                                                           \
		while (!(met = (condition)) && !stopped) { \
			if (++turns > 100)                 \
				sleep_ns(20000);           \
			else                               \
				sched_yield();             \
		}                                          \
		met;                                       \
	})

#endif
