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
 *   holders     three threads hold a lock one after another, waiters=N wait
 *               behind all three: who is to blame for how much of their waits?
 *   shared      waiters=N come to a lock of readers and writers, by what stops
 *               them: by=writer, that holds it; by=readers, readers=N of them
 *               that hold it, behind which a writer waits; by=write_wanted, a
 *               writer that waits for readers=N, behind which a reader waits
 *   recursive   threads=N, each a reader that takes its lock depth=N times
 *   foreign     one task takes a lock (sem, or rwsem or percpu_rwsem as a reader)
 *               and another one lets it go
 *   downgrade   a writer of a rwsem becomes a reader, after hold_us, and stays
 *               it for read_us; readers=N come and wait while it writes
 *
 *   chain       length=N threads: one holds a lock, each next one holds a lock and
 *               waits for that of the one before it, the last only waits;
 *               chains=N of them stand at the same time
 *   deadlock    length=N threads that each hold a lock and wait in a ring;
 *               after hold_us a signal ends the wait of the one that closed it
 *   order       locks=N are taken one inside another, in one order here and in
 *               another one there, strictly one after another: nobody waits
 *
 * The command end ends what stand=1 has left standing, and its truth is whole
 * only then.
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
 *   state       of holders: what these do while they hold: run; sleep; preempted:
 *               a more urgent thread takes their CPU; lock: wait for a second
 *               lock (inner_kind); mixed: a runs, b sleeps, c waits for a lock.
 *               b holds twice as long as a, and c three times
 *   rounds, iterations  how often
 *   inner       pauses of the CPU (cpu_relax) while a lock is held
 *   count=1, measure=1  of throughput: count its waits, measure its times
 *   detail=1    a line for each lock of many, and for the holder's mode
 *
 * Of chain and deadlock:
 *   kind        mutex, rwsem_w, rwsem_r (readers that wait for a writer), rtmutex,
 *               sem, ww_mutex, mixed: another kind at each depth; and, of chain
 *               only, percpu_rwsem_w; spin and mixed_spin, with a spinlock in
 *               front: each thread that spins needs a CPU of its own, and one
 *               more must be left
 *   length      2 to 8 threads
 *   chains      1 to 40 of them
 *   behind      so many more threads then wait for lock 0 of each
 *   build       front: thread 1 is the first to wait, then 2, ...; back: the last
 *               one is, and thread 1 the last.  Each begins when the one before
 *               it has been seen in its lock's queue; thread 0 of a deadlock is
 *               always the last, and closes it
 *   hold_us     how long it all stands, up to a minute
 *   stand=1     the command returns as soon as it stands, and it stands until
 *               the command end.  After two minutes the kernel may log that
 *               tasks are blocked
 *   rounds      how often it is built and ends
 *
 * Of order:
 *   kind        mutex, rwsem, rtmutex, spin, rwlock
 *   locks       2: a then b, and b then a; 3: a then b, b then c, c then a
 *   threads     1 to 3 that share these paths
 *   modes       of rwsem and rwlock: how the first path takes its first and its
 *               second lock, and then how the others do: wwww, rrrr, rwrw, wrwr,
 *               rwwr, rrww
 *   gate        1: a mutex is held around each path; half: around the first only;
 *               read: a rwsem is held for reading, which keeps nobody out
 *   try         1: the last path takes its second lock by a trylock; first: its
 *               first lock, which does not help
 *   same=1      the second path takes the locks in the order of the first
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
 * Lines of other types follow those of the locks, each type under a heading
 * of its own and with its name in the first column.  Of holders:
 *   function        symbol state holds hold_ns waits wait_ns run_ns sleep_ns
 *                   preempted_ns lock_ns: all holds and waits of one function,
 *                   and what it did while it held.  a sleeps, or in front of a
 *                   spinning lock runs, until the others queue
 *   blame           holder waiter waits overlap_ns run_ns sleep_ns preempted_ns
 *                   lock_ns: how many waits of the waiter's function fell into
 *                   holds of the holder's function, for how long, and what the
 *                   holder did meanwhile
 * Of recursive:
 *   depth           number acquisitions hold_ns max_hold_ns min_hold_ns: the
 *                   holds that were the first, the second, ... of their task
 * Of foreign:
 *   foreign         taker taker_tid releaser releaser_tid holds hold_ns
 * Of downgrade, whose line for mode r has the acquisitions of the other readers,
 * but all holds:
 *   downgrade       symbol downgrades write_hold_ns max_write_hold_ns
 *                   read_hold_ns max_read_hold_ns: of the task that downgrades
 *
 * Of chain and deadlock, which have no lines of locks:
 *   link            chain depth tid comm kind mode name lock owner owner_comm waits
 *                   missed wait_ns failed called_ns caller holder: thread depth
 *                   of a chain waits for the lock, whose owner is the thread
 *                   owner; how many of its waits were seen, and not seen; how
 *                   long all were, "-" while it still waits, and how many a
 *                   signal ended; when the last one began, in the clock of
 *                   ktime_get_mono_fast_ns(); and the functions from which it
 *                   waits, and the owner holds
 *   ring            ring length times closer closed_ns seen_ns ended_ns: of a
 *                   deadlock, how often it was seen closed, by the thread
 *                   closer, and of the last time when that one called the lock
 *                   function, when it was seen in the queue, and when the
 *                   signal had ended its wait, in the same clock
 *
 * Of order, which has none either:
 *   path            caller tid comm kind first first_lock first_mode first_try
 *                   second second_lock second_mode second_try gate times failed:
 *                   the function that takes the first lock and inside it the
 *                   second, the names and addresses of both, and of the gate;
 *                   and how often it did, and a trylock failed
 *   order           kind locks inversion harmless: 1 where the paths, run at the
 *                   same time, can be a deadlock; 0 where they cannot, and why:
 *                   gate, trylock, readers, same
 *
 * /proc/lockgen_lock offers kernel mutexes that a thread of user space can hold
 * across its system calls; holdable.c tells how.
 *
 * Times are made and measured by the clock, never by mdelay() or udelay(),
 * whose calibration is wrong in many virtual machines.  Every loop that waits
 * calls cpu_relax(): an emulator that runs all CPUs in one thread changes to
 * the next CPU only there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "lockgen.h"

#define LG_MAX_MORE 4096

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
/* A run that was left standing, until the command end. */
static struct lg_run *lockgen_standing;
bool lockgen_unloading;

static char *run;
module_param(run, charp, 0400);
MODULE_PARM_DESC(
	run,
	"a scenario to run once at load, e.g. run=convoy,kind=mutex,waiters=3");

const char *const lg_kind_words[] = { "spin",	 "rawspin",	 "rwlock",
				      "mutex",	 "rwsem",	 "sem",
				      "rtmutex", "percpu_rwsem", "ww_mutex",
				      NULL };

const char *const lg_mode_words[] = { "x", "r", "w", NULL };

static const char *const lg_entry_words[] = {
	"plain", "bh",	   "irq",     "irqsave", "interruptible",    "killable",
	"io",	 "nested", "timeout", "ww",	 "ww_interruptible", NULL
};

/* clang-format off */

static const char *const lg_scenario_words[] = { "convoy",     "free",
						 "many",       "nested",
						 "signal",     "trylock",
						 "throughput", "holders", "shared", "recursive", "foreign", "downgrade",
						 "chain",      "deadlock", "order", NULL };

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
	/* Lines of other types, as text. */
	char *more;
	unsigned int nlines;
	struct lg_line line[];
};

/* The word the watching tools use: a raw spinlock is a spinlock, and so on. */
const char *lg_kind_reported(enum lg_kind kind)
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

const struct lg_flavour *lg_flavour(enum lg_kind kind, enum lg_mode mode,
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

const struct lg_flavour *lg_plain_flavour(enum lg_kind kind, enum lg_mode mode)
{
	return lg_flavour(kind, mode, kind == LG_WW_MUTEX ? LG_WW : LG_PLAIN);
}

static const struct lg_plan *const lg_plans[LG_SCENARIOS] = {
	[LG_HOLDERS] = &lg_plan_holders,     [LG_SHARED] = &lg_plan_shared,
	[LG_RECURSIVE] = &lg_plan_recursive, [LG_FOREIGN] = &lg_plan_foreign,
	[LG_DOWNGRADE] = &lg_plan_downgrade, [LG_CHAIN] = &lg_plan_chain,
	[LG_DEADLOCK] = &lg_plan_deadlock,   [LG_ORDER] = &lg_plan_order,
};

/* The command. */

static const char *const lg_by_words[] = { "writer", "readers", "write_wanted",
					   NULL };
static const char *const lg_hold_words[] = { "run", "sleep", NULL };
static const char *const lg_state_words[] = { "run",  "sleep", "preempted",
					      "lock", "mixed", NULL };

#define LG_S(scenario) BIT(LG_##scenario)
#define LG_S_WAITS (LG_S(CONVOY) | LG_S(MANY) | LG_S(SIGNAL) | LG_S(TRYLOCK))
#define LG_S_LOOPS (LG_S(FREE) | LG_S(THROUGHPUT))
#define LG_S_MORE \
	(LG_S(SHARED) | LG_S(RECURSIVE) | LG_S(FOREIGN) | LG_S(DOWNGRADE))
#define LG_S_HOLDS                                               \
	(LG_S(CONVOY) | LG_S(FREE) | LG_S(MANY) | LG_S(NESTED) | \
	 LG_S(SIGNAL) | LG_S(HOLDERS) | LG_S_MORE)
#define LG_S_LINKS (LG_S(CHAIN) | LG_S(DEADLOCK))
#define LG_S_ALL (BIT(LG_SCENARIOS) - 1)

static const struct lg_key {
	const char *name;
	const char *const *words;
	int min, max, preset;
	unsigned int scenarios;
} lg_keys[LG_KEYS] = {
	[LG_K_KIND] = { "kind", lg_kind_words, .preset = LG_MUTEX,
			.scenarios = LG_S_ALL & ~(LG_S_LINKS | LG_S(ORDER)) },
	[LG_K_MODE] = { "mode", lg_mode_words,
			.scenarios = LG_S_WAITS | LG_S_LOOPS | LG_S(SHARED) },
	[LG_K_BEHIND] = { "behind", lg_mode_words, .scenarios = LG_S_WAITS },
	[LG_K_INNER_KIND] = { "inner_kind", lg_kind_words, .preset = LG_MUTEX,
			      .scenarios = LG_S(NESTED) | LG_S(HOLDERS) },
	[LG_K_HOLD] = { "hold", lg_hold_words,
			.scenarios = LG_S(CONVOY) | LG_S(MANY) | LG_S(NESTED) |
				     LG_S(SIGNAL) | LG_S_MORE },
	[LG_K_ENTRY] = { "entry", lg_entry_words, .preset = LG_PLAIN,
			 .scenarios = LG_S_WAITS | LG_S_LOOPS },
	[LG_K_IRQ] = { "irq", NULL, 0, 1, 0,
		       LG_S(CONVOY) | LG_S(MANY) | LG_S_LOOPS },
	[LG_K_WAITERS] = { "waiters", NULL, 1, LG_MAX_THREADS, 1,
			   LG_S_WAITS | LG_S(HOLDERS) | LG_S(SHARED) },
	[LG_K_ROUNDS] = { "rounds", NULL, 1, 100000, 50,
			  LG_S_WAITS | LG_S(NESTED) | LG_S(HOLDERS) |
				  LG_S_MORE | LG_S(ORDER) },
	[LG_K_HOLD_US] = { "hold_us", NULL, 0, 1000000, 3000, LG_S_HOLDS },
	[LG_K_HOLD_NS] = { "hold_ns", NULL, 0, 1000000000, 0, LG_S_HOLDS },
	[LG_K_LOCKS] = { "locks", NULL, 1, LG_MAX_LOCKS, 1000, LG_S(MANY) },
	[LG_K_TRIES] = { "tries", NULL, 1, 1000000, 10, LG_S(TRYLOCK) },
	[LG_K_THREADS] = { "threads", NULL, 1, LG_MAX_THREADS, 1,
			   LG_S_LOOPS | LG_S(RECURSIVE) },
	[LG_K_ITERATIONS] = { "iterations", NULL, 1, 100000000, 1000,
			      LG_S_LOOPS },
	[LG_K_INNER] = { "inner", NULL, 0, 1000000, 0, LG_S_LOOPS },
	[LG_K_COUNT] = { "count", NULL, 0, 1, 0, LG_S(THROUGHPUT) },
	[LG_K_MEASURE] = { "measure", NULL, 0, 1, 0, LG_S(THROUGHPUT) },
	[LG_K_STATE] = { "state", lg_state_words, .scenarios = LG_S(HOLDERS) },
	[LG_K_BY] = { "by", lg_by_words, .scenarios = LG_S(SHARED) },
	[LG_K_READERS] = { "readers", NULL, 0, LG_MAX_THREADS, 1,
			   LG_S(SHARED) | LG_S(DOWNGRADE) },
	[LG_K_DEPTH] = { "depth", NULL, 1, LG_MAX_DEPTH, 2, LG_S(RECURSIVE) },
	[LG_K_READ_US] = { "read_us", NULL, 0, 1000000, 0, LG_S(DOWNGRADE) },
	[LG_K_DETAIL] = { "detail", NULL, 0, 1, 0, LG_S_WAITS },
	[LG_K_LINK_KIND] = { "kind", lg_link_words, .scenarios = LG_S_LINKS },
	[LG_K_LENGTH] = { "length", NULL, 2, 8, 3, LG_S_LINKS },
	[LG_K_CHAINS] = { "chains", NULL, 1, 40, 1, LG_S_LINKS },
	[LG_K_BEHIND_0] = { "behind", NULL, 0, 32, 0, LG_S_LINKS },
	[LG_K_BUILD] = { "build", lg_build_words, .scenarios = LG_S_LINKS },
	[LG_K_STAND] = { "stand", NULL, 0, 1, 0, LG_S_LINKS },
	[LG_K_STAND_US] = { "hold_us", NULL, 0, 60000000, 100000, LG_S_LINKS },
	[LG_K_ORDER_KIND] = { "kind", lg_order_words,
			      .scenarios = LG_S(ORDER) },
	[LG_K_ORDER_LOCKS] = { "locks", NULL, 2, 3, 2, LG_S(ORDER) },
	[LG_K_PATH_THREADS] = { "threads", NULL, 1, 3, 1, LG_S(ORDER) },
	[LG_K_MODES] = { "modes", lg_modes_words, .scenarios = LG_S(ORDER) },
	[LG_K_GATE] = { "gate", lg_gate_words, .scenarios = LG_S(ORDER) },
	[LG_K_TRY] = { "try", lg_try_words, .scenarios = LG_S(ORDER) },
	[LG_K_SAME] = { "same", NULL, 0, 1, 0, LG_S(ORDER) },
	[LG_K_FEW_ROUNDS] = { "rounds", NULL, 1, 10000, 1, LG_S_LINKS },
};

int lg_refuse(char *error, const char *fmt, ...)
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
		if (lg_keys[k].scenarios & BIT(run->scenario) &&
		    !strcmp(lg_keys[k].name, word))
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
	char list[200];

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
	case LG_SHARED:
		run->value[LG_K_KIND] = LG_RWSEM;
		break;
	case LG_RECURSIVE:
		run->value[LG_K_KIND] = LG_RWLOCK;
		run->value[LG_K_HOLD_US] = 100;
		break;
	case LG_FOREIGN:
		run->value[LG_K_KIND] = LG_SEM;
		break;
	case LG_DOWNGRADE:
		run->value[LG_K_KIND] = LG_RWSEM;
		run->value[LG_K_READERS] = 0;
		break;
	case LG_DEADLOCK:
		run->value[LG_K_STAND_US] = 1500000;
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
	run->inner =
		lg_plain_flavour(inner, lg_kind_shared(inner) ? LG_W : LG_X);
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

static int lg_check_plan(struct lg_run *run, char *error)
{
	unsigned int cpus = num_online_cpus();
	int err = lg_check_realtime(run, error);

	lg_settle_ww(run);
	if (!err)
		err = lg_check_hold(run, error);
	if (!err)
		err = lg_plans[run->scenario]->check(run, error);
	if (err)
		return err;
	if (run->nthreads > ARRAY_SIZE(run->thread))
		return lg_refuse(error,
				 "%u threads are too many, %zu are allowed",
				 run->nthreads, ARRAY_SIZE(run->thread));
	if (lg_kind_spins(run->value[LG_K_KIND]) && run->nthreads > cpus)
		return lg_refuse(
			error,
			"kind=%s: each of the %u threads needs a CPU of its own, the number of CPUs is %u",
			lg_kind_words[run->value[LG_K_KIND]], run->nthreads,
			cpus);
	return 0;
}

static int lg_check(struct lg_run *run, char *error)
{
	int err;

	if (lg_plans[run->scenario])
		return lg_check_plan(run, error);
	err = lg_settle_modes(run, error);
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

int lg_init_lock(enum lg_kind kind, void *lock)
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
	default:
		return run->inner ? 2 : 1;
	}
}

static int lg_make_locks(struct lg_run *run)
{
	enum lg_kind kind = run->value[LG_K_KIND];
	enum lg_kind inner = run->value[LG_K_INNER_KIND];
	unsigned int i = 0;
	int err = 0;

	run->nlocks = lg_count_locks(run);
	if (!run->rounds)
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
	if (run->inner) {
		run->lock[i].lock = lg_global[inner].inner;
		run->lock[i++].name = lg_global[inner].inner_name;
	}
	for (; i < run->nlocks && !err; i++)
		err = lg_allocate_lock(kind, &run->lock[i]);
	return err;
}

static int lg_make_own(struct lg_run *run)
{
	const struct lg_plan *plan = lg_plans[run->scenario];

	if (!plan || !plan->own_bytes)
		return 0;
	run->own = kvzalloc(plan->own_bytes, GFP_KERNEL);
	if (!run->own)
		return -ENOMEM;
	return plan->prepare ? plan->prepare(run) : 0;
}

static void lg_free_own(struct lg_run *run)
{
	const struct lg_plan *plan = lg_plans[run->scenario];

	if (run->own && plan->dispose)
		plan->dispose(run);
	kvfree(run->own);
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

	if (lg_plans[run->scenario])
		return lg_plans[run->scenario]->function(run, index);
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
	const struct lg_plan *plan = lg_plans[run->scenario];
	unsigned int cpus = num_online_cpus();
	unsigned int nth;
	int cpu;

	if (plan && plan->place)
		index = plan->place(run, index);

	if (index == 0 || cpus < 2)
		nth = 0;
	else
		nth = 1 + (index - 1) % (cpus - 1);
	for_each_online_cpu (cpu)
		if (!nth--)
			return cpu;
	return cpumask_first(cpu_online_mask);
}

static void lg_name_thread(const struct lg_run *run, unsigned int index,
			   char *comm, size_t size)
{
	const struct lg_plan *plan = lg_plans[run->scenario];

	if (plan && plan->comm)
		plan->comm(run, index, comm, size);
	else
		scnprintf(comm, size, "lockgen/%u", index);
}

static int lg_make_threads(struct lg_run *run)
{
	char comm[TASK_COMM_LEN];
	unsigned int i;

	for (i = 0; i < run->nthreads; i++) {
		struct lg_thread *t = &run->thread[i];
		struct task_struct *task;

		t->run = run;
		t->index = i;
		t->function = lg_function_of(run, i);
		if (run->scenario == LG_TRYLOCK && i)
			t->index = i - 1;
		lg_name_thread(run, i, comm, sizeof(comm));
		task = kthread_create(lg_thread_main, t, "%s", comm);
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

/* Ends when the threads do, or when they stand as they are to be left. */
static int lg_run_threads(struct lg_run *run)
{
	int err = lg_make_threads(run);
	unsigned int i;

	if (err) {
		lg_join_threads(run);
		return err;
	}
	atomic_set(&run->live, run->nthreads);
	for (i = 0; i < run->nthreads; i++)
		wake_up_process(run->thread[i].task);
	if (wait_for_completion_interruptible(
		    run->value[LG_K_STAND] ? &run->standing : &run->done))
		WRITE_ONCE(run->stop, true);
	if (lg_stopped(run))
		err = -EINTR;
	if (err || !run->value[LG_K_STAND])
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

	if (lg_plans[run->scenario]) {
		lg_add_line(truth, run->waiter, &run->lock[0],
			    &run->lock[0].counts, run->caller);
		if (run->other)
			lg_add_line(truth, run->other, &run->lock[0],
				    &run->lock[0].holder_counts,
				    run->other_caller);
		if (run->inner)
			lg_add_line(truth, run->inner, &run->lock[1],
				    &run->lock[1].counts, run->inner_caller);
		return;
	}
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
	const struct lg_plan *plan = lg_plans[run->scenario];
	size_t more = plan && plan->more_bytes ? plan->more_bytes : LG_MAX_MORE;
	struct lg_truth *truth;
	unsigned int i, lines;

	/* Two for each lock at most, and the sum. */
	lines = 2 * run->nlocks + 1;
	truth = kvzalloc(struct_size(truth, line, lines) + more, GFP_KERNEL);
	if (!truth)
		return NULL;
	truth->more = (char *)&truth->line[lines];
	truth->scenario = run->scenario;
	truth->looks = run->scenario != LG_THROUGHPUT;
	truth->measures = truth->looks || run->value[LG_K_MEASURE];
	truth->counts_waits = truth->looks || run->value[LG_K_COUNT];
	for (i = 0; i < run->nthreads; i++)
		truth->elapsed_ns =
			max(truth->elapsed_ns, run->thread[i].elapsed_ns);
	if (!plan || !plan->tells_itself)
		lg_add_lines(truth, run);
	if (plan && plan->tell)
		plan->tell(run, truth->more, more);
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

static int lg_tell_truth(struct lg_run *run)
{
	struct lg_truth *truth = lg_make_truth(run);

	if (!truth)
		return -ENOMEM;
	lg_publish(truth);
	return 0;
}

static void lg_free_run(struct lg_run *run)
{
	lg_free_locks(run);
	lg_free_own(run);
	kvfree(run);
}

/* The run of a command that was left standing comes to its end. */
static int lg_end_standing(void)
{
	struct lg_run *run = lockgen_standing;
	int err;

	lockgen_standing = NULL;
	WRITE_ONCE(run->end, true);
	wait_for_completion(&run->done);
	err = lg_tell_truth(run);
	lg_join_threads(run);
	lg_free_run(run);
	return err;
}

static int lg_perform(struct lg_run *run, char *command, char *error)
{
	int err = lg_parse(run, command, error);

	if (!err && lockgen_standing)
		return lg_refuse(
			error,
			"%s: what has been built still stands, write end first",
			lg_scenario_words[run->scenario]);
	if (!err)
		err = lg_check(run, error);
	if (err)
		return err;
	err = lg_make_locks(run);
	if (!err)
		err = lg_make_own(run);
	if (!err)
		err = lg_run_threads(run);
	if (!err && run->value[LG_K_STAND])
		lockgen_standing = run;
	if (!err)
		err = lg_tell_truth(run);
	if (err == -EINTR)
		lg_refuse(error, "stopped before its end: no truth to tell");
	else if (err)
		lg_refuse(error, "could not run: error %d", err);
	return err;
}

/* The only command that is no scenario. */
static int lg_perform_end(char *error)
{
	int err;

	if (!lockgen_standing)
		return lg_refuse(
			error,
			"end: nothing stands, begin with e.g. chain stand=1");
	err = lg_end_standing();
	if (err)
		lg_refuse(error, "could not tell the truth: error %d", err);
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
	init_completion(&run->standing);
	if (command && !strcmp(strim(command), "end"))
		err = lg_perform_end(failure->error);
	else
		err = lg_perform(run, command, failure->error);
	if (run != lockgen_standing)
		lg_free_run(run);
	if (err)
		lg_publish(failure);
	else
		kvfree(failure);
	return err;
}

/* /proc/lockgen */

/* Before the lines of the locks the heading, and after them the others. */
static unsigned int lg_items(const struct lg_truth *truth)
{
	return truth ? truth->nlines + 2 : 1;
}

static void *lg_seq_start(struct seq_file *m, loff_t *pos)
{
	int err = mutex_lock_killable(&lockgen_truth_guard);
	const struct lg_truth *truth = lockgen_truth;

	if (err)
		return ERR_PTR(err);
	return *pos < lg_items(truth) ? pos : NULL;
}

static void *lg_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return *pos < lg_items(lockgen_truth) ? pos : NULL;
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
	if (!truth->nlines)
		return;
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
	if (pos > truth->nlines) {
		seq_puts(m, truth->more ? truth->more : "");
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

static void lg_clear(void)
{
	if (lockgen_standing)
		lg_end_standing();
	lg_settle_percpu_rwsems();
	kvfree(lockgen_truth);
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
	if (!err)
		err = lg_offer_held();
	if (!err && !proc_create("lockgen", 0600, NULL, &lg_proc_ops)) {
		lg_withdraw_held();
		err = -ENOMEM;
	}
	if (err)
		lg_clear();
	return err;
}

static void __exit lockgen_exit(void)
{
	/* A write that is still under way ends, and is waited for. */
	WRITE_ONCE(lockgen_unloading, true);
	remove_proc_entry("lockgen", NULL);
	lg_withdraw_held();
	lg_clear();
}

module_init(lockgen_init);
module_exit(lockgen_exit);
MODULE_DESCRIPTION("Lock contention whose truth is known");
MODULE_LICENSE("GPL");
