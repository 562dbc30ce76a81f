package verifier

import (
	"context"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Base returns the commit of main's history from which a claimed commit's deciding files are taken. It
// is where the work branched off, so that later commits of main cannot break it. main and commit are
// full ids.
//
// With several merge bases (criss-cross merges), the agent could choose between them, so the base is
// main as it is now. Without one the claim is Unfit.
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
