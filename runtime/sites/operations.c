// SPDX-License-Identifier: GPL-2.0-or-later
/* The lock functions, and the types of the locks that they work on. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

/* In the order of enum sites_lock_kind; the words are the contract's. */
static const char *const kind_names[] = {
	"spin",		"rwlock",	 "mutex",
	"rwsem",	"sem",		 "rtmutex",
	"percpu_rwsem", "pthread_mutex", "pthread_rwlock",
	"pthread_spin", "pthread_cond",	 "pthread_barrier",
	"pthread_sem",	"pthread_join",
};

static const char *const op_names[] = { "lock", "trylock", "unlock",
					"downgrade", "wait" };

const char *sites_kind_name(enum sites_lock_kind kind)
{
	return kind_names[kind];
}

const char *sites_op_name(enum sites_op op)
{
	return op_names[op];
}

/*
 * What a call returns when it has taken the lock: nothing or a value that
 * says nothing (flags); not zero; zero.
 */
#define VOID SITES_ALWAYS
#define TRUE SITES_NONZERO
#define ZERO SITES_ZERO

#define LOCK(name, kind, mode)                                 \
	{                                                      \
		name, kind, SITES_LOCK, mode, VOID, NULL, NULL \
	}
#define LOCK0(name, kind, mode)                                \
	{                                                      \
		name, kind, SITES_LOCK, mode, ZERO, NULL, NULL \
	}
#define TRY(name, kind, mode)                                     \
	{                                                         \
		name, kind, SITES_TRYLOCK, mode, TRUE, NULL, NULL \
	}
#define TRY0(name, kind, mode)                                    \
	{                                                         \
		name, kind, SITES_TRYLOCK, mode, ZERO, NULL, NULL \
	}
#define WAIT(name, kind)                                      \
	{                                                     \
		name, kind, SITES_WAIT, 'x', ZERO, NULL, NULL \
	}
#define UNLOCK(name, kind, mode)                                 \
	{                                                        \
		name, kind, SITES_UNLOCK, mode, VOID, NULL, NULL \
	}

/* Sorted by name: looked up by bsearch. */
static const struct sites_operation operations[] = {
	{ "__down_read_trylock", SITES_RWSEM, SITES_TRYLOCK, 'r', TRUE, NULL,
	  NULL },
	{ "__percpu_down_read", SITES_PERCPU_RWSEM, SITES_LOCK, 'r', TRUE, NULL,
	  NULL },
	UNLOCK("__percpu_up_read", SITES_PERCPU_RWSEM, 'r'),
	LOCK("_mutex_lock_nest_lock", SITES_MUTEX, 'x'),
	LOCK("_raw_read_lock", SITES_RWLOCK, 'r'),
	LOCK("_raw_read_lock_bh", SITES_RWLOCK, 'r'),
	LOCK("_raw_read_lock_irq", SITES_RWLOCK, 'r'),
	LOCK("_raw_read_lock_irqsave", SITES_RWLOCK, 'r'),
	TRY("_raw_read_trylock", SITES_RWLOCK, 'r'),
	UNLOCK("_raw_read_unlock", SITES_RWLOCK, 'r'),
	UNLOCK("_raw_read_unlock_bh", SITES_RWLOCK, 'r'),
	UNLOCK("_raw_read_unlock_irq", SITES_RWLOCK, 'r'),
	UNLOCK("_raw_read_unlock_irqrestore", SITES_RWLOCK, 'r'),
	LOCK("_raw_spin_lock", SITES_SPIN, 'x'),
	LOCK("_raw_spin_lock_bh", SITES_SPIN, 'x'),
	LOCK("_raw_spin_lock_irq", SITES_SPIN, 'x'),
	LOCK("_raw_spin_lock_irqsave", SITES_SPIN, 'x'),
	LOCK("_raw_spin_lock_irqsave_nested", SITES_SPIN, 'x'),
	LOCK("_raw_spin_lock_nest_lock", SITES_SPIN, 'x'),
	LOCK("_raw_spin_lock_nested", SITES_SPIN, 'x'),
	TRY("_raw_spin_trylock", SITES_SPIN, 'x'),
	TRY("_raw_spin_trylock_bh", SITES_SPIN, 'x'),
	UNLOCK("_raw_spin_unlock", SITES_SPIN, 'x'),
	UNLOCK("_raw_spin_unlock_bh", SITES_SPIN, 'x'),
	UNLOCK("_raw_spin_unlock_irq", SITES_SPIN, 'x'),
	UNLOCK("_raw_spin_unlock_irqrestore", SITES_SPIN, 'x'),
	LOCK("_raw_write_lock", SITES_RWLOCK, 'w'),
	LOCK("_raw_write_lock_bh", SITES_RWLOCK, 'w'),
	LOCK("_raw_write_lock_irq", SITES_RWLOCK, 'w'),
	LOCK("_raw_write_lock_irqsave", SITES_RWLOCK, 'w'),
	LOCK("_raw_write_lock_nested", SITES_RWLOCK, 'w'),
	TRY("_raw_write_trylock", SITES_RWLOCK, 'w'),
	UNLOCK("_raw_write_unlock", SITES_RWLOCK, 'w'),
	UNLOCK("_raw_write_unlock_bh", SITES_RWLOCK, 'w'),
	UNLOCK("_raw_write_unlock_irq", SITES_RWLOCK, 'w'),
	UNLOCK("_raw_write_unlock_irqrestore", SITES_RWLOCK, 'w'),
	WAIT("cnd_timedwait", SITES_PTHREAD_COND),
	WAIT("cnd_wait", SITES_PTHREAD_COND),
	LOCK("down", SITES_SEM, 'x'),
	LOCK0("down_interruptible", SITES_SEM, 'x'),
	LOCK0("down_killable", SITES_SEM, 'x'),
	LOCK("down_read", SITES_RWSEM, 'r'),
	LOCK0("down_read_interruptible", SITES_RWSEM, 'r'),
	LOCK0("down_read_killable", SITES_RWSEM, 'r'),
	LOCK0("down_read_killable_nested", SITES_RWSEM, 'r'),
	LOCK("down_read_nested", SITES_RWSEM, 'r'),
	LOCK("down_read_non_owner", SITES_RWSEM, 'r'),
	TRY("down_read_trylock", SITES_RWSEM, 'r'),
	LOCK0("down_timeout", SITES_SEM, 'x'),
	TRY0("down_trylock", SITES_SEM, 'x'),
	LOCK("down_write", SITES_RWSEM, 'w'),
	LOCK0("down_write_killable", SITES_RWSEM, 'w'),
	LOCK0("down_write_killable_nested", SITES_RWSEM, 'w'),
	LOCK("down_write_nested", SITES_RWSEM, 'w'),
	TRY("down_write_trylock", SITES_RWSEM, 'w'),
	{ "downgrade_write", SITES_RWSEM, SITES_DOWNGRADE, 'w', VOID, NULL,
	  NULL },
	LOCK0("mtx_lock", SITES_PTHREAD_MUTEX, 'x'),
	LOCK0("mtx_timedlock", SITES_PTHREAD_MUTEX, 'x'),
	TRY0("mtx_trylock", SITES_PTHREAD_MUTEX, 'x'),
	UNLOCK("mtx_unlock", SITES_PTHREAD_MUTEX, 'x'),
	LOCK("mutex_lock", SITES_MUTEX, 'x'),
	LOCK0("mutex_lock_interruptible", SITES_MUTEX, 'x'),
	LOCK0("mutex_lock_interruptible_nested", SITES_MUTEX, 'x'),
	LOCK("mutex_lock_io", SITES_MUTEX, 'x'),
	LOCK("mutex_lock_io_nested", SITES_MUTEX, 'x'),
	LOCK0("mutex_lock_killable", SITES_MUTEX, 'x'),
	LOCK0("mutex_lock_killable_nested", SITES_MUTEX, 'x'),
	LOCK("mutex_lock_nested", SITES_MUTEX, 'x'),
	TRY("mutex_trylock", SITES_MUTEX, 'x'),
	UNLOCK("mutex_unlock", SITES_MUTEX, 'x'),
	LOCK("percpu_down_write", SITES_PERCPU_RWSEM, 'w'),
	UNLOCK("percpu_up_write", SITES_PERCPU_RWSEM, 'w'),
	WAIT("pthread_barrier_wait", SITES_PTHREAD_BARRIER),
	WAIT("pthread_clockjoin_np", SITES_PTHREAD_JOIN),
	WAIT("pthread_cond_clockwait", SITES_PTHREAD_COND),
	WAIT("pthread_cond_timedwait", SITES_PTHREAD_COND),
	WAIT("pthread_cond_wait", SITES_PTHREAD_COND),
	WAIT("pthread_join", SITES_PTHREAD_JOIN),
	LOCK0("pthread_mutex_clocklock", SITES_PTHREAD_MUTEX, 'x'),
	LOCK0("pthread_mutex_lock", SITES_PTHREAD_MUTEX, 'x'),
	LOCK0("pthread_mutex_timedlock", SITES_PTHREAD_MUTEX, 'x'),
	TRY0("pthread_mutex_trylock", SITES_PTHREAD_MUTEX, 'x'),
	UNLOCK("pthread_mutex_unlock", SITES_PTHREAD_MUTEX, 'x'),
	LOCK0("pthread_rwlock_clockrdlock", SITES_PTHREAD_RWLOCK, 'r'),
	LOCK0("pthread_rwlock_clockwrlock", SITES_PTHREAD_RWLOCK, 'w'),
	LOCK0("pthread_rwlock_rdlock", SITES_PTHREAD_RWLOCK, 'r'),
	LOCK0("pthread_rwlock_timedrdlock", SITES_PTHREAD_RWLOCK, 'r'),
	LOCK0("pthread_rwlock_timedwrlock", SITES_PTHREAD_RWLOCK, 'w'),
	TRY0("pthread_rwlock_tryrdlock", SITES_PTHREAD_RWLOCK, 'r'),
	TRY0("pthread_rwlock_trywrlock", SITES_PTHREAD_RWLOCK, 'w'),
	/* The function does not tell readers and writers apart. */
	UNLOCK("pthread_rwlock_unlock", SITES_PTHREAD_RWLOCK, '?'),
	LOCK0("pthread_rwlock_wrlock", SITES_PTHREAD_RWLOCK, 'w'),
	LOCK0("pthread_spin_lock", SITES_PTHREAD_SPIN, 'x'),
	TRY0("pthread_spin_trylock", SITES_PTHREAD_SPIN, 'x'),
	UNLOCK("pthread_spin_unlock", SITES_PTHREAD_SPIN, 'x'),
	WAIT("pthread_timedjoin_np", SITES_PTHREAD_JOIN),
	/* In older kernels a reader that lets go wakes the writer itself. */
	{ "rcuwait_wake_up", SITES_PERCPU_RWSEM, SITES_UNLOCK, 'r', VOID,
	  "percpu_up_read", "writer" },
	LOCK("rt_mutex_lock", SITES_RTMUTEX, 'x'),
	LOCK0("rt_mutex_lock_interruptible", SITES_RTMUTEX, 'x'),
	LOCK0("rt_mutex_lock_killable", SITES_RTMUTEX, 'x'),
	LOCK("rt_mutex_lock_nested", SITES_RTMUTEX, 'x'),
	TRY("rt_mutex_trylock", SITES_RTMUTEX, 'x'),
	UNLOCK("rt_mutex_unlock", SITES_RTMUTEX, 'x'),
	WAIT("sem_clockwait", SITES_PTHREAD_SEM),
	WAIT("sem_timedwait", SITES_PTHREAD_SEM),
	WAIT("sem_wait", SITES_PTHREAD_SEM),
	WAIT("thrd_join", SITES_PTHREAD_JOIN),
	UNLOCK("up", SITES_SEM, 'x'),
	UNLOCK("up_read", SITES_RWSEM, 'r'),
	UNLOCK("up_read_non_owner", SITES_RWSEM, 'r'),
	UNLOCK("up_write", SITES_RWSEM, 'w'),
	LOCK0("ww_mutex_lock", SITES_MUTEX, 'x'),
	LOCK0("ww_mutex_lock_interruptible", SITES_MUTEX, 'x'),
	TRY("ww_mutex_trylock", SITES_MUTEX, 'x'),
	UNLOCK("ww_mutex_unlock", SITES_MUTEX, 'x'),
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

static int compare_operation(const void *name, const void *operation)
{
	return strcmp(name, ((const struct sites_operation *)operation)->name);
}

/* What gcc's C++ library calls those that it declares as weak. */
static const char weak_prefix[] = "__gthrw_";

/*
 * A program may have a function that is called like one of the kernel's, and
 * knows nothing of it.
 */
const struct sites_operation *sites_operation(const char *function,
					      bool is_program)
{
	const struct sites_operation *found;

	if (is_program &&
	    strncmp(function, weak_prefix, sizeof(weak_prefix) - 1) == 0)
		function += sizeof(weak_prefix) - 1;
	found = bsearch(function, operations, OPERATIONS, sizeof(*operations),
			compare_operation);
	return found && (found->kind >= SITES_PTHREAD_MUTEX) == is_program ?
		       found :
		       NULL;
}

/*
 * Functions of the lock headers that are inlined around a call of a lock
 * function and say nothing about the lock: where one of them is called is the
 * place in the source that the user knows.
 */
static const char *const wrappers[] = {
	"__raw_read_lock",   "__raw_spin_lock",	   "__raw_write_lock",
	"_raw_read_lock",    "_raw_spin_lock",	   "_raw_write_lock",
	"class_mutex",	     "class_raw_spinlock", "class_read_lock",
	"class_rwsem",	     "class_spinlock",	   "class_write_lock",
	"class_percpu_read", "class_percpu_write", "_raw_spin_trylock",
	"_spin_trylock",     "percpu_down_read",   "percpu_down_write",
	"percpu_up_read",    "raw_spin_lock",	   "raw_spin_trylock",
	"raw_spin_unlock",   "read_lock",	   "read_trylock",
	"read_unlock",	     "spin_lock",	   "spin_trylock",
	"spin_unlock",	     "write_lock",	   "write_trylock",
	"write_unlock",
};

/* What may follow. */
static const char *const variants[] = {
	"",	      "_bh",	   "_irq",  "_irqsave",	 "_irqrestore",
	"_nested",    "_trylock",  "_wake", "_irq_wake", "_irqrestore_wake",
	"_freezable", "_internal",
};

/* A guard's variants, as _read_intr of rwsem, are many: its ends are enough. */
static bool ends_guard(const char *text)
{
	static const char *const ends[] = { "_constructor", "_destructor",
					    "_lock_ptr" };
	size_t length = strlen(text);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);

		if (length >= end && strcmp(text + length - end, ends[i]) == 0)
			return true;
	}
	return false;
}

bool sites_is_wrapper(const char *function)
{
	bool is_guard = strncmp(function, "class_", 6) == 0;

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
		size_t length = strlen(wrappers[i]);

		if (strncmp(function, wrappers[i], length) != 0)
			continue;
		if (is_guard && ends_guard(function + length))
			return true;
		for (size_t j = 0; j < sizeof(variants) / sizeof(*variants);
		     j++)
			if (strcmp(function + length, variants[j]) == 0)
				return true;
	}
	return false;
}

/* The types of each kind's locks, by the name of the typedef or structure. */
static const struct {
	const char *name;
	enum sites_lock_kind kind;
} lock_types[] = {
	{ "spinlock_t", SITES_SPIN },
	{ "raw_spinlock_t", SITES_SPIN },
	{ "spinlock", SITES_SPIN },
	{ "raw_spinlock", SITES_SPIN },
	{ "rwlock_t", SITES_RWLOCK },
	{ "mutex", SITES_MUTEX },
	{ "ww_mutex", SITES_MUTEX },
	{ "rw_semaphore", SITES_RWSEM },
	{ "semaphore", SITES_SEM },
	{ "rt_mutex", SITES_RTMUTEX },
	{ "rt_mutex_base", SITES_RTMUTEX },
	{ "percpu_rw_semaphore", SITES_PERCPU_RWSEM },
	{ "pthread_mutex_t", SITES_PTHREAD_MUTEX },
	{ "pthread_rwlock_t", SITES_PTHREAD_RWLOCK },
	{ "pthread_spinlock_t", SITES_PTHREAD_SPIN },
	{ "mtx_t", SITES_PTHREAD_MUTEX },
	{ "pthread_cond_t", SITES_PTHREAD_COND },
	{ "cnd_t", SITES_PTHREAD_COND },
	{ "pthread_barrier_t", SITES_PTHREAD_BARRIER },
	{ "sem_t", SITES_PTHREAD_SEM },
};

#define LOCK_TYPES (sizeof(lock_types) / sizeof(*lock_types))

int sites_lock_type(const char *name)
{
	for (size_t i = 0; name && i < LOCK_TYPES; i++)
		if (strcmp(name, lock_types[i].name) == 0)
			return (int)lock_types[i].kind;
	return -1;
}

/* Classes of the C++ library, all in std or in a namespace of its own in that. */
static const struct {
	const char *name;
	enum sites_lock_kind kind;
} library_types[] = {
	{ "mutex", SITES_PTHREAD_MUTEX },
	{ "recursive_mutex", SITES_PTHREAD_MUTEX },
	{ "timed_mutex", SITES_PTHREAD_MUTEX },
	{ "recursive_timed_mutex", SITES_PTHREAD_MUTEX },
	{ "__mutex_base", SITES_PTHREAD_MUTEX },
	{ "__recursive_mutex_base", SITES_PTHREAD_MUTEX },
	{ "shared_mutex", SITES_PTHREAD_RWLOCK },
	{ "shared_timed_mutex", SITES_PTHREAD_RWLOCK },
	{ "__shared_mutex_pthread", SITES_PTHREAD_RWLOCK },
	{ "condition_variable", SITES_PTHREAD_COND },
	{ "__condvar", SITES_PTHREAD_COND },
};

#define LIBRARY_TYPES (sizeof(library_types) / sizeof(*library_types))

int sites_library_type(const char *name)
{
	for (size_t i = 0; i < LIBRARY_TYPES; i++)
		if (strcmp(name, library_types[i].name) == 0)
			return (int)library_types[i].kind;
	return -1;
}
