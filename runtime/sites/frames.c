// SPDX-License-Identifier: GPL-2.0-or-later
/* Where functions are by what unwinds them: stripped programs have that too. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sites_private.h"

/* A section of call frame information, as it is in memory. */
struct frames {
	const unsigned char *ident;
	Elf_Data *data;
	uint64_t address;
};

/* How a frame's address is encoded; compilers write four bytes, relative. */
static bool read_encoding(const Dwarf_CIE *cie, uint8_t *encoding)
{
	const char *letter = cie->augmentation;
	const uint8_t *data = cie->augmentation_data;
	size_t left = cie->augmentation_data_size;

	*encoding = DW_EH_PE_absptr;
	if (!letter || *letter++ != 'z')
		return letter && !letter[-1];
	for (; *letter; letter++) {
		size_t size = 1;

		if (!left)
			return false;
		switch (*letter) {
		case 'R':
			*encoding = *data;
			return true;
		case 'P':
			size += (*data & 0xf) == DW_EH_PE_absptr ? 8 :
				((*data & 0xf) == DW_EH_PE_udata4 ||
				 (*data & 0xf) == DW_EH_PE_sdata4) ?
								   4 :
								   left;
			break;
		case 'L':
			break;
		case 'S':
		case 'B':
			size = 0;
			break;
		default:
			return false;
		}
		if (size > left)
			return false;
		data += size;
		left -= size;
	}
	return true;
}

/* The encoding that a frame's CIE tells. */
static bool find_encoding(const struct frames *frames, const Dwarf_FDE *fde,
			  uint8_t *encoding)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	return dwarf_next_cfi(frames->ident, frames->data, true,
			      fde->CIE_pointer, &next, &entry) == 0 &&
	       dwarf_cfi_cie_p(&entry) && read_encoding(&entry.cie, encoding);
}

static bool read_frame(const struct frames *frames, const Dwarf_FDE *fde,
		       struct sites_range *range)
{
	const unsigned char *base = frames->data->d_buf;
	size_t room = (size_t)(fde->end - fde->start);
	uint64_t low, bytes;
	uint8_t encoding;

	if (!find_encoding(frames, fde, &encoding))
		return false;
	switch (encoding & 0xf) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		if (room < 16)
			return false;
		memcpy(&low, fde->start, 8);
		memcpy(&bytes, fde->start + 8, 8);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4: {
		int32_t distance;
		uint32_t size;

		if (room < 8)
			return false;
		memcpy(&distance, fde->start, 4);
		memcpy(&size, fde->start + 4, 4);
		low = (encoding & 0xf) == DW_EH_PE_sdata4 ? (uint64_t)distance :
							    (uint32_t)distance;
		bytes = size;
		break;
	}
	default:
		return false;
	}
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		low += frames->address + (uint64_t)(fde->start - base);
		break;
	default:
		return false;
	}
	*range = (struct sites_range){ low, low + bytes };
	return bytes && range->high > low;
}

static int compare(const void *left, const void *right)
{
	const struct sites_range *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

static bool read_section(const struct frames *frames,
			 struct sites_range **ranges, size_t *count,
			 struct sites_error *error)
{
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;
	int result;

	while ((result = dwarf_next_cfi(frames->ident, frames->data, true, at,
					&next, &entry)) != 1) {
		struct sites_range range;
		void *list = *ranges;

		/* One that is damaged can be left out if the next is known. */
		if (next <= at || next == (Dwarf_Off)-1)
			break;
		at = next;
		if (result < 0 || dwarf_cfi_cie_p(&entry) ||
		    !read_frame(frames, &entry.fde, &range))
			continue;
		if (!sites_grow(&list, *count, sizeof(range), error))
			return false;
		*ranges = list;
		(*ranges)[(*count)++] = range;
	}
	return true;
}

bool sites_frames(struct sites_image *image, struct sites_range **ranges,
		  size_t *count, struct sites_error *error)
{
	struct frames frames = {
		.ident = (const unsigned char *)elf_getident(image->elf, NULL),
	};
	Elf_Scn *section = NULL;
	size_t names;

	*ranges = NULL;
	*count = 0;
	if (elf_getshdrstrndx(image->elf, &names) != 0)
		return true;
	while ((section = elf_nextscn(image->elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header) ||
		    header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		if (!name || strcmp(name, ".eh_frame") != 0)
			continue;
		frames.data = elf_rawdata(section, NULL);
		frames.address = header.sh_addr;
		if (frames.data && frames.data->d_buf &&
		    !read_section(&frames, ranges, count, error)) {
			free(*ranges);
			*ranges = NULL;
			return false;
		}
	}
	if (*count)
		qsort(*ranges, *count, sizeof(**ranges), compare);
	return true;
}

const struct sites_range *sites_frame_at(const struct sites_range *ranges,
					 size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].high ? &ranges[low - 1] : NULL;
}
