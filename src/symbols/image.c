// SPDX-License-Identifier: MIT
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int image__open_path(int dir, const char *path, bool inside)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int fd;

	if (inside)
		how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

int image__open_file(int dir, const char *path, bool inside)
{
	char again[32];
	struct stat st;
	int place = image__open_path(dir, path, inside), fd;

	if (place < 0)
		return place;
	if (fstat(place, &st)) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		fd = -EINVAL;
	} else {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}

static int begin(struct image *img)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	img->elf = elf_memory(img->bytes, img->size);
	if (!img->elf)
		return -ENOEXEC;
	return elf_kind(img->elf) == ELF_K_ELF ? 0 : -ENOEXEC;
}

int image__map(int fd, struct image *ret)
{
	struct image img = { .mapped = true };
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < EI_NIDENT || (uint64_t)st.st_size > SIZE_MAX)
		return -ENOEXEC;
	img.size = st.st_size;
	/* libelf writes to section headers when it unpacks a section */
	img.bytes = mmap(NULL, img.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (img.bytes == MAP_FAILED)
		return -errno;
	err = begin(&img);
	if (err)
		image__close(&img);
	else
		*ret = img;
	return err;
}

int image__take(void *bytes, size_t size, struct image *ret)
{
	struct image img = { .bytes = bytes, .size = size };
	int err = size < EI_NIDENT ? -ENOEXEC : begin(&img);

	if (err)
		image__close(&img);
	else
		*ret = img;
	return err;
}

void image__abandon(struct image *img)
{
	if (!img)
		return;
	if (img->bytes && img->mapped)
		munmap(img->bytes, img->size);
	else
		free(img->bytes);
	*img = (struct image){ 0 };
}

void image__close(struct image *img)
{
	if (!img)
		return;
	elf_end(img->elf);
	image__abandon(img);
}

/* The executable segment that has what is asked for. */
static int find_segment(const struct image *img, bool by_vaddr, uint64_t value, GElf_Phdr *ret)
{
	GElf_Phdr ph;
	uint64_t start;
	size_t n;

	if (!img->elf || elf_getphdrnum(img->elf, &n))
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		start = by_vaddr ? ph.p_vaddr : ph.p_offset;
		if (value >= start && value - start < ph.p_filesz) {
			*ret = ph;
			return 0;
		}
	}
	return -ENOENT;
}

int image__to_vaddr(const struct image *img, uint64_t file_offset, uint64_t *ret_vaddr)
{
	GElf_Phdr ph;
	int err = find_segment(img, false, file_offset, &ph);

	if (!err)
		*ret_vaddr = file_offset - ph.p_offset + ph.p_vaddr;
	return err;
}

int image__to_file_offset(const struct image *img, uint64_t vaddr, uint64_t *ret_file_offset)
{
	GElf_Phdr ph;
	int err = find_segment(img, true, vaddr, &ph);

	if (!err)
		*ret_file_offset = vaddr - ph.p_vaddr + ph.p_offset;
	return err;
}

static Elf_Scn *find_section(const struct image *img, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	const char *found;
	size_t names;

	if (!img->elf || elf_getshdrstrndx(img->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(img->elf, scn))) {
		if (!gelf_getshdr(scn, ret) || ret->sh_type == SHT_NOBITS)
			continue;
		found = elf_strptr(img->elf, names, ret->sh_name);
		if (found && !strcmp(found, name))
			return scn;
	}
	return NULL;
}

bool image__has_section(const struct image *img, const char *name)
{
	GElf_Shdr sh;

	return find_section(img, name, &sh);
}

int image__section(const struct image *img, const char *name, struct image_part *ret)
{
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(img, name, &sh);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf)
		return -ENOENT;
	*ret = (struct image_part){ .bytes = data->d_buf, .size = data->d_size };
	return 0;
}

const char *image__section_name(const struct image *img, size_t section)
{
	Elf_Scn *scn = img->elf ? elf_getscn(img->elf, section) : NULL;
	GElf_Shdr sh;
	size_t names;

	if (!scn || !gelf_getshdr(scn, &sh) || elf_getshdrstrndx(img->elf, &names))
		return NULL;
	return elf_strptr(img->elf, names, sh.sh_name);
}

static int find_build_id(Elf_Data *notes, struct image_part *ret)
{
	size_t at = 0, next, name, contents;
	GElf_Nhdr note;

	while (notes && (next = gelf_getnote(notes, at, &note, &name, &contents)) > 0) {
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
			note.n_descsz &&
			!memcmp((char *)notes->d_buf + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			*ret = (struct image_part){ .bytes = (char *)notes->d_buf + contents,
				.size = note.n_descsz };
			return 0;
		}
		at = next;
	}
	return -ENOENT;
}

/* libdw's own function for it would bring libdwfl, and with that debuginfod, into a static program. */
int image__build_id(const struct image *img, struct image_part *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (img->elf && (scn = elf_nextscn(img->elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
			!find_build_id(elf_getdata(scn, NULL), ret))
			return 0;
	}
	return -ENOENT;
}

bool image__same_build_id(const struct image *a, const struct image *b)
{
	struct image_part x, y;

	return !image__build_id(a, &x) && !image__build_id(b, &y) && x.size == y.size &&
	       !memcmp(x.bytes, y.bytes, x.size);
}

static int table_functions(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
	int (*fn)(const struct elf_function *f, void *arg), void *arg)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	struct elf_function f;
	GElf_Sym sym;
	int type, err;

	if (n > IMAGE_SYMBOLS_MAX)
		n = IMAGE_SYMBOLS_MAX;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getsym(data, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF ||
			sym.st_shndx == SHN_ABS)
			continue;
		f = (struct elf_function){ .name = elf_strptr(elf, sh->sh_link, sym.st_name),
			.vaddr = sym.st_value,
			.size_bytes = sym.st_size,
			.section = sym.st_shndx,
			.binding = GELF_ST_BIND(sym.st_info),
			.indirect = type == STT_GNU_IFUNC };
		if (!f.name || !*f.name)
			continue;
		err = fn(&f, arg);
		if (err)
			return err;
	}
	return 0;
}

int image__functions(const struct image *img, int (*fn)(const struct elf_function *f, void *arg), void *arg)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err;

	while (img->elf && (scn = elf_nextscn(img->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		err = table_functions(img->elf, scn, &sh, fn, arg);
		if (err)
			return err;
	}
	return 0;
}
