// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lockgen: order, as kernel/order.c has it, on pthread locks.  Nothing waits:
 * all is done strictly one after another.
 *
 * Two locks have the paths ab and ba, three have ab, bc and ca; each path and
 * kind has a function of its own, lockgen_order_ab_mutex and so on.
 */
#include "lockgen.h"

#define MAX_PATHS 3

enum { ORDER_MUTEX, ORDER_RWLOCK, ORDER_KINDS };

static const char *const kind_names[] = { "pthread_mutex", "pthread_rwlock" };

enum { GATE_NONE, GATE_ALL, GATE_HALF, GATE_READ };
const char *const gate_words[] = { "0", "1", "half", "read", NULL };

enum { TRY_NONE, TRY_SECOND, TRY_FIRST };
const char *const try_words[] = { "0", "1", "first", NULL };

/* How the first path takes its first and its second lock, then the others. */
const char *const modes_words[] = { "wwww", "rrrr", "rwrw", "wrwr",
				    "rwwr", "rrww", NULL };

static pthread_mutex_t lockgen_order_gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lockgen_order_read_gate = PTHREAD_RWLOCK_INITIALIZER;

/* clang-format off */
#define ORDER_GLOBALS(id)                                                \
	static pthread_mutex_t lockgen_order_##id##_mutex =              \
		PTHREAD_MUTEX_INITIALIZER;                               \
	static pthread_rwlock_t lockgen_order_##id##_rwlock =            \
		PTHREAD_RWLOCK_INITIALIZER;
ORDER_GLOBALS(a)
ORDER_GLOBALS(b)
ORDER_GLOBALS(c)
/* clang-format on */

/* One step of a path. */
struct step {
	bool read;
	bool try;
};

struct path {
	bool (*take)(const struct step *first, const struct step *second);
	const char *symbol;
	void *lock[2];
	const char *name[2];
	struct step step[2];
	bool gated;
	unsigned int times;
	unsigned int failed;
	const struct walker *walker;
};

struct walker {
	struct course *course;
	unsigned int index;
	pthread_t handle;
	int tid;
	char comm[16];
};

struct course {
	const struct request *rq;
	unsigned int npaths;
	unsigned int nwalkers;
	struct path path[MAX_PATHS];
	struct walker walker[MAX_PATHS];
	/* Paths done, over all rounds. */
	atomic_uint done;
};

static bool tried(int error)
{
	if (error != EBUSY)
		must(error);
	return !error;
}

ALWAYS_INLINE bool take_mutex(void *lock, const struct step *step)
{
	if (step->try)
		return tried(pthread_mutex_trylock(lock));
	must(pthread_mutex_lock(lock));
	return true;
}

ALWAYS_INLINE bool take_rwlock(void *lock, const struct step *step)
{
	if (step->try)
		return tried(step->read ? pthread_rwlock_tryrdlock(lock) :
					  pthread_rwlock_trywrlock(lock));
	must(step->read ? pthread_rwlock_rdlock(lock) :
			  pthread_rwlock_wrlock(lock));
	return true;
}

ALWAYS_INLINE void let_mutex(void *lock)
{
	must(pthread_mutex_unlock(lock));
}

ALWAYS_INLINE void let_rwlock(void *lock)
{
	must(pthread_rwlock_unlock(lock));
}

/* clang-format off */

/* False where a trylock failed: nobody else takes these locks. */
#define ORDER_FN(x, y, kind)                                             \
static OWN_FUNCTION bool                                                 \
lockgen_order_##x##y##_##kind(const struct step *first,                  \
			      const struct step *second)                 \
{                                                                        \
	if (!take_##kind(&lockgen_order_##x##_##kind, first))            \
		return false;                                            \
	if (!take_##kind(&lockgen_order_##y##_##kind, second)) {         \
		let_##kind(&lockgen_order_##x##_##kind);                 \
		return false;                                            \
	}                                                                \
	let_##kind(&lockgen_order_##y##_##kind);                         \
	let_##kind(&lockgen_order_##x##_##kind);                         \
	return true;                                                     \
}

#define ORDER_FNS(kind)        \
	ORDER_FN(a, b, kind)   \
	ORDER_FN(b, a, kind)   \
	ORDER_FN(b, c, kind)   \
	ORDER_FN(c, a, kind)

ORDER_FNS(mutex)
ORDER_FNS(rwlock)

#define ORDER_PATH(x, y, kind)                                           \
	{                                                                \
		.take = lockgen_order_##x##y##_##kind,                   \
		.symbol = "lockgen_order_" #x #y "_" #kind,              \
		.lock = { &lockgen_order_##x##_##kind,                   \
			  &lockgen_order_##y##_##kind },                 \
		.name = { "lockgen_order_" #x "_" #kind,                 \
			  "lockgen_order_" #y "_" #kind },               \
	}

#define ORDER_PATHS(kind)           \
	{                           \
		ORDER_PATH(a, b, kind), \
		ORDER_PATH(b, a, kind), \
		ORDER_PATH(b, c, kind), \
		ORDER_PATH(c, a, kind), \
	}

enum { PATH_AB, PATH_BA, PATH_BC, PATH_CA, PATHS };

static const struct path all_paths[ORDER_KINDS][PATHS] = {
	[ORDER_MUTEX] = ORDER_PATHS(mutex),
	[ORDER_RWLOCK] = ORDER_PATHS(rwlock),
};

/* clang-format on */

static OWN_FUNCTION bool lockgen_order_gated(const struct path *p)
{
	bool taken;

	must(pthread_mutex_lock(&lockgen_order_gate));
	taken = p->take(&p->step[0], &p->step[1]);
	must(pthread_mutex_unlock(&lockgen_order_gate));
	return taken;
}

static OWN_FUNCTION bool lockgen_order_read_gated(const struct path *p)
{
	bool taken;

	must(pthread_rwlock_rdlock(&lockgen_order_read_gate));
	taken = p->take(&p->step[0], &p->step[1]);
	must(pthread_rwlock_unlock(&lockgen_order_read_gate));
	return taken;
}

static void walk(const struct course *c, struct path *p)
{
	bool taken;

	if (p->gated && c->rq->value[K_GATE] == GATE_READ)
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

static void *order_main(void *data)
{
	struct walker *w = data;
	struct course *c = w->course;
	unsigned int i, n = c->npaths * (unsigned int)c->rq->value[K_ROUNDS];

	pthread_setname_np(pthread_self(), w->comm);
	w->tid = gettid();
	for (i = 0; i < n; i++) {
		struct path *p = &c->path[i % c->npaths];

		if (i % c->npaths % c->nwalkers != w->index)
			continue;
		if (!await(c->done == i))
			break;
		p->walker = w;
		walk(c, p);
		c->done = i + 1;
	}
	return NULL;
}

static void lay_paths(struct course *c)
{
	static const unsigned int two[] = { PATH_AB, PATH_BA };
	static const unsigned int same[] = { PATH_AB, PATH_AB };
	static const unsigned int three[] = { PATH_AB, PATH_BC, PATH_CA };
	const int *value = c->rq->value;
	const char *modes = modes_words[value[K_MODES]];
	const unsigned int *paths = two;
	unsigned int i, k;

	if (value[K_SAME])
		paths = same;
	else if (c->npaths == 3)
		paths = three;
	for (i = 0; i < c->npaths; i++) {
		struct path *p = &c->path[i];

		*p = all_paths[value[K_KIND]][paths[i]];
		for (k = 0; k < 2; k++)
			p->step[k].read = modes[(i ? 2 : 0) + k] == 'r';
		p->gated = value[K_GATE] == GATE_HALF ?
				   !i :
				   value[K_GATE] != GATE_NONE;
	}
	/* A try in one direction only, the last. */
	c->path[c->npaths - 1].step[0].try = value[K_TRY] == TRY_FIRST;
	c->path[c->npaths - 1].step[1].try = value[K_TRY] == TRY_SECOND;
}

/* What stands against a deadlock, or NULL: nothing does. */
static const char *harmless(const struct course *c)
{
	unsigned int i;

	if (c->rq->value[K_SAME])
		return "same";
	if (c->rq->value[K_GATE] == GATE_ALL)
		return "gate";
	for (i = 0; i < c->npaths; i++) {
		const struct path *p = &c->path[i];
		const struct path *next = &c->path[(i + 1) % c->npaths];

		if (p->step[1].try)
			return "trylock";
		/* Its second lock is what the next one holds first. */
		if (p->step[1].read && next->step[0].read)
			return "readers";
	}
	return NULL;
}

static const char *mode_of(const struct course *c, const struct step *step)
{
	if (c->rq->value[K_KIND] == ORDER_MUTEX)
		return "x";
	return step->read ? "r" : "w";
}

static void print_course(const struct course *c)
{
	const char *kind = kind_names[c->rq->value[K_KIND]];
	const char *gate = c->rq->value[K_GATE] == GATE_READ ?
				   "lockgen_order_read_gate" :
				   "lockgen_order_gate";
	const char *why = harmless(c);
	unsigned int i;

	printf("#lockgen 1 order\n");
	printf("#path\tcaller\ttid\tcomm\tkind\tfirst\tfirst_lock\tfirst_mode\t"
	       "first_try\tsecond\tsecond_lock\tsecond_mode\tsecond_try\tgate\t"
	       "times\tfailed\n");
	for (i = 0; i < c->npaths; i++) {
		const struct path *p = &c->path[i];

		printf("path\t%s\t%d\t%s\t%s\t%s\t0x%lx\t%s\t%d\t%s\t0x%lx\t%s"
		       "\t%d\t%s\t%u\t%u\n",
		       p->symbol, p->walker->tid, p->walker->comm, kind,
		       p->name[0], (unsigned long)(uintptr_t)p->lock[0],
		       mode_of(c, &p->step[0]), p->step[0].try, p->name[1],
		       (unsigned long)(uintptr_t)p->lock[1],
		       mode_of(c, &p->step[1]), p->step[1].try,
		       p->gated ? gate : "-", p->times, p->failed);
	}
	printf("#order\tkind\tlocks\tinversion\tharmless\n");
	printf("order\t%s\t%u\t%d\t%s\n", kind, c->npaths, !why,
	       why ? why : "-");
}

static int perform_order(const struct request *rq)
{
	static struct course c;
	unsigned int i;
	int error = 0;

	c.rq = rq;
	c.npaths = (unsigned int)rq->value[K_ORDER_LOCKS];
	c.nwalkers = (unsigned int)rq->value[K_PATH_THREADS];
	lay_paths(&c);
	for (i = 0; i < c.nwalkers && !error; i++) {
		struct walker *w = &c.walker[i];

		w->course = &c;
		w->index = i;
		snprintf(w->comm, sizeof(w->comm), "lg_uorder_%c",
			 (char)('0' + i));
		error = pthread_create(&w->handle, NULL, order_main, w);
	}
	if (error)
		return error;
	for (i = 0; i < c.nwalkers; i++)
		pthread_join(c.walker[i].handle, NULL);
	if (stopped)
		return EINTR;
	print_course(&c);
	return 0;
}

static bool refuse_order(const struct request *rq, char *why, size_t size)
{
	if (rq->given[K_MODES] && rq->value[K_KIND] == ORDER_MUTEX)
		snprintf(why, size,
			 "modes=%s: a mutex has no readers, use kind=rwlock",
			 modes_words[rq->value[K_MODES]]);
	else if (rq->value[K_SAME] && rq->value[K_ORDER_LOCKS] > 2)
		snprintf(why, size, "same=1: is for two locks, use locks=2");
	else if (rq->value[K_PATH_THREADS] > rq->value[K_ORDER_LOCKS])
		snprintf(why, size, "threads=%d: there are only %d paths",
			 rq->value[K_PATH_THREADS], rq->value[K_ORDER_LOCKS]);
	else
		return false;
	return true;
}

const struct plan plan_order = { refuse_order, perform_order };
