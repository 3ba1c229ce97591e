// SPDX-License-Identifier: GPL-2.0-or-later
/* The symbol table and the sections' contents. */
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

/* The smallest lock is a raw spinlock of four bytes. */
#define SMALLEST_LOCK 4

/* The symbols of one table of a file. */
static bool each_in(struct sites_image *image, Elf *elf, Elf_Scn *table,
		    bool (*each)(const struct sites_symbol *symbol,
				 void *argument),
		    void *argument, struct sites_error *error)
{
	struct sites_symbol symbol;
	GElf_Shdr header;
	Elf_Data *data, *extended = NULL;
	Elf_Scn *section = NULL;
	int count;

	data = elf_getdata(table, NULL);
	if (!data || !gelf_getshdr(table, &header))
		return sites_fail(error,
				  "%s: the symbol table cannot be read: %s",
				  image->path, elf_errmsg(-1));

	/* Only files with more than 65,000 sections have this one. */
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr other;

		if (gelf_getshdr(section, &other) &&
		    other.sh_type == SHT_SYMTAB_SHNDX &&
		    other.sh_link == elf_ndxscn(table))
			extended = elf_getdata(section, NULL);
	}

	count = (int)(data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT));
	for (int i = 0; i < count; i++) {
		Elf32_Word index = 0;

		if (!gelf_getsymshndx(data, extended, i, &symbol.sym, &index))
			continue;
		symbol.section = symbol.sym.st_shndx == SHN_XINDEX ?
					 index :
					 symbol.sym.st_shndx;
		symbol.name =
			elf_strptr(elf, header.sh_link, symbol.sym.st_name);
		if (!symbol.name || !*symbol.name)
			continue;
		if (!each(&symbol, argument))
			break;
	}
	return true;
}

bool sites_each_symbol(struct sites_image *image,
		       bool (*each)(const struct sites_symbol *symbol,
				    void *argument),
		       void *argument, struct sites_error *error)
{
	if (!image->symtab)
		return sites_fail(error, "%s has no symbol table", image->path);
	return each_in(image, image->symbols, image->symtab, each, argument,
		       error);
}

bool sites_each_dynamic(struct sites_image *image,
			bool (*each)(const struct sites_symbol *symbol,
				     void *argument),
			void *argument, struct sites_error *error)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    header.sh_type == SHT_DYNSYM)
			return each_in(image, image->elf, section, each,
				       argument, error);
	return true;
}

bool sites_segments(struct sites_image *image, uint64_t *low,
		    struct sites_segment *code)
{
	size_t count;

	memset(code, 0, sizeof(*code));
	*low = UINT64_MAX;
	if (elf_getphdrnum(image->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(image->elf, (int)i, &header) ||
		    header.p_type != PT_LOAD)
			continue;
		if (header.p_vaddr < *low)
			*low = header.p_vaddr;
		/* The largest, if there are several. */
		if ((header.p_flags & PF_X) && header.p_filesz > code->bytes)
			*code = (struct sites_segment){
				.address = header.p_vaddr,
				.offset = header.p_offset,
				.bytes = header.p_filesz,
			};
	}
	return code->bytes != 0;
}

static Elf_Scn *section_at(struct sites_image *image, uint64_t address,
			   GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section))) {
		if (gelf_getshdr(section, header) &&
		    (header->sh_flags & SHF_ALLOC) &&
		    !(header->sh_flags & SHF_TLS) &&
		    address >= header->sh_addr &&
		    address - header->sh_addr < header->sh_size)
			return section;
	}
	return NULL;
}

const char *sites_section_at(struct sites_image *image, uint64_t address)
{
	GElf_Shdr header;
	size_t names;

	if (!section_at(image, address, &header) ||
	    elf_getshdrstrndx(image->elf, &names) != 0)
		return NULL;
	return elf_strptr(image->elf, names, header.sh_name);
}

const char *sites_section(struct sites_image *image, uint64_t address,
			  struct sites_range *range)
{
	GElf_Shdr header;

	range->low = range->high = 0;
	if (!section_at(image, address, &header))
		return NULL;
	range->low = header.sh_addr;
	range->high = header.sh_addr + header.sh_size;
	return sites_section_at(image, address);
}

bool sites_symbol_place(struct sites_image *image,
			const struct sites_symbol *symbol, uint64_t *address)
{
	Elf_Scn *section;
	GElf_Shdr header;

	*address = symbol->sym.st_value;
	if (image->kind != SITES_MODULE)
		return true;
	section = elf_getscn(image->symbols, symbol->section);
	if (!section || !gelf_getshdr(section, &header))
		return false;
	*address += header.sh_addr;
	return true;
}

struct wanted {
	struct sites_image *image;
	const char *name;
	uint64_t address;
	bool found;
};

static bool is_wanted(const struct sites_symbol *symbol, void *argument)
{
	struct wanted *wanted = argument;

	if (symbol->section == SHN_UNDEF ||
	    strcmp(symbol->name, wanted->name) != 0 ||
	    !sites_symbol_place(wanted->image, symbol, &wanted->address))
		return true;
	wanted->found = true;
	return false;
}

bool sites_symbol_address(struct sites_image *image, const char *name,
			  uint64_t *address)
{
	struct wanted wanted = { .image = image, .name = name };
	struct sites_error error;

	if (!sites_each_symbol(image, is_wanted, &wanted, &error) ||
	    !wanted.found)
		return false;
	*address = wanted.address;
	return true;
}

struct anchors {
	struct sites_image *image;
	struct sites_range range;
	const char *tried; /* NULL: any name that comes after `after' */
	size_t count; /* symbols of that name */
	size_t skip;
	uint64_t address;
};

static bool count_name(const struct sites_symbol *symbol, void *argument)
{
	struct anchors *anchors = argument;

	anchors->count += strcmp(symbol->name, anchors->tried) == 0;
	return anchors->count < 2;
}

static bool next_function(const struct sites_symbol *symbol, void *argument)
{
	struct anchors *anchors = argument;
	uint64_t address;

	if (GELF_ST_TYPE(symbol->sym.st_info) != STT_FUNC ||
	    symbol->section == SHN_UNDEF ||
	    !sites_symbol_place(anchors->image, symbol, &address) ||
	    address < anchors->range.low || address >= anchors->range.high ||
	    strchr(symbol->name, '.'))
		return true;
	if (anchors->count++ < anchors->skip)
		return true;
	anchors->tried = symbol->name;
	anchors->address = address;
	return false;
}

/* One of the first few names is unique: statics of one name are rare. */
const char *sites_anchor(struct sites_image *image,
			 const struct sites_range *range, uint64_t *address)
{
	struct anchors anchors = { .image = image, .range = *range };
	struct sites_error error;

	for (anchors.skip = 0; anchors.skip < 16; anchors.skip++) {
		anchors.tried = NULL;
		anchors.count = 0;
		if (!sites_each_symbol(image, next_function, &anchors,
				       &error) ||
		    !anchors.tried)
			return NULL;
		anchors.count = 0;
		if (sites_each_symbol(image, count_name, &anchors, &error) &&
		    anchors.count == 1) {
			*address = anchors.address;
			return anchors.tried;
		}
	}
	return NULL;
}

bool sites_section_named(struct sites_image *image, const char *name,
			 uint64_t *begin, uint64_t *end)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(image->elf, section))) {
		GElf_Shdr header;
		const char *found;

		if (!gelf_getshdr(section, &header))
			continue;
		found = elf_strptr(image->elf, names, header.sh_name);
		if (!found || strcmp(found, name) != 0)
			continue;
		*begin = header.sh_addr;
		*end = header.sh_addr + header.sh_size;
		return true;
	}
	return false;
}

size_t sites_bytes_at(struct sites_image *image, uint64_t address,
		      unsigned char *bytes, size_t size)
{
	GElf_Shdr header;
	Elf_Scn *section = section_at(image, address, &header);
	Elf_Data *data;
	uint64_t offset;

	if (!section || header.sh_type == SHT_NOBITS)
		return 0;
	data = elf_rawdata(section, NULL);
	offset = address - header.sh_addr;
	if (!data || !data->d_buf || offset >= data->d_size)
		return 0;
	if (size > data->d_size - offset)
		size = data->d_size - offset;
	memcpy(bytes, (const char *)data->d_buf + offset, size);
	return size;
}

struct percpu_search {
	struct sites_image *image;
	size_t section;
	uint64_t start;
	struct sites_percpu *list;
	size_t count;
	struct sites_error *error;
	bool failed;
};

static bool add_percpu(const struct sites_symbol *symbol, void *argument)
{
	struct percpu_search *search = argument;
	void *list = search->list;

	if (symbol->section != search->section ||
	    GELF_ST_TYPE(symbol->sym.st_info) != STT_OBJECT ||
	    symbol->sym.st_size < SMALLEST_LOCK ||
	    symbol->sym.st_value < search->start)
		return true;
	if (!sites_grow(&list, search->count, sizeof(*search->list),
			search->error)) {
		search->failed = true;
		return false;
	}
	search->list = list;
	search->list[search->count++] = (struct sites_percpu){
		.name = symbol->name,
		.offset = symbol->sym.st_value - search->start,
		.size = symbol->sym.st_size,
	};
	return true;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

static int compare_percpu(const void *left, const void *right)
{
	const struct sites_percpu *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	/* The largest first, so that it is the one that is kept. */
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	/* gdt_page rather than its alias __pi_gdt_page. */
	if (underscores(a->name) != underscores(b->name))
		return underscores(a->name) < underscores(b->name) ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Finds .data..percpu, whose address is 0 in some kernels only. */
static bool find_percpu(struct sites_image *image, size_t *index,
			uint64_t *start)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(image->symbols, &names) != 0)
		return false;
	while ((section = elf_nextscn(image->symbols, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(image->symbols, names, header.sh_name);
		if (!name || strcmp(name, ".data..percpu") != 0)
			continue;
		*index = elf_ndxscn(section);
		*start = header.sh_addr;
		return true;
	}
	return false;
}

bool sites_percpu_area(struct sites_image *image, struct sites_range *area)
{
	return sites_section_named(image, ".data..percpu", &area->low,
				   &area->high);
}

bool sites_percpu(struct sites_image *image, struct sites_percpu **list,
		  size_t *count, struct sites_error *error)
{
	struct percpu_search search = { .image = image, .error = error };
	size_t kept = 0;

	*list = NULL;
	*count = 0;
	if (!image->symtab)
		return sites_fail(error, "%s has no symbol table", image->path);
	if (!find_percpu(image, &search.section, &search.start))
		return true;
	if (!sites_each_symbol(image, add_percpu, &search, error) ||
	    search.failed) {
		free(search.list);
		return false;
	}
	if (search.count)
		qsort(search.list, search.count, sizeof(*search.list),
		      compare_percpu);
	for (size_t i = 0; i < search.count; i++)
		if (!kept ||
		    search.list[i].offset != search.list[kept - 1].offset)
			search.list[kept++] = search.list[i];
	*list = search.list;
	*count = kept;
	return true;
}

const unsigned char *sites_code_at(struct sites_image *image, uint64_t address,
				   size_t *size)
{
	GElf_Shdr *header = &image->code_header;
	uint64_t offset;

	if (!image->code || address < header->sh_addr ||
	    address - header->sh_addr >= header->sh_size) {
		Elf_Scn *section = section_at(image, address, header);

		image->code = NULL;
		if (!section || header->sh_type == SHT_NOBITS)
			return NULL;
		/*
		 * Not elf_rawdata: libdwfl has put a module's absolute
		 * addresses into the sections, and taken their relocations
		 * away.
		 */
		image->code = elf_getdata(section, NULL);
		if (!image->code || !image->code->d_buf) {
			image->code = NULL;
			return NULL;
		}
	}
	offset = address - header->sh_addr;
	if (offset >= image->code->d_size)
		return NULL;
	*size = image->code->d_size - offset;
	return (const unsigned char *)image->code->d_buf + offset;
}

struct sites_relocation {
	uint64_t place;
	uint64_t value;
	const char *symbol; /* NULL: of this file, and in the value */
	bool is_got; /* not that, but where the linker puts it */
};

static int compare_relocations(const void *left, const void *right)
{
	const struct sites_relocation *a = left, *b = right;

	return a->place < b->place ? -1 : a->place > b->place;
}

/* What a relocation's symbol is: its address, or its name. */
static bool relocation_symbol(struct sites_image *image, size_t index,
			      struct sites_relocation *relocation)
{
	Elf_Data *data = elf_getdata(image->symtab, NULL);
	GElf_Shdr header, section_header;
	Elf_Scn *section;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(image->symtab, &header) ||
	    !gelf_getsym(data, (int)index, &symbol))
		return false;
	if (symbol.st_shndx == SHN_UNDEF) {
		relocation->symbol = elf_strptr(image->symbols, header.sh_link,
						symbol.st_name);
		return relocation->symbol != NULL;
	}
	section = elf_getscn(image->symbols, symbol.st_shndx);
	if (!section || !gelf_getshdr(section, &section_header))
		return false;
	relocation->value += symbol.st_value + section_header.sh_addr;
	return true;
}

static bool read_relocations_of(struct sites_image *image, Elf_Scn *section,
				const GElf_Shdr *header, uint64_t base,
				struct sites_error *error)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count =
		header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	void *list = image->relocations;

	for (size_t i = 0; data && i < count; i++) {
		struct sites_relocation relocation = { 0 };
		GElf_Rela rela;

		if (!gelf_getrela(data, (int)i, &rela))
			break;
		relocation.place = base + rela.r_offset;
		relocation.value = (uint64_t)rela.r_addend;
		relocation.is_got =
			GELF_R_TYPE(rela.r_info) == R_X86_64_GOTPCREL ||
			GELF_R_TYPE(rela.r_info) == R_X86_64_GOTPCRELX ||
			GELF_R_TYPE(rela.r_info) == R_X86_64_REX_GOTPCRELX;
		if (!relocation_symbol(image, GELF_R_SYM(rela.r_info),
				       &relocation))
			continue;
		if (!sites_grow(&list, image->relocation_count,
				sizeof(relocation), error))
			return false;
		image->relocations = list;
		image->relocations[image->relocation_count++] = relocation;
	}
	return true;
}

/* Those of code, in a file that is still to be linked. */
static void read_relocations(struct sites_image *image)
{
	Elf_Scn *section = NULL;
	struct sites_error error;

	image->relocations_read = true;
	if (image->kind != SITES_MODULE || !image->symtab ||
	    image->symbols != image->elf)
		return;
	while ((section = elf_nextscn(image->elf, section))) {
		GElf_Shdr header, target;
		Elf_Scn *code;

		if (!gelf_getshdr(section, &header) ||
		    header.sh_type != SHT_RELA)
			continue;
		code = elf_getscn(image->elf, header.sh_info);
		if (!code || !gelf_getshdr(code, &target) ||
		    !(target.sh_flags & (SHF_EXECINSTR | SHF_WRITE)))
			continue;
		if (!read_relocations_of(image, section, &header,
					 target.sh_addr, &error))
			break;
	}
	if (image->relocation_count)
		qsort(image->relocations, image->relocation_count,
		      sizeof(*image->relocations), compare_relocations);
}

static const struct sites_relocation *
find_relocation(struct sites_image *image, uint64_t address, size_t size)
{
	size_t low = 0, high;

	if (!image->relocations_read)
		read_relocations(image);
	high = image->relocation_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->relocations[middle].place < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= image->relocation_count ||
	    image->relocations[low].place - address >= size)
		return NULL;
	return &image->relocations[low];
}

bool sites_relocation_at(struct sites_image *image, uint64_t address,
			 size_t size, const char **symbol, uint64_t *value)
{
	const struct sites_relocation *found =
		find_relocation(image, address, size);

	if (!found)
		return false;
	if (symbol)
		*symbol = found->symbol;
	if (value)
		*value = found->value;
	return true;
}

bool sites_relocation_is_got(struct sites_image *image, uint64_t address,
			     size_t size)
{
	const struct sites_relocation *found =
		find_relocation(image, address, size);

	return found && found->is_got;
}

uint64_t sites_relocation_place(struct sites_image *image, uint64_t address,
				size_t size)
{
	const struct sites_relocation *found =
		find_relocation(image, address, size);

	return found ? found->place : address;
}
