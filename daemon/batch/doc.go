// Package batch puts code into the texts of targets and takes code out, in as few stops of each target as can be. What is enabled together goes
// in together, and what was switched off before goes out along with it.
//
// The steps of a batch: New; Add for each part whose code has been placed at its sites, Renew for one that has more code there than before,
// Withdraw for one that is not wanted after all, TakeOut for what is to go; then Commit, once. Afterwards each Group tells whether it is in.
// A group that could not go in as a whole is switched off where it is in, and leaves with a later batch.
//
// It knows a part by its sites and what becomes of them. It must not know what the code of a part is for, who has asked for it, or how it was
// placed.
//
// Nothing here has a lock: one goroutine at a time makes batches.
package batch
