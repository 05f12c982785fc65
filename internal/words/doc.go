// Package words holds the project's texts to one vocabulary: README, docs, the help of every command, messages, and what
// the default library says of its metrics use no word of testdata/retired-words.txt, and docs/glossary.md explains the words
// that they use. It contains only tests. It imports no package of the project but internal/testprog.
package words
