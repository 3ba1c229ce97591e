// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a program's calls of lock functions lead to: the functions themselves,
 * and what stands for those of a library, entries of the procedure linkage
 * table and of the global offset table.
 */
#include <stdlib.h>
#include <string.h>

#include "function.h"

static bool add(struct targets *targets, uint64_t address, bool is_slot,
		const struct target *what, struct sites_error *error)
{
	void *list = targets->list;

	if (!sites_grow(&list, targets->count, sizeof(*targets->list), error))
		return false;
	targets->list = list;
	targets->list[targets->count] = *what;
	targets->list[targets->count].address = address;
	targets->list[targets->count++].is_slot = is_slot;
	return true;
}

/* A function that does an operation itself. */
static struct target plain(const struct sites_operation *operation)
{
	return (struct target){ .operation = operation, .reg = REG_RDI };
}

struct search {
	struct targets *targets;
	struct sites_error *error;
	bool failed;
};

static bool add_symbol(const struct sites_symbol *symbol, void *argument)
{
	struct search *search = argument;
	struct target what;

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC ||
	    symbol->section == SHN_UNDEF)
		return true;
	what = plain(sites_operation(symbol->name, true));
	search->failed = what.operation &&
			 !add(search->targets, symbol->sym.st_value, false,
			      &what, search->error);
	return !search->failed;
}

/* The places that the loader fills with a function's address. */
static bool add_slots(struct sites_image *image, Elf_Scn *section,
		      const GElf_Shdr *header, struct targets *targets,
		      struct sites_error *error)
{
	Elf_Scn *symbols = elf_getscn(image->elf, header->sh_link);
	Elf_Data *data = elf_getdata(section, NULL), *symbol_data;
	GElf_Shdr symbol_header;
	size_t count;

	if (!symbols || !data || !gelf_getshdr(symbols, &symbol_header) ||
	    symbol_header.sh_type != SHT_DYNSYM ||
	    !(symbol_data = elf_getdata(symbols, NULL)))
		return true;
	count = data->d_size / sizeof(Elf64_Rela);
	for (size_t i = 0; i < count; i++) {
		void *list = targets->slots;
		struct target what;
		const char *name;
		GElf_Rela rela;
		GElf_Sym symbol;

		if (!gelf_getrela(data, (int)i, &rela) ||
		    (GELF_R_TYPE(rela.r_info) != R_X86_64_JUMP_SLOT &&
		     GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbol_data, (int)GELF_R_SYM(rela.r_info),
				 &symbol))
			continue;
		name = elf_strptr(image->elf, symbol_header.sh_link,
				  symbol.st_name);
		if (!name || !*name)
			continue;
		what = plain(sites_operation(name, true));
		if (what.operation &&
		    !add(targets, rela.r_offset, true, &what, error))
			return false;
		if (!sites_grow(&list, targets->slot_count,
				sizeof(*targets->slots), error))
			return false;
		targets->slots = list;
		targets->slots[targets->slot_count++] = (struct slot){
			.address = rela.r_offset,
			.symbol = name,
			.value = symbol.st_value,
		};
	}
	return true;
}

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

const struct slot *sites_slot_at(const struct targets *targets,
				 uint64_t address)
{
	struct slot key = { .address = address };

	return targets->slot_count ?
		       bsearch(&key, targets->slots, targets->slot_count,
			       sizeof(key), compare_slots) :
		       NULL;
}

void sites_targets_free(struct targets *targets)
{
	free(targets->list);
	free(targets->slots);
}

static int compare_targets(const void *left, const void *right)
{
	const struct target *a = left, *b = right;

	if (a->is_slot != b->is_slot)
		return a->is_slot ? 1 : -1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void sort_targets(struct targets *targets)
{
	if (targets->count)
		qsort(targets->list, targets->count, sizeof(*targets->list),
		      compare_targets);
}

const struct target *sites_target(const struct targets *targets,
				  uint64_t address, bool is_slot)
{
	struct target key = { .address = address, .is_slot = is_slot };

	return targets->count ? bsearch(&key, targets->list, targets->count,
					sizeof(key), compare_targets) :
				NULL;
}

/* Each entry jumps to where its slot says: jmp *slot(%rip). */
static bool add_entries(Elf_Scn *section, const GElf_Shdr *header,
			const struct targets *slots, struct targets *targets,
			struct sites_error *error)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t size = header->sh_entsize ? header->sh_entsize : 16;
	const unsigned char *bytes = data ? data->d_buf : NULL;

	for (size_t i = 0; bytes && i + 6 <= data->d_size; i++) {
		const struct target *target;
		struct target what;
		int32_t distance;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25)
			continue;
		memcpy(&distance, bytes + i + 2, sizeof(distance));
		target = sites_target(
			slots, header->sh_addr + i + 6 + (uint64_t)distance,
			true);
		if (!target)
			continue;
		what = *target;
		if (!add(targets, header->sh_addr + i - i % size, false, &what,
			 error))
			return false;
	}
	return true;
}

/* Whether a section is a procedure linkage table. */
static bool is_linkage(struct sites_image *image, size_t names,
		       const GElf_Shdr *header)
{
	const char *name = elf_strptr(image->elf, names, header->sh_name);

	return name && strncmp(name, ".plt", 4) == 0;
}

/* Adds the entries of all slots that are among the targets. */
static bool add_all_entries(struct sites_image *image, struct targets *targets,
			    struct sites_error *error)
{
	struct targets slots = *targets;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;
	bool good = true;

	if (!targets->count || elf_getshdrstrndx(image->elf, &names) != 0)
		return true;
	sort_targets(targets);
	/* The list moves while it grows. */
	slots.list = malloc(slots.count * sizeof(*slots.list));
	if (!slots.list)
		return sites_fail(error, "out of memory");
	memcpy(slots.list, targets->list, slots.count * sizeof(*slots.list));
	while (good && (section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    header.sh_type == SHT_PROGBITS &&
		    is_linkage(image, names, &header))
			good = add_entries(section, &header, &slots, targets,
					   error);
	free(slots.list);
	sort_targets(targets);
	return good;
}

bool sites_targets_read(struct sites_image *image, struct targets *targets,
			struct sites_error *error)
{
	struct search search = { .targets = targets, .error = error };
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (image->symtab &&
	    (!sites_each_symbol(image, add_symbol, &search, error) ||
	     search.failed))
		return false;
	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    header.sh_type == SHT_RELA &&
		    !add_slots(image, section, &header, targets, error))
			return false;
	if (targets->slot_count)
		qsort(targets->slots, targets->slot_count,
		      sizeof(*targets->slots), compare_slots);
	return add_all_entries(image, targets, error);
}

bool sites_targets_own(struct sites_image *image, const struct targets *from,
		       const struct target *functions, size_t count,
		       struct targets *targets, struct sites_error *error)
{
	for (size_t i = 0; i < count; i++) {
		const struct target *function = &functions[i];

		if (!add(targets, function->address, false, function, error))
			return false;
		/* One that other files see is called by its slot, too. */
		for (size_t j = 0; j < from->slot_count; j++)
			if (from->slots[j].value == function->address &&
			    !add(targets, from->slots[j].address, true,
				 function, error))
				return false;
	}
	return add_all_entries(image, targets, error);
}

/* What the bytes at a place call or jump to, if they do. */
static const struct target *target_of(const struct targets *targets,
				      const unsigned char *code, size_t left,
				      uint64_t address, uint64_t *after)
{
	bool is_slot = code[0] == 0xff;
	size_t opcode;
	int32_t distance;

	if (code[0] == 0xe8 || code[0] == 0xe9)
		opcode = 1;
	else if (left > 1 &&
		 ((is_slot && (code[1] == 0x15 || code[1] == 0x25)) ||
		  (code[0] == 0x0f && (code[1] & 0xf0) == 0x80)))
		opcode = 2;
	else
		return NULL;
	if (left < opcode + 4)
		return NULL;
	memcpy(&distance, code + opcode, sizeof(distance));
	*after = address + opcode + 4;
	return sites_target(targets, *after + (uint64_t)distance, is_slot);
}

bool sites_scan_targets(struct sites_image *image,
			const struct targets *targets,
			bool (*each)(void *argument, uint64_t after,
				     const struct target *target),
			void *argument)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!targets->count || elf_getshdrstrndx(image->elf, &names) != 0)
		return true;
	while ((section = elf_nextscn(image->elf, section))) {
		Elf_Data *data;
		const unsigned char *code;

		if (!gelf_getshdr(section, &header) ||
		    header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_EXECINSTR) ||
		    is_linkage(image, names, &header))
			continue;
		data = elf_rawdata(section, NULL);
		code = data ? data->d_buf : NULL;
		for (size_t i = 0; code && i < data->d_size; i++) {
			const struct target *target;
			uint64_t after;

			target = target_of(targets, code + i, data->d_size - i,
					   header.sh_addr + i, &after);
			if (target && !each(argument, after, target))
				return false;
		}
	}
	return true;
}
