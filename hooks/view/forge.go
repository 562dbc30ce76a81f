package view

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/uow"
)

// maxWord bounds the blob of forge.WordRef, in bytes.
const maxWord = 1 << 20

// forgeWaits adds what the last poll of the forge left undone and the proposals that wait for approval
// there (FORGE-5).
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
	kinds := map[uow.Cause]Kind{uow.ProposalWaits: Approval, uow.StaysBehind: Blocked, uow.ForgeIsAway: Outage, uow.NotAtForge: Outage}
	for _, one := range word.Waits() {
		w := Waiting{Key: one.Key, Kind: kinds[one.Cause], For: one.For, Title: one.Title, What: one.Why, Words: one.Words, Command: one.Command}
		if w.Kind == Outage {
			w.Since = word.Since
		}
		o.Waiting = append(o.Waiting, w)
	}
	return nil
}
