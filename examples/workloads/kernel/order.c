// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: order.  Locks are taken in an order here and in another one there:
 * nothing waits, since it is done strictly one after another, but done at the
 * same time it can be a deadlock; or not, where a gate, a trylock or readers
 * stand against it.
 *
 * A path takes one lock and inside it a second one.  Two locks have the paths
 * ab and ba, three have ab, bc and ca; each path and kind has a function of
 * its own, lockgen_order_ab_mutex and so on.  The locks are globals.
 */
#include "lockgen.h"

#define LG_MAX_PATHS 3

/* clang-format off */

#define LG_ORDER_KINDS(F)			\
	F(mutex, mutex, mutex)			\
	F(rwsem, rwsem_r, rwsem_w)		\
	F(rtmutex, rtmutex, rtmutex)		\
	F(spin, spin, spin)			\
	F(rwlock, rwlock_r, rwlock_w)

/* clang-format on */

enum lg_order_kind {
#define LG_ORDER_ID(word, reads, writes) LG_ORDER_##word,
	LG_ORDER_KINDS(LG_ORDER_ID) LG_ORDER_KIND_COUNT
};

const char *const lg_order_words[] = {
#define LG_ORDER_WORD(word, reads, writes) #word,
	LG_ORDER_KINDS(LG_ORDER_WORD) NULL
};

enum lg_gate { LG_GATE_NONE, LG_GATE_ALL, LG_GATE_HALF, LG_GATE_READ };
const char *const lg_gate_words[] = { "0", "1", "half", "read", NULL };

enum lg_try { LG_TRY_NONE, LG_TRY_SECOND, LG_TRY_FIRST };
const char *const lg_try_words[] = { "0", "1", "first", NULL };

/* How the first path takes its first and its second lock, then the others. */
const char *const lg_modes_words[] = { "wwww", "rrrr", "rwrw", "wrwr",
				       "rwwr", "rrww", NULL };

static DEFINE_MUTEX(lockgen_order_gate);
static DECLARE_RWSEM(lockgen_order_read_gate);

/* clang-format off */

#define LG_ORDER_GLOBALS(id)					\
static DEFINE_MUTEX(lockgen_order_##id##_mutex);		\
static DECLARE_RWSEM(lockgen_order_##id##_rwsem);		\
static DEFINE_RT_MUTEX(lockgen_order_##id##_rtmutex);		\
static DEFINE_SPINLOCK(lockgen_order_##id##_spin);		\
static DEFINE_RWLOCK(lockgen_order_##id##_rwlock);

LG_ORDER_GLOBALS(a)
LG_ORDER_GLOBALS(b)
LG_ORDER_GLOBALS(c)

/* clang-format on */

/* One step of a path. */
struct lg_step {
	bool read;
	bool try;
};

struct lg_path {
	bool (*take)(const struct lg_step *first, const struct lg_step *second);
	const char *symbol;
	void *lock[2];
	const char *name[2];
	struct lg_step step[2];
	bool gated;
	unsigned int times;
	unsigned int failed;
	struct lg_thread *t;
};

struct lg_order {
	struct lg_path path[LG_MAX_PATHS];
	/* Paths done, over all rounds. */
	unsigned int done;
};

static __always_inline bool lg_order_take(enum lg_flavour_id reads,
					  enum lg_flavour_id writes, void *lock,
					  const struct lg_step *step)
{
	unsigned long flags = 0;

	if (step->try)
		return step->read ? lg_trylock(reads, lock, &flags) :
				    lg_trylock(writes, lock, &flags);
	if (step->read)
		lg_lock(reads, lock, &flags);
	else
		lg_lock(writes, lock, &flags);
	return true;
}

static __always_inline void lg_order_let(enum lg_flavour_id reads,
					 enum lg_flavour_id writes, void *lock,
					 const struct lg_step *step)
{
	unsigned long flags = 0;

	if (step->read)
		lg_unlock(reads, lock, &flags);
	else
		lg_unlock(writes, lock, &flags);
}

/* clang-format off */

/* False where a trylock failed: nobody else takes these locks. */
#define LG_ORDER_FN(x, y, word, reads, writes)				\
static noinline __noclone bool						\
lockgen_order_##x##y##_##word(const struct lg_step *first,		\
			      const struct lg_step *second)		\
{									\
	void *a = &lockgen_order_##x##_##word;				\
	void *b = &lockgen_order_##y##_##word;				\
									\
	if (!lg_order_take(LG_FL_##reads, LG_FL_##writes, a, first))	\
		return false;						\
	if (!lg_order_take(LG_FL_##reads, LG_FL_##writes, b, second)) {	\
		lg_order_let(LG_FL_##reads, LG_FL_##writes, a, first);	\
		return false;						\
	}								\
	lg_order_let(LG_FL_##reads, LG_FL_##writes, b, second);		\
	lg_order_let(LG_FL_##reads, LG_FL_##writes, a, first);		\
	return true;							\
}

#define LG_ORDER_FNS(word, reads, writes)	\
	LG_ORDER_FN(a, b, word, reads, writes)	\
	LG_ORDER_FN(b, a, word, reads, writes)	\
	LG_ORDER_FN(b, c, word, reads, writes)	\
	LG_ORDER_FN(c, a, word, reads, writes)

LG_ORDER_KINDS(LG_ORDER_FNS)

#define LG_ORDER_PATH(x, y, word)					\
	{								\
		.take = lockgen_order_##x##y##_##word,			\
		.symbol = "lockgen_order_" #x #y "_" #word,		\
		.lock = { &lockgen_order_##x##_##word,			\
			  &lockgen_order_##y##_##word },		\
		.name = { "lockgen_order_" #x "_" #word,		\
			  "lockgen_order_" #y "_" #word },		\
	}

#define LG_ORDER_PATHS(word, reads, writes)	\
	[LG_ORDER_##word] = {			\
		LG_ORDER_PATH(a, b, word),	\
		LG_ORDER_PATH(b, a, word),	\
		LG_ORDER_PATH(b, c, word),	\
		LG_ORDER_PATH(c, a, word),	\
	},

enum { LG_PATH_AB, LG_PATH_BA, LG_PATH_BC, LG_PATH_CA, LG_PATHS };

static const struct lg_path lg_order_paths[][LG_PATHS] = {
	LG_ORDER_KINDS(LG_ORDER_PATHS)
};

/* clang-format on */

static unsigned int lg_paths(const struct lg_run *run)
{
	return run->value[LG_K_ORDER_LOCKS];
}

/* What the threads do: each its paths, one after another over all of them. */

static noinline __noclone bool lockgen_order_gated(struct lg_path *p)
{
	bool taken;

	mutex_lock(&lockgen_order_gate);
	taken = p->take(&p->step[0], &p->step[1]);
	mutex_unlock(&lockgen_order_gate);
	return taken;
}

static noinline __noclone bool lockgen_order_read_gated(struct lg_path *p)
{
	bool taken;

	down_read(&lockgen_order_read_gate);
	taken = p->take(&p->step[0], &p->step[1]);
	up_read(&lockgen_order_read_gate);
	return taken;
}

static void lg_take_path(const struct lg_run *run, struct lg_path *p)
{
	bool taken;

	if (p->gated && run->value[LG_K_GATE] == LG_GATE_READ)
		taken = lockgen_order_read_gated(p);
	else if (p->gated)
		taken = lockgen_order_gated(p);
	else
		taken = p->take(&p->step[0], &p->step[1]);
	if (taken)
		p->times++;
	else
		p->failed++;
}

static void lg_order_main(struct lg_thread *t)
{
	struct lg_run *run = t->run;
	struct lg_order *o = run->own;
	unsigned int i, n = lg_paths(run) * run->rounds;

	for (i = 0; i < n; i++) {
		struct lg_path *p = &o->path[i % lg_paths(run)];

		if (i % lg_paths(run) % run->nthreads != t->index)
			continue;
		if (!lg_await(run, LG_PAUSE_SLEEPING,
			      smp_load_acquire(&o->done) == i))
			break;
		p->t = t;
		lg_take_path(run, p);
		smp_store_release(&o->done, i + 1);
	}
}

/* The plan. */

static const struct lg_function lg_order_function_ = { lg_order_main,
						       "lg_order_main" };

static const struct lg_function *lg_order_function(const struct lg_run *run,
						   unsigned int index)
{
	return &lg_order_function_;
}

static void lg_order_comm(const struct lg_run *run, unsigned int index,
			  char *comm, size_t size)
{
	scnprintf(comm, size, "lg_order_%u", index);
}

static int lg_check_order(struct lg_run *run, char *error)
{
	int kind = run->value[LG_K_ORDER_KIND];
	bool shared = kind == LG_ORDER_rwsem || kind == LG_ORDER_rwlock;

	run->rounds = run->value[LG_K_ROUNDS];
	run->nthreads = run->value[LG_K_PATH_THREADS];
	if (run->given[LG_K_MODES] && !shared)
		return lg_refuse(
			error,
			"modes=%s: kind %s has no readers, use rwsem or rwlock",
			lg_modes_words[run->value[LG_K_MODES]],
			lg_order_words[kind]);
	if (run->value[LG_K_SAME] && lg_paths(run) > 2)
		return lg_refuse(error,
				 "same=1: is for two locks, use locks=2");
	if (IS_ENABLED(CONFIG_PREEMPT_RT) &&
	    (kind == LG_ORDER_spin || kind == LG_ORDER_rwlock))
		return lg_refuse(
			error,
			"kind=%s: is a sleeping lock on this real-time kernel, use another kind",
			lg_order_words[kind]);
	return 0;
}

static int lg_prepare_order(struct lg_run *run)
{
	static const unsigned int two[] = { LG_PATH_AB, LG_PATH_BA };
	static const unsigned int same[] = { LG_PATH_AB, LG_PATH_AB };
	static const unsigned int three[] = { LG_PATH_AB, LG_PATH_BC,
					      LG_PATH_CA };
	const unsigned int *paths = run->value[LG_K_SAME] ? same :
				    lg_paths(run) == 2	  ? two :
							    three;
	const char *modes = lg_modes_words[run->value[LG_K_MODES]];
	unsigned int i, k, n = lg_paths(run);
	struct lg_order *o = run->own;

	for (i = 0; i < n; i++) {
		struct lg_path *p = &o->path[i];

		*p = lg_order_paths[run->value[LG_K_ORDER_KIND]][paths[i]];
		for (k = 0; k < 2; k++)
			p->step[k].read = modes[(i ? 2 : 0) + k] == 'r';
		p->gated = run->value[LG_K_GATE] == LG_GATE_HALF ?
				   !i :
				   run->value[LG_K_GATE] != LG_GATE_NONE;
	}
	/* A try in one direction only, the last. */
	o->path[n - 1].step[0].try = run->value[LG_K_TRY] == LG_TRY_FIRST;
	o->path[n - 1].step[1].try = run->value[LG_K_TRY] == LG_TRY_SECOND;
	return 0;
}

/* What stands against a deadlock, or NULL: nothing does. */
static const char *lg_harmless(const struct lg_run *run)
{
	const struct lg_order *o = run->own;
	unsigned int i, n = lg_paths(run);

	if (run->value[LG_K_SAME])
		return "same";
	if (run->value[LG_K_GATE] == LG_GATE_ALL)
		return "gate";
	for (i = 0; i < n; i++) {
		const struct lg_path *p = &o->path[i];
		const struct lg_path *next = &o->path[(i + 1) % n];

		if (p->step[1].try)
			return "trylock";
		/* Its second lock is what the next one holds first. */
		if (p->step[1].read && next->step[0].read)
			return "readers";
	}
	return NULL;
}

static const char *lg_order_mode(const struct lg_run *run,
				 const struct lg_step *step)
{
	int kind = run->value[LG_K_ORDER_KIND];

	if (kind != LG_ORDER_rwsem && kind != LG_ORDER_rwlock)
		return lg_mode_words[LG_X];
	return lg_mode_words[step->read ? LG_R : LG_W];
}

static void lg_tell_order(const struct lg_run *run, char *text, size_t size)
{
	const struct lg_order *o = run->own;
	const char *harmless = lg_harmless(run);
	const char *kind = lg_order_words[run->value[LG_K_ORDER_KIND]];
	const char *gate = run->value[LG_K_GATE] == LG_GATE_READ ?
				   "lockgen_order_read_gate" :
				   "lockgen_order_gate";
	unsigned int i;
	size_t n;

	n = scnprintf(
		text, size,
		"#path\tcaller\ttid\tcomm\tkind\tfirst\tfirst_lock\tfirst_mode\tfirst_try\tsecond\tsecond_lock\tsecond_mode\tsecond_try\tgate\ttimes\tfailed\n");
	for (i = 0; i < lg_paths(run); i++) {
		const struct lg_path *p = &o->path[i];

		n += scnprintf(
			text + n, size - n,
			"path\t%s\t%d\t%s\t%s\t%s\t0x%lx\t%s\t%d\t%s\t0x%lx\t%s\t%d\t%s\t%u\t%u\n",
			p->symbol, p->t ? p->t->task->pid : 0,
			p->t ? p->t->task->comm : "-", kind, p->name[0],
			(unsigned long)p->lock[0],
			lg_order_mode(run, &p->step[0]), p->step[0].try,
			p->name[1], (unsigned long)p->lock[1],
			lg_order_mode(run, &p->step[1]), p->step[1].try,
			p->gated ? gate : "-", p->times, p->failed);
	}
	n += scnprintf(
		text + n, size - n,
		"#order\tkind\tlocks\tinversion\tharmless\norder\t%s\t%u\t%d\t%s\n",
		kind, lg_paths(run), !harmless, harmless ? harmless : "-");
}

const struct lg_plan lg_plan_order = {
	.check = lg_check_order,
	.function = lg_order_function,
	.comm = lg_order_comm,
	.own_bytes = sizeof(struct lg_order),
	.prepare = lg_prepare_order,
	.tell = lg_tell_order,
	.tells_itself = true,
};
