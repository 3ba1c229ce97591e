// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens a file and its debug information. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sites_private.h"

/* ELFCOMPRESS_ZSTD, which older headers do not have. */
#define COMPRESSED_ZSTD 2

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static const char *machine_name(unsigned int machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "arm";
	case EM_PPC64:
		return "ppc64";
	case EM_RISCV:
		return "riscv";
	case EM_S390:
		return "s390x";
	}
	return "another machine";
}

/* Says what a file that is not for us is. */
static bool check_header(const char *path, const unsigned char *ident,
			 size_t size, struct sites_error *error)
{
	bool big = ident[EI_DATA] == ELFDATA2MSB;
	unsigned int machine;

	if (size < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return sites_fail(error, "%s is not an ELF file", path);
	if (size < sizeof(Elf64_Ehdr))
		return sites_fail(
			error, "%s is truncated: it ends in its header", path);
	/* e_machine has one place in both classes. */
	machine = ident[18 + big] | ident[19 - big] << 8;
	if (machine == EM_X86_64 && ident[EI_CLASS] == ELFCLASS64 && !big)
		return true;
	if (machine == EM_X86_64)
		return sites_fail(error,
				  "%s is a 32-bit file; only x86-64 is known",
				  path);
	return sites_fail(error, "%s is for %s; only x86-64 is known", path,
			  machine_name(machine));
}

/* libelf hands out sections that the file does not have in full. */
static bool check_sections(const char *path, Elf *elf, uint64_t size,
			   const Elf64_Ehdr *header, struct sites_error *error)
{
	Elf_Scn *section = NULL;
	size_t count;

	if (header->e_shoff > size ||
	    (header->e_shoff && size - header->e_shoff < header->e_shentsize) ||
	    elf_getshdrnum(elf, &count) != 0 ||
	    count > (size - header->e_shoff) / sizeof(Elf64_Shdr) ||
	    header->e_shnum > (size - header->e_shoff) / sizeof(Elf64_Shdr))
		return sites_fail(
			error,
			"%s is truncated: its section headers are beyond its end",
			path);
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(section, &shdr))
			return sites_fail(error, "%s is damaged: %s", path,
					  elf_errmsg(-1));
		if (shdr.sh_type != SHT_NOBITS &&
		    (shdr.sh_offset > size ||
		     shdr.sh_size > size - shdr.sh_offset))
			return sites_fail(
				error,
				"%s is truncated: section %zu ends beyond the file's %llu bytes",
				path, elf_ndxscn(section),
				(unsigned long long)size);
	}
	return true;
}

/* Checks what can be checked without debug information. */
static bool check_file(const char *path, int fd, struct sites_error *error)
{
	union {
		Elf64_Ehdr header;
		unsigned char bytes[sizeof(Elf64_Ehdr)];
	} start = { .bytes = { 0 } };
	struct stat status;
	ssize_t got;
	bool good;
	Elf *elf;

	if (fstat(fd, &status) != 0)
		return sites_fail(error, "cannot read %s: %s", path,
				  strerror(errno));
	if (!S_ISREG(status.st_mode))
		return sites_fail(error, "%s is not a file", path);
	got = pread(fd, start.bytes, sizeof(start.bytes), 0);
	if (got < 0)
		return sites_fail(error, "cannot read %s: %s", path,
				  strerror(errno));
	if (!check_header(path, start.bytes, (size_t)got, error))
		return false;

	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return sites_fail(error, "%s is damaged: %s", path,
				  elf_errmsg(-1));
	good = check_sections(path, elf, (uint64_t)status.st_size,
			      &start.header, error);
	elf_end(elf);
	return good;
}

static bool has_debug_sections(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && (strcmp(name, ".debug_info") == 0 ||
			     strcmp(name, ".zdebug_info") == 0))
			return true;
	}
	return false;
}

/* How a file's sections are compressed; older libraries know zlib only. */
static bool has_zstd(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Chdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getchdr(section, &header) &&
		    header.ch_type == COMPRESSED_ZSTD)
			return true;
	return false;
}

static Elf_Scn *find_table(Elf *elf, unsigned int type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			return section;
	return NULL;
}

static bool no_debug_info(const struct sites_image *image,
			  struct sites_error *error)
{
	sites_fail(error, "%s has no debug information", image->path);
	error->failure = SITES_NO_DEBUG_INFO;
	return false;
}

/* Takes over fd if it succeeds, and if it does not. */
static bool load(struct sites_image *image, int fd, struct sites_error *error)
{
	Dwfl_Module *module;
	GElf_Addr bias;

	image->dwfl = dwfl_begin(&callbacks);
	if (!image->dwfl) {
		close(fd);
		return sites_fail(error, "%s: %s", image->path,
				  dwfl_errmsg(-1));
	}
	module = dwfl_report_offline(image->dwfl, image->path, image->path, fd);
	if (!module) {
		close(fd);
		return sites_fail(error, "%s is damaged: %s", image->path,
				  dwfl_errmsg(-1));
	}
	dwfl_report_end(image->dwfl, NULL, NULL);

	image->elf = dwfl_module_getelf(module, &bias);
	if (!image->elf)
		return sites_fail(error, "%s is damaged: %s", image->path,
				  dwfl_errmsg(-1));
	image->dwarf = dwfl_module_getdwarf(module, &bias);
	if (!image->dwarf && has_zstd(image->elf))
		return sites_fail(
			error,
			"%s: the debug information is compressed by zstd, which this libelf does not know: objcopy --decompress-debug-sections makes it readable",
			image->path);
	if (!image->dwarf && has_debug_sections(image->elf))
		return sites_fail(
			error, "%s: the debug information cannot be read: %s",
			image->path, dwfl_errmsg(-1));
	image->symbols = image->elf;
	image->symtab = find_table(image->symbols, SHT_SYMTAB);
	if (!image->symtab && image->dwarf) {
		image->symbols = dwarf_getelf(image->dwarf);
		image->symtab = find_table(image->symbols, SHT_SYMTAB);
	}
	/* Without any, those that other files see have to do. */
	if (!image->symtab && !image->dwarf)
		image->symtab = find_table(image->elf, SHT_DYNSYM);
	return true;
}

static bool set_build_id(struct sites_image *image, struct sites_error *error)
{
	const void *notes;
	ssize_t length = dwelf_elf_gnu_build_id(image->elf, &notes);
	const unsigned char *bytes = notes;

	if (length < 0)
		length = 0;
	image->build_id = calloc(2 * (size_t)length + 1, 1);
	if (!image->build_id)
		return sites_fail(error, "out of memory");
	for (ssize_t i = 0; i < length; i++)
		sprintf(image->build_id + 2 * i, "%02x", bytes[i]);
	return true;
}

static bool find_banner(const struct sites_symbol *symbol, void *argument)
{
	GElf_Sym *found = argument;

	if (strcmp(symbol->name, "linux_banner") != 0 ||
	    GELF_ST_TYPE(symbol->sym.st_info) != STT_OBJECT)
		return true;
	*found = symbol->sym;
	return false;
}

/* A kernel has the text "Linux version RELEASE (…" in it. */
static bool set_kind(struct sites_image *image, struct sites_error *error)
{
	static const char start[] = "Linux version ";
	char banner[128] = "";
	GElf_Sym symbol = { 0 };
	Elf64_Half type = elf64_getehdr(image->elf)->e_type;
	const char *release = "";
	uint64_t begin, end;

	image->kind = type == ET_REL ? SITES_MODULE : SITES_PROGRAM;
	if (type != ET_REL && image->symtab) {
		if (!sites_each_symbol(image, find_banner, &symbol, error))
			return false;
		sites_bytes_at(image, symbol.st_value, (unsigned char *)banner,
			       sizeof(banner) - 1);
	}
	/* A kernel without symbols has what only a kernel has. */
	if (type != ET_REL && !image->dwarf &&
	    sites_section_named(image, "__ksymtab", &begin, &end))
		image->kind = SITES_KERNEL;
	if (strncmp(banner, start, sizeof(start) - 1) == 0) {
		image->kind = SITES_KERNEL;
		release = banner + sizeof(start) - 1;
		banner[sizeof(start) - 1 + strcspn(release, " ")] = '\0';
	}
	image->release = strdup(release);
	if (!image->release)
		return sites_fail(error, "out of memory");
	return true;
}

struct sites_image *sites_open_program(const char *path,
				       struct sites_error *error)
{
	struct sites_image *image;
	int fd;

	elf_version(EV_CURRENT);
	/* A pipe is refused, not waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		sites_fail(error, "cannot open %s: %s", path, strerror(errno));
		return NULL;
	}
	if (!check_file(path, fd, error)) {
		close(fd);
		return NULL;
	}
	image = calloc(1, sizeof(*image));
	if (!image || !(image->path = strdup(path))) {
		sites_fail(error, "out of memory");
		close(fd);
		free(image);
		return NULL;
	}
	if (!load(image, fd, error) || !set_build_id(image, error) ||
	    !set_kind(image, error) || !sites_refused_init(image, error) ||
	    (!image->dwarf && image->kind != SITES_PROGRAM &&
	     !no_debug_info(image, error))) {
		sites_close(image);
		return NULL;
	}
	return image;
}

struct sites_image *sites_open(const char *path, struct sites_error *error)
{
	struct sites_image *image = sites_open_program(path, error);

	if (image && !image->dwarf) {
		no_debug_info(image, error);
		sites_close(image);
		return NULL;
	}
	return image;
}

bool sites_has_debug_info(const struct sites_image *image)
{
	return image->dwarf != NULL;
}

bool sites_has_symbols(const struct sites_image *image)
{
	GElf_Shdr header;

	return image->symtab && gelf_getshdr(image->symtab, &header) &&
	       header.sh_type == SHT_SYMTAB;
}

struct sites_image *sites_image_of(struct sites_image *image, size_t number)
{
	struct sites_image *helper;
	struct sites_error error;

	if (!number)
		return image;
	if (image->helpers[number])
		return image->helpers[number];
	helper = sites_open(image->path, &error);
	if (helper && (!*image->build_id ||
		       strcmp(helper->build_id, image->build_id) != 0)) {
		sites_close(helper);
		helper = NULL;
	}
	image->helpers[number] = helper;
	return helper;
}

void sites_close(struct sites_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < SITES_WORKERS; i++)
		sites_close(image->helpers[i]);
	sites_refused_done(image);
	if (image->dwfl)
		dwfl_end(image->dwfl);
	free(image->path);
	free(image->build_id);
	free(image->release);
	free(image->relocations);
	free(image);
}

const char *sites_path(const struct sites_image *image)
{
	return image->path;
}

enum sites_kind sites_kind(const struct sites_image *image)
{
	return image->kind;
}

const char *sites_build_id(const struct sites_image *image)
{
	return image->build_id;
}

const char *sites_release(const struct sites_image *image)
{
	return image->release;
}
