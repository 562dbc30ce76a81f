package broken

import (
	"fmt"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// cLooks makes a program check, as it begins, which functions its own file defines that a linked library
// has, too: the program calls its own, and so does the expansion of `assert`. It reads the file's symbol
// table, or else the loader's. A function is a symbol in an executable section, because an assembler
// need not declare its type. A static function of another source does not count. One of this text's
// source does, because a header that it includes made it; a hidden function looks the same. Of a library
// that is linked statically, no second function can be seen.
const cLooks = `
#if defined(__ELF__) && __SIZEOF_POINTER__ == __SIZEOF_LONG__
struct ward_file { unsigned char ident[16]; unsigned short type, machine; unsigned version; unsigned long entry, phoff, shoff; unsigned flags; unsigned short own, phsize, phnum, shsize, shnum, names; };
struct ward_part { unsigned name, type; unsigned long flags, addr, offset, size; unsigned link, info; unsigned long align, each; };
#if __SIZEOF_POINTER__ == 8
struct ward_symbol { unsigned name; unsigned char info, other; unsigned short part; unsigned long value, size; };
#else
struct ward_symbol { unsigned name; unsigned long value, size; unsigned char info, other; unsigned short part; };
#endif
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
static int ward_same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}
static int ward_own(const char *name)
{
	static const char *const own[] = { %[2]s };
	unsigned i;
	for (i = 0; i < sizeof own / sizeof *own; i++)
		if (ward_same(own[i], name))
			return 1;
	return 0;
}
static void ward_looks(void)
{
	void *file = ward_library ? ward_fopen("/proc/self/exe", "rb") : 0;
	struct ward_file *head = file ? ward_read(file, 0, sizeof *head) : 0;
	struct ward_part *parts = head ? ward_read(file, head->shoff, (unsigned long)head->shnum * sizeof *parts) : 0, *of = 0;
	struct ward_symbol *all;
	const char *names, *base = __BASE_FILE__;
	char said[4096];
	unsigned long i;
	int mine = 0;
	for (i = 0; base[i]; i++)
		if (base[i] == '/') {
			base += i + 1;
			i = -1UL;
		}
	for (i = 0; parts && i < head->shnum; i++)
		if (parts[i].type == 2 || (parts[i].type == 11 && !of))
			of = parts + i;
	all = of && of->link < head->shnum ? ward_read(file, of->offset, of->size) : 0;
	names = all ? ward_read(file, parts[of->link].offset, parts[of->link].size) : 0;
	for (i = 0; names && i < of->size / sizeof *all; i++) {
		const char *name = names + (all[i].name < parts[of->link].size ? all[i].name : 0);
		unsigned part = all[i].part;
		if ((all[i].info & 15) == 4)
			mine = ward_same(name, base);
		if (!*name || !part || (part < head->shnum ? !(parts[part].flags & 4) : part != 0xfff1))
			continue;
		if ((all[i].info >> 4 || mine) && !ward_own(name) && ward_library((void *)-1L, name)) {
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

// cTaken adds the check to a program. A function that its own text defines does not count.
func cTaken(text string, m mark) string {
	own := []string{`"main"`}
	for _, found := range cDefines.FindAllStringSubmatch(text, -1) {
		own = append(own, strconv.Quote(found[1]))
	}
	return fmt.Sprintf(cLooks, m.word, strings.Join(own, ", "), m.finds(isReplaced))
}
