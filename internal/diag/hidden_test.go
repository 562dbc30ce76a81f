package diag

import (
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// What people write passes whole, through Clean, too.
func TestWritingIsNotHidden(t *testing.T) {
	for _, text := range []string{
		"plain, ünïcödé, naïve, Ελληνικά, Кириллица",
		"添加限速器，修复　空格",            // Chinese with an ideographic space
		"辻\U000e0100さん",          // a name with an ideographic variation selector
		"تحديد معدل الطلبات",     // Arabic
		"می\u200cخواهم",          // Persian
		"ه\u200d.ش",              // the joiner that keeps a letter's form
		"הוסף בדיקות C++\u200f!", // Hebrew with a mark
		"שלום \u200e(README)\u200e עולם",
		"क्\u200dष और क्\u200cष", // Devanagari
		"ನ್\u200c",               // Kannada, at a word's end
		"ශ්\u200dරී",             // Sinhala
		"᠊ᠠ\u180bᠨ\u180eᠠ",       // Mongolian
		"\u0628\u0651\u034f\u0652",
		"👍🏽 👩\u200d💻 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 ☎\ufe0e",
		"🇫🇷 " + flags[0] + flags[1] + flags[2],
		"⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙",
		"∩\ufe00 ≨\ufe00",
		"\u0600123", // an Arabic number sign, which is drawn
		"no\u00a0break 3.45\u202fPM",
	} {
		if h, found := FindHidden(text, false); found {
			t.Errorf("%+q: %s at %d", text, h.What, h.At)
		}
		if got := Clean(text); got != text {
			t.Errorf("Clean(%+q) = %+q", text, got)
		}
	}
}

// What a reader cannot see is found where writing does not need it, and Clean
// shows it.
func TestHidden(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31m":                        "the control character U+001B",
		"a\x7f":                            "the control character U+007F",
		"a\u009b31m":                       "the control character U+009B",
		"over\rwritten":                    "the control character U+000D",
		"bad \xff byte":                    "invalid UTF-8",
		"surrogate \xed\xa0\x80":           "invalid UTF-8",
		"\u202egnp.exe":                    "the bidirectional control U+202E",
		"x\u2066y":                         "the bidirectional control U+2066",
		"שלום\u202e":                       "the bidirectional control U+202E",
		"user\u200fname":                   "the bidirectional control U+200F",
		"latin\u200e, then\nשלום":          "the bidirectional control U+200E",
		"\u061cabc":                        "the bidirectional control U+061C",
		"ma\u200bin":                       "the invisible character U+200B",
		"ma\u200cin":                       "the invisible character U+200C",
		"ma\u200din":                       "the invisible character U+200D",
		"می\u200c\u200cخواهم":              "the invisible character U+200C",
		"👩\u200d":                          "the invisible character U+200D",
		"👩\u200dx":                         "the invisible character U+200D",
		"👍\ufe0f\ufe0f":                    "the invisible character U+FE0F",
		"a\ufe0f":                          "the invisible character U+FE0F",
		"1\ufe0f":                          "the invisible character U+FE0F",
		"a\U000e0100":                      "the invisible character U+E0100",
		"辻\U000e0100\U000e0101":            "the invisible character U+E0101",
		"soft\u00adhyphen":                 "the invisible character U+00AD",
		"word\u2060joiner":                 "the invisible character U+2060",
		"\ufeffmark":                       "the invisible character U+FEFF",
		"a\u115fb":                         "the invisible character U+115F",
		"a\u1160b":                         "the invisible character U+1160",
		"a\u3164b":                         "the invisible character U+3164",
		"a\uffa0b":                         "the invisible character U+FFA0",
		"a\u034fb":                         "the invisible character U+034F",
		"a\u17b4b":                         "the invisible character U+17B4",
		"a\u180eb":                         "the invisible character U+180E",
		"a\u2800b":                         "the invisible character U+2800",
		"a\u2028b":                         "the invisible character U+2028",
		"a\u2029b":                         "the invisible character U+2029",
		"a\u2064b":                         "the invisible character U+2064",
		"a\u206ab":                         "the invisible character U+206A",
		"a\ufff9b":                         "the invisible character U+FFF9",
		"a\U0001d173b":                     "the invisible character U+1D173",
		"a\U000e0001b":                     "the invisible character U+E0001",
		"👍\U000e0068\U000e0069":            "the invisible character U+E0068",
		"🏴\U000e0068\U000e0069\U000e007f":  "the invisible character U+E0068",
		flags[0] + "\U000e0068":            "the invisible character U+E0068",
		"🏴\U000e0067\U000e0062 \U000e007f": "the invisible character U+E0067",
	} {
		h, found := FindHidden(text, true)
		if !found || h.What != want {
			t.Errorf("%+q: %q, want %q", text, h.What, want)
		}
		if _, again := FindHidden(Clean(text), true); again {
			t.Errorf("Clean(%+q) = %+q", text, Clean(text))
		}
	}
	for text, lines := range map[string]bool{"a\tb": false, "a\nb": false, "a\r\nb": false, "a\x00": true, "a\r": true} {
		if _, found := FindHidden(text, lines); !found {
			t.Errorf("%q (lines: %v) passes", text, lines)
		}
	}
	if h, found := FindHidden("a\tb\r\nc\n", true); found {
		t.Errorf("lines: %v", h)
	}
}

// Alone between two Latin letters nothing that has no shape is ever let through,
// and no character whatever makes what Clean shows different the second time.
func TestEveryCharacter(t *testing.T) {
	classes := []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		text := "a" + string(r) + "b"
		_, found := FindHidden(text, false)
		if want := unicode.In(r, classes...) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == blank; found != want {
			t.Errorf("%U: %v, want %v", r, found, want)
		}
		clean := Clean(text)
		if _, found := FindHidden(clean, false); found || Clean(clean) != clean {
			t.Errorf("%U: Clean gives %+q", r, clean)
		}
	}
}

// A pictograph joins with another into one cluster (Unicode TR 29, rule GB11).
func TestPictographs(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r == '\u200d' {
			continue
		}
		if want := uniseg.GraphemeClusterCount(string(r)+"\u200d\U0001f600") == 1; isPictograph(r) != want {
			t.Errorf("isPictograph(%U) = %v", r, !want)
		}
	}
}

func TestCleanJSON(t *testing.T) {
	text, err := json.Marshal(map[string]string{"a\u200bb": "\u202e\\ \x7f \x1b 👩\u200d💻 \u2800"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(CleanJSON(text), &got); err != nil {
		t.Fatal(err)
	}
	if want := "\\u202e\\ \\x7f \x1b 👩\u200d💻 \\u2800"; got[`a\u200bb`] != want {
		t.Errorf("%+q, want %+q", got, want)
	}
	if _, found := FindHidden(string(CleanJSON(text)), true); found {
		t.Errorf("%+q", CleanJSON(text))
	}
}

func FuzzHidden(f *testing.F) {
	for _, s := range []string{"a\u200d", "👩\u200d💻", flags[1], "\xf0\x9f", "می\u200cخ", "\u180b"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		text := a + b
		h, found := FindHidden(text, false)
		clean := Clean(text)
		if _, again := FindHidden(clean, false); again {
			t.Errorf("Clean(%+q) = %+q", text, clean)
		}
		if found && (h.Size < 1 || h.At+h.Size > len(text) || clean == text) {
			t.Errorf("%+q: %+v", text, h)
		}
	})
}
