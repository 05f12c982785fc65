package target

import (
	"slices"

	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// A Host is a process as its text sees it: a patch.Host.
type Host struct{ *Code }

// A module is an object as package patch sees it.
type module struct{ *program.Object }

// Stop implements patch.Host.
func (h Host) Stop(f func(*process.World) error) error { return h.Stops.Stop(f) }

// StopOnce implements patch.Host: nothing is told of the stop, and not tried by and by.
func (h Host) StopOnce(f func(*process.World) error) error { return h.Stops.StopOnce(f) }

// Missing implements patch.Host.
func (h Host) Missing() error { return h.Stops.Missing() }

// Standing implements patch.Host.
func (h Host) Standing(w *process.World, spans []patch.Span) (map[int]int, error) {
	return h.Stops.Standing(w, spans)
}

// Going implements patch.Host.
func (h Host) Going(w *process.World, ours []process.Mapping) []process.Mapping {
	return h.Contexts.Going(w, ours)
}

// Leaves implements patch.Host.
func (h Host) Leaves() bool { return h.Contexts.Leaves() }

// ModuleAt implements patch.Host.
func (h Host) ModuleAt(addr uint64) patch.Module {
	if o := h.ObjectAt(addr); o != nil {
		return module{o}
	}
	return nil
}

// Mapped implements patch.Host.
func (h Host) Mapped(w *process.World, modules []patch.Module) (bool, error) {
	addrs := make([]process.Addr, len(modules))
	for i, m := range modules {
		addrs[i] = process.Addr(m.(module).Text)
	}
	at, err := w.MappingsAt(addrs)
	if err != nil {
		return false, err
	}
	code := CodeMaps(at)
	return !slices.ContainsFunc(modules, func(m patch.Module) bool { return !m.(module).MappedIn(code) }), nil
}

// FileBytes implements patch.Host.
func (h Host) FileBytes(addr uint64, n int) []byte {
	o := h.ObjectAt(addr)
	if o == nil {
		return nil
	}
	code, err := o.Code(addr-o.Bias, addr-o.Bias+uint64(n))
	if err != nil {
		return nil
	}
	return append([]byte(nil), code...)
}

// Refresh implements patch.Host.
func (h Host) Refresh() error { return h.settings.Refresh() }

// Refuse implements patch.Host.
func (h Host) Refuse(sites []*patch.Site) error {
	if len(sites) > 0 {
		if err := h.Fit.Refuse(); err != nil {
			return err
		}
	}
	if err := h.Sequences.Refuse(sites); err != nil {
		return err
	}
	return h.Contexts.Refuse(sites)
}

// Unloaded implements patch.Host.
func (h Host) Unloaded(owner patch.Owner, m patch.Module) {
	h.settings.Unloaded(owner, m.(module).Object)
}
