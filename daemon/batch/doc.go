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
// One goroutine at a time makes batches. A batch locks a target while it changes something in it, or in a part that is there, and may lock a second
// one meanwhile: whoever else locks targets must not wait for one while he has another. Who calls Withdraw, Add or Hurry of Lingering has the lock of
// the part's target. The lock of Lingering is the innermost.
package batch
