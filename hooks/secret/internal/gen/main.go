// Gen writes the rule table of package secret, rules.txt in the current
// directory, from the configuration of gitleaks. It says where each regex has to
// be tried and drops what Ward does not take over.
package main

import (
	"flag"
	"log"
	"os"
	"regexp/syntax"
	"strings"

	"github.com/BurntSushi/toml"
)

// config is the part of gitleaks.toml that Ward takes over. Strict decoding
// makes a new field of a later gitleaks an error here, not a silent loss.
type config struct {
	Title, MinVersion string
	Allowlist         allowlist
	Rules             []rule
}

type rule struct {
	ID, Description, Regex, Path string
	Entropy                      float64
	SecretGroup                  int
	Keywords                     []string
	Allowlists                   []allowlist
}

type allowlist struct {
	Description, Condition, RegexTarget string
	Paths, Regexes, Stopwords           []string
}

func main() {
	log.SetFlags(0)
	path := flag.String("config", "", "gitleaks' gitleaks.toml")
	version := flag.String("version", "", "the version of gitleaks it is from")
	flag.Parse()
	var c config
	meta, err := toml.DecodeFile(*path, &c)
	if err != nil {
		log.Fatal(err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		log.Fatalf("%s has fields that this generator does not know: %v", *path, unknown)
	}
	if err := os.WriteFile("rules.txt", new(printer).file(c, *version), 0o644); err != nil {
		log.Fatal(err)
	}
}

// kept says which allowlists Ward takes over: those that look at the content.
// Whoever pushes chooses the path, so no path excuses a secret.
func kept(a allowlist) bool {
	return len(a.Regexes)+len(a.Stopwords) > 0 && !strings.EqualFold(a.Condition, "and")
}

func parse(expr string) *syntax.Regexp {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		log.Fatal(err)
	}
	return re
}
