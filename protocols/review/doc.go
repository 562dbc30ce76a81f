// Package review says where a directive stands, what there is to see of its work before
// it is taken, and whether it can be (REC-3): as data, which `--json` prints, and as
// lines of text. It is made of facts that its caller has read, and knows no git.
//
// Whoever changes a member's name or meaning changes SchemaVersion: programs read it.
package review

// SchemaVersion is of Standing and Review as JSON, and of what the verbs that make them
// true print (take, drop, directive new and edit).
const SchemaVersion = "1.1"
