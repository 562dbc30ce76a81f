// Package review describes a directive's state, its work for a reader who decides on it, and
// whether the work can be taken (REC-3): as data, which `--json` prints, and as lines of text. It
// computes all of this from facts that its caller has read, and does not call git.
//
// A change of a member's name or meaning needs a new SchemaVersion, because programs read it.
package review

// SchemaVersion is the version of the JSON of Standing and Review, and of what take, drop, directive
// new and directive edit print.
const SchemaVersion = "1.1"
