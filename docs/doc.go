// Package docs is the documents, one a reader. Its tests hold them to what Ward does:
// every command, plan, program and setting that README.md, CONTRIBUTING.md or a file of
// this directory shows is run or linted, and what is shown of its output is compared (GET-2). A
// document is one session, from top to bottom.
package docs
