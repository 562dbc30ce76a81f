// Package site makes the pages that people look at: HTML and pictures as pure functions of
// what package view read, as files of a static report and, the same ones, for the server
// (SEE-2). The same refs give the same bytes.
//
// Everything goes through html/template, pictures too. Only the picture of a lifecycle is marked
// as safe: html/template made it, and a report keeps it for all units in one state. What an agent
// or a repository wrote reaches a page escaped, with its control characters shown, and isolated
// from the direction of the text around it. There is no inline script and no style
// attribute, so that a page works under the strictest policy.
package site
