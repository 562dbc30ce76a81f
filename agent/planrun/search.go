package planrun

import "context"

// Search asks the search engine at [search] url, as a google_search step does, for
// others that have an unknown to look up.
func Search(ctx context.Context, engine, words string) (string, error) {
	return search(ctx, engine, words)
}
