// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hk: lock variables of all kinds, used in all ways, and how often.  Probes
 * on one lock variable are checked against it.
 *
 *   echo run > /proc/hk                        all that there is
 *   echo "run threads=4 rounds=100" > /proc/hk
 *   echo "run only=hk_obj.lock_a" > /proc/hk   what uses this one alone
 *   echo "time name=hk_obj.lock_b rounds=100000" > /proc/hk
 *   cat /proc/hk
 *
 * "run" does every operation once a round in each of the threads (1-64,
 * default 2; rounds 1-1000000, default 100); what it counts does not depend on
 * how the threads meet.  "time" does pairs of lock and unlock in one thread
 * (1-100000000, default 100000), with nothing between: for a rwlock or rwsem
 * as a writer, for a percpu_rwsem as a reader.  A command that makes no sense
 * is refused, and reading the file then tells why.  A command, and a read,
 * while another runs: EBUSY.
 *
 * What is told: a line on the last command, then tab-separated, a line for
 * each variable and operation (acquired, release, tryfail; downgrade and
 * interrupted where there were some)
 *   name    as probes name it; in only= and name= [] may be left out
 *   kind    spin, rwlock, mutex, ...
 *   op
 *   count   since the command began
 *   shared  how many of these were a reader's
 * hk_twin has a line for both of that name and one for each.  "?" is a lock
 * that was handed to a function as a pointer.
 * broken=N: what a lock protects was found changed by somebody else, or a
 * trylock had an outcome that cannot be; 0 if all is well.
 * elapsed_ns: for "run", until the last thread was done; for "time", of the
 * pairs alone.  best_1000_ns: 1000 pairs, when nothing came in between.
 *
 * The lock operations of this file are on none of the variables.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "hk.h"

#define HK_MAX_THREADS 64
#define HK_MAX_ROUNDS 1000000
#define HK_MAX_PAIRS 100000000
#define HK_MAX_COMMAND 256
#define HK_SHARED_OBJECTS 3
#define HK_BATCH 1000U

DEFINE_PER_CPU(struct hk_counts, hk_counts);
atomic_t hk_broken;

static const struct {
	const char *name;
	const char *kind;
	bool shared;
	void (*pairs)(struct hk_work *w, unsigned int pairs);
} hk_variables[HK_NR_VARIABLES] = {
#define HK_VARIABLE(id, name, kind, shared) \
	[HK_##id] = { name, kind, shared, hk_pairs_##id },
	HK_VARIABLES(HK_VARIABLE)
#undef HK_VARIABLE
};

static const char *const hk_ops[HK_NR_OPS] = {
	[HK_ACQUIRED] = "acquired",	  [HK_RELEASE] = "release",
	[HK_TRYFAIL] = "tryfail",	  [HK_DOWNGRADE] = "downgrade",
	[HK_INTERRUPTED] = "interrupted",
};

static const struct hk_step *const hk_steps[] = { hk_sites_steps,
						  hk_more_steps };

static struct hk_obj *hk_objs[HK_SHARED_OBJECTS];
static struct hk_other *hk_others[HK_SHARED_OBJECTS];

/* Bit 0: a command runs, or its result is read. */
static unsigned long hk_busy;
static bool hk_unloading;

static struct {
	char error[160];
	char command[HK_MAX_COMMAND];
	u64 elapsed_ns;
	u64 best_1000_ns;
} hk_result = { .error = "nothing has run yet: write a command, e.g. run" };

struct hk_run;

struct hk_thread {
	struct hk_run *run;
	struct task_struct *task;
	struct hk_work work;
	u64 ended;
};

struct hk_run {
	bool time;
	/* For each variable, whether it is asked for. */
	bool wanted[HK_NR_VARIABLES + 1];
	unsigned int threads;
	unsigned int rounds;
	atomic_t live;
	struct completion done;
	bool stop;
	u64 pairs_ns;
	u64 best_1000_ns;
	struct hk_thread thread[HK_MAX_THREADS];
};

static u64 hk_now(void)
{
	return ktime_get_mono_fast_ns();
}

static bool hk_stopped(const struct hk_run *run)
{
	return READ_ONCE(run->stop) || READ_ONCE(hk_unloading);
}

/* The threads. */

static void hk_use(struct hk_thread *t)
{
	struct hk_run *run = t->run;
	struct hk_work *w = &t->work;
	const struct hk_step *step;
	int i;

	for (w->round = 0; w->round < run->rounds; w->round++) {
		if (hk_stopped(run))
			return;
		w->shared = hk_objs[w->round % HK_SHARED_OBJECTS];
		w->shared_other = hk_others[w->round % HK_SHARED_OBJECTS];
		for (i = 0; i < ARRAY_SIZE(hk_steps); i++)
			for (step = hk_steps[i]; step->fn; step++)
				if (run->wanted[step->uses])
					step->fn(w);
		cond_resched();
	}
}

static void hk_count_pairs(enum hk_variable v, unsigned int pairs)
{
	this_cpu_add(hk_counts.all[v][HK_ACQUIRED], pairs);
	this_cpu_add(hk_counts.all[v][HK_RELEASE], pairs);
	if (hk_variables[v].shared) {
		this_cpu_add(hk_counts.shared[v][HK_ACQUIRED], pairs);
		this_cpu_add(hk_counts.shared[v][HK_RELEASE], pairs);
	}
}

static void hk_time(struct hk_thread *t)
{
	struct hk_run *run = t->run;
	unsigned int left = run->rounds, batch;
	enum hk_variable v = 0;
	u64 began, ns;

	while (!run->wanted[v])
		v++;
	while (left && !hk_stopped(run)) {
		batch = min(left, HK_BATCH);
		began = hk_now();
		hk_variables[v].pairs(&t->work, batch);
		ns = hk_now() - began;
		if (batch == HK_BATCH &&
		    (!run->best_1000_ns || ns < run->best_1000_ns))
			run->best_1000_ns = ns;
		run->pairs_ns += ns;
		hk_count_pairs(v, batch);
		left -= batch;
		cond_resched();
	}
}

static int hk_thread_main(void *data)
{
	struct hk_thread *t = data;

	/* hk_signal_sema sends it. */
	allow_signal(SIGINT);
	if (t->run->time)
		hk_time(t);
	else
		hk_use(t);
	t->ended = hk_now();
	if (atomic_dec_and_test(&t->run->live))
		complete(&t->run->done);
	return 0;
}

static int hk_thread_make(struct hk_run *run, unsigned int i)
{
	struct hk_thread *t = &run->thread[i];

	t->run = run;
	t->work.own = hk_obj_alloc();
	t->work.own_other = hk_other_alloc();
	if (!t->work.own || !t->work.own_other)
		return -ENOMEM;
	t->task = kthread_create(hk_thread_main, t, "hk/%u", i);
	if (IS_ERR(t->task)) {
		int err = PTR_ERR(t->task);

		t->task = NULL;
		return err;
	}
	get_task_struct(t->task);
	return 0;
}

/* Waits until the thread has left our code for good. */
static void hk_thread_end(struct hk_thread *t)
{
	if (t->task) {
		kthread_stop(t->task);
		put_task_struct(t->task);
	}
	hk_obj_free(t->work.own);
	hk_other_free(t->work.own_other);
}

static int hk_run_threads(struct hk_run *run)
{
	unsigned int i;
	int err = 0;
	u64 began;

	for (i = 0; i < run->threads && !err; i++)
		err = hk_thread_make(run, i);
	if (!err) {
		atomic_set(&run->live, run->threads);
		init_completion(&run->done);
		began = hk_now();
		for (i = 0; i < run->threads; i++)
			wake_up_process(run->thread[i].task);
		err = wait_for_completion_killable(&run->done);
		if (err) {
			WRITE_ONCE(run->stop, true);
			wait_for_completion(&run->done);
		}
		if (hk_stopped(run))
			err = -EINTR;
		for (i = 0; i < run->threads; i++)
			hk_result.elapsed_ns =
				max(hk_result.elapsed_ns,
				    run->thread[i].ended - began);
		if (run->time)
			hk_result.elapsed_ns = run->pairs_ns;
		hk_result.best_1000_ns = run->best_1000_ns;
	}
	for (i = 0; i < run->threads; i++)
		hk_thread_end(&run->thread[i]);
	return err;
}

/* The command. */

static __printf(1, 2) int hk_refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vscnprintf(hk_result.error, sizeof(hk_result.error), format, args);
	va_end(args);
	return -EINVAL;
}

static const char *hk_skip_brackets(const char *name)
{
	return name[0] == '[' && name[1] == ']' ? name + 2 : name;
}

/* With or without [], @FILE, and the module in front. */
static bool hk_is_named(const char *name, const char *wanted)
{
	if (!strncmp(wanted, "hk.", 3))
		wanted += 3;
	for (;; name++, wanted++) {
		name = hk_skip_brackets(name);
		wanted = hk_skip_brackets(wanted);
		if (!*wanted)
			return !*name || *name == '@';
		if (*name != *wanted)
			return false;
	}
}

static int hk_parse_name(struct hk_run *run, const char *wanted)
{
	int v, found = 0;

	for (v = 0; v < HK_NR_VARIABLES; v++) {
		run->wanted[v] = hk_is_named(hk_variables[v].name, wanted);
		found += run->wanted[v];
	}
	run->wanted[HK_SEVERAL] = false;
	if (!found)
		return hk_refuse("%s: there is no such lock", wanted);
	if (run->time && found > 1)
		return hk_refuse("%s: names %d locks, time takes one", wanted,
				 found);
	return 0;
}

static int hk_parse_number(const char *key, const char *value, unsigned int max,
			   unsigned int *number)
{
	if (kstrtouint(value, 10, number) || !*number || *number > max)
		return hk_refuse("%s=%s: not a number from 1 to %u", key, value,
				 max);
	return 0;
}

static int hk_parse_pair(struct hk_run *run, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return hk_refuse("%s: not a KEY=VALUE", word);
	*value++ = '\0';
	if (!strcmp(word, "rounds"))
		return hk_parse_number(word, value,
				       run->time ? HK_MAX_PAIRS : HK_MAX_ROUNDS,
				       &run->rounds);
	if (!run->time && !strcmp(word, "threads"))
		return hk_parse_number(word, value, HK_MAX_THREADS,
				       &run->threads);
	if (!strcmp(word, run->time ? "name" : "only"))
		return hk_parse_name(run, value);
	return hk_refuse(
		"%s: unknown, %s has %s", word, run->time ? "time" : "run",
		run->time ? "name and rounds" : "threads, rounds and only");
}

static int hk_parse(struct hk_run *run, char *command)
{
	char *word = strsep(&command, " ");
	int err = 0;

	run->time = !strcmp(word, "time");
	if (!run->time && strcmp(word, "run"))
		return hk_refuse("%s: no such command, there are run and time",
				 word);
	run->threads = run->time ? 1 : 2;
	run->rounds = run->time ? 100000 : 100;
	memset(run->wanted, !run->time, sizeof(run->wanted));
	while (!err && (word = strsep(&command, " ")))
		if (*word)
			err = hk_parse_pair(run, word);
	if (!err && run->time && !memchr(run->wanted, true, HK_NR_VARIABLES))
		return hk_refuse("time: name=NAME is missing");
	return err;
}

static int hk_execute(char *command)
{
	struct hk_run *run = kvzalloc(sizeof(*run), GFP_KERNEL);
	int cpu, err;

	if (!run)
		return -ENOMEM;
	memset(&hk_result, 0, sizeof(hk_result));
	strscpy(hk_result.command, command, sizeof(hk_result.command));
	for_each_possible_cpu (cpu)
		memset(&per_cpu(hk_counts, cpu), 0, sizeof(struct hk_counts));
	atomic_set(&hk_broken, 0);
	err = hk_parse(run, command);
	if (!err) {
		err = hk_run_threads(run);
		if (err == -EINTR)
			hk_refuse("stopped before its end");
		else if (err)
			hk_refuse("could not run: error %d", err);
	}
	kvfree(run);
	return err;
}

/* /proc/hk */

static u64 hk_sum(enum hk_variable v, enum hk_op op, bool shared)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu (cpu) {
		const struct hk_counts *c = &per_cpu(hk_counts, cpu);

		sum += shared ? c->shared[v][op] : c->all[v][op];
	}
	return sum;
}

static void hk_show_line(struct seq_file *m, const char *name, const char *kind,
			 enum hk_op op, u64 count, u64 shared)
{
	if (count || op <= HK_TRYFAIL)
		seq_printf(m, "%s\t%s\t%s\t%llu\t%llu\n", name, kind,
			   hk_ops[op], count, shared);
}

static int hk_show(struct seq_file *m, void *unused)
{
	int v, op;

	if (hk_result.error[0]) {
		seq_printf(m, "error: %s\n", hk_result.error);
		return 0;
	}
	seq_printf(m, "#hk 1 %s broken=%d elapsed_ns=%llu", hk_result.command,
		   atomic_read(&hk_broken), hk_result.elapsed_ns);
	if (hk_result.best_1000_ns)
		seq_printf(m, " best_1000_ns=%llu", hk_result.best_1000_ns);
	seq_puts(m, "\n#name\tkind\top\tcount\tshared\n");
	for (v = 0; v < HK_NR_VARIABLES; v++) {
		if (v == HK_twin)
			for (op = 0; op < HK_NR_OPS; op++)
				hk_show_line(m, "hk_twin", "spin", op,
					     hk_sum(HK_twin, op, false) +
						     hk_sum(HK_twin_more, op,
							    false),
					     0);
		for (op = 0; op < HK_NR_OPS; op++)
			hk_show_line(m, hk_variables[v].name,
				     hk_variables[v].kind, op,
				     hk_sum(v, op, false), hk_sum(v, op, true));
	}
	return 0;
}

static int hk_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, hk_show, NULL, 4 * PAGE_SIZE);
}

static ssize_t hk_read(struct file *file, char __user *buffer, size_t size,
		       loff_t *pos)
{
	ssize_t result;

	if (test_and_set_bit_lock(0, &hk_busy))
		return -EBUSY;
	result = seq_read(file, buffer, size, pos);
	clear_bit_unlock(0, &hk_busy);
	return result;
}

static ssize_t hk_write(struct file *file, const char __user *buffer,
			size_t size, loff_t *pos)
{
	char command[HK_MAX_COMMAND];
	int err;

	if (size >= sizeof(command))
		return -EINVAL;
	if (copy_from_user(command, buffer, size))
		return -EFAULT;
	command[size] = '\0';
	if (test_and_set_bit_lock(0, &hk_busy))
		return -EBUSY;
	err = hk_execute(strim(command));
	clear_bit_unlock(0, &hk_busy);
	return err ? err : size;
}

static const struct proc_ops hk_proc_ops = {
	.proc_open = hk_open,
	.proc_read = hk_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = hk_write,
};

static void hk_free_objects(void)
{
	int i;

	for (i = 0; i < HK_SHARED_OBJECTS; i++) {
		hk_obj_free(hk_objs[i]);
		hk_other_free(hk_others[i]);
	}
}

static int __init hk_init(void)
{
	int i, err = 0;

	hk_sites_init();
	for (i = 0; i < HK_SHARED_OBJECTS; i++) {
		hk_objs[i] = hk_obj_alloc();
		hk_others[i] = hk_other_alloc();
		if (!hk_objs[i] || !hk_others[i])
			err = -ENOMEM;
	}
	if (!err && !proc_create("hk", 0600, NULL, &hk_proc_ops))
		err = -ENOMEM;
	if (err)
		hk_free_objects();
	return err;
}

static void __exit hk_exit(void)
{
	/* A command that is still under way ends, and is waited for. */
	WRITE_ONCE(hk_unloading, true);
	remove_proc_entry("hk", NULL);
	hk_free_objects();
}

module_init(hk_init);
module_exit(hk_exit);
MODULE_DESCRIPTION("Lock operations whose number is known");
MODULE_LICENSE("GPL");
