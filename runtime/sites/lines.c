// SPDX-License-Identifier: GPL-2.0-or-later
/* The line table, and where stap can put a probe. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

/*
 * What stap (up to 5.6) refuses for the kernel without -g, by the name of the
 * innermost function.
 */
static const char refused_functions[] =
	"^(atomic_notifier_call_chain|default_do_nmi|__die|die_nmi|do_debug"
	"|do_general_protection|do_int3|do_IRQ|do_page_fault|do_trap"
	"|dummy_nmi_callback|io_check_error|mem_parity_error|nmi_watchdog_tick"
	"|notifier_call_chain|oops_begin|oops_end|sync_regs|unhandled_fault"
	"|unknown_nmi_error|xen_[gs]et_debugreg|xen_irq_.*|xen_.*_fl_direct.*"
	"|check_events|xen_adjust_exception_frame|xen_iret.*|xen_sysret64.*"
	"|test_ti_thread_flag.*|inat_get_opcode_attribute"
	"|system_call_after_swapgs|HYPERVISOR_[gs]et_debugreg"
	"|HYPERVISOR_event_channel_op|hash_64|hash_ptr|native_set_pte"
	"|.*raw_.*_lock.*|.*raw_.*_unlock.*|.*raw_.*_trylock.*"
	"|.*read_lock.*|.*read_unlock.*|.*read_trylock.*"
	"|.*write_lock.*|.*write_unlock.*|.*write_trylock.*"
	"|.*write_seqlock.*|.*write_sequnlock.*"
	"|.*spin_lock.*|.*spin_unlock.*|.*spin_trylock.*|.*spin_is_locked.*"
	"|rwsem_.*lock.*|.*mutex_.*lock.*|atomic_.*|atomic64_.*|get_bh|put_bh"
	"|.*apic.*|.*APIC.*|.*softirq.*|.*IRQ.*|.*_intr.*|__delay"
	"|.*kernel_text.*|get_current|current_.*|.*exception_tables.*"
	"|.*setup_rt_frame.*|.*preempt_count.*|preempt_schedule|__switch_to)$";

static const char refused_files[] =
	"^(kernel/kprobes\\.c|arch/.*/kernel/kprobes\\.c"
	"|.*/include/asm/io\\.h|.*/include/asm/io-defs\\.h"
	"|.*/include/asm/io_64\\.h|.*/include/asm/bitops\\.h"
	"|arch/.*/kernel/paravirt\\.c|.*/include/asm/paravirt\\.h)$";

static const char refused_sections[] = "^\\.(init|exit|devinit|devexit|cpuinit"
				       "|cpuexit|meminit|memexit)\\.";

static const char *const refused_patterns[SITES_REFUSED] = {
	[SITES_REFUSED_FUNCTION] = refused_functions,
	[SITES_REFUSED_FILE] = refused_files,
	[SITES_REFUSED_SECTION] = refused_sections,
};

bool sites_refused_init(struct sites_image *image, struct sites_error *error)
{
	for (int i = 0; i < SITES_REFUSED; i++) {
		if (regcomp(&image->refused[i], refused_patterns[i],
			    REG_NOSUB | REG_EXTENDED) != 0)
			return sites_fail(error, "out of memory");
		image->refused_count++;
	}
	return true;
}

void sites_refused_done(struct sites_image *image)
{
	while (image->refused_count > 0)
		regfree(&image->refused[--image->refused_count]);
}

/* Whether stap refuses a name; a name that is not there is not refused. */
bool sites_name_refused(struct sites_image *image, enum sites_refused kind,
			const char *name)
{
	return name && regexec(&image->refused[kind], name, 0, NULL, 0) == 0;
}

struct scopes {
	struct sites_image *image;
	uint64_t address;
	Dwarf_Die unit;
	struct sites_scope *list;
	size_t count;
	struct sites_error *error;
};

static bool add_scope(struct scopes *scopes, Dwarf_Die *die)
{
	struct sites_scope scope = { .function = sites_die_name(die) };
	void *list = scopes->list;

	if (dwarf_tag(die) == DW_TAG_inlined_subroutine)
		sites_call_place(&scopes->unit, die, &scope.call_file,
				 &scope.call_line);
	if (!sites_grow(&list, scopes->count, sizeof(*scopes->list),
			scopes->error))
		return false;
	scopes->list = list;
	scopes->list[scopes->count++] = scope;
	return true;
}

static bool has_code(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
		return true;
	}
	return false;
}

/* Goes down the tree along the address, the outermost function first. */
static bool descend(struct scopes *scopes, Dwarf_Die *die, unsigned int level)
{
	Dwarf_Die child;
	int result;

	if (level > SITES_MAX_DEPTH)
		return sites_fail(
			scopes->error,
			"%s: the debug information is damaged: nested too deeply",
			scopes->image->path);
	result = sites_child(scopes->image, die, &child, scopes->error);
	while (result == 0) {
		int tag = dwarf_tag(&child);

		if (has_code(&child) &&
		    (tag == DW_TAG_namespace ||
		     dwarf_haspc(&child, scopes->address) > 0)) {
			if ((tag == DW_TAG_subprogram ||
			     tag == DW_TAG_inlined_subroutine) &&
			    !add_scope(scopes, &child))
				return false;
			if (!descend(scopes, &child, level + 1))
				return false;
			if (tag != DW_TAG_namespace)
				return true;
		}
		result = sites_sibling(scopes->image, &child, &child,
				       scopes->error);
	}
	return result > 0;
}

bool sites_scopes(struct sites_image *image, uint64_t address,
		  struct sites_scope **list, size_t *count,
		  struct sites_error *error)
{
	struct scopes scopes = {
		.image = image,
		.address = address,
		.error = error,
	};

	*list = NULL;
	*count = 0;
	if (!sites_unit_at(image, address, &scopes.unit, error))
		return false;
	if (!descend(&scopes, &scopes.unit, 0)) {
		free(scopes.list);
		return false;
	}
	for (size_t i = 0; i < scopes.count / 2; i++) {
		struct sites_scope swapped = scopes.list[i];

		scopes.list[i] = scopes.list[scopes.count - 1 - i];
		scopes.list[scopes.count - 1 - i] = swapped;
	}
	*list = scopes.list;
	*count = scopes.count;
	return true;
}

/* The address of a row, unless it only marks the end of a sequence. */
static bool row_address(Dwarf_Line *line, uint64_t *address)
{
	Dwarf_Addr value;
	bool end;

	if (!line || dwarf_lineaddr(line, &value) != 0 ||
	    dwarf_lineendsequence(line, &end) != 0 || end)
		return false;
	*address = value;
	return true;
}

bool sites_rows(struct sites_image *image, struct sites_range range,
		uint64_t **list, size_t *count, struct sites_error *error)
{
	Dwarf_Lines *lines;
	size_t line_count;
	void *rows = NULL;
	size_t found = 0;
	Dwarf_Die unit;

	*list = NULL;
	*count = 0;
	if (!sites_unit_at(image, range.low, &unit, error))
		return false;
	if (dwarf_getsrclines(&unit, &lines, &line_count) != 0)
		return sites_fail(error,
				  "%s: the line table cannot be read: %s",
				  image->path, dwarf_errmsg(-1));
	/* libdw has sorted them by address. */
	for (size_t i = 0; i < line_count; i++) {
		uint64_t address;

		if (!row_address(dwarf_onesrcline(lines, i), &address) ||
		    address < range.low || address >= range.high)
			continue;
		if (found && ((uint64_t *)rows)[found - 1] == address)
			continue;
		if (!sites_grow(&rows, found, sizeof(**list), error)) {
			free(rows);
			return false;
		}
		((uint64_t *)rows)[found++] = address;
	}
	*list = rows;
	*count = found;
	return true;
}

/*
 * The file of the row that begins at the address, NULL if none does.  Of
 * several rows the one is taken that stap takes, which asks libdw likewise.
 */
static bool row_file(struct sites_image *image, uint64_t address,
		     const char **file, struct sites_error *error)
{
	Dwarf_Line *line;
	uint64_t begin;
	Dwarf_Die unit;

	*file = NULL;
	if (!sites_unit_at(image, address, &unit, error))
		return false;
	line = dwarf_getsrc_die(&unit, address);
	if (row_address(line, &begin) && begin == address) {
		*file = dwarf_linesrc(line, NULL, NULL);
		if (!*file)
			*file = "?";
	}
	return true;
}

static bool scope_allowed(struct sites_image *image, uint64_t address,
			  struct sites_error *why)
{
	struct sites_scope *scopes;
	bool allowed = true;
	size_t count;

	if (!sites_scopes(image, address, &scopes, &count, why))
		return false;
	if (!count)
		allowed = sites_fail(why, "0x%llx is in no function",
				     (unsigned long long)address);
	else if (sites_name_refused(image, SITES_REFUSED_FUNCTION,
				    scopes[0].function))
		allowed = sites_fail(
			why, "0x%llx is in %s, which stap does not probe",
			(unsigned long long)address, scopes[0].function);
	free(scopes);
	return allowed;
}

bool sites_can_probe(struct sites_image *image, uint64_t address,
		     struct sites_error *why)
{
	const char *section = sites_section_at(image, address);
	const char *file;

	if (!row_file(image, address, &file, why))
		return false;
	if (!file)
		return sites_fail(why, "0x%llx begins no row of the line table",
				  (unsigned long long)address);
	if (sites_name_refused(image, SITES_REFUSED_SECTION, section))
		return sites_fail(
			why,
			"0x%llx is in section %s, which stap does not probe",
			(unsigned long long)address, section);
	if (sites_name_refused(image, SITES_REFUSED_FILE, file))
		return sites_fail(
			why, "0x%llx is in file %s, which stap does not probe",
			(unsigned long long)address, file);
	return scope_allowed(image, address, why);
}
