package targetstats

import (
	"testing"
	"time"

	"culprit/daemon/threadstats"
	"culprit/internal/require"
)

// TestAccountsThatAreRefused: the kernel is asked once, it is said once, and timers go on.
func TestAccountsThatAreRefused(t *testing.T) {
	if err := threadstats.Missing(); err != nil {
		require.Skip(t, err.Error())
	}
	said := 0
	p := &Programs{RunsLong: func() bool { return true }, Logf: func(string, ...any) { said++ }}
	keeper, err := p.open()
	if err != nil {
		require.Skip(t, err.Error())
	}
	if err := keeper.Close(); err != nil { // it refuses everything from now on
		t.Fatal(err)
	}
	p.wantAccounts()
	p.UpdateAccounts(time.Now())
	p.wantAccounts()
	if p.accounts.held || !p.accounts.refused || said != 1 {
		t.Errorf("%+v, said %d times", p.accounts, said)
	}
	p.unwantAccounts()
	p.unwantAccounts()
	if p.accounts.wanted != 0 || said != 1 {
		t.Errorf("%+v, said %d times", p.accounts, said)
	}
}
