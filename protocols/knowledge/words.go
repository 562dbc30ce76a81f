package knowledge

import (
	"slices"
	"strings"
	"unicode"
)

// MaxWords bounds the words of one question; more words would match everything.
const MaxWords = 24

// idle are English words that say nothing about a subject; longer texts are full of them.
var idle = strings.Fields(`a about above after again all also an and any are as at be because been before being below between both but by can
could did do does doing done for from further get had has have having here how if in into is it its itself let like made make makes may me might more most must my
need needs new no nor not now of off on once one only or other our out over own please same shall should so some such than that the their them
then there these they this those through to too under until up use used uses using very was we were what when where which while who whom whose why will with would you your`)

// Words returns the search words of a text in any script, each once and in lower case, at most
// MaxWords. For a script without blanks between words it returns pairs of letters, which finds
// such texts without a dictionary. An identifier, such as open_door, openDoor or Store.Get, is
// one word, and so is each of its parts.
func Words(text string) []string {
	var list []string
	add := func(word string) {
		if word = strings.ToLower(word); len(list) < MaxWords && telling(word) && !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	for _, run := range strings.FieldsFunc(text, between) {
		run = strings.Trim(run, "_.-'’")
		if strings.IndexFunc(run, unspaced) >= 0 {
			pairs(run, add)
			continue
		}
		add(run)
		for _, part := range strings.FieldsFunc(run, func(r rune) bool { return r == '_' || r == '.' || r == '-' || r == '\'' || r == '’' }) {
			add(part)
			for _, word := range humps(part) {
				add(word)
			}
		}
	}
	return list
}

// humps are the words of a name like openDoor, none for one that has no humps.
func humps(name string) (list []string) {
	from, before := 0, rune(0)
	for i, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			list, from = append(list, name[from:i]), i
		}
		before = r
	}
	if from > 0 {
		list = append(list, name[from:])
	}
	return list
}

// between reports whether a letter stands between words.
func between(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-'’", r)
}

// telling reports whether a word says something: one letter does only where a letter is a
// word, and a number never does.
func telling(word string) bool {
	letters, wide := 0, false
	for _, r := range word {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
		wide = wide || unspaced(r)
	}
	return (letters > 2 || letters > 1 && word[0] >= 0x80 || wide) && !slices.Contains(idle, word)
}

// unspaced reports whether a letter is of a script that puts no blanks between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// pairs gives the neighbouring letters of a run of such a script, and what of other
// scripts stands among them as it is.
func pairs(run string, add func(string)) {
	var wide []rune
	narrow := 0
	flush := func(to int, letters []rune) {
		if narrow < to {
			add(string(letters[narrow:to]))
		}
		if len(wide) == 1 {
			add(string(wide))
		}
		for i := 1; i < len(wide); i++ {
			add(string(wide[i-1 : i+1]))
		}
		wide = wide[:0]
	}
	letters := []rune(run)
	for i, r := range letters {
		if !unspaced(r) && !(unicode.IsMark(r) && len(wide) > 0) {
			if len(wide) > 0 {
				flush(narrow, letters)
				narrow = i
			}
			continue
		}
		if len(wide) == 0 {
			flush(i, letters)
		}
		wide = append(wide, r)
		narrow = i + 1
	}
	flush(len(letters), letters)
}

// Stem removes an English ending, so that the result is a prefix of the word's other forms.
// Other words are returned unchanged.
func Stem(word string) string {
	for _, end := range []string{"ations", "ation", "ings", "ing", "ers", "ies", "ed", "er", "es", "s", "y", "e"} {
		if stem, ok := strings.CutSuffix(word, end); ok && len(stem) >= 4 && stem[len(stem)-1] < 0x80 {
			return stem
		}
	}
	return word
}
