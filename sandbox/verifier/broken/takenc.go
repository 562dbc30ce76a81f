package broken

import (
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// cLooks has a program look, as it begins, which functions its own file defines that a library which
// it was linked with has, too: the program calls those, and so does what a header makes of `assert`.
// It reads the file's table of symbols; a file without one has what the loader needs. What is hidden
// looks like another file's own there, and what is linked in whole has no other that could be seen.
const cLooks = `
#if defined(__ELF__) && __SIZEOF_POINTER__ == 8
struct ward_file { unsigned char ident[16]; unsigned short type, machine; unsigned version; unsigned long entry, phoff, shoff; unsigned flags; unsigned short own, phsize, phnum, shsize, shnum, names; };
struct ward_part { unsigned name, type; unsigned long flags, addr, offset, size; unsigned link, info; unsigned long align, each; };
struct ward_symbol { unsigned name; unsigned char info, other; unsigned short part; unsigned long value, size; };
void *ward_library(void *, const char *) __asm__("dlsym") __attribute__((weak));
int ward_fseek(void *, long, int) __asm__("fseek");
__SIZE_TYPE__ ward_fread(void *, __SIZE_TYPE__, __SIZE_TYPE__, void *) __asm__("fread");
void *ward_malloc(__SIZE_TYPE__) __asm__("malloc");
static void *ward_read(void *file, unsigned long at, unsigned long size)
{
	char *got = size < 1UL << 28 ? ward_malloc(size + 1) : 0;
	if (!got || ward_fseek(file, (long)at, 0) || ward_fread(got, 1, size, file) != size)
		return 0;
	got[size] = 0;
	return got;
}
static int ward_own(const char *name)
{
	static const char *const own[] = { %[2]s };
	unsigned i, n;
	for (i = 0; i < sizeof own / sizeof *own; i++) {
		for (n = 0; name[n] && own[i][n] == name[n]; n++)
			continue;
		if (own[i][n] == name[n])
			return 1;
	}
	return 0;
}
static void ward_looks(void)
{
	void *file = ward_library ? ward_fopen("/proc/self/exe", "rb") : 0;
	struct ward_file *head = file ? ward_read(file, 0, sizeof *head) : 0;
	struct ward_part *parts = head ? ward_read(file, head->shoff, (unsigned long)head->shnum * sizeof *parts) : 0, *of = 0;
	struct ward_symbol *all;
	const char *names;
	char said[4096];
	unsigned long i;
	for (i = 0; parts && i < head->shnum; i++)
		if (parts[i].type == 2 || (parts[i].type == 11 && !of))
			of = parts + i;
	all = of && of->link < head->shnum ? ward_read(file, of->offset, of->size) : 0;
	names = all ? ward_read(file, parts[of->link].offset, parts[of->link].size) : 0;
	for (i = 0; names && i < of->size / sizeof *all; i++) {
		const char *name = names + all[i].name;
		int kind = all[i].info & 15;
		if (all[i].part && all[i].info >> 4 && (kind == 2 || kind == 10) && all[i].name < parts[of->link].size && !ward_own(name) && ward_library((void *)-1L, name)) {
			ward_snprintf(said, sizeof said, "%%s%%s%%s", %[1]q, %[3]q, name);
			ward_tell(said);
		}
	}
	if (file)
		ward_fclose(file);
}
#else
static void ward_looks(void) {}
#endif
`

// cDefines matches a function that a text may define.
var cDefines = pattern.New(`([A-Za-z_]\w*)[ \t\n]*\([^;{}]*\)[ \t\n]*\{`)

// cTaken is what a program has that looks. What its own text defines is its own doing.
func cTaken(text string, m mark) string {
	own := []string{`"main"`}
	for _, found := range cDefines.FindAllStringSubmatch(text, -1) {
		own = append(own, strconv.Quote(found[1]))
	}
	return fmt.Sprintf(cLooks, m.word, strings.Join(own, ", "), m.finds(isReplaced))
}
