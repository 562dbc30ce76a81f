package view

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"git-ward/internal/git"
	"git-ward/protocols/forge"
)

// maxWord bounds what a look at a forge says, in bytes.
const maxWord = 1 << 20

// forgeWaits says what the last look at a forge left undone, where there is one (FORGE-5).
func forgeWaits(r *git.Reader, o *Overview) error {
	tip, err := r.Tip(forge.WordRef)
	if err != nil || tip == "" {
		return err
	}
	var word forge.Word
	data, err := r.Blob(tip, maxWord)
	if err == nil {
		err = json.Unmarshal(data, &word)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", forge.WordRef, err)
	}
	for _, line := range word.Lines() {
		o.Warnings = append(o.Warnings, "git ward forge: "+line)
	}
	return nil
}
