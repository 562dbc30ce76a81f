package git

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

const (
	treeID   = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	otherID  = "d670460b4b4aece5915caf5c68d12f560a9fe3e4"
	ident    = "A U Thor <author@example.org> 1700000000 +0100"
	fixedTop = "tree " + treeID + "\nparent " + otherID + "\nauthor " + ident + "\ncommitter " + ident + "\n"
)

// meaning is what a parser says of an object: "" for git's own form, "one" for
// one meaning, "legacy" for an older git's, "none" where readers may disagree.
func meaning(err error) string {
	var form *FormError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &form):
		return "trouble: " + err.Error()
	case form.Legacy:
		return "legacy"
	case form.OneMeaning:
		return "one"
	}
	return "none"
}

// TestCommitForms: what git writes is taken, and every other form is refused by
// what it could mean (GATE-1).
func TestCommitForms(t *testing.T) {
	signed := "gpgsig -----BEGIN SSH SIGNATURE-----\n abc\n \n def\n -----END SSH SIGNATURE-----\n"
	for _, c := range []struct{ name, object, want string }{
		{"plain", fixedTop + "\nsubject\n", ""},
		{"no parent", strings.Replace(fixedTop, "parent "+otherID+"\n", "", 1) + "\ns\n", ""},
		{"empty message", fixedTop + "\n", ""},
		{"message without a line feed", fixedTop + "\nx", ""},
		{"signed", fixedTop + signed + "\ns\n", ""},
		{"another tool's header", fixedTop + "HG:extra branch:default\n" + signed + "\ns\n", ""},
		{"two merged tags", fixedTop + "mergetag object " + otherID + "\n type commit\nmergetag object " + treeID + "\n type commit\n\ns\n", ""},
		{"encoding UTF-8", fixedTop + "encoding utf-8\n\ns\n", ""},
		{"empty name", strings.ReplaceAll(fixedTop, "A U Thor", "") + "\ns\n", ""},

		{"tree behind the committer", fixedTop + "tree " + treeID + "\n\ns\n", "none"},
		{"tree twice", "tree " + otherID + "\n" + fixedTop + "\ns\n", "none"},
		{"parent behind the committer", fixedTop + "parent " + treeID + "\n\ns\n", "none"},
		{"author behind the committer", fixedTop + "author " + ident + "\n\ns\n", "none"},
		{"parent before the tree", "parent " + otherID + "\n" + fixedTop + "\ns\n", "none"},
		{"committer before the author", "tree " + treeID + "\ncommitter " + ident + "\nauthor " + ident + "\n\ns\n", "none"},
		{"author twice", strings.Replace(fixedTop, "committer", "author "+ident+"\ncommitter", 1) + "\ns\n", "none"},
		{"no author", "tree " + treeID + "\ncommitter " + ident + "\n\ns\n", "none"},
		{"upper-case id", strings.Replace(fixedTop, treeID, strings.ToUpper(treeID), 1) + "\ns\n", "none"},
		{"short parent", strings.Replace(fixedTop, otherID, otherID[:39], 1) + "\ns\n", "none"},
		{"space behind an id", strings.Replace(fixedTop, treeID, treeID+" ", 1) + "\ns\n", "none"},
		{"tab for a space", strings.Replace(fixedTop, "tree ", "tree\t", 1) + "\ns\n", "none"},
		{"carriage return", strings.Replace(fixedTop, treeID, treeID+"\r", 1) + "\ns\n", "none"},
		{"continued author", strings.Replace(fixedTop, "\ncommitter", "\n parent "+treeID+"\ncommitter", 1) + "\ns\n", "none"},
		{"continued parent", strings.Replace(fixedTop, "\nauthor", "\n x\nauthor", 1) + "\ns\n", "none"},
		{"NUL in the message", fixedTop + "\ns\x00hidden\n", "none"},
		{"NUL in the header", strings.Replace(fixedTop, "Thor", "Th\x00or", 1) + "\ns\n", "none"},
		{"no empty line", fixedTop, "none"},
		{"header without a value", fixedTop + "gpgsig\n\ns\n", "none"},
		{"two signatures", fixedTop + signed + signed + "\ns\n", "none"},
		{"two encodings", fixedTop + "encoding UTF-8\nencoding ISO-8859-1\n\ns\n", "none"},
		{"a header that is no word", fixedTop + "x\x1b[2J y\n\ns\n", "none"},
		{"empty", "", "none"},

		{"parent twice", strings.Replace(fixedTop, "author", "parent "+otherID+"\nauthor", 1) + "\ns\n", "one"},
		{"no mail", strings.ReplaceAll(fixedTop, "<author@example.org>", "") + "\ns\n", "one"},
		{"nested mail", strings.ReplaceAll(fixedTop, "<author@", "<<author@") + "\ns\n", "one"},
		{"no space before the mail", strings.ReplaceAll(fixedTop, "Thor <", "Thor<") + "\ns\n", "one"},
		{"spaces behind the name", strings.ReplaceAll(fixedTop, "Thor <", "Thor  <") + "\ns\n", "one"},
		{"tab before the name", strings.ReplaceAll(fixedTop, "A U", "\tA U") + "\ns\n", "one"},
		{"space in the brackets", strings.ReplaceAll(fixedTop, "<a", "< a") + "\ns\n", "one"},
		{"zero before the date", strings.ReplaceAll(fixedTop, " 17", " 017") + "\ns\n", "one"},
		{"date beyond 64 bits", strings.ReplaceAll(fixedTop, " 17", " 99999999999917") + "\ns\n", "one"},
		{"negative date", strings.ReplaceAll(fixedTop, " 17", " -17") + "\ns\n", "one"},
		{"negative zero", strings.ReplaceAll(fixedTop, "+0100", "-0000") + "\ns\n", "one"},
		{"long zone", strings.ReplaceAll(fixedTop, "+0100", "+051800") + "\ns\n", "one"},
		{"UTF-16", fixedTop + "encoding UTF-16\n\ns\n", "one"},
		{"UTF-7", fixedTop + "encoding UTF-7\n\ns\n", "one"},
		{"ISO-8859-1", fixedTop + "encoding ISO-8859-1\n\nM\xfcller\n", "legacy"},
	} {
		commit, err := ParseCommit([]byte(c.object))
		if got := meaning(err); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
		if (commit == nil) != (c.want == "none") {
			t.Errorf("%s: a commit is returned exactly where it has one meaning", c.name)
		}
	}
	c, _ := ParseCommit([]byte(fixedTop + "encoding latin1\n\nM\xfcller\n"))
	if got := c.Text(c.Message); got != "Müller\n" {
		t.Errorf("%q", got)
	}
}

func raw(id string) string {
	b, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestTreeForms(t *testing.T) {
	e := func(mode, name string) string { return mode + " " + name + "\x00" + raw(otherID) }
	for _, c := range []struct{ name, object, want string }{
		{"empty", "", ""},
		{"every mode", e("100755", "a") + e("120000", "b") + e("160000", "c") + e("40000", "d") + e("100644", "e"), ""},
		{"git's order", e("100644", "a-b") + e("100644", "a.b") + e("40000", "a") + e("100644", "a0"), ""},
		{"not sorted", e("100644", "b") + e("100644", "a"), "none"},
		{"directory sorted as a file", e("40000", "a") + e("100644", "a.b"), "none"},
		{"twice", e("100644", "a") + e("100644", "a"), "none"},
		{"file and directory, neighbours", e("100644", "a") + e("40000", "a"), "none"},
		{"file and directory, apart", e("100644", "a") + e("100644", "a-b") + e("40000", "a"), "none"},
		{"dot", e("40000", "."), "none"},
		{"dot dot", e("40000", ".."), "none"},
		{"no name", e("100644", ""), "none"},
		{"slash", e("100644", "a/b"), "none"},
		{"backslash", e("100644", `a\b`), "one"},
		{"zero in front", e("040000", "a"), "one"},
		{"two zeros in front", e("0040000", "a"), "none"},
		{"group-writable", e("100664", "a"), "legacy"},
		{"private", e("100600", "a"), "one"},
		{"no type", e("644", "a"), "none"},
		{"a device", e("60000", "a"), "none"},
		{"a directory with rights", e("40755", "a"), "none"},
		{"plus", e("+40000", "a"), "none"},
		{"no object", "100644 a\x00" + raw(Zero), "none"},
		{"cut off", e("100644", "a")[:20], "none"},
		{"no mode", "a\x00" + raw(otherID), "none"},
	} {
		entries, err := ParseTree([]byte(c.object))
		if got := meaning(err); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
		if (entries == nil) != (c.want == "none") {
			t.Errorf("%s: entries are returned exactly where they have one meaning", c.name)
		}
	}
}

func TestTagForms(t *testing.T) {
	top := "object " + otherID + "\ntype commit\ntag v1\ntagger " + ident + "\n"
	for _, c := range []struct{ name, object, want string }{
		{"plain", top + "\nmessage\n", ""},
		{"signed", top + "\nm\n-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n", ""},
		{"no tagger", strings.Replace(top, "tagger "+ident+"\n", "", 1) + "\nm\n", "legacy"},
		{"broken tagger", strings.Replace(top, " <author@example.org>", "", 1) + "\nm\n", "one"},
		{"object twice", "object " + treeID + "\n" + top + "\nm\n", "none"},
		{"another header", top + "object " + treeID + "\n\nm\n", "none"},
		{"type before object", "type commit\nobject " + otherID + "\ntag v1\ntagger " + ident + "\n\nm\n", "none"},
		{"no name", strings.Replace(top, "tag v1", "tag ", 1) + "\nm\n", "none"},
		{"NUL", top + "\nm\x00n\n", "none"},
		{"no empty line", top, "none"},
		{"empty", "", "none"},
	} {
		tag, err := ParseTag([]byte(c.object))
		if got := meaning(err); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
		if (tag == nil) != (c.want == "none") {
			t.Errorf("%s: a tag is returned exactly where it has one meaning", c.name)
		}
	}
}

// FuzzParseTree: what is taken prints back as the same bytes.
func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x0012345678901234567890"))
	f.Add([]byte("100644 a-b\x0012345678901234567890" + "40000 a\x0012345678901234567890"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseTree(data)
		if err != nil {
			return
		}
		if again, err := FormatTree(entries); err != nil || string(again) != string(data) {
			t.Fatalf("%v: %q", err, again)
		}
	})
}

// FuzzParseCommit: the same for commits.
func FuzzParseCommit(f *testing.F) {
	f.Add([]byte(fixedTop + "\nsubject\n\nKey: value\n"))
	f.Add([]byte(fixedTop + "gpgsig a\n b\nmergetag c\n\nsubject\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCommit(data)
		if err != nil {
			return
		}
		if again := c.encode(); string(again) != string(data) {
			t.Fatalf("%q", again)
		}
		Trailers(c.Message, "Key")
	})
}
