// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: lock contention whose truth is known.
 *
 * A command written to /proc/lockgen runs one scenario, and reading the file
 * then tells what really happened: how often each lock was taken, how often
 * by somebody who had to wait, how long, and from which function.  A tool that
 * watches locks is checked against it.
 *
 *   echo "convoy kind=mutex waiters=3 rounds=50" > /proc/lockgen
 *   cat /proc/lockgen
 *
 * A command that makes no sense is refused, and reading the file then tells
 * why.  The same command, with commas for spaces, can be the module parameter
 * "run": it runs while the module loads.
 *
 * The scenarios, each with its keys (a wrong one is refused with the list):
 *   convoy      one thread holds a lock, waiters=N come to wait for it
 *   free        threads=N, each with a lock of its own: nobody ever waits
 *   many        convoy on one after another of locks=N
 *   nested      one waits for a lock whose holder waits for another
 *   signal      waits that a signal ends
 *   trylock     tries=N that fail, by each of waiters=N, then one that succeeds
 *   throughput  the loop of a benchmark
 *
 * Keys of several scenarios:
 *   kind        spin, rawspin, rwlock, mutex, rwsem, sem, rtmutex, percpu_rwsem,
 *               ww_mutex
 *   mode        r or w, of a shared lock: those that wait
 *   behind      r or w: those that hold; the other of the two unless given
 *   entry       the function that takes the lock, where the kind has it:
 *               plain; bh, irq, irqsave (spin, rawspin, rwlock); interruptible,
 *               killable (mutex, rwsem, sem, rtmutex); nested (mutex, rwsem);
 *               io, ww, ww_interruptible (mutex); timeout (sem).
 *               A holder in a mode that lacks it takes the lock by plain.
 *   irq=1       the same as entry=irqsave
 *   hold        run or sleep: what the holder does meanwhile
 *   hold_us, hold_ns  how long it holds, at least
 *   rounds, iterations  how often
 *   inner       pauses of the CPU (cpu_relax) while a lock is held
 *   count=1, measure=1  of throughput: count its waits, measure its times
 *   detail=1    a line for each lock of many, and for the holder's mode
 *
 * What is told, a line for each lock and mode:
 *   lock            its address; many, without detail=1, sums up under 0x0
 *   kind, mode      x exclusive, r shared, w the writer of a shared lock
 *   variant         raw: a raw spinlock; irq: the _irqsave form; ww: a w/w mutex
 *   acquisitions    all in this mode, also those that did not wait
 *   contended       those that waited
 *   wait_ns         the waits of these, and of those that a signal ended
 *   hold_ns         the holds of all acquisitions, each from the return of the
 *                   lock function to the call of the unlock function
 *   failed          waits ended by a signal, and trylocks that failed
 *   missed_window   a waiter came too late to wait: not counted as contended
 *   holder_tid      who held last while others waited
 *   caller          the function that called the lock function and waited
 *   name            the lock's symbol, ? if it was allocated
 *   elapsed_ns      of the whole run
 *   max_hold_ns     the longest hold, and
 *   min_hold_ns     the shortest
 *   tried           trylocks that succeeded; acquisitions has them too
 *   spun            waits in which the task never left its CPU by itself
 *   blocked         waits in which it went to sleep; both make up contended
 *   by_writer       waits that began while a writer held the shared lock
 *   by_readers      waits of writers that began while readers held it
 *   write_wanted    waits of readers that began while readers held it and a
 *                   writer waited; all three make up contended
 *   entry           the entry point, as in the key
 * A number that was not measured, to keep a benchmark free of it, or that has
 * no sense for the kind is "-".
 *
 * Times are made and measured by the clock, never by mdelay() or udelay(),
 * whose calibration is wrong in many virtual machines.  Every loop that waits
 * calls cpu_relax(): an emulator that runs all CPUs in one thread changes to
 * the next CPU only there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/semaphore.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/ww_mutex.h>

#define LG_MAX_THREADS 64
#define LG_MAX_LOCKS 20000
/* Freeing one of these can wait for an RCU grace period. */
#define LG_MAX_PERCPU_LOCKS 1000
#define LG_MAX_COMMAND 512
#define LG_MAX_ERROR 512

/*
 * The locks under test.  A scenario uses the first of its kind; nested uses a
 * second one inside it; many allocates its own.
 */
static DEFINE_SPINLOCK(lockgen_spin);
static DEFINE_RAW_SPINLOCK(lockgen_rawspin);
static DEFINE_RWLOCK(lockgen_rwlock);
static DEFINE_MUTEX(lockgen_mutex);
static DECLARE_RWSEM(lockgen_rwsem);
/* DEFINE_SEMAPHORE() gained a second argument in 6.4. */
static struct semaphore lockgen_sem = __SEMAPHORE_INITIALIZER(lockgen_sem, 1);
static DEFINE_RT_MUTEX(lockgen_rtmutex);
DEFINE_STATIC_PERCPU_RWSEM(lockgen_percpu_rwsem);
/* These two have no static initializer. */
static DEFINE_WW_CLASS(lockgen_ww_class);
static struct ww_mutex lockgen_ww_mutex;

static DEFINE_SPINLOCK(lockgen_inner_spin);
static DEFINE_RAW_SPINLOCK(lockgen_inner_rawspin);
static DEFINE_RWLOCK(lockgen_inner_rwlock);
static DEFINE_MUTEX(lockgen_inner_mutex);
static DECLARE_RWSEM(lockgen_inner_rwsem);
static struct semaphore lockgen_inner_sem =
	__SEMAPHORE_INITIALIZER(lockgen_inner_sem, 1);
static DEFINE_RT_MUTEX(lockgen_inner_rtmutex);
DEFINE_STATIC_PERCPU_RWSEM(lockgen_inner_percpu_rwsem);
static struct ww_mutex lockgen_inner_ww_mutex;

/* The module's own: one run at a time, and the last run's truth. */
static DEFINE_MUTEX(lockgen_control);
static DEFINE_MUTEX(lockgen_truth_guard);
static struct lg_truth *lockgen_truth;
static bool lockgen_unloading;

static char *run;
module_param(run, charp, 0400);
MODULE_PARM_DESC(
	run,
	"a scenario to run once at load, e.g. run=convoy,kind=mutex,waiters=3");

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

static const char *const lg_kind_words[] = {
	"spin", "rawspin", "rwlock",	   "mutex",    "rwsem",
	"sem",	"rtmutex", "percpu_rwsem", "ww_mutex", NULL
};

static const struct {
	void *lock;
	const char *name;
	void *inner;
	const char *inner_name;
} lg_global[LG_KINDS] = {
/* clang-format off */
#define LG_GLOBAL(kind) \
	{ &lockgen_##kind, "lockgen_" #kind, \
	  &lockgen_inner_##kind, "lockgen_inner_" #kind }
	/* clang-format on */
	[LG_SPIN] = LG_GLOBAL(spin),
	[LG_RAWSPIN] = LG_GLOBAL(rawspin),
	[LG_RWLOCK] = LG_GLOBAL(rwlock),
	[LG_MUTEX] = LG_GLOBAL(mutex),
	[LG_RWSEM] = LG_GLOBAL(rwsem),
	[LG_SEM] = LG_GLOBAL(sem),
	[LG_RTMUTEX] = LG_GLOBAL(rtmutex),
	[LG_PERCPU_RWSEM] = LG_GLOBAL(percpu_rwsem),
	[LG_WW_MUTEX] = LG_GLOBAL(ww_mutex),
};

static bool lg_kind_spins(enum lg_kind kind)
{
	return kind == LG_SPIN || kind == LG_RAWSPIN || kind == LG_RWLOCK;
}

static bool lg_kind_shared(enum lg_kind kind)
{
	return kind == LG_RWLOCK || kind == LG_RWSEM || kind == LG_PERCPU_RWSEM;
}

enum lg_mode { LG_X, LG_R, LG_W };

static const char *const lg_mode_words[] = { "x", "r", "w", NULL };

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

static const char *const lg_entry_words[] = {
	"plain", "bh",	   "irq",     "irqsave", "interruptible",    "killable",
	"io",	 "nested", "timeout", "ww",	 "ww_interruptible", NULL
};

/* clang-format off */

/*
 * A flavour is a kind, the mode it is taken in and the entry point: what one
 * function of each role is made for.  The last says whether it can be tried.
 */
#define LG_SPINNING_FLAVOURS(F)						\
	F(spin, LG_SPIN, LG_X, LG_PLAIN, "-", true)			\
	F(spin_bh, LG_SPIN, LG_X, LG_BH, "-", true)			\
	F(spin_irq, LG_SPIN, LG_X, LG_IRQ, "-", true)			\
	F(spin_irqsave, LG_SPIN, LG_X, LG_IRQSAVE, "irq", true)		\
	F(rawspin, LG_RAWSPIN, LG_X, LG_PLAIN, "raw", true)		\
	F(rawspin_bh, LG_RAWSPIN, LG_X, LG_BH, "raw", true)		\
	F(rawspin_irq, LG_RAWSPIN, LG_X, LG_IRQ, "raw", true)		\
	F(rawspin_irqsave, LG_RAWSPIN, LG_X, LG_IRQSAVE, "raw_irq", true) \
	F(rwlock_r, LG_RWLOCK, LG_R, LG_PLAIN, "-", true)		\
	F(rwlock_r_bh, LG_RWLOCK, LG_R, LG_BH, "-", false)		\
	F(rwlock_r_irq, LG_RWLOCK, LG_R, LG_IRQ, "-", false)		\
	F(rwlock_r_irqsave, LG_RWLOCK, LG_R, LG_IRQSAVE, "irq", false)	\
	F(rwlock_w, LG_RWLOCK, LG_W, LG_PLAIN, "-", true)		\
	F(rwlock_w_bh, LG_RWLOCK, LG_W, LG_BH, "-", false)		\
	F(rwlock_w_irq, LG_RWLOCK, LG_W, LG_IRQ, "-", false)		\
	F(rwlock_w_irqsave, LG_RWLOCK, LG_W, LG_IRQSAVE, "irq", true)

#define LG_SLEEPING_FLAVOURS(F)						\
	F(mutex, LG_MUTEX, LG_X, LG_PLAIN, "-", true)			\
	F(mutex_interruptible, LG_MUTEX, LG_X, LG_INTERRUPTIBLE, "-", false) \
	F(mutex_killable, LG_MUTEX, LG_X, LG_KILLABLE, "-", false)	\
	F(mutex_io, LG_MUTEX, LG_X, LG_IO, "-", false)			\
	F(mutex_nested, LG_MUTEX, LG_X, LG_NESTING, "-", false)		\
	F(ww_mutex, LG_WW_MUTEX, LG_X, LG_WW, "ww", true)		\
	F(ww_mutex_interruptible, LG_WW_MUTEX, LG_X, LG_WW_INTERRUPTIBLE, \
	  "ww", false)							\
	F(rwsem_r, LG_RWSEM, LG_R, LG_PLAIN, "-", true)			\
	F(rwsem_r_interruptible, LG_RWSEM, LG_R, LG_INTERRUPTIBLE, "-", false) \
	F(rwsem_r_killable, LG_RWSEM, LG_R, LG_KILLABLE, "-", false)	\
	F(rwsem_r_nested, LG_RWSEM, LG_R, LG_NESTING, "-", false)	\
	F(rwsem_w, LG_RWSEM, LG_W, LG_PLAIN, "-", true)			\
	F(rwsem_w_killable, LG_RWSEM, LG_W, LG_KILLABLE, "-", false)	\
	F(rwsem_w_nested, LG_RWSEM, LG_W, LG_NESTING, "-", false)	\
	F(sem, LG_SEM, LG_X, LG_PLAIN, "-", true)			\
	F(sem_interruptible, LG_SEM, LG_X, LG_INTERRUPTIBLE, "-", false) \
	F(sem_killable, LG_SEM, LG_X, LG_KILLABLE, "-", false)		\
	F(sem_timeout, LG_SEM, LG_X, LG_TIMEOUT, "-", false)		\
	F(rtmutex, LG_RTMUTEX, LG_X, LG_PLAIN, "-", true)		\
	F(rtmutex_interruptible, LG_RTMUTEX, LG_X, LG_INTERRUPTIBLE, "-", false) \
	F(rtmutex_killable, LG_RTMUTEX, LG_X, LG_KILLABLE, "-", false)	\
	F(percpu_rwsem_r, LG_PERCPU_RWSEM, LG_R, LG_PLAIN, "-", true)	\
	F(percpu_rwsem_w, LG_PERCPU_RWSEM, LG_W, LG_PLAIN, "-", false)

enum lg_flavour_id {
#define LG_ID(id, kind, mode, entry, variant, tries) LG_FL_##id,
	LG_SPINNING_FLAVOURS(LG_ID)
	LG_SLEEPING_FLAVOURS(LG_ID)
	LG_FLAVOURS
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
	LG_SCENARIOS
};

static const char *const lg_scenario_words[] = { "convoy",     "free",
						 "many",       "nested",
						 "signal",     "trylock",
						 "throughput", NULL };

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
	LG_K_DETAIL,
	LG_KEYS
};

struct lg_thread;

struct lg_function {
	void (*fn)(struct lg_thread *t);
	const char *symbol;
};

struct lg_flavour {
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
};

struct lg_run {
	enum lg_scenario scenario;
	int value[LG_KEYS];
	bool given[LG_KEYS];
	const struct lg_flavour *waiter;
	const struct lg_flavour *holder;
	const struct lg_flavour *inner;
	unsigned int rounds;
	u64 hold_ns;
	unsigned int nlocks;
	struct lg_lock *lock;
	unsigned int nthreads;
	struct lg_thread thread[LG_MAX_THREADS + 2];
	atomic_t live;
	atomic_t ready;
	struct completion done;
	bool stop;
	/* The round that the waiters may start, and the one that is held. */
	unsigned int go;
	unsigned int held;
	unsigned int outer_held;
	/* Trylock: the round whose lock is free again, and whose turn it is. */
	unsigned int released;
	atomic_t turn;
};

struct lg_line {
	unsigned long lock;
	const struct lg_flavour *flavour;
	u64 acquisitions;
	u64 contended;
	u64 wait_ns;
	u64 hold_ns;
	u64 max_hold_ns;
	u64 min_hold_ns;
	u64 failed;
	u64 missed;
	u64 tried;
	u64 blocked;
	u64 by[LG_BYS];
	pid_t holder;
	const char *caller;
	const char *name;
};

struct lg_truth {
	char error[LG_MAX_ERROR];
	enum lg_scenario scenario;
	/* Throughput reads no clock and counts no waits unless asked to. */
	bool counts_waits;
	bool measures;
	bool looks;
	u64 elapsed_ns;
	unsigned int nlines;
	struct lg_line line[];
};

/* Time and waiting. */

static u64 lg_now(void)
{
	return ktime_get_mono_fast_ns();
}

static s64 lg_since(u64 start)
{
	s64 ns = lg_now() - start;

	return ns > 0 ? ns : 0;
}

static bool lg_stopped(const struct lg_run *run)
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

static void lg_pause(enum lg_pause how, unsigned int *turns)
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

static enum lg_pause lg_pause_free(const struct lg_run *run)
{
	return lg_kind_spins(run->waiter->kind_id) ? LG_PAUSE_RUNNING :
						     LG_PAUSE_SLEEPING;
}

static enum lg_pause lg_pause_held(const struct lg_run *run,
				   const struct lg_flavour *held)
{
	if (lg_kind_spins(held->kind_id))
		return LG_PAUSE_ATOMIC;
	return run->value[LG_K_HOLD] ? LG_PAUSE_SLEEPING : LG_PAUSE_RUNNING;
}

/* Hold what is held for a time, awake or asleep. */
static void lg_hold(const struct lg_run *run, const struct lg_flavour *held)
{
	u64 ns = run->hold_ns;
	enum lg_pause how = lg_pause_held(run, held);
	u64 start = lg_now();
	unsigned int turns = 0;
	u64 left_us;

	while (lg_since(start) < ns && !lg_stopped(run)) {
		if (how != LG_PAUSE_SLEEPING) {
			lg_pause(how, &turns);
			continue;
		}
		left_us = (ns - min_t(u64, ns, lg_since(start))) / 1000 + 1;
		left_us = min_t(u64, left_us, 10000);
		usleep_range(left_us, left_us + 20);
	}
}

/* Does this thread wait in the lock function?  Only what can be known. */
static bool lg_asleep(const struct lg_thread *t)
{
	return !task_is_running(t->task);
}

static bool lg_osq_or_queue(enum lg_kind kind, void *lock)
{
	switch (kind) {
	case LG_SPIN:
		return spin_is_contended((spinlock_t *)lock);
	case LG_RAWSPIN:
		return raw_spin_is_contended((raw_spinlock_t *)lock);
	case LG_RWLOCK:
		return rwlock_is_contended((rwlock_t *)lock);
#ifdef CONFIG_MUTEX_SPIN_ON_OWNER
	case LG_MUTEX:
		return osq_is_locked(&((struct mutex *)lock)->osq);
	case LG_WW_MUTEX:
		return osq_is_locked(&((struct ww_mutex *)lock)->base.osq);
#endif
#ifdef CONFIG_RWSEM_SPIN_ON_OWNER
	case LG_RWSEM:
		return osq_is_locked(&((struct rw_semaphore *)lock)->osq);
#endif
	default:
		return false;
	}
}

static bool lg_waits(const struct lg_flavour *fl, void *lock,
		     const struct lg_thread *t)
{
	/*
	 * A percpu_rwsem's writer first sleeps through an RCU grace period,
	 * whether somebody holds the lock or not; it closes the lock to new
	 * readers only after that, and only then waits for the old ones.
	 */
	if (fl->kind_id == LG_PERCPU_RWSEM && fl->mode == LG_W &&
	    !percpu_is_write_locked(lock))
		return false;
	return lg_asleep(t) || lg_osq_or_queue(fl->kind_id, lock);
}

/* Where a waiter is always seen, one that was not seen did not wait. */
static bool lg_surely_seen(const struct lg_run *run,
			   const struct lg_flavour *fl)
{
	switch (fl->kind_id) {
	case LG_SEM:
	case LG_RTMUTEX:
	case LG_PERCPU_RWSEM:
		return true;
	case LG_MUTEX:
	case LG_WW_MUTEX:
	case LG_RWSEM:
		return run->value[LG_K_HOLD];
	default:
		return false;
	}
}

static bool lg_mark_seen(const struct lg_flavour *fl, void *lock,
			 struct lg_thread *first, unsigned int n,
			 unsigned int round)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (READ_ONCE(first[i].seen) == round)
			continue;
		if (lg_waits(fl, lock, &first[i]))
			WRITE_ONCE(first[i].seen, round);
		else
			all = false;
	}
	return all;
}

static bool lg_all_announced(const struct lg_thread *first, unsigned int n,
			     unsigned int round)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (smp_load_acquire(&first[i].announced) != round)
			return false;
	return true;
}

static bool lg_all_finished(const struct lg_thread *first, unsigned int n,
			    unsigned int round)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (smp_load_acquire(&first[i].finished) != round)
			return false;
	return true;
}

/*
 * Called with the lock held: wait until the waiters have announced themselves
 * and, as far as it can be seen, wait.  Neither is waited for without end: a
 * waiter that comes too late is then counted as one that missed the window.
 */
static void lg_gather(struct lg_run *run, const struct lg_flavour *held,
		      const struct lg_flavour *waiter, void *lock,
		      struct lg_thread *first, unsigned int n,
		      unsigned int round)
{
	enum lg_pause how = lg_pause_held(run, held);
	u64 patience = lg_surely_seen(run, waiter) ? NSEC_PER_SEC :
						     NSEC_PER_MSEC;
	u64 start = lg_now();

	lg_await(run, how,
		 lg_all_announced(first, n, round) ||
			 lg_since(start) > 2 * NSEC_PER_SEC);
	start = lg_now();
	lg_await(run, how,
		 lg_mark_seen(waiter, lock, first, n, round) ||
			 lg_since(start) > patience);
}

/* Counting. */

static struct lg_counts *lg_holder_counts(const struct lg_run *run,
					  struct lg_lock *l)
{
	return run->holder == run->waiter ? &l->counts : &l->holder_counts;
}

static void lg_raise(atomic64_t *highest, u64 ns)
{
	s64 old = atomic64_read(highest);

	while ((u64)old < ns && !atomic64_try_cmpxchg(highest, &old, ns))
		;
}

static void lg_lower(atomic64_t *lowest, u64 ns)
{
	s64 old = atomic64_read(lowest);

	ns = max_t(u64, ns, 1);
	while ((!old || (u64)old > ns) &&
	       !atomic64_try_cmpxchg(lowest, &old, ns))
		;
}

static void lg_count_hold(struct lg_counts *c, u64 hold_ns)
{
	atomic64_inc(&c->acquisitions);
	atomic64_add(hold_ns, &c->hold_ns);
	lg_raise(&c->max_hold_ns, hold_ns);
	lg_lower(&c->min_hold_ns, hold_ns);
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

static void lg_count_wait(struct lg_counts *c, bool waited,
			  const struct lg_wait *w, enum lg_by by)
{
	if (!waited) {
		atomic64_inc(&c->missed);
		return;
	}
	atomic64_inc(&c->contended);
	atomic64_add(w->ns, &c->wait_ns);
	if (w->blocked)
		atomic64_inc(&c->blocked);
	atomic64_inc(&c->by[by]);
}

/* What waits for a holder: of many waiters each began its wait behind it. */
static enum lg_by lg_by_holder(const struct lg_flavour *holder)
{
	return holder->mode == LG_R ? LG_BY_READERS : LG_BY_WRITER;
}

static bool lg_waited(const struct lg_thread *t, bool held,
		      const struct lg_flavour *waiter, unsigned int round)
{
	if (!held)
		return false;
	return !lg_surely_seen(t->run, waiter) || READ_ONCE(t->seen) == round;
}

static struct lg_thread *lg_waiters(struct lg_run *run)
{
	return &run->thread[1];
}

static struct lg_lock *lg_round_lock(struct lg_run *run, unsigned int round)
{
	return &run->lock[(round - 1) % run->nlocks];
}

/*
 * convoy and many: the holder holds until all wait, and some time more.
 * The waiters' preemption is off from the announcement to the lock call where
 * the lock itself would switch it off: nothing comes between the two.
 */
static __always_inline void lg_convoy_hold_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	unsigned int n = run->nthreads - 1;
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		struct lg_lock *l = lg_round_lock(run, round);
		u64 start;

		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		WRITE_ONCE(run->held, round);
		smp_store_release(&run->go, round);
		lg_gather(run, run->holder, run->waiter, l->lock,
			  lg_waiters(run), n, round);
		lg_hold(run, run->holder);
		WRITE_ONCE(run->held, 0);
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		l->counts.holder = current->pid;
		lg_await(run, lg_pause_free(run),
			 lg_all_finished(lg_waiters(run), n, round));
	}
}

static __always_inline void lg_convoy_wait_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	bool spins = lg_kind_spins(run->waiter->kind_id);
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lg_lock *l = lg_round_lock(run, round);
		struct lg_wait wait;
		u64 got, hold;
		bool held;

		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->go) >= round))
			break;
		if (spins)
			preempt_disable();
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->held) == round;
		lg_wait_begin(&wait);
		lg_lock(fl, l->lock, &flags);
		got = lg_wait_end(&wait);
		hold = lg_since(got);
		lg_unlock(fl, l->lock, &flags);
		if (spins)
			preempt_enable();
		lg_count_hold(&l->counts, hold);
		lg_count_wait(&l->counts,
			      lg_waited(t, held, run->waiter, round), &wait,
			      lg_by_holder(run->holder));
		smp_store_release(&t->finished, round);
	}
}

/* free: a lock for each thread, so nobody ever waits. */
static void lg_relax(unsigned int turns)
{
	while (turns--)
		cpu_relax();
}

static __always_inline void lg_free_run_body(struct lg_thread *t,
					     enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[t->index];
	unsigned int inner = run->value[LG_K_INNER];
	unsigned int i, n = run->value[LG_K_ITERATIONS];
	unsigned long flags = 0;

	for (i = 0; i < n && !lg_stopped(run); i++) {
		u64 start;

		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		lg_relax(inner);
		while (lg_since(start) < run->hold_ns)
			cpu_relax();
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(&l->counts, start);
		cond_resched();
	}
}

/* throughput: the benchmark loop.  Nothing in it but the lock and pauses. */
static bool lg_start_together(struct lg_run *run)
{
	atomic_inc(&run->ready);
	return lg_await(run, LG_PAUSE_RUNNING,
			atomic_read(&run->ready) == run->nthreads);
}

static __always_inline void lg_throughput_run_body(struct lg_thread *t,
						   enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned int inner = run->value[LG_K_INNER];
	unsigned int i, n = run->value[LG_K_ITERATIONS];
	unsigned long flags = 0;
	u64 start;

	if (!lg_start_together(run))
		return;
	start = lg_now();
	for (i = 0; i < n && !lg_stopped(run); i++) {
		lg_lock(fl, l->lock, &flags);
		lg_relax(inner);
		lg_unlock(fl, l->lock, &flags);
		lg_relax(inner);
		cond_resched();
	}
	t->elapsed_ns = lg_since(start);
	atomic64_add(i, &l->counts.acquisitions);
}

/*
 * The same with the waits counted, by trying first, or the clock read around
 * waits and holds: both cost, so on demand.
 */
static __always_inline void lg_throughput_count_body(struct lg_thread *t,
						     enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	bool count = run->value[LG_K_COUNT];
	bool measure = run->value[LG_K_MEASURE];
	unsigned int inner = run->value[LG_K_INNER];
	unsigned int i, n = run->value[LG_K_ITERATIONS];
	unsigned int contended = 0;
	unsigned long flags = 0;
	u64 start, called, got;

	if (!lg_start_together(run))
		return;
	start = lg_now();
	for (i = 0; i < n && !lg_stopped(run); i++) {
		called = measure ? lg_now() : 0;
		got = called;
		if (!count || !lg_trylock(fl, l->lock, &flags)) {
			contended += count;
			lg_lock(fl, l->lock, &flags);
			got = measure ? lg_now() : 0;
		} else if (measure) {
			got = lg_now();
			called = got;
		}
		lg_relax(inner);
		if (measure) {
			u64 hold = lg_since(got);

			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, hold);
			atomic64_add(got - called, &l->counts.wait_ns);
		} else {
			lg_unlock(fl, l->lock, &flags);
		}
		lg_relax(inner);
		cond_resched();
	}
	t->elapsed_ns = lg_since(start);
	if (!measure)
		atomic64_add(i, &l->counts.acquisitions);
	atomic64_add(contended, &l->counts.contended);
	atomic64_add(contended, &l->counts.failed);
	atomic64_add(count ? i - contended : 0, &l->counts.tried);
}

/* trylock: each fails while the lock is held, then each gets it in its turn. */
static __always_inline void lg_try_hold_body(struct lg_thread *t,
					     enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	unsigned int n = run->nthreads - 1;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		u64 start;

		atomic_set(&run->turn, 0);
		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		smp_store_release(&run->go, round);
		lg_await(run, lg_pause_held(run, run->holder),
			 lg_all_announced(lg_waiters(run), n, round));
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		l->counts.holder = current->pid;
		smp_store_release(&run->released, round);
		lg_await(run, lg_pause_free(run),
			 lg_all_finished(lg_waiters(run), n, round));
	}
}

static __always_inline void lg_try_body(struct lg_thread *t,
					enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned int tries = run->value[LG_K_TRIES];
	unsigned int i, round, missed;
	unsigned long flags = 0;
	u64 start;

	for (round = 1; round <= run->rounds; round++) {
		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->go) >= round))
			break;
		for (i = 0, missed = 0; i < tries; i++) {
			if (lg_trylock(fl, l->lock, &flags)) {
				start = lg_now();
				start = lg_since(start);
				lg_unlock(fl, l->lock, &flags);
				lg_count_hold(&l->counts, start);
				missed++;
			}
			cond_resched();
		}
		atomic64_add(missed, &l->counts.tried);
		atomic64_add(missed, &l->counts.missed);
		atomic64_add(tries - missed, &l->counts.failed);
		smp_store_release(&t->announced, round);
		if (!lg_await(run, lg_pause_free(run),
			      smp_load_acquire(&run->released) >= round &&
				      atomic_read_acquire(&run->turn) ==
					      t->index))
			break;
		if (lg_trylock(fl, l->lock, &flags)) {
			start = lg_now();
			start = lg_since(start);
			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, start);
			atomic64_inc(&l->counts.tried);
		} else {
			atomic64_inc(&l->counts.failed);
			atomic64_inc(&l->counts.missed);
		}
		atomic_inc(&run->turn);
		smp_store_release(&t->finished, round);
	}
}

/* signal: waits that a signal ends while the lock is still held. */
static __always_inline void lg_signal_hold_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	unsigned int i, n = run->nthreads - 1;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		u64 start;

		lg_lock(fl, l->lock, &flags);
		start = lg_now();
		WRITE_ONCE(run->held, round);
		smp_store_release(&run->go, round);
		lg_gather(run, run->holder, run->waiter, l->lock,
			  lg_waiters(run), n, round);
		lg_hold(run, run->holder);
		/* A killable wait ends by nothing less than this one. */
		for (i = 0; i < n; i++)
			send_sig(SIGKILL, lg_waiters(run)[i].task, 1);
		lg_await(run, LG_PAUSE_SLEEPING,
			 lg_all_finished(lg_waiters(run), n, round));
		WRITE_ONCE(run->held, 0);
		start = lg_since(start);
		lg_unlock(fl, l->lock, &flags);
		lg_count_hold(lg_holder_counts(run, l), start);
		l->counts.holder = current->pid;
	}
}

static __always_inline void lg_signal_wait_body(struct lg_thread *t,
						enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *l = &run->lock[0];
	unsigned long flags = 0;
	unsigned int round;

	allow_signal(SIGKILL);
	for (round = 1; round <= run->rounds; round++) {
		struct lg_wait wait;
		u64 hold;
		bool held;
		int error;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->go) >= round))
			break;
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->held) == round;
		lg_wait_begin(&wait);
		error = lg_lock_signal(fl, l->lock);
		hold = lg_wait_end(&wait);
		if (error) {
			atomic64_inc(&l->counts.failed);
			atomic64_add(wait.ns, &l->counts.wait_ns);
		} else {
			hold = lg_since(hold);
			lg_unlock(fl, l->lock, &flags);
			lg_count_hold(&l->counts, hold);
			lg_count_wait(&l->counts,
				      lg_waited(t, held, run->waiter, round),
				      &wait, lg_by_holder(run->holder));
		}
		flush_signals(current);
		smp_store_release(&t->finished, round);
	}
}

/*
 * nested: thread 0 holds the inner lock; thread 1 holds the outer one and
 * waits for the inner; thread 2 waits for the outer.
 */
enum { LG_NEST_LOCK_OUTER, LG_NEST_LOCK_INNER };

static __always_inline void lg_nest_hold_body(struct lg_thread *t,
					      enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *outer = &run->lock[LG_NEST_LOCK_OUTER];
	struct lg_lock *inner = &run->lock[LG_NEST_LOCK_INNER];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds && !lg_stopped(run); round++) {
		u64 start;

		/*
		 * Not the inner lock first: the outer one can need an RCU grace
		 * period, which would never end while a spinlock is held here.
		 */
		smp_store_release(&run->go, round);
		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->outer_held) == round))
			break;
		lg_lock(fl, inner->lock, &flags);
		start = lg_now();
		smp_store_release(&run->held, round);
		lg_gather(run, run->inner, run->inner, inner->lock,
			  &run->thread[1], 1, round);
		smp_store_release(&run->released, round);
		lg_gather(run, run->inner, run->waiter, outer->lock,
			  &run->thread[2], 1, round);
		lg_hold(run, run->inner);
		WRITE_ONCE(run->held, 0);
		start = lg_since(start);
		lg_unlock(fl, inner->lock, &flags);
		lg_count_hold(&inner->counts, start);
		inner->counts.holder = current->pid;
		lg_await(run, LG_PAUSE_SLEEPING,
			 lg_all_finished(&run->thread[1], 2, round));
	}
}

static __always_inline void lg_nest_inner_body(struct lg_thread *t,
					       enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *inner = &run->lock[LG_NEST_LOCK_INNER];
	bool spins = lg_kind_spins(run->inner->kind_id);
	unsigned int round = run->go;
	unsigned long flags = 0;
	struct lg_wait wait;
	u64 got, hold;
	bool held;

	if (spins)
		preempt_disable();
	smp_store_release(&t->announced, round);
	held = READ_ONCE(run->held) == round;
	lg_wait_begin(&wait);
	lg_lock(fl, inner->lock, &flags);
	got = lg_wait_end(&wait);
	hold = lg_since(got);
	lg_unlock(fl, inner->lock, &flags);
	if (spins)
		preempt_enable();
	lg_count_hold(&inner->counts, hold);
	lg_count_wait(&inner->counts, lg_waited(t, held, run->inner, round),
		      &wait, lg_by_holder(run->inner));
}

static __always_inline void lg_nest_outer_body(struct lg_thread *t,
					       enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *outer = &run->lock[LG_NEST_LOCK_OUTER];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		u64 start;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->go) >= round))
			break;
		lg_lock(fl, outer->lock, &flags);
		start = lg_now();
		smp_store_release(&run->outer_held, round);
		if (lg_await(run, LG_PAUSE_SLEEPING,
			     smp_load_acquire(&run->held) == round))
			run->inner->role[LG_NEST_INNER].fn(t);
		WRITE_ONCE(run->outer_held, 0);
		start = lg_since(start);
		lg_unlock(fl, outer->lock, &flags);
		lg_count_hold(&outer->counts, start);
		outer->counts.holder = current->pid;
		smp_store_release(&t->finished, round);
	}
}

static __always_inline void lg_nest_wait_body(struct lg_thread *t,
					      enum lg_flavour_id fl)
{
	struct lg_run *run = t->run;
	struct lg_lock *outer = &run->lock[LG_NEST_LOCK_OUTER];
	unsigned long flags = 0;
	unsigned int round;

	for (round = 1; round <= run->rounds; round++) {
		struct lg_wait wait;
		u64 got, hold;
		bool held;

		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&run->released) >= round))
			break;
		smp_store_release(&t->announced, round);
		held = READ_ONCE(run->outer_held) == round;
		lg_wait_begin(&wait);
		lg_lock(fl, outer->lock, &flags);
		got = lg_wait_end(&wait);
		hold = lg_since(got);
		lg_unlock(fl, outer->lock, &flags);
		lg_count_hold(&outer->counts, hold);
		lg_count_wait(&outer->counts,
			      lg_waited(t, held, run->waiter, round), &wait,
			      lg_by_holder(run->waiter));
		smp_store_release(&t->finished, round);
	}
}

/* clang-format off */

/* One function for each role and flavour: a caller that can be told apart. */
#define LG_ROLE(role, id)						\
static noinline __noclone void lockgen_##role##_##id(struct lg_thread *t) \
{									\
	lg_##role##_body(t, LG_FL_##id);				\
}

#define LG_ROLES_OF_ALL(id, kind, mode, entry, variant, tries)	\
	LG_ROLE(convoy_hold, id)			\
	LG_ROLE(convoy_wait, id)			\
	LG_ROLE(free_run, id)				\
	LG_ROLE(throughput_run, id)			\
	LG_ROLE(nest_inner, id)				\
	LG_ROLE(nest_hold, id)				\
	LG_ROLE(throughput_count, id)			\
	LG_ROLE(try_hold, id)				\
	LG_ROLE(try, id)

#define LG_ROLES_OF_SLEEPING(id, kind, mode, entry, variant, tries)	\
	LG_ROLE(signal_hold, id)				\
	LG_ROLE(signal_wait, id)				\
	LG_ROLE(nest_outer, id)					\
	LG_ROLE(nest_wait, id)

LG_SPINNING_FLAVOURS(LG_ROLES_OF_ALL)
LG_SLEEPING_FLAVOURS(LG_ROLES_OF_ALL)
LG_SLEEPING_FLAVOURS(LG_ROLES_OF_SLEEPING)

#define LG_FN(role, id) { lockgen_##role##_##id, "lockgen_" #role "_" #id }

#define LG_TABLE_OF_ALL(id, k, m, e, v, x)					\
	.kind_id = k,							\
	.mode = m,							\
	.entry = e,							\
	.variant = v,							\
	.tries = x,							\
	.role[LG_HOLD] = LG_FN(convoy_hold, id),			\
	.role[LG_WAIT] = LG_FN(convoy_wait, id),			\
	.role[LG_FREE_RUN] = LG_FN(free_run, id),			\
	.role[LG_THROUGHPUT_RUN] = LG_FN(throughput_run, id),		\
	.role[LG_THROUGHPUT_COUNT] = LG_FN(throughput_count, id),	\
	.role[LG_TRY_HOLD] = LG_FN(try_hold, id),			\
	.role[LG_TRY] = LG_FN(try, id),					\
	.role[LG_NEST_HOLD] = LG_FN(nest_hold, id),			\
	.role[LG_NEST_INNER] = LG_FN(nest_inner, id)

#define LG_SPINNING_ENTRY(id, k, m, e, v, x)	\
	[LG_FL_##id] = { LG_TABLE_OF_ALL(id, k, m, e, v, x) },

#define LG_SLEEPING_ENTRY(id, k, m, e, v, x)			\
	[LG_FL_##id] = {					\
		LG_TABLE_OF_ALL(id, k, m, e, v, x),		\
		.role[LG_SIGNAL_HOLD] = LG_FN(signal_hold, id),	\
		.role[LG_SIGNAL_WAIT] = LG_FN(signal_wait, id),	\
		.role[LG_NEST_OUTER] = LG_FN(nest_outer, id),	\
		.role[LG_NEST_WAIT] = LG_FN(nest_wait, id),	\
	},

static const struct lg_flavour lg_flavours[LG_FLAVOURS] = {
	LG_SPINNING_FLAVOURS(LG_SPINNING_ENTRY)
	LG_SLEEPING_FLAVOURS(LG_SLEEPING_ENTRY)
};

/* clang-format on */

/* The word the watching tools use: a raw spinlock is a spinlock, and so on. */
static const char *lg_kind_reported(enum lg_kind kind)
{
	switch (kind) {
	case LG_RAWSPIN:
		return lg_kind_words[LG_SPIN];
	case LG_WW_MUTEX:
		return lg_kind_words[LG_MUTEX];
	default:
		return lg_kind_words[kind];
	}
}

static const struct lg_flavour *lg_flavour(enum lg_kind kind, enum lg_mode mode,
					   enum lg_entry entry)
{
	unsigned int i;

	for (i = 0; i < LG_FLAVOURS; i++)
		if (lg_flavours[i].kind_id == kind &&
		    lg_flavours[i].mode == mode &&
		    lg_flavours[i].entry == entry)
			return &lg_flavours[i];
	return NULL;
}

/* The command. */

static const char *const lg_hold_words[] = { "run", "sleep", NULL };

#define LG_S(scenario) BIT(LG_##scenario)
#define LG_S_WAITS (LG_S(CONVOY) | LG_S(MANY) | LG_S(SIGNAL) | LG_S(TRYLOCK))
#define LG_S_LOOPS (LG_S(FREE) | LG_S(THROUGHPUT))
#define LG_S_HOLDS \
	(LG_S(CONVOY) | LG_S(FREE) | LG_S(MANY) | LG_S(NESTED) | LG_S(SIGNAL))
#define LG_S_ALL (BIT(LG_SCENARIOS) - 1)

static const struct lg_key {
	const char *name;
	const char *const *words;
	int min, max, preset;
	unsigned int scenarios;
} lg_keys[LG_KEYS] = {
	[LG_K_KIND] = { "kind", lg_kind_words, .preset = LG_MUTEX,
			.scenarios = LG_S_ALL },
	[LG_K_MODE] = { "mode", lg_mode_words,
			.scenarios = LG_S_WAITS | LG_S_LOOPS },
	[LG_K_BEHIND] = { "behind", lg_mode_words, .scenarios = LG_S_WAITS },
	[LG_K_INNER_KIND] = { "inner_kind", lg_kind_words, .preset = LG_MUTEX,
			      .scenarios = LG_S(NESTED) },
	[LG_K_HOLD] = { "hold", lg_hold_words,
			.scenarios = LG_S(CONVOY) | LG_S(MANY) | LG_S(NESTED) |
				     LG_S(SIGNAL) },
	[LG_K_ENTRY] = { "entry", lg_entry_words, .preset = LG_PLAIN,
			 .scenarios = LG_S_WAITS | LG_S_LOOPS },
	[LG_K_IRQ] = { "irq", NULL, 0, 1, 0,
		       LG_S(CONVOY) | LG_S(MANY) | LG_S_LOOPS },
	[LG_K_WAITERS] = { "waiters", NULL, 1, LG_MAX_THREADS, 1, LG_S_WAITS },
	[LG_K_ROUNDS] = { "rounds", NULL, 1, 100000, 50,
			  LG_S_WAITS | LG_S(NESTED) },
	[LG_K_HOLD_US] = { "hold_us", NULL, 0, 1000000, 3000, LG_S_HOLDS },
	[LG_K_HOLD_NS] = { "hold_ns", NULL, 0, 1000000000, 0, LG_S_HOLDS },
	[LG_K_LOCKS] = { "locks", NULL, 1, LG_MAX_LOCKS, 1000, LG_S(MANY) },
	[LG_K_TRIES] = { "tries", NULL, 1, 1000000, 10, LG_S(TRYLOCK) },
	[LG_K_THREADS] = { "threads", NULL, 1, LG_MAX_THREADS, 1, LG_S_LOOPS },
	[LG_K_ITERATIONS] = { "iterations", NULL, 1, 100000000, 1000,
			      LG_S_LOOPS },
	[LG_K_INNER] = { "inner", NULL, 0, 1000000, 0, LG_S_LOOPS },
	[LG_K_COUNT] = { "count", NULL, 0, 1, 0, LG_S(THROUGHPUT) },
	[LG_K_MEASURE] = { "measure", NULL, 0, 1, 0, LG_S(THROUGHPUT) },
	[LG_K_DETAIL] = { "detail", NULL, 0, 1, 0, LG_S_WAITS },
};

static int __printf(2, 3) lg_refuse(char *error, const char *fmt, ...)
{
	va_list args;
	int n;

	n = scnprintf(error, LG_MAX_ERROR, "error: ");
	va_start(args, fmt);
	vscnprintf(error + n, LG_MAX_ERROR - n, fmt, args);
	va_end(args);
	return -EINVAL;
}

static void lg_list_words(char *list, size_t size, const char *const *words)
{
	size_t n = 0;

	for (*list = '\0'; *words; words++)
		n += scnprintf(list + n, size - n, "%s%s", n ? ", " : "",
			       *words);
}

static void lg_list_keys(char *list, size_t size, enum lg_scenario scenario)
{
	size_t n = 0;
	unsigned int i;

	*list = '\0';
	for (i = 0; i < LG_KEYS; i++)
		if (lg_keys[i].scenarios & BIT(scenario))
			n += scnprintf(list + n, size - n, "%s%s",
				       n ? ", " : "", lg_keys[i].name);
}

static int lg_find_word(const char *const *words, const char *word)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

static int lg_parse_value(struct lg_run *run, unsigned int k, const char *value,
			  char *error)
{
	const struct lg_key *key = &lg_keys[k];
	char list[160];
	int n;

	if (key->words) {
		n = lg_find_word(key->words, value);
		if (n < 0) {
			lg_list_words(list, sizeof(list), key->words);
			return lg_refuse(error, "%s=%.40s: must be one of %s",
					 key->name, value, list);
		}
	} else if (kstrtoint(value, 10, &n) || n < key->min || n > key->max) {
		return lg_refuse(error,
				 "%s=%.40s: must be a number from %d to %d",
				 key->name, value, key->min, key->max);
	}
	run->value[k] = n;
	run->given[k] = true;
	return 0;
}

static int lg_parse_key(struct lg_run *run, char *word, char *error)
{
	char *value = strchr(word, '=');
	char list[320];
	unsigned int k;

	if (value)
		*value++ = '\0';
	for (k = 0; k < LG_KEYS; k++)
		if (!strcmp(lg_keys[k].name, word) &&
		    lg_keys[k].scenarios & BIT(run->scenario))
			break;
	if (k == LG_KEYS || !value) {
		lg_list_keys(list, sizeof(list), run->scenario);
		if (k < LG_KEYS)
			return lg_refuse(error,
					 "%s: has no value, write %s=VALUE",
					 word, word);
		return lg_refuse(error,
				 "'%.40s': %s knows no such key, only %s", word,
				 lg_scenario_words[run->scenario], list);
	}
	if (run->given[k])
		return lg_refuse(error, "%s: given twice", word);
	return lg_parse_value(run, k, value, error);
}

static int lg_parse_scenario(struct lg_run *run, const char *word, char *error)
{
	int n = word ? lg_find_word(lg_scenario_words, word) : -1;
	char list[120];

	if (n < 0) {
		lg_list_words(list, sizeof(list), lg_scenario_words);
		if (!word)
			return lg_refuse(
				error, "an empty command: begin with one of %s",
				list);
		return lg_refuse(error, "'%.40s': no such scenario, only %s",
				 word, list);
	}
	run->scenario = n;
	return 0;
}

static void lg_presets(struct lg_run *run)
{
	unsigned int k;

	for (k = 0; k < LG_KEYS; k++)
		run->value[k] = lg_keys[k].preset;
	switch (run->scenario) {
	case LG_FREE:
		run->value[LG_K_HOLD_US] = 0;
		break;
	case LG_MANY:
		run->value[LG_K_ROUNDS] = 1;
		run->value[LG_K_HOLD_US] = 20;
		break;
	case LG_SIGNAL:
		run->value[LG_K_HOLD] = 1;
		break;
	case LG_THROUGHPUT:
		run->value[LG_K_THREADS] = 2;
		run->value[LG_K_ITERATIONS] = 20000;
		run->value[LG_K_INNER] = 100;
		break;
	default:
		break;
	}
}

/* A comma is as good as a space: module parameters are easier without spaces. */
#define LG_SEPARATORS " \t,\n"

static int lg_parse(struct lg_run *run, char *command, char *error)
{
	char *word, *rest = command;
	int err;

	if (!command)
		return lg_refuse(error, "a command has at most %d characters",
				 LG_MAX_COMMAND);
	do {
		word = strsep(&rest, LG_SEPARATORS);
	} while (word && !*word);
	err = lg_parse_scenario(run, word, error);
	if (err)
		return err;
	lg_presets(run);
	while (!err && (word = strsep(&rest, LG_SEPARATORS)))
		if (*word)
			err = lg_parse_key(run, word, error);
	return err;
}

static enum lg_mode lg_opposite(enum lg_mode mode)
{
	if (mode == LG_X)
		return LG_X;
	return mode == LG_R ? LG_W : LG_R;
}

/* Which mode waits behind which. */
static int lg_settle_modes(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	bool shared = lg_kind_shared(kind);
	int *mode = &run->value[LG_K_MODE];
	int *behind = &run->value[LG_K_BEHIND];

	if (!run->given[LG_K_MODE])
		*mode = shared ? LG_W : LG_X;
	if (shared != (*mode != LG_X))
		return lg_refuse(error, "mode=%s: %s has %s",
				 lg_mode_words[*mode], lg_kind_words[kind],
				 shared ? "the modes r and w" :
					  "no mode but x");
	if (!run->given[LG_K_BEHIND])
		*behind = lg_opposite(*mode);
	if (shared != (*behind != LG_X))
		return lg_refuse(error, "behind=%s: %s has %s",
				 lg_mode_words[*behind], lg_kind_words[kind],
				 shared ? "the modes r and w" :
					  "no mode but x");
	if (*mode == LG_R && *behind == LG_R)
		return lg_refuse(
			error,
			"behind=r: a reader does not wait behind a reader, use mode=w or behind=w");
	return 0;
}

/* A w/w mutex is a kind here, and to those who ask so an entry of mutex. */
static void lg_settle_ww(struct lg_run *run)
{
	int *kind = &run->value[LG_K_KIND];
	int *entry = &run->value[LG_K_ENTRY];

	if (*kind == LG_MUTEX &&
	    (*entry == LG_WW || *entry == LG_WW_INTERRUPTIBLE))
		*kind = LG_WW_MUTEX;
	if (*kind == LG_WW_MUTEX && *entry == LG_PLAIN)
		*entry = LG_WW;
	if (*kind == LG_WW_MUTEX && *entry == LG_INTERRUPTIBLE)
		*entry = LG_WW_INTERRUPTIBLE;
}

static bool lg_must_try(const struct lg_run *run)
{
	return run->scenario == LG_TRYLOCK || run->value[LG_K_COUNT];
}

static bool lg_ends_by_signal(const struct lg_flavour *fl)
{
	switch (fl->entry) {
	case LG_PLAIN:
	case LG_INTERRUPTIBLE:
	case LG_KILLABLE:
	case LG_WW:
	case LG_WW_INTERRUPTIBLE:
		return true;
	default:
		return false;
	}
}

/* The entry points that a kind has for what the scenario does with it. */
static bool lg_entry_serves(const struct lg_run *run,
			    const struct lg_flavour *fl)
{
	if (lg_must_try(run))
		return fl->tries;
	return run->scenario != LG_SIGNAL || lg_ends_by_signal(fl);
}

static void lg_list_entries(const struct lg_run *run, char *list, size_t size)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	enum lg_mode mode = run->value[LG_K_MODE];
	size_t n = 0;
	unsigned int i;

	*list = '\0';
	for (i = 0; i < LG_FLAVOURS; i++) {
		const struct lg_flavour *fl = &lg_flavours[i];

		if (fl->mode == mode && lg_entry_serves(run, fl) &&
		    (fl->kind_id == kind ||
		     (kind == LG_MUTEX && fl->kind_id == LG_WW_MUTEX)))
			n += scnprintf(list + n, size - n, "%s%s",
				       n ? ", " : "",
				       lg_entry_words[fl->entry]);
	}
}

static int lg_settle_entry(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	int *entry = &run->value[LG_K_ENTRY];
	char list[160];

	if (run->value[LG_K_IRQ] && !lg_kind_spins(kind))
		return lg_refuse(
			error,
			"irq=1: %s may sleep, only spin, rawspin and rwlock have such a form",
			lg_kind_words[kind]);
	if (run->value[LG_K_IRQ] && run->given[LG_K_ENTRY])
		return lg_refuse(
			error,
			"irq=1: is the same as entry=irqsave, give one of them");
	if (run->value[LG_K_IRQ])
		*entry = LG_IRQSAVE;
	lg_settle_ww(run);
	kind = run->value[LG_K_KIND];
	run->waiter = lg_flavour(kind, run->value[LG_K_MODE], *entry);
	if (run->waiter && lg_entry_serves(run, run->waiter))
		return 0;
	lg_list_entries(run, list, sizeof(list));
	return lg_refuse(error, "entry=%s: %s of kind %s, mode %s, knows %s",
			 lg_entry_words[*entry],
			 lg_must_try(run) ? "a trylock" :
					    lg_scenario_words[run->scenario],
			 lg_kind_words[kind],
			 lg_mode_words[run->value[LG_K_MODE]],
			 *list ? list : "none");
}

static int lg_settle_flavours(struct lg_run *run, char *error)
{
	int err = lg_settle_entry(run, error);

	if (err)
		return err;
	run->holder = lg_flavour(run->value[LG_K_KIND], run->value[LG_K_BEHIND],
				 run->value[LG_K_ENTRY]);
	/* It holds in another mode, which may lack this entry point. */
	if (!run->holder)
		run->holder = lg_flavour(run->value[LG_K_KIND],
					 run->value[LG_K_BEHIND], LG_PLAIN);
	return 0;
}

static int lg_check_hold(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->scenario == LG_NESTED ?
				    run->value[LG_K_INNER_KIND] :
				    run->value[LG_K_KIND];
	enum lg_key_id k = run->given[LG_K_HOLD_NS] ? LG_K_HOLD_NS :
						      LG_K_HOLD_US;

	if (run->given[LG_K_HOLD_US] && run->given[LG_K_HOLD_NS])
		return lg_refuse(
			error,
			"hold_ns=%d: hold_us is given too, one is enough",
			run->value[LG_K_HOLD_NS]);
	run->hold_ns = run->given[LG_K_HOLD_NS] ?
			       run->value[LG_K_HOLD_NS] :
			       run->value[LG_K_HOLD_US] * NSEC_PER_USEC;
	if (!lg_kind_spins(kind))
		return 0;
	if (run->value[LG_K_HOLD])
		return lg_refuse(
			error,
			"hold=sleep: the holder of a %s must not sleep, use hold=run",
			lg_kind_words[kind]);
	if (run->hold_ns > 100 * NSEC_PER_MSEC)
		return lg_refuse(error,
				 "%s=%d: more than 100 ms is too long for a %s",
				 lg_keys[k].name, run->value[k],
				 lg_kind_words[kind]);
	return 0;
}

static int lg_check_nested(struct lg_run *run, char *error)
{
	enum lg_kind outer = run->value[LG_K_KIND];
	enum lg_kind inner = run->value[LG_K_INNER_KIND];

	if (lg_kind_spins(outer))
		return lg_refuse(
			error,
			"kind=%s: the outer lock of nested must be one that sleeps (mutex, rwsem, sem, rtmutex, percpu_rwsem, ww_mutex)",
			lg_kind_words[outer]);
	run->inner = lg_flavour(inner, lg_kind_shared(inner) ? LG_W : LG_X,
				inner == LG_WW_MUTEX ? LG_WW : LG_PLAIN);
	return 0;
}

static int lg_check_signal(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];

	if (lg_kind_spins(kind) || kind == LG_PERCPU_RWSEM)
		return lg_refuse(
			error,
			"kind=%s: no signal ends its wait, use mutex, ww_mutex, rwsem, sem or rtmutex",
			lg_kind_words[kind]);
	if (!run->value[LG_K_HOLD])
		return lg_refuse(
			error,
			"hold=run: a waiter that spins behind a running holder sees no signal, use hold=sleep");
	return 0;
}

static int lg_check_try(struct lg_run *run, char *error)
{
	if (run->value[LG_K_KIND] == LG_PERCPU_RWSEM &&
	    run->value[LG_K_MODE] == LG_W)
		return lg_refuse(
			error,
			"kind=percpu_rwsem mode=w: it has no trylock, use mode=r");
	return 0;
}

static int lg_check_scenario(struct lg_run *run, char *error)
{
	switch (run->scenario) {
	case LG_NESTED:
		return lg_check_nested(run, error);
	case LG_SIGNAL:
		return lg_check_signal(run, error);
	case LG_TRYLOCK:
		return lg_check_try(run, error);
	case LG_THROUGHPUT:
		return run->value[LG_K_COUNT] ? lg_check_try(run, error) : 0;
	case LG_MANY:
		if (run->value[LG_K_KIND] == LG_PERCPU_RWSEM &&
		    run->value[LG_K_LOCKS] > LG_MAX_PERCPU_LOCKS)
			return lg_refuse(
				error,
				"locks=%d: at most %d of kind percpu_rwsem",
				run->value[LG_K_LOCKS], LG_MAX_PERCPU_LOCKS);
		return 0;
	default:
		return 0;
	}
}

/*
 * A thread that spins with preemption off needs a CPU of its own: on one
 * shared with somebody it waits for, neither would get on.
 */
static int lg_check_threads(struct lg_run *run, char *error)
{
	unsigned int cpus = num_online_cpus();
	bool loops = LG_S_LOOPS & BIT(run->scenario);

	if (run->scenario == LG_NESTED)
		run->nthreads = 3;
	else if (loops)
		run->nthreads = run->value[LG_K_THREADS];
	else
		run->nthreads = run->value[LG_K_WAITERS] + 1;
	if (run->nthreads <= cpus || run->scenario == LG_FREE)
		return 0;
	if (run->scenario == LG_NESTED) {
		if (!lg_kind_spins(run->value[LG_K_INNER_KIND]) || cpus > 1)
			return 0;
		return lg_refuse(error,
				 "inner_kind=%s: needs 2 CPUs, here is 1",
				 lg_kind_words[run->value[LG_K_INNER_KIND]]);
	}
	if (lg_kind_spins(run->value[LG_K_KIND]))
		return lg_refuse(
			error,
			"%s=%d: kind %s needs a CPU for each thread, and %u CPUs allow at most %u",
			loops ? "threads" : "waiters",
			run->value[loops ? LG_K_THREADS : LG_K_WAITERS],
			lg_kind_words[run->value[LG_K_KIND]], cpus,
			loops ? cpus : cpus - 1);
	return 0;
}

/* Where spinlock_t and rwlock_t sleep, nothing said here about them holds. */
static int lg_check_realtime(struct lg_run *run, char *error)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	enum lg_kind inner = run->value[LG_K_INNER_KIND];

	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		return 0;
	if (kind == LG_SPIN || kind == LG_RWLOCK || inner == LG_SPIN ||
	    inner == LG_RWLOCK)
		return lg_refuse(
			error,
			"spin and rwlock are sleeping locks on this real-time kernel, use rawspin");
	return 0;
}

static int lg_check(struct lg_run *run, char *error)
{
	int err = lg_settle_modes(run, error);

	if (!err)
		err = lg_check_scenario(run, error);
	if (!err)
		err = lg_settle_flavours(run, error);
	if (!err)
		err = lg_check_realtime(run, error);
	if (!err)
		err = lg_check_hold(run, error);
	if (!err)
		err = lg_check_threads(run, error);
	return err;
}

/* The locks of a run. */

static const size_t lg_lock_size[LG_KINDS] = {
	[LG_SPIN] = sizeof(spinlock_t),
	[LG_RAWSPIN] = sizeof(raw_spinlock_t),
	[LG_RWLOCK] = sizeof(rwlock_t),
	[LG_MUTEX] = sizeof(struct mutex),
	[LG_RWSEM] = sizeof(struct rw_semaphore),
	[LG_SEM] = sizeof(struct semaphore),
	[LG_RTMUTEX] = sizeof(struct rt_mutex),
	[LG_PERCPU_RWSEM] = sizeof(struct percpu_rw_semaphore),
	[LG_WW_MUTEX] = sizeof(struct ww_mutex),
};

static int lg_init_lock(enum lg_kind kind, void *lock)
{
	switch (kind) {
	case LG_SPIN:
		spin_lock_init((spinlock_t *)lock);
		break;
	case LG_RAWSPIN:
		raw_spin_lock_init((raw_spinlock_t *)lock);
		break;
	case LG_RWLOCK:
		rwlock_init((rwlock_t *)lock);
		break;
	case LG_MUTEX:
		mutex_init((struct mutex *)lock);
		break;
	case LG_RWSEM:
		init_rwsem((struct rw_semaphore *)lock);
		break;
	case LG_SEM:
		sema_init(lock, 1);
		break;
	case LG_RTMUTEX:
		rt_mutex_init((struct rt_mutex *)lock);
		break;
	case LG_WW_MUTEX:
		ww_mutex_init(lock, &lockgen_ww_class);
		break;
	default:
		return percpu_init_rwsem((struct percpu_rw_semaphore *)lock);
	}
	return 0;
}

static int lg_allocate_lock(enum lg_kind kind, struct lg_lock *l)
{
	int err;

	l->name = "?";
	l->lock = kzalloc(lg_lock_size[kind], GFP_KERNEL);
	if (!l->lock)
		return -ENOMEM;
	err = lg_init_lock(kind, l->lock);
	if (err) {
		kfree(l->lock);
		return err;
	}
	l->allocated = true;
	return 0;
}

static void lg_free_locks(struct lg_run *run)
{
	unsigned int i;

	for (i = 0; run->lock && i < run->nlocks; i++) {
		if (!run->lock[i].allocated)
			continue;
		if (run->value[LG_K_KIND] == LG_PERCPU_RWSEM)
			percpu_free_rwsem(run->lock[i].lock);
		kfree(run->lock[i].lock);
		cond_resched();
	}
	kvfree(run->lock);
}

static unsigned int lg_count_locks(const struct lg_run *run)
{
	switch (run->scenario) {
	case LG_MANY:
		return run->value[LG_K_LOCKS];
	case LG_FREE:
		return run->nthreads;
	case LG_NESTED:
		return 2;
	default:
		return 1;
	}
}

static int lg_make_locks(struct lg_run *run)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	enum lg_kind inner = run->value[LG_K_INNER_KIND];
	unsigned int i = 0;
	int err = 0;

	run->nlocks = lg_count_locks(run);
	run->rounds = run->value[LG_K_ROUNDS];
	if (run->scenario == LG_MANY)
		run->rounds *= run->nlocks;
	run->lock = kvcalloc(run->nlocks, sizeof(*run->lock), GFP_KERNEL);
	if (!run->lock)
		return -ENOMEM;
	if (run->scenario != LG_MANY) {
		run->lock[i].lock = lg_global[kind].lock;
		run->lock[i++].name = lg_global[kind].name;
	}
	if (run->scenario == LG_NESTED) {
		run->lock[i].lock = lg_global[inner].inner;
		run->lock[i++].name = lg_global[inner].inner_name;
	}
	for (; i < run->nlocks && !err; i++)
		err = lg_allocate_lock(kind, &run->lock[i]);
	return err;
}

/* The threads of a run. */

static int lg_thread_main(void *data)
{
	struct lg_thread *t = data;
	struct lg_run *run = t->run;
	u64 start = lg_now();

	t->function->fn(t);
	if (!t->elapsed_ns)
		t->elapsed_ns = lg_since(start);
	if (atomic_dec_and_test(&run->live))
		complete(&run->done);
	return 0;
}

static const struct lg_function *lg_function_of(const struct lg_run *run,
						unsigned int index)
{
	static const enum lg_role holder[] = {
		[LG_CONVOY] = LG_HOLD,
		[LG_MANY] = LG_HOLD,
		[LG_SIGNAL] = LG_SIGNAL_HOLD,
		[LG_TRYLOCK] = LG_TRY_HOLD,
	};
	static const enum lg_role waiter[] = {
		[LG_CONVOY] = LG_WAIT,
		[LG_MANY] = LG_WAIT,
		[LG_SIGNAL] = LG_SIGNAL_WAIT,
		[LG_TRYLOCK] = LG_TRY,
	};

	switch (run->scenario) {
	case LG_FREE:
		return &run->waiter->role[LG_FREE_RUN];
	case LG_THROUGHPUT:
		return &run->waiter
				->role[run->value[LG_K_COUNT] ||
						       run->value[LG_K_MEASURE] ?
					       LG_THROUGHPUT_COUNT :
					       LG_THROUGHPUT_RUN];
	case LG_NESTED:
		if (index == 0)
			return &run->inner->role[LG_NEST_HOLD];
		return &run->waiter->role[index == 1 ? LG_NEST_OUTER :
						       LG_NEST_WAIT];
	default:
		return index == 0 ? &run->holder->role[holder[run->scenario]] :
				    &run->waiter->role[waiter[run->scenario]];
	}
}

/*
 * Thread 0, the holder where there is one, has a CPU of its own if there are
 * two; the others have one each as far as they go round.
 */
static int lg_cpu_of(const struct lg_run *run, unsigned int index)
{
	unsigned int cpus = num_online_cpus();
	unsigned int nth;
	int cpu;

	if (index == 0 || cpus < 2)
		nth = 0;
	else
		nth = 1 + (index - 1) % (cpus - 1);
	for_each_online_cpu (cpu)
		if (!nth--)
			return cpu;
	return cpumask_first(cpu_online_mask);
}

static int lg_make_threads(struct lg_run *run)
{
	unsigned int i;

	for (i = 0; i < run->nthreads; i++) {
		struct lg_thread *t = &run->thread[i];
		struct task_struct *task;

		t->run = run;
		t->index = i;
		t->function = lg_function_of(run, i);
		if (run->scenario == LG_TRYLOCK && i)
			t->index = i - 1;
		task = kthread_create(lg_thread_main, t, "lockgen/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		/* It may be gone before it is waited for. */
		get_task_struct(task);
		kthread_bind(task, lg_cpu_of(run, i));
		t->task = task;
	}
	return 0;
}

static void lg_join_threads(struct lg_run *run)
{
	unsigned int i;

	for (i = 0; i < run->nthreads; i++) {
		if (!run->thread[i].task)
			continue;
		kthread_stop(run->thread[i].task);
		put_task_struct(run->thread[i].task);
	}
}

static int lg_run_threads(struct lg_run *run)
{
	int err = lg_make_threads(run);
	unsigned int i;

	if (!err) {
		atomic_set(&run->live, run->nthreads);
		for (i = 0; i < run->nthreads; i++)
			wake_up_process(run->thread[i].task);
		if (wait_for_completion_interruptible(&run->done))
			WRITE_ONCE(run->stop, true);
		if (lg_stopped(run))
			err = -EINTR;
	}
	lg_join_threads(run);
	return err;
}

/* The truth of a run. */

static void lg_add_counts(struct lg_line *line, const struct lg_counts *c)
{
	u64 min_hold = atomic64_read(&c->min_hold_ns);
	unsigned int i;

	line->acquisitions += atomic64_read(&c->acquisitions);
	line->contended += atomic64_read(&c->contended);
	line->wait_ns += atomic64_read(&c->wait_ns);
	line->hold_ns += atomic64_read(&c->hold_ns);
	line->max_hold_ns =
		max_t(u64, line->max_hold_ns, atomic64_read(&c->max_hold_ns));
	if (min_hold && (!line->min_hold_ns || min_hold < line->min_hold_ns))
		line->min_hold_ns = min_hold;
	line->failed += atomic64_read(&c->failed);
	line->missed += atomic64_read(&c->missed);
	line->tried += atomic64_read(&c->tried);
	line->blocked += atomic64_read(&c->blocked);
	for (i = 0; i < LG_BYS; i++)
		line->by[i] += atomic64_read(&c->by[i]);
	if (c->holder)
		line->holder = c->holder;
}

static void lg_add_line(struct lg_truth *truth, const struct lg_flavour *fl,
			const struct lg_lock *l, const struct lg_counts *c,
			const char *caller)
{
	struct lg_line *line = &truth->line[truth->nlines++];

	line->lock = (unsigned long)l->lock;
	line->flavour = fl;
	line->caller = caller;
	line->name = l->name;
	lg_add_counts(line, c);
}

static void lg_add_sum(struct lg_truth *truth, const struct lg_run *run,
		       const char *caller)
{
	struct lg_line *line = &truth->line[truth->nlines++];
	unsigned int i;

	line->flavour = run->waiter;
	line->caller = caller;
	line->name = "?";
	for (i = 0; i < run->nlocks; i++)
		lg_add_counts(line, &run->lock[i].counts);
}

static void lg_add_lines(struct lg_truth *truth, struct lg_run *run)
{
	const char *last = run->thread[run->nthreads - 1].function->symbol;
	unsigned int i;

	if (run->scenario == LG_NESTED) {
		lg_add_line(truth, run->waiter, &run->lock[LG_NEST_LOCK_OUTER],
			    &run->lock[LG_NEST_LOCK_OUTER].counts, last);
		lg_add_line(truth, run->inner, &run->lock[LG_NEST_LOCK_INNER],
			    &run->lock[LG_NEST_LOCK_INNER].counts,
			    run->inner->role[LG_NEST_INNER].symbol);
		return;
	}
	if (run->scenario == LG_MANY)
		lg_add_sum(truth, run, last);
	if (run->scenario == LG_MANY && !run->value[LG_K_DETAIL])
		return;
	for (i = 0; i < run->nlocks; i++) {
		struct lg_lock *l = &run->lock[i];

		lg_add_line(truth, run->waiter, l, &l->counts, last);
		if (run->value[LG_K_DETAIL] && run->holder != run->waiter)
			lg_add_line(truth, run->holder, l, &l->holder_counts,
				    run->thread[0].function->symbol);
	}
}

static struct lg_truth *lg_make_truth(struct lg_run *run)
{
	struct lg_truth *truth;
	unsigned int i;

	/* Two for each lock at most, and the sum. */
	truth = kvzalloc(struct_size(truth, line, 2 * run->nlocks + 1),
			 GFP_KERNEL);
	if (!truth)
		return NULL;
	truth->scenario = run->scenario;
	truth->looks = run->scenario != LG_THROUGHPUT;
	truth->measures = truth->looks || run->value[LG_K_MEASURE];
	truth->counts_waits = truth->looks || run->value[LG_K_COUNT];
	for (i = 0; i < run->nthreads; i++)
		truth->elapsed_ns =
			max(truth->elapsed_ns, run->thread[i].elapsed_ns);
	lg_add_lines(truth, run);
	return truth;
}

/* Takes the truth over; waits for a reader that is in the middle of the old. */
static void lg_publish(struct lg_truth *truth)
{
	struct lg_truth *old;

	mutex_lock(&lockgen_truth_guard);
	old = lockgen_truth;
	lockgen_truth = truth;
	mutex_unlock(&lockgen_truth_guard);
	kvfree(old);
}

static int lg_perform(struct lg_run *run, char *command, char *error)
{
	struct lg_truth *truth;
	int err = lg_parse(run, command, error);

	if (!err)
		err = lg_check(run, error);
	if (err)
		return err;
	err = lg_make_locks(run);
	if (!err)
		err = lg_run_threads(run);
	if (!err) {
		truth = lg_make_truth(run);
		if (truth)
			lg_publish(truth);
		else
			err = -ENOMEM;
	}
	lg_free_locks(run);
	if (err == -EINTR)
		lg_refuse(error, "stopped before its end: no truth to tell");
	else if (err)
		lg_refuse(error, "could not run: error %d", err);
	return err;
}

/*
 * One command, from start to end; NULL is one too long to be read.  It must
 * not run beside another.
 */
static int lg_execute(char *command)
{
	struct lg_truth *failure;
	struct lg_run *run;
	int err;

	failure = kvzalloc(sizeof(*failure), GFP_KERNEL);
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	if (!failure || !run) {
		kvfree(failure);
		kvfree(run);
		return -ENOMEM;
	}
	init_completion(&run->done);
	err = lg_perform(run, command, failure->error);
	kvfree(run);
	if (err)
		lg_publish(failure);
	else
		kvfree(failure);
	return err;
}

/* /proc/lockgen */

static void *lg_seq_start(struct seq_file *m, loff_t *pos)
{
	int err = mutex_lock_killable(&lockgen_truth_guard);
	const struct lg_truth *truth = lockgen_truth;

	if (err)
		return ERR_PTR(err);
	/* Each line is there once, and before all of them the heading. */
	return *pos <= (truth ? truth->nlines : 0) ? pos : NULL;
}

static void *lg_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return *pos <= (lockgen_truth ? lockgen_truth->nlines : 0) ? pos : NULL;
}

static void lg_seq_stop(struct seq_file *m, void *v)
{
	if (!IS_ERR(v))
		mutex_unlock(&lockgen_truth_guard);
}

static void lg_show_heading(struct seq_file *m, const struct lg_truth *truth)
{
	if (!truth) {
		seq_puts(
			m,
			"error: nothing has run yet: write a command, e.g. convoy kind=mutex waiters=3\n");
		return;
	}
	if (truth->error[0]) {
		seq_printf(m, "%s\n", truth->error);
		return;
	}
	seq_printf(m, "#lockgen 1 %s\n", lg_scenario_words[truth->scenario]);
	seq_puts(
		m,
		"#lock\tkind\tmode\tvariant\tacquisitions\tcontended\twait_ns\thold_ns\tfailed\tmissed_window\tholder_tid\tcaller\tname\telapsed_ns\tmax_hold_ns\tmin_hold_ns\ttried\tspun\tblocked\tby_writer\tby_readers\twrite_wanted\tentry\n");
}

static void lg_show_number(struct seq_file *m, bool known, u64 number)
{
	if (known)
		seq_printf(m, "\t%llu", number);
	else
		seq_puts(m, "\t-");
}

static int lg_seq_show(struct seq_file *m, void *v)
{
	const struct lg_truth *truth = lockgen_truth;
	const struct lg_line *line;
	loff_t pos = *(loff_t *)v;
	unsigned int i;

	if (!pos) {
		lg_show_heading(m, truth);
		return 0;
	}
	line = &truth->line[pos - 1];
	/* The raw address: only root can read this, to compare it. */
	seq_printf(m, "0x%lx\t%s\t%s\t%s\t%llu", line->lock,
		   lg_kind_reported(line->flavour->kind_id),
		   lg_mode_words[line->flavour->mode], line->flavour->variant,
		   line->acquisitions);
	lg_show_number(m, truth->counts_waits, line->contended);
	lg_show_number(m, truth->measures, line->wait_ns);
	lg_show_number(m, truth->measures, line->hold_ns);
	seq_printf(m, "\t%llu\t%llu\t%d\t%s\t%s\t%llu", line->failed,
		   line->missed, line->holder, line->caller, line->name,
		   truth->elapsed_ns);
	lg_show_number(m, truth->measures, line->max_hold_ns);
	lg_show_number(m, truth->measures, line->min_hold_ns);
	seq_printf(m, "\t%llu", line->tried);
	lg_show_number(m, truth->looks, line->contended - line->blocked);
	lg_show_number(m, truth->looks, line->blocked);
	for (i = 0; i < LG_BYS; i++)
		lg_show_number(m,
			       truth->looks &&
				       lg_kind_shared(line->flavour->kind_id),
			       line->by[i]);
	seq_printf(m, "\t%s\n", lg_entry_words[line->flavour->entry]);
	return 0;
}

static const struct seq_operations lg_seq_ops = {
	.start = lg_seq_start,
	.next = lg_seq_next,
	.stop = lg_seq_stop,
	.show = lg_seq_show,
};

static int lg_open(struct inode *inode, struct file *file)
{
	return seq_open(file, &lg_seq_ops);
}

static ssize_t lg_write(struct file *file, const char __user *buffer,
			size_t size, loff_t *pos)
{
	char *command;
	int err;

	/* Not waited for: that wait would be one more in the tool's report. */
	if (!mutex_trylock(&lockgen_control))
		return -EBUSY;
	if (size > LG_MAX_COMMAND) {
		err = lg_execute(NULL);
	} else {
		command = memdup_user_nul(buffer, size);
		err = PTR_ERR_OR_ZERO(command);
		if (!err) {
			err = lg_execute(command);
			kfree(command);
		}
	}
	mutex_unlock(&lockgen_control);
	return err ? err : size;
}

static const struct proc_ops lg_proc_ops = {
	.proc_open = lg_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = seq_release,
	.proc_write = lg_write,
};

/*
 * A percpu_rwsem that a writer has left is still known to RCU for up to two
 * grace periods; it must not go away with the module before that.
 */
static void lg_settle_percpu_rwsems(void)
{
	rcu_barrier();
	rcu_barrier();
}

static int lg_run_at_load(void)
{
	char *command;
	int err;

	if (!run)
		return 0;
	command = kstrdup(run, GFP_KERNEL);
	if (!command)
		return -ENOMEM;
	err = lg_execute(command);
	kfree(command);
	if (err && lockgen_truth)
		pr_err("run=\"%s\": %s\n", run, lockgen_truth->error);
	return err;
}

static int __init lockgen_init(void)
{
	int err;

	ww_mutex_init(&lockgen_ww_mutex, &lockgen_ww_class);
	ww_mutex_init(&lockgen_inner_ww_mutex, &lockgen_ww_class);
	err = lg_run_at_load();
	if (!err && !proc_create("lockgen", 0600, NULL, &lg_proc_ops))
		err = -ENOMEM;
	if (err) {
		lg_settle_percpu_rwsems();
		kvfree(lockgen_truth);
	}
	return err;
}

static void __exit lockgen_exit(void)
{
	/* A write that is still under way ends, and is waited for. */
	WRITE_ONCE(lockgen_unloading, true);
	remove_proc_entry("lockgen", NULL);
	lg_settle_percpu_rwsems();
	kvfree(lockgen_truth);
}

module_init(lockgen_init);
module_exit(lockgen_exit);
MODULE_DESCRIPTION("Lock contention whose truth is known");
MODULE_LICENSE("GPL");
