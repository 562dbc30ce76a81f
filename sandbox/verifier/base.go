package verifier

import (
	"context"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Base is the commit of main's history that a claimed commit's deciding files are
// taken from: where its work left main, so that what main took meanwhile does not
// break it. main and commit are full ids.
//
// Where there are several such commits (criss-cross merges), none of them is *the*
// state that the work began from, and the choice would be the agent's: it is main
// as it stands then. Where there is none the claim is Unfit.
func Base(ctx context.Context, repo *git.Repo, main, commit string) (string, error) {
	if commit == main { // of which git has nothing to say
		return main, nil
	}
	reader := repo.Reader(ctx)
	defer reader.Close()
	if reader.Follows(commit, main) {
		return main, nil
	}
	out, err := repo.Output(ctx, "merge-base", "--all", main, commit)
	if git.SaidNo(err) {
		return "", unfit("%s has no history in common with main: begin from main", diag.Short(commit))
	}
	if err != nil {
		return "", err
	}
	if bases := strings.Fields(string(out)); len(bases) == 1 {
		return bases[0], nil
	}
	return main, nil
}
