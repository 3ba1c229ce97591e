/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of lockgen share.  What it does is told in main.c.
 */
#ifndef LOCKGEN_H
#define LOCKGEN_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/rcupdate.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/ww_mutex.h>

#define LG_MAX_THREADS 64
/* Those of chain and deadlock: 40 chains of 8, and the conductor. */
#define LG_MAX_LINKED 321
#define LG_MAX_LOCKS 20000
#define LG_MAX_DEPTH 16
/* Freeing one of these can wait for an RCU grace period. */
#define LG_MAX_PERCPU_LOCKS 1000
#define LG_MAX_COMMAND 512
#define LG_MAX_ERROR 512

enum lg_kind {
	LG_SPIN,
	LG_RAWSPIN,
	LG_RWLOCK,
	LG_MUTEX,
	LG_RWSEM,
	LG_SEM,
	LG_RTMUTEX,
	LG_PERCPU_RWSEM,
	LG_WW_MUTEX,
	LG_KINDS
};

static inline bool lg_kind_spins(enum lg_kind kind)
{
	return kind == LG_SPIN || kind == LG_RAWSPIN || kind == LG_RWLOCK;
}

static inline bool lg_kind_shared(enum lg_kind kind)
{
	return kind == LG_RWLOCK || kind == LG_RWSEM || kind == LG_PERCPU_RWSEM;
}

enum lg_mode { LG_X, LG_R, LG_W };

/* The entry point: which of a kind's functions takes the lock. */
enum lg_entry {
	LG_PLAIN,
	LG_BH,
	LG_IRQ,
	LG_IRQSAVE,
	LG_INTERRUPTIBLE,
	LG_KILLABLE,
	LG_IO,
	LG_NESTING,
	LG_TIMEOUT,
	LG_WW,
	LG_WW_INTERRUPTIBLE,
};

/*
 * A flavour is a kind, the mode it is taken in and the entry point: what one
 * function of each role is made for.  The last says whether it can be tried.
 */
#define LG_SPINNING_FLAVOURS(F)                                           \
	F(spin, LG_SPIN, LG_X, LG_PLAIN, "-", true)                       \
	F(spin_bh, LG_SPIN, LG_X, LG_BH, "-", true)                       \
	F(spin_irq, LG_SPIN, LG_X, LG_IRQ, "-", true)                     \
	F(spin_irqsave, LG_SPIN, LG_X, LG_IRQSAVE, "irq", true)           \
	F(rawspin, LG_RAWSPIN, LG_X, LG_PLAIN, "raw", true)               \
	F(rawspin_bh, LG_RAWSPIN, LG_X, LG_BH, "raw", true)               \
	F(rawspin_irq, LG_RAWSPIN, LG_X, LG_IRQ, "raw", true)             \
	F(rawspin_irqsave, LG_RAWSPIN, LG_X, LG_IRQSAVE, "raw_irq", true) \
	F(rwlock_r, LG_RWLOCK, LG_R, LG_PLAIN, "-", true)                 \
	F(rwlock_r_bh, LG_RWLOCK, LG_R, LG_BH, "-", false)                \
	F(rwlock_r_irq, LG_RWLOCK, LG_R, LG_IRQ, "-", false)              \
	F(rwlock_r_irqsave, LG_RWLOCK, LG_R, LG_IRQSAVE, "irq", false)    \
	F(rwlock_w, LG_RWLOCK, LG_W, LG_PLAIN, "-", true)                 \
	F(rwlock_w_bh, LG_RWLOCK, LG_W, LG_BH, "-", false)                \
	F(rwlock_w_irq, LG_RWLOCK, LG_W, LG_IRQ, "-", false)              \
	F(rwlock_w_irqsave, LG_RWLOCK, LG_W, LG_IRQSAVE, "irq", true)

#define LG_SLEEPING_FLAVOURS(F)                                                \
	F(mutex, LG_MUTEX, LG_X, LG_PLAIN, "-", true)                          \
	F(mutex_interruptible, LG_MUTEX, LG_X, LG_INTERRUPTIBLE, "-", false)   \
	F(mutex_killable, LG_MUTEX, LG_X, LG_KILLABLE, "-", false)             \
	F(mutex_io, LG_MUTEX, LG_X, LG_IO, "-", false)                         \
	F(mutex_nested, LG_MUTEX, LG_X, LG_NESTING, "-", false)                \
	F(ww_mutex, LG_WW_MUTEX, LG_X, LG_WW, "ww", true)                      \
	F(ww_mutex_interruptible, LG_WW_MUTEX, LG_X, LG_WW_INTERRUPTIBLE,      \
	  "ww", false)                                                         \
	F(rwsem_r, LG_RWSEM, LG_R, LG_PLAIN, "-", true)                        \
	F(rwsem_r_interruptible, LG_RWSEM, LG_R, LG_INTERRUPTIBLE, "-", false) \
	F(rwsem_r_killable, LG_RWSEM, LG_R, LG_KILLABLE, "-", false)           \
	F(rwsem_r_nested, LG_RWSEM, LG_R, LG_NESTING, "-", false)              \
	F(rwsem_w, LG_RWSEM, LG_W, LG_PLAIN, "-", true)                        \
	F(rwsem_w_killable, LG_RWSEM, LG_W, LG_KILLABLE, "-", false)           \
	F(rwsem_w_nested, LG_RWSEM, LG_W, LG_NESTING, "-", false)              \
	F(sem, LG_SEM, LG_X, LG_PLAIN, "-", true)                              \
	F(sem_interruptible, LG_SEM, LG_X, LG_INTERRUPTIBLE, "-", false)       \
	F(sem_killable, LG_SEM, LG_X, LG_KILLABLE, "-", false)                 \
	F(sem_timeout, LG_SEM, LG_X, LG_TIMEOUT, "-", false)                   \
	F(rtmutex, LG_RTMUTEX, LG_X, LG_PLAIN, "-", true)                      \
	F(rtmutex_interruptible, LG_RTMUTEX, LG_X, LG_INTERRUPTIBLE, "-",      \
	  false)                                                               \
	F(rtmutex_killable, LG_RTMUTEX, LG_X, LG_KILLABLE, "-", false)         \
	F(percpu_rwsem_r, LG_PERCPU_RWSEM, LG_R, LG_PLAIN, "-", true)          \
	F(percpu_rwsem_w, LG_PERCPU_RWSEM, LG_W, LG_PLAIN, "-", false)

enum lg_flavour_id {
#define LG_ID(id, kind, mode, entry, variant, tries) LG_FL_##id,
	LG_SPINNING_FLAVOURS(LG_ID) LG_SLEEPING_FLAVOURS(LG_ID) LG_FLAVOURS
};

/* clang-format on */

/*
 * No signal is sent to a thread that calls one of the functions that a signal
 * ends, and the time that ends one is endless: the first call takes the lock.
 */
#define LG_UNTIL_TAKEN(call) \
	do {                 \
	} while ((call) != 0)

/*
 * The operations.  Always inlined with a constant flavour, so the call of the
 * lock function stands in the role's own function.
 */
static __always_inline void lg_lock(enum lg_flavour_id fl, void *lock,
				    unsigned long *flags)
{
	switch (fl) {
	case LG_FL_spin:
		spin_lock((spinlock_t *)lock);
		break;
	case LG_FL_spin_bh:
		spin_lock_bh((spinlock_t *)lock);
		break;
	case LG_FL_spin_irq:
		spin_lock_irq((spinlock_t *)lock);
		break;
	case LG_FL_spin_irqsave:
		spin_lock_irqsave((spinlock_t *)lock, *flags);
		break;
	case LG_FL_rawspin:
		raw_spin_lock((raw_spinlock_t *)lock);
		break;
	case LG_FL_rawspin_bh:
		raw_spin_lock_bh((raw_spinlock_t *)lock);
		break;
	case LG_FL_rawspin_irq:
		raw_spin_lock_irq((raw_spinlock_t *)lock);
		break;
	case LG_FL_rawspin_irqsave:
		raw_spin_lock_irqsave((raw_spinlock_t *)lock, *flags);
		break;
	case LG_FL_rwlock_r:
		read_lock((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_r_bh:
		read_lock_bh((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_r_irq:
		read_lock_irq((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_r_irqsave:
		read_lock_irqsave((rwlock_t *)lock, *flags);
		break;
	case LG_FL_rwlock_w:
		write_lock((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_w_bh:
		write_lock_bh((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_w_irq:
		write_lock_irq((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_w_irqsave:
		write_lock_irqsave((rwlock_t *)lock, *flags);
		break;
	case LG_FL_mutex:
		mutex_lock(lock);
		break;
	case LG_FL_mutex_interruptible:
		LG_UNTIL_TAKEN(mutex_lock_interruptible(lock));
		break;
	case LG_FL_mutex_killable:
		LG_UNTIL_TAKEN(mutex_lock_killable(lock));
		break;
	case LG_FL_mutex_io:
		mutex_lock_io(lock);
		break;
	case LG_FL_mutex_nested:
		mutex_lock_nested(lock, SINGLE_DEPTH_NESTING);
		break;
	case LG_FL_ww_mutex:
		LG_UNTIL_TAKEN(ww_mutex_lock(lock, NULL));
		break;
	case LG_FL_ww_mutex_interruptible:
		LG_UNTIL_TAKEN(ww_mutex_lock_interruptible(lock, NULL));
		break;
	case LG_FL_rwsem_r:
		down_read(lock);
		break;
	case LG_FL_rwsem_r_interruptible:
		LG_UNTIL_TAKEN(down_read_interruptible(lock));
		break;
	case LG_FL_rwsem_r_killable:
		LG_UNTIL_TAKEN(down_read_killable(lock));
		break;
	case LG_FL_rwsem_r_nested:
		down_read_nested(lock, SINGLE_DEPTH_NESTING);
		break;
	case LG_FL_rwsem_w:
		down_write(lock);
		break;
	case LG_FL_rwsem_w_killable:
		LG_UNTIL_TAKEN(down_write_killable(lock));
		break;
	case LG_FL_rwsem_w_nested:
		down_write_nested(lock, SINGLE_DEPTH_NESTING);
		break;
	case LG_FL_sem:
		down(lock);
		break;
	case LG_FL_sem_interruptible:
		LG_UNTIL_TAKEN(down_interruptible(lock));
		break;
	case LG_FL_sem_killable:
		LG_UNTIL_TAKEN(down_killable(lock));
		break;
	case LG_FL_sem_timeout:
		LG_UNTIL_TAKEN(down_timeout(lock, MAX_SCHEDULE_TIMEOUT));
		break;
	case LG_FL_rtmutex:
		rt_mutex_lock((struct rt_mutex *)lock);
		break;
	case LG_FL_rtmutex_interruptible:
		LG_UNTIL_TAKEN(rt_mutex_lock_interruptible(lock));
		break;
	case LG_FL_rtmutex_killable:
		LG_UNTIL_TAKEN(rt_mutex_lock_killable(lock));
		break;
	case LG_FL_percpu_rwsem_r:
		percpu_down_read(lock);
		break;
	case LG_FL_percpu_rwsem_w:
		percpu_down_write(lock);
		break;
	default:
		break;
	}
}

static __always_inline void lg_unlock(enum lg_flavour_id fl, void *lock,
				      unsigned long *flags)
{
	switch (fl) {
	case LG_FL_spin:
		spin_unlock((spinlock_t *)lock);
		break;
	case LG_FL_spin_bh:
		spin_unlock_bh((spinlock_t *)lock);
		break;
	case LG_FL_spin_irq:
		spin_unlock_irq((spinlock_t *)lock);
		break;
	case LG_FL_spin_irqsave:
		spin_unlock_irqrestore((spinlock_t *)lock, *flags);
		break;
	case LG_FL_rawspin:
		raw_spin_unlock((raw_spinlock_t *)lock);
		break;
	case LG_FL_rawspin_bh:
		raw_spin_unlock_bh((raw_spinlock_t *)lock);
		break;
	case LG_FL_rawspin_irq:
		raw_spin_unlock_irq((raw_spinlock_t *)lock);
		break;
	case LG_FL_rawspin_irqsave:
		raw_spin_unlock_irqrestore((raw_spinlock_t *)lock, *flags);
		break;
	case LG_FL_rwlock_r:
		read_unlock((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_r_bh:
		read_unlock_bh((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_r_irq:
		read_unlock_irq((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_r_irqsave:
		read_unlock_irqrestore((rwlock_t *)lock, *flags);
		break;
	case LG_FL_rwlock_w:
		write_unlock((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_w_bh:
		write_unlock_bh((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_w_irq:
		write_unlock_irq((rwlock_t *)lock);
		break;
	case LG_FL_rwlock_w_irqsave:
		write_unlock_irqrestore((rwlock_t *)lock, *flags);
		break;
	case LG_FL_mutex:
	case LG_FL_mutex_interruptible:
	case LG_FL_mutex_killable:
	case LG_FL_mutex_io:
	case LG_FL_mutex_nested:
		mutex_unlock(lock);
		break;
	case LG_FL_ww_mutex:
	case LG_FL_ww_mutex_interruptible:
		ww_mutex_unlock(lock);
		break;
	case LG_FL_rwsem_r:
	case LG_FL_rwsem_r_interruptible:
	case LG_FL_rwsem_r_killable:
	case LG_FL_rwsem_r_nested:
		up_read(lock);
		break;
	case LG_FL_rwsem_w:
	case LG_FL_rwsem_w_killable:
	case LG_FL_rwsem_w_nested:
		up_write(lock);
		break;
	case LG_FL_sem:
	case LG_FL_sem_interruptible:
	case LG_FL_sem_killable:
	case LG_FL_sem_timeout:
		up(lock);
		break;
	case LG_FL_rtmutex:
	case LG_FL_rtmutex_interruptible:
	case LG_FL_rtmutex_killable:
		rt_mutex_unlock(lock);
		break;
	case LG_FL_percpu_rwsem_r:
		percpu_up_read(lock);
		break;
	case LG_FL_percpu_rwsem_w:
		percpu_up_write(lock);
		break;
	default:
		break;
	}
}

static __always_inline bool lg_trylock(enum lg_flavour_id fl, void *lock,
				       unsigned long *flags)
{
	switch (fl) {
	case LG_FL_spin:
		return spin_trylock((spinlock_t *)lock);
	case LG_FL_spin_bh:
		return spin_trylock_bh((spinlock_t *)lock);
	case LG_FL_spin_irq:
		return spin_trylock_irq((spinlock_t *)lock);
	case LG_FL_spin_irqsave:
		return spin_trylock_irqsave((spinlock_t *)lock, *flags);
	case LG_FL_rawspin:
		return raw_spin_trylock((raw_spinlock_t *)lock);
	case LG_FL_rawspin_bh:
		return raw_spin_trylock_bh((raw_spinlock_t *)lock);
	case LG_FL_rawspin_irq:
		return raw_spin_trylock_irq((raw_spinlock_t *)lock);
	case LG_FL_rawspin_irqsave:
		return raw_spin_trylock_irqsave((raw_spinlock_t *)lock, *flags);
	case LG_FL_rwlock_r:
		return read_trylock((rwlock_t *)lock);
	case LG_FL_rwlock_w:
		return write_trylock((rwlock_t *)lock);
	case LG_FL_rwlock_w_irqsave:
		return write_trylock_irqsave((rwlock_t *)lock, *flags);
	case LG_FL_mutex:
		return mutex_trylock(lock);
	case LG_FL_ww_mutex:
		return ww_mutex_trylock(lock, NULL);
	case LG_FL_rwsem_r:
		return down_read_trylock(lock);
	case LG_FL_rwsem_w:
		return down_write_trylock(lock);
	case LG_FL_sem:
		/* The one that answers 0 when it has the lock. */
		return !down_trylock(lock);
	case LG_FL_rtmutex:
		return rt_mutex_trylock(lock);
	case LG_FL_percpu_rwsem_r:
		return percpu_down_read_trylock(lock);
	default:
		/* Refused when the command is read. */
		return false;
	}
}

static __always_inline int lg_lock_signal(enum lg_flavour_id fl, void *lock)
{
	switch (fl) {
	case LG_FL_mutex:
	case LG_FL_mutex_interruptible:
		return mutex_lock_interruptible(lock);
	case LG_FL_mutex_killable:
		return mutex_lock_killable(lock);
	case LG_FL_ww_mutex:
	case LG_FL_ww_mutex_interruptible:
		return ww_mutex_lock_interruptible(lock, NULL);
	case LG_FL_rwsem_r:
	case LG_FL_rwsem_r_interruptible:
		return down_read_interruptible(lock);
	case LG_FL_rwsem_r_killable:
		return down_read_killable(lock);
	case LG_FL_rwsem_w:
	case LG_FL_rwsem_w_killable:
		/* There is no interruptible one, only the killable. */
		return down_write_killable(lock);
	case LG_FL_sem:
	case LG_FL_sem_interruptible:
		return down_interruptible(lock);
	case LG_FL_sem_killable:
		return down_killable(lock);
	case LG_FL_rtmutex:
	case LG_FL_rtmutex_interruptible:
		return rt_mutex_lock_interruptible(lock);
	case LG_FL_rtmutex_killable:
		return rt_mutex_lock_killable(lock);
	default:
		/* Refused when the command is read. */
		return -EOPNOTSUPP;
	}
}

/* A run: what was asked for, the locks, the threads and their counts. */

enum lg_scenario {
	LG_CONVOY,
	LG_FREE,
	LG_MANY,
	LG_NESTED,
	LG_SIGNAL,
	LG_TRYLOCK,
	LG_THROUGHPUT,
	LG_HOLDERS,
	LG_SHARED,
	LG_RECURSIVE,
	LG_FOREIGN,
	LG_DOWNGRADE,
	LG_CHAIN,
	LG_DEADLOCK,
	LG_ORDER,
	LG_SCENARIOS
};

enum lg_role {
	LG_HOLD,
	LG_WAIT,
	LG_FREE_RUN,
	LG_THROUGHPUT_RUN,
	LG_THROUGHPUT_COUNT,
	LG_TRY_HOLD,
	LG_TRY,
	LG_SIGNAL_HOLD,
	LG_SIGNAL_WAIT,
	LG_NEST_HOLD,
	LG_NEST_INNER,
	LG_NEST_OUTER,
	LG_NEST_WAIT,
	LG_ROLES
};

/* The locks of nested. */
enum { LG_NEST_LOCK_OUTER, LG_NEST_LOCK_INNER };

enum lg_key_id {
	LG_K_KIND,
	LG_K_MODE,
	LG_K_BEHIND,
	LG_K_INNER_KIND,
	LG_K_HOLD,
	LG_K_ENTRY,
	LG_K_IRQ,
	LG_K_WAITERS,
	LG_K_ROUNDS,
	LG_K_HOLD_US,
	LG_K_HOLD_NS,
	LG_K_LOCKS,
	LG_K_TRIES,
	LG_K_THREADS,
	LG_K_ITERATIONS,
	LG_K_INNER,
	LG_K_COUNT,
	LG_K_MEASURE,
	LG_K_STATE,
	LG_K_BY,
	LG_K_READERS,
	LG_K_DEPTH,
	LG_K_READ_US,
	LG_K_DETAIL,
	/* Of chain and deadlock: other words or bounds for some known names. */
	LG_K_LINK_KIND,
	LG_K_LENGTH,
	LG_K_CHAINS,
	LG_K_BEHIND_0,
	LG_K_BUILD,
	LG_K_STAND,
	LG_K_STAND_US,
	LG_K_FEW_ROUNDS,
	/* Of order. */
	LG_K_ORDER_KIND,
	LG_K_ORDER_LOCKS,
	LG_K_PATH_THREADS,
	LG_K_MODES,
	LG_K_GATE,
	LG_K_TRY,
	LG_K_SAME,
	LG_KEYS
};

struct lg_thread;

struct lg_function {
	void (*fn)(struct lg_thread *t);
	const char *symbol;
};

struct lg_flavour {
	enum lg_flavour_id fl_id;
	const char *kind;
	enum lg_kind kind_id;
	enum lg_mode mode;
	enum lg_entry entry;
	const char *variant;
	bool tries;
	struct lg_function role[LG_ROLES];
};

/* What held up a reader or a writer when its wait began. */
enum lg_by { LG_BY_WRITER, LG_BY_READERS, LG_BY_WRITE_WANTED, LG_BYS };

struct lg_counts {
	atomic64_t acquisitions;
	atomic64_t contended;
	atomic64_t wait_ns;
	atomic64_t hold_ns;
	atomic64_t max_hold_ns;
	/* 0 until there is one. */
	atomic64_t min_hold_ns;
	atomic64_t failed;
	atomic64_t missed;
	atomic64_t tried;
	atomic64_t blocked;
	atomic64_t by[LG_BYS];
	pid_t holder;
};

struct lg_lock {
	void *lock;
	const char *name;
	bool allocated;
	/* In the waiters' mode, and in the holder's where that is another. */
	struct lg_counts counts;
	struct lg_counts holder_counts;
};

struct lg_thread {
	struct lg_run *run;
	struct task_struct *task;
	const struct lg_function *function;
	unsigned int index;
	u64 elapsed_ns;
	/* The round for which it is about to call the lock function. */
	unsigned int announced;
	/* The round in which the holder saw it wait in the lock function. */
	unsigned int seen;
	/* The last round it is done with. */
	unsigned int finished;
	/* Its own: the round it is in. */
	unsigned int round;
};

struct lg_run {
	enum lg_scenario scenario;
	int value[LG_KEYS];
	bool given[LG_KEYS];
	const struct lg_flavour *waiter;
	const struct lg_flavour *holder;
	const struct lg_flavour *inner;
	/* A scenario with a plan of its own: what its lines are about. */
	const struct lg_flavour *other;
	const char *caller;
	const char *other_caller;
	const char *inner_caller;
	void *own;
	unsigned int rounds;
	u64 hold_ns;
	u64 read_ns;
	unsigned int nlocks;
	struct lg_lock *lock;
	unsigned int nthreads;
	struct lg_thread thread[LG_MAX_LINKED];
	atomic_t live;
	atomic_t ready;
	struct completion done;
	bool stop;
	/* What stands until it is told to end: it stands; it is told. */
	struct completion standing;
	bool end;
	/* The round that the waiters may start, and the one that is held. */
	unsigned int go;
	unsigned int held;
	unsigned int outer_held;
	/* Trylock: the round whose lock is free again, and whose turn it is. */
	unsigned int released;
	atomic_t turn;
};

/*
 * A scenario in a file of its own: how it reads its command, which function
 * each thread runs, and what it tells beside the lines of the locks.
 */
struct lg_plan {
	/* Sets waiter, holder and other, inner, the callers and nthreads. */
	int (*check)(struct lg_run *run, char *error);
	const struct lg_function *(*function)(const struct lg_run *run,
					      unsigned int index);
	/* The thread whose CPU it runs on; without it each has its own. */
	unsigned int (*place)(const struct lg_run *run, unsigned int index);
	/* The thread's name; without it lockgen/INDEX. */
	void (*comm)(const struct lg_run *run, unsigned int index, char *comm,
		     size_t size);
	/* The bytes of run->own, zeroed, and what else they need and leave. */
	size_t own_bytes;
	int (*prepare)(struct lg_run *run);
	void (*dispose)(struct lg_run *run);
	/* What it tells, in more than a few bytes where it says so. */
	size_t more_bytes;
	/* Without lines of locks. */
	bool tells_itself;
	void (*tell)(const struct lg_run *run, char *text, size_t size);
};

extern const struct lg_plan lg_plan_holders;
extern const struct lg_plan lg_plan_shared;
extern const struct lg_plan lg_plan_recursive;
extern const struct lg_plan lg_plan_foreign;
extern const struct lg_plan lg_plan_downgrade;
extern const struct lg_plan lg_plan_chain;
extern const struct lg_plan lg_plan_deadlock;
extern const struct lg_plan lg_plan_order;

/* main.c: the module is about to go. */
extern bool lockgen_unloading;

/* Time and waiting. */

static inline u64 lg_now(void)
{
	return ktime_get_mono_fast_ns();
}

static inline s64 lg_since(u64 start)
{
	s64 ns = lg_now() - start;

	return ns > 0 ? ns : 0;
}

static inline bool lg_stopped(const struct lg_run *run)
{
	return READ_ONCE(run->stop) || READ_ONCE(lockgen_unloading);
}

enum lg_pause {
	/* A spinning lock is held. */
	LG_PAUSE_ATOMIC,
	/* Must stay on its CPU if it can. */
	LG_PAUSE_RUNNING,
	/* May go to sleep. */
	LG_PAUSE_SLEEPING,
};

static inline void lg_pause(enum lg_pause how, unsigned int *turns)
{
	if (how == LG_PAUSE_SLEEPING && ++*turns > 200) {
		usleep_range(20, 60);
		return;
	}
	cpu_relax();
	if (how != LG_PAUSE_ATOMIC)
		cond_resched();
}

/* Wait for a condition; false when the run was stopped first. */
#define lg_await(run, how, condition)                            \
	({                                                       \
		unsigned int turns = 0;                          \
		bool met;                                        \
                                                                 \
		while (!(met = (condition)) && !lg_stopped(run)) \
			lg_pause(how, &turns);                   \
		met;                                             \
	})

static inline enum lg_pause lg_pause_free(const struct lg_run *run)
{
	return lg_kind_spins(run->waiter->kind_id) ? LG_PAUSE_RUNNING :
						     LG_PAUSE_SLEEPING;
}

static inline enum lg_pause lg_pause_held(const struct lg_run *run,
					  const struct lg_flavour *held)
{
	if (lg_kind_spins(held->kind_id))
		return LG_PAUSE_ATOMIC;
	return run->value[LG_K_HOLD] ? LG_PAUSE_SLEEPING : LG_PAUSE_RUNNING;
}

/* A wait as the waiter itself sees it. */
struct lg_wait {
	u64 called;
	unsigned long switches;
	u64 ns;
	bool blocked;
};

static __always_inline void lg_wait_begin(struct lg_wait *w)
{
	/* Counts only the times that the task went to sleep by itself. */
	w->switches = READ_ONCE(current->nvcsw);
	w->called = lg_now();
}

static __always_inline u64 lg_wait_end(struct lg_wait *w)
{
	u64 got = lg_now();

	w->ns = got > w->called ? got - w->called : 0;
	w->blocked = READ_ONCE(current->nvcsw) != w->switches;
	return got;
}

/* What waits for a holder: of many waiters each began its wait behind it. */
static inline enum lg_by lg_by_holder(const struct lg_flavour *holder)
{
	return holder->mode == LG_R ? LG_BY_READERS : LG_BY_WRITER;
}

static inline struct lg_thread *lg_waiters(struct lg_run *run)
{
	return &run->thread[1];
}

static inline struct lg_lock *lg_round_lock(struct lg_run *run,
					    unsigned int round)
{
	return &run->lock[(round - 1) % run->nlocks];
}

static inline struct lg_counts *lg_holder_counts(const struct lg_run *run,
						 struct lg_lock *l)
{
	return run->holder == run->waiter ? &l->counts : &l->holder_counts;
}

/* wait.c: holding, seeing others wait, and counting. */
void lg_hold(const struct lg_run *run, const struct lg_flavour *held);
void lg_hold_for(const struct lg_run *run, const struct lg_flavour *held,
		 u64 ns);
bool lg_asleep(const struct lg_thread *t);
bool lg_waits(const struct lg_flavour *fl, void *lock,
	      const struct lg_thread *t);
bool lg_all_announced(const struct lg_thread *first, unsigned int n,
		      unsigned int round);
bool lg_all_finished(const struct lg_thread *first, unsigned int n,
		     unsigned int round);
void lg_gather(struct lg_run *run, const struct lg_flavour *held,
	       const struct lg_flavour *waiter, void *lock,
	       struct lg_thread *first, unsigned int n, unsigned int round);
void lg_add_hold(struct lg_counts *c, u64 hold_ns);
void lg_count_hold(struct lg_counts *c, u64 hold_ns);
void lg_count_wait(struct lg_counts *c, bool waited, const struct lg_wait *w,
		   enum lg_by by);
bool lg_waited(const struct lg_thread *t, bool held,
	       const struct lg_flavour *waiter, unsigned int round);

/* main.c: the words of the command, and what is wrong with it. */
extern const char *const lg_kind_words[];
extern const char *const lg_mode_words[];
int lg_refuse(char *error, const char *fmt, ...) __printf(2, 3);
const struct lg_flavour *lg_flavour(enum lg_kind kind, enum lg_mode mode,
				    enum lg_entry entry);
const struct lg_flavour *lg_plain_flavour(enum lg_kind kind, enum lg_mode mode);
const char *lg_kind_reported(enum lg_kind kind);
int lg_init_lock(enum lg_kind kind, void *lock);

/* holdable.c: kernel locks for the threads of user space. */
int lg_offer_held(void);
void lg_withdraw_held(void);

/* chain.c: words of its keys. */
extern const char *const lg_link_words[];
extern const char *const lg_build_words[];

/* order.c: words of its keys. */
extern const char *const lg_order_words[];
extern const char *const lg_gate_words[];
extern const char *const lg_try_words[];
extern const char *const lg_modes_words[];

/* roles.c: the flavours, with a function for each role. */
extern const struct lg_flavour lg_flavours[LG_FLAVOURS];

#endif
