package manual

import "embed"

// The scripts are a few lines each: what there is to complete, they ask of
// `git ward complete`, and so no installed script is ever behind.
//
//go:embed all:shells
var shells embed.FS

// Shells are the completion scripts, by the file's name below the shell's directory for them.
func Shells() map[string]string {
	out := map[string]string{}
	for name, file := range map[string]string{"bash": "git-ward", "zsh": "_git-ward", "fish": "git-ward.fish"} {
		data, err := shells.ReadFile("shells/" + file)
		if err != nil {
			panic(err) // the paths are constants
		}
		out[name+"/"+file] = string(data)
	}
	return out
}
