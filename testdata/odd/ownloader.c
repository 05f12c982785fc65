/* A loader of its own: it maps an ELF object by hand, calls it, and takes it away again, at ever other addresses. The system's loader
 * knows nothing of it: no link map, no dl_iterate_phdr, no breakpoint of r_debug.
 * ownloader PATH-OF-OBJECT */
#include "target.h"
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#define PAGE 4096u

struct object {
	char *base;
	size_t size;
	uint64_t (*work)(uint64_t);
};

static uint64_t in_file, in_memory;

static size_t down(size_t n) { return n & ~(size_t)(PAGE - 1); }
static size_t up(size_t n) { return down(n + PAGE - 1); }

static int protection(Elf64_Word flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) | (flags & PF_X ? PROT_EXEC : 0);
}

static const Elf64_Ehdr *whole_file(const char *path, int *fd, size_t *size)
{
	struct stat st;
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &st) != 0)
		target_bad("%s: %s", path, strerror(errno));
	*size = (size_t)st.st_size;
	const Elf64_Ehdr *file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, *fd, 0);
	if (file == MAP_FAILED || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
		target_bad("%s is no ELF file", path);
	return file;
}

/* map_segment maps one segment from the file, or copies it into anonymous memory as loaders for compressed programs do. */
NOINLINE void map_segment(struct object *o, const Elf64_Ehdr *file, const Elf64_Phdr *ph, int fd, int copy)
{
	char *at = o->base + down(ph->p_vaddr), *end = o->base + up(ph->p_vaddr + ph->p_memsz);
	size_t lead = ph->p_vaddr - down(ph->p_vaddr);
	int flags = MAP_PRIVATE | MAP_FIXED;
	if (mmap(at, (size_t)(end - at), PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	if (copy || ph->p_flags & PF_W)
		memcpy(at + lead, (const char *)file + ph->p_offset, ph->p_filesz);
	else if (mmap(at, lead + ph->p_filesz, PROT_READ, flags, fd, (off_t)down(ph->p_offset)) == MAP_FAILED)
		target_bad("mmap of the file: %s", strerror(errno));
	if (mprotect(at, (size_t)(end - at), protection(ph->p_flags)) != 0)
		target_bad("mprotect: %s", strerror(errno));
}

NOINLINE struct object load(const char *path, int copy)
{
	struct object o = {0};
	int fd;
	size_t file_size;
	const Elf64_Ehdr *file = whole_file(path, &fd, &file_size);
	const Elf64_Phdr *ph = (const Elf64_Phdr *)((const char *)file + file->e_phoff);
	for (int i = 0; i < file->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && up(ph[i].p_vaddr + ph[i].p_memsz) > o.size)
			o.size = up(ph[i].p_vaddr + ph[i].p_memsz);
	o.base = mmap(NULL, o.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (o.base == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	for (int i = 0; i < file->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			map_segment(&o, file, &ph[i], fd, copy);
	*(void **)&o.work = o.base + file->e_entry; /* the object is linked with its only function as the entry */
	munmap((void *)(uintptr_t)file, file_size);
	close(fd);
	return o;
}

int main(int argc, char **argv)
{
	uint64_t hash = 0, loads = 0;
	target_start();
	if (argc < 2)
		target_bad("usage: ownloader PATH-OF-OBJECT");
	while (target_running()) {
		int copy = loads % 2;
		struct object o = load(argv[1], copy);
		uint64_t h = 1;
		for (int i = 0; i < 2000; i++)
			h = o.work(h);
		*(copy ? &in_memory : &in_file) += 2000;
		if (hash && h != hash)
			target_bad("load %llu works differently", (unsigned long long)loads);
		hash = h;
		if (munmap(o.base, o.size) != 0)
			target_bad("munmap: %s", strerror(errno));
		loads++;
	}
	target_count("work_in_file", in_file);
	target_count("work_in_memory", in_memory);
	return target_finish(hash);
}
