// SPDX-License-Identifier: MIT
#include "lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

/* Compressed sections are unpacked as a whole, and anybody may claim any size. */
#define UNPACKED_MAX_BYTES (512U << 20)
#define RANGES_MAX (4U << 20)

struct unit_range {
	uint64_t low, high;
	Dwarf_Off unit;
};

struct lines {
	Dwarf *dwarf, *shared;
	struct unit_range *ranges; /* of all units, NULL until needed */
	size_t n_ranges;
	bool ranges_known;
};

static bool unpacks_small(const struct image *img)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	GElf_Shdr sh;
	GElf_Chdr ch;

	while ((scn = elf_nextscn(img->elf, scn))) {
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch)) {
			if (ch.ch_size > UNPACKED_MAX_BYTES)
				return false;
			sum += ch.ch_size;
		}
	}
	return sum <= UNPACKED_MAX_BYTES;
}

int lines__open(const struct image *img, const struct image *shared, struct lines **ret)
{
	struct lines *l;

	if (!img->elf || !image__has_section(img, ".debug_info"))
		return -ENOENT;
	if (!unpacks_small(img))
		return -EFBIG;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->dwarf = dwarf_begin_elf(img->elf, DWARF_C_READ, NULL);
	if (!l->dwarf) {
		free(l);
		return -ENOENT;
	}
	if (shared && shared->elf && unpacks_small(shared))
		l->shared = dwarf_begin_elf(shared->elf, DWARF_C_READ, NULL);
	dwarf_setalt(l->dwarf, l->shared);
	dwarf_new_oom_handler(l->dwarf, guard__leave);
	if (l->shared)
		dwarf_new_oom_handler(l->shared, guard__leave);
	*ret = l;
	return 0;
}

void lines__close(struct lines *l)
{
	if (!l)
		return;
	dwarf_end(l->dwarf);
	dwarf_end(l->shared);
	free(l->ranges);
	free(l);
}

static int add_range(struct lines *l, size_t *capacity, uint64_t low, uint64_t high, Dwarf_Off unit)
{
	size_t want = *capacity ? 2 * *capacity : 256;
	struct unit_range *grown;

	if (l->n_ranges == RANGES_MAX)
		return -EFBIG;
	if (l->n_ranges == *capacity) {
		grown = reallocarray(l->ranges, want, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->ranges = grown;
		*capacity = want;
	}
	l->ranges[l->n_ranges++] = (struct unit_range){ low, high, unit };
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* For the compilers that write no .debug_aranges: of each unit its own ranges. */
static void read_ranges(struct lines *l)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Addr base, low, high;
	Dwarf_Die die;
	uint8_t type;
	size_t capacity = 0;
	ptrdiff_t at;

	while (dwarf_get_units(l->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		for (at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;) {
			if (low < high && add_range(l, &capacity, low, high, dwarf_dieoffset(&die)))
				break;
		}
	}
	if (l->n_ranges)
		qsort(l->ranges, l->n_ranges, sizeof(*l->ranges), compare_ranges);
	l->ranges_known = true;
}

static int find_by_ranges(struct lines *l, uint64_t vaddr, Dwarf_Die *ret)
{
	size_t low = 0, high, middle;

	if (!l->ranges_known)
		read_ranges(l);
	high = l->n_ranges;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (l->ranges[middle].low <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || l->ranges[low - 1].high <= vaddr)
		return -ENOENT;
	return dwarf_offdie(l->dwarf, l->ranges[low - 1].unit, ret) ? 0 : -ENOENT;
}

/* The linkage name if there is one: that is what the symbol table says, too. */
static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

static void find_functions(Dwarf_Die *unit, uint64_t vaddr, struct line_info *info)
{
	Dwarf_Die *at = NULL, *around = NULL;
	Dwarf_Addr start;
	int n, tag;

	/* what it lists behind an inlined function surrounds the definition, so only its first entry helps */
	n = dwarf_getscopes(unit, vaddr, &at) > 0 ? dwarf_getscopes_die(&at[0], &around) : 0;
	for (int i = 0; i < n; i++) {
		tag = dwarf_tag(&around[i]);
		if (tag == DW_TAG_inlined_subroutine && !info->inlined)
			info->inlined = name_of(&around[i]);
		if (tag != DW_TAG_subprogram)
			continue;
		info->function = name_of(&around[i]);
		if (dwarf_lowpc(&around[i], &start) == 0 && start <= vaddr)
			info->start = start;
		break;
	}
	free(at);
	free(around);
}

int lines__find(struct lines *l, uint64_t vaddr, struct line_info *ret)
{
	struct line_info info = { 0 };
	Dwarf_Line *line;
	Dwarf_Die unit;

	if (!dwarf_addrdie(l->dwarf, vaddr, &unit) && find_by_ranges(l, vaddr, &unit))
		return -ENOENT;
	line = dwarf_getsrc_die(&unit, vaddr);
	/* line 0: made by the compiler, no line of the source */
	if (line && dwarf_lineno(line, &info.line) == 0 && info.line > 0)
		info.file = dwarf_linesrc(line, NULL, NULL);
	if (!info.file)
		info.line = 0;
	find_functions(&unit, vaddr, &info);
	*ret = info;
	return 0;
}
