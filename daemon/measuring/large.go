package measuring

// manySymbols is from how many symbols on it takes so long to read those of a program, some microseconds each, that somebody would wonder.
const manySymbols = 100_000

// readLarge reads the names of a program that has very many. Else that would be done with the first stack sample, when the session has begun: all that is
// measured would wait for it, and the session would end late.
func (t *Process) readLarge() {
	if len(t.Objects()) == 0 {
		return
	}
	o := t.Main()
	if n := o.Symbols(); n >= manySymbols {
		t.Logf("reading %d symbols of %s takes long", n, o.Name)
		o.ReadAhead()
	}
}
