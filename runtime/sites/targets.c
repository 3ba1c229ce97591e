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
		const struct sites_operation *operation,
		struct sites_error *error)
{
	void *list = targets->list;

	if (!sites_grow(&list, targets->count, sizeof(*targets->list), error))
		return false;
	targets->list = list;
	targets->list[targets->count++] = (struct target){
		.address = address,
		.is_slot = is_slot,
		.operation = operation,
	};
	return true;
}

struct search {
	struct targets *targets;
	struct sites_error *error;
	bool failed;
};

static bool add_symbol(const struct sites_symbol *symbol, void *argument)
{
	struct search *search = argument;
	const struct sites_operation *operation;

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC ||
	    symbol->section == SHN_UNDEF)
		return true;
	operation = sites_operation(symbol->name);
	search->failed = operation &&
			 !add(search->targets, symbol->sym.st_value, false,
			      operation, search->error);
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
		const struct sites_operation *operation;
		void *list = targets->slots;
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
		operation = sites_operation(name);
		if (operation &&
		    !add(targets, rela.r_offset, true, operation, error))
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

const struct sites_operation *sites_target(const struct targets *targets,
					   uint64_t address, bool is_slot)
{
	for (size_t i = 0; i < targets->count; i++)
		if (targets->list[i].address == address &&
		    targets->list[i].is_slot == is_slot)
			return targets->list[i].operation;
	return NULL;
}

/* Each entry jumps to where its slot says: jmp *slot(%rip). */
static bool add_entries(Elf_Scn *section, const GElf_Shdr *header,
			struct targets *targets, struct sites_error *error)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t size = header->sh_entsize ? header->sh_entsize : 16;
	const unsigned char *bytes = data ? data->d_buf : NULL;

	for (size_t i = 0; bytes && i + 6 <= data->d_size; i++) {
		const struct sites_operation *operation;
		int32_t distance;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25)
			continue;
		memcpy(&distance, bytes + i + 2, sizeof(distance));
		operation = sites_target(
			targets, header->sh_addr + i + 6 + (uint64_t)distance,
			true);
		if (operation && !add(targets, header->sh_addr + i - i % size,
				      false, operation, error))
			return false;
	}
	return true;
}

bool sites_targets_read(struct sites_image *image, struct targets *targets,
			struct sites_error *error)
{
	struct search search = { .targets = targets, .error = error };
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

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
	if (!targets->count || elf_getshdrstrndx(image->elf, &names) != 0)
		return true;
	while ((section = elf_nextscn(image->elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) ||
		    header.sh_type != SHT_PROGBITS)
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		if (name && strncmp(name, ".plt", 4) == 0 &&
		    !add_entries(section, &header, targets, error))
			return false;
	}
	return true;
}
