/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options as strings, checked before any probe runs; and what must be
 * known of the kernel before the first event.
 */
#ifndef LK_OPTION_H
#define LK_OPTION_H

#include "lk_base.h"
#include "lk_record.h"
#include "lk_blame.h"
#include "lk_order.h"

static char lk_problem[480];

#define LK_BAD(...)                                                     \
	({                                                              \
		scnprintf(lk_problem, sizeof(lk_problem), __VA_ARGS__); \
		false;                                                  \
	})

static const char *const lk_by_word[] = { "name", "lock",    "caller", "stack",
					  "task", "process", "cgroup" };
static const char *const lk_format_word[] = { "table", "tsv", "folded", "json", "dot" };

static int lk_word(const char *value, size_t len, const char *const *words, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (strlen(words[i]) == len && !strncmp(words[i], value, len))
			return i;
	return -1;
}

static bool lk_number(const char *option, const char *value, u64 lo, u64 hi, u64 *to)
{
	if (!*value)
		return true;
	if (kstrtou64(value, 10, to) || *to < lo || *to > hi)
		return LK_BAD("%s=%s: a whole number from %llu to %llu is wanted", option, value,
			      lo, hi);
	return true;
}

static bool lk_opt_by(const char *value)
{
	int i = *value ? lk_word(value, strlen(value), lk_by_word, ARRAY_SIZE(lk_by_word)) :
		lk_opt.report == LK_CHAIN  ? LK_BY_NAME :
		lk_opt.format == LK_FOLDED ? LK_BY_STACK :
		lk_opt.report == LK_BLAME  ? LK_BY_CALLER :
					     LK_BY_NAME;

	if (i < 0)
		return LK_BAD(
			"by=%s: one of name, lock, caller, stack, task, process, cgroup is wanted",
			value);
	if (lk_opt.report == LK_CHAIN && i != LK_BY_NAME && i != LK_BY_TASK)
		return LK_BAD("by=%s: one of name, task is wanted", value);
	if (lk_opt.format == LK_FOLDED && i != LK_BY_STACK && lk_opt.report != LK_CHAIN)
		return LK_BAD("by=%s: format=folded is made of stacks, so by=stack is wanted",
			      value);
	lk_opt.by = i;
	return true;
}

static bool lk_opt_format(const char *value)
{
	int i = *value ? lk_word(value, strlen(value), lk_format_word, ARRAY_SIZE(lk_format_word)) :
			 LK_TABLE;
	bool chains = lk_opt.report == LK_CHAIN, orders = lk_opt.report == LK_ORDER;

	/* Graphs have no flames, rows are no graph; chains are both. */
	if (i < 0 || (i == LK_FOLDED && orders) || (i == LK_DOT && !orders && !chains))
		return LK_BAD("format=%s: one of table, tsv, %s is wanted", value,
			      chains ? "folded, json, dot" :
			      orders ? "json, dot" :
				       "folded, json");
	lk_opt.format = i;
	return true;
}

static bool lk_opt_kinds(const char *value)
{
	const char *p = value;

	lk_opt.kinds = *value ? 0 : ~0u;
	while (*p) {
		size_t len = strcspn(p, ",."); /* stap's -G takes no commas */
		int i = lk_word(p, len, lk_kind_name, LK_KINDS);

		if (i < 0 || (p[len] && !p[len + 1]))
			return LK_BAD(
				"kinds=%s: a list of spin, rwlock, mutex, rwsem, sem, rtmutex, percpu_rwsem, rqspinlock, futex, pthread_mutex, pthread_rwlock with commas or dots between is wanted",
				value);
		lk_opt.kinds |= 1u << i;
		p += len + !!p[len];
	}
	return true;
}

#define LK_SYMBOL_MAX (1ul << 20)

/* The symbol of an address without offset and size: for comparing. */
static void lk_symbol_name(unsigned long addr, char *sym)
{
	sprint_symbol(sym, addr);
	sym[strcspn(sym, "+")] = '\0';
}

/*
 * Bytes of the symbol at an address: the kernel tells them only in text,
 * and Linux 6.1 wrongly for a module's data (it takes the end of the
 * module's code for the next symbol): then the next symbol is looked for.
 */
static unsigned long lk_symbol_bytes(unsigned long addr)
{
	char sym[KSYM_SYMBOL_LEN], next[KSYM_SYMBOL_LEN];
	unsigned long bytes;
	char *p;

	sprint_symbol(sym, addr);
	p = strrchr(sym, '/');
	if (!p || sscanf(p + 1, "%lx", &bytes) != 1 || !bytes)
		return 1;
	if (bytes < LK_SYMBOL_MAX)
		return bytes;
	lk_symbol_name(addr, sym);
	for (bytes = 8; bytes < 4096; bytes += 8) {
		lk_symbol_name(addr + bytes, next);
		if (strcmp(sym, next))
			break;
	}
	return bytes;
}

/* Offset of a per-CPU symbol, from `locktap prep` where the kernel has no names for them. */
struct lk_percpu_sym {
	unsigned int off;
	unsigned int size;
	const char *name;
};

static const struct lk_percpu_sym *lk_percpu_syms;
static unsigned int lk_percpu_nr;

static bool lk_opt_only(const char *value)
{
	char name[KSYM_NAME_LEN];
	unsigned long addr = 0, bytes = 1;
	const char *dot;
	unsigned int i;

	lk_opt.only = false;
	if (!*value)
		return true;
	if (!strncmp(value, "0x", 2)) {
		if (kstrtoul(value, 16, &addr) || !addr)
			return LK_BAD(
				"only=%s: an address in hexadecimal, or a lock's name, is wanted",
				value);
		goto found;
	}
	if (strlen(value) >= sizeof(lk_opt.only_name))
		return LK_BAD("only=%.40s...: the name is too long", value);
	if (lk_names_have(value) || lk_user_names_have(value) || strstr(value, "+0x"))
		strscpy(lk_opt.only_name, value, sizeof(lk_opt.only_name));
	for (i = 0; i < lk_percpu_nr; i++)
		if (!strcmp(lk_percpu_syms[i].name, value)) {
			addr = lk_percpu_syms[i].off;
			bytes = lk_percpu_syms[i].size;
			lk_opt.only_percpu = true;
			goto found;
		}
	/* module.name: kallsyms writes module:name */
	strscpy(name, value, sizeof(name));
	dot = strchr(value, '.');
	addr = kallsyms_lookup_name(name);
	if (!addr && dot) {
		name[dot - value] = ':';
		addr = kallsyms_lookup_name(name);
	}
	if (!addr && lk_opt.only_name[0])
		goto named;
	if (!addr)
		return LK_BAD(
			"only=%s: no lock has this name (locktap sites --names lists those of allocated memory, once locktap prep has been run); one lock is chosen by its address (only=0x...), see by=lock",
			value);
	bytes = lk_symbol_bytes(addr);
	if (addr - lk_kernel.percpu < lk_kernel.percpu_size) {
		addr -= lk_kernel.percpu;
		lk_opt.only_percpu = true;
	} else if (!lk_is_static(addr) ||
		   addr - lk_kernel.sched_text < lk_kernel.sched_etext - lk_kernel.sched_text) {
		return LK_BAD("only=%s: this is no variable", value);
	}
found:
	lk_opt.only_lo = addr;
	lk_opt.only_hi = addr + bytes;
named:
	lk_opt.only = true;
	return true;
}

/*
 * -x PID keeps one process; -c CMD, which sets the same target, bounds the
 * run only. With -c the target is a child of whoever starts the probes.
 */
static bool lk_opt_pid(const char *value)
{
	struct task_struct *task;
	u64 pid = 0;

	if (!lk_number("pid", value, 1, PID_MAX_LIMIT, &pid))
		return false;
	lk_opt.pid = pid;
	if (pid || !_stp_target)
		return true;
	rcu_read_lock();
	task = pid_task(find_pid_ns(_stp_target, &init_pid_ns), PIDTYPE_PID);
	if (task && rcu_dereference(task->real_parent)->tgid != current->tgid)
		lk_opt.pid = task->tgid;
	rcu_read_unlock();
	return true;
}

/* The rule of /proc/kallsyms. */
static bool lk_may_see_addresses(void)
{
	const int *restrict_to = (void *)kallsyms_lookup_name("kptr_restrict");
	const int *paranoid = (void *)kallsyms_lookup_name("sysctl_perf_event_paranoid");

	if (!restrict_to || *restrict_to > 1)
		return false;
	if (*restrict_to == 0 && paranoid && *paranoid <= 1)
		return true;
	return has_capability_noaudit(current, CAP_SYSLOG);
}

/* Once, in the first begin probe. */
static void lk_kernel_init(void)
{
	const atomic_t *virt = (void *)kallsyms_lookup_name("virt_spin_lock_key");
	unsigned int cpu;

	lk_kernel.text = kallsyms_lookup_name("_stext");
	lk_kernel.etext = kallsyms_lookup_name("_end");
	lk_kernel.sched_text = kallsyms_lookup_name("__sched_text_start");
	lk_kernel.sched_etext = kallsyms_lookup_name("__sched_text_end");
	lk_kernel.percpu = kallsyms_lookup_name("__per_cpu_start");
	lk_kernel.percpu_size = kallsyms_lookup_name("__per_cpu_end") - lk_kernel.percpu;
	lk_kernel.percpu_min = ~0ul;
	for_each_possible_cpu(cpu) {
		unsigned long at = lk_kernel.percpu + per_cpu_offset(cpu);

		lk_kernel.percpu_min = min(lk_kernel.percpu_min, at);
		lk_kernel.percpu_max = max(lk_kernel.percpu_max, at + lk_kernel.percpu_size);
	}
	lk_kernel.resilient = kallsyms_lookup_name("resilient_queued_spin_lock_slowpath");
	if (lk_kernel.resilient)
		lk_kernel.resilient_size = lk_symbol_bytes(lk_kernel.resilient);
	lk_kernel.trampoline = kallsyms_lookup_name("arch_rethook_trampoline");
	lk_kernel.slowpath = kallsyms_lookup_name("native_queued_spin_lock_slowpath");
	if (!lk_kernel.slowpath)
		lk_kernel.slowpath = kallsyms_lookup_name("queued_spin_lock_slowpath");
	if (lk_kernel.slowpath)
		lk_kernel.slowpath_size = lk_symbol_bytes(lk_kernel.slowpath);
	/* A static key's first word is its count of users. */
	lk_kernel.virt_spin = virt && atomic_read(virt) > 0;
}

/* The state of each CPU, for all the probes. */
static bool lk_cpus_alloc(void)
{
	struct lk_cpu **cpus = lk_alloc(nr_cpu_ids * sizeof(*cpus));
	unsigned int cpu;

	if (!cpus)
		return false;
	for_each_online_cpu(cpu) {
		cpus[cpu] = lk_alloc(sizeof(**cpus));
		if (!cpus[cpu])
			return false;
	}
	lk_nr_cpus = nr_cpu_ids;
	smp_store_release(&lk_cpus, cpus);
	return true;
}

/* The tables of the recorder. */
static bool lk_tables_alloc(void)
{
	unsigned int cpu, i, tables = lk_opt.report == LK_ORDER ? 0 : lk_opt.interval_s ? 2 : 1;

	for (cpu = 0; cpu < lk_nr_cpus; cpu++)
		for (i = 0; lk_cpus[cpu] && i < tables; i++)
			if (!lk_table_alloc(&lk_cpus[cpu]->table[i]))
				return false;
	return (lk_opt.by != LK_BY_STACK && lk_opt.report != LK_HOLD && lk_opt.report != LK_CHAIN &&
		lk_opt.report != LK_ORDER) ||
	       lk_stacks_alloc();
}

static bool lk_order_tables(void);

/* 0, or lk_problem says what is wrong and what is allowed. */
static int lk_start(enum lk_report_kind report, const char *by, const char *top, const char *min_us,
		    const char *kinds, const char *only, const char *interval, const char *hist,
		    const char *format, const char *pid)
{
	u64 n_top, n_min = 0, n_interval = 0, n_hist = 0;

	lk_problem[0] = '\0';
	if (!lk_cpus || lk_opt.started) {
		LK_BAD("lock_start() or its like is for one call in a begin probe");
		return -1;
	}
	lk_opt.report = report;
	if (!lk_opt_format(format) || !lk_opt_by(by) || !lk_opt_kinds(kinds) || !lk_opt_only(only))
		return -1;
	n_top = lk_opt.format == LK_TABLE ? 20 : ~0u;
	if (!lk_number("top", top, 1, 1000000, &n_top) ||
	    !lk_number("min_us", min_us, 0, 1000000000, &n_min) ||
	    !lk_number("interval", interval, 1, 1000000, &n_interval) ||
	    !lk_number("hist", hist, 0, 1, &n_hist) || !lk_opt_pid(pid))
		return -1;
	lk_opt.top = n_top;
	lk_opt.user = report == LK_CHAIN ||
		      (*kinds ? lk_opt.kinds & LK_USER_KINDS : lk_opt.pid != 0);
	if (report != LK_CONTEND && report != LK_CHAIN && *kinds && lk_opt.user &&
	    !lk_kernel.tracks_user) {
		LK_BAD("kinds=%s: that locks of user space are taken and let go is seen by probes in the C library, which this script has not got: for lockhold, lockblame and lockorder put the word user behind the script's name",
		       kinds);
		return -1;
	}
	if ((report == LK_HOLD || report == LK_ORDER) && *kinds && lk_opt.kinds & 1u << LK_RQSPIN) {
		LK_BAD("kinds=%s: that an rqspinlock is taken and let go is not seen: leave it out, or ask lockcontend for the waits",
		       kinds);
		return -1;
	}
	lk_opt.min_ns = n_min * 1000;
	lk_opt.interval_s = n_interval;
	lk_opt.hist = n_hist;
	lk_opt.addresses = lk_may_see_addresses();
	if (!lk_tables_alloc() || (report == LK_BLAME && !lk_blame_alloc()) ||
	    (report == LK_CHAIN && !lk_chain_alloc()) ||
	    (report == LK_ORDER && !lk_order_tables())) {
		if (report == LK_ORDER)
			LK_BAD("no memory for the orders: make the tables smaller with -DLOCKTAP_ORDERS=N (now %d), -DLOCKTAP_PAIRS=N (now %d) or -DLOCKTAP_STACKS=N (now %d)",
			       LOCKTAP_ORDERS, LOCKTAP_PAIRS, LOCKTAP_STACKS);
		else if (report == LK_CHAIN)
			LK_BAD("no memory for the chains: make the tables smaller with -DLOCKTAP_CHAINS=N (now %d), -DLOCKTAP_WAITS=N (now %d) or -DLOCKTAP_STACKS=N (now %d)",
			       LOCKTAP_CHAINS, LOCKTAP_WAITS, LOCKTAP_STACKS);
		else
			LK_BAD("no memory for the records of %u CPUs: make the tables smaller with -DLOCKTAP_RECORDS=N (now %d) or -DLOCKTAP_STACKS=N (now %d)",
			       num_online_cpus(), LOCKTAP_RECORDS, LOCKTAP_STACKS);
		return -1;
	}
	if (report == LK_HOLD && lk_opt.by == LK_BY_STACK)
		lk_kernel.stacks = lk_stack_at_entry;
	if (!lk_opt.interval_s && !lk_opt.only && !lk_opt.pid && !lk_opt.min_ns &&
	    (lk_opt.by == LK_BY_NAME || lk_opt.by == LK_BY_LOCK || lk_opt.by == LK_BY_STACK))
		lk_opt.plain_op = report == LK_HOLD			      ? LK_RELEASE :
				  report == LK_CONTEND && lk_opt.kinds == ~0u ? LK_END :
										LK_NONE;
	lk_kernel.blames = report == LK_BLAME;
	lk_kernel.chains = report == LK_CHAIN;
	lk_kernel.orders = report == LK_ORDER;
	lk_kernel.in_table = lk_kernel.blames || lk_kernel.orders;
	lk_opt.start_ns = lk_now_ns();
	lk_opt.started = true;
	return 0;
}

#endif
