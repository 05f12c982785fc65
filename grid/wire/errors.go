package wire

import (
	"errors"
	"reflect"

	"culprit/grid"
)

// An Error is an error as it is sent: its text, and those of the typed errors in it that both ends know.
type Error struct {
	Text string      `cbor:"1,keyasint"`
	Of   []ErrorKind `cbor:"2,keyasint,omitempty"`
}

// An ErrorKind is a typed error: the name of its type and its exported fields.
type ErrorKind struct {
	Kind string `cbor:"1,keyasint"`
	Data []byte `cbor:"2,keyasint,omitempty"`
}

// Kinds are the typed errors that both ends know. Both must be given the same. The zero value knows none.
type Kinds struct{ list []kind }

type kind struct {
	name    string
	find    func(err error) (data []byte, ok bool)
	rebuild func(data []byte) (error, error)
}

// Typed adds errors of type T, which is what errors.As looks for: a struct, or a pointer to one. Its exported fields are sent.
func Typed[T error](k *Kinds, name string) {
	k.list = append(k.list, kind{name,
		func(err error) ([]byte, bool) {
			var t T
			if !errors.As(err, &t) {
				return nil, false
			}
			data, err := encoding.Marshal(t)
			return data, err == nil
		},
		func(data []byte) (error, error) {
			var t T
			if typ := reflect.TypeFor[T](); typ.Kind() == reflect.Pointer {
				t = reflect.New(typ.Elem()).Interface().(T)
				return t, decoding.Unmarshal(data, t)
			}
			err := decoding.Unmarshal(data, &t)
			return t, err
		}})
}

// Sentinel adds one error, which is what errors.Is looks for.
func (k *Kinds) Sentinel(name string, sentinel error) {
	k.list = append(k.list, kind{name,
		func(err error) ([]byte, bool) { return nil, errors.Is(err, sentinel) },
		func([]byte) (error, error) { return sentinel, nil }})
}

// GridKinds are the errors of package grid and those of this package.
func GridKinds() *Kinds {
	k := &Kinds{}
	Typed[grid.ErrRefused](k, "refused")
	Typed[grid.ErrDeferred](k, "deferred")
	Typed[grid.ErrUnsupported](k, "unsupported")
	Typed[grid.ErrNotPermitted](k, "not permitted")
	Typed[grid.ErrTargetExited](k, "target exited")
	Typed[grid.ErrUnknownMetric](k, "unknown metric")
	Typed[grid.ErrNotSampled](k, "not sampled")
	Typed[*grid.FocusError](k, "focus")
	Typed[ErrFrame](k, "frame")
	Typed[ErrOrder](k, "order")
	Typed[ErrVersion](k, "version")
	Typed[ErrCommand](k, "command")
	return k
}

// An ErrVersion says that the other end speaks another version.
type ErrVersion struct{ Ours, Theirs int }

// Error says which.
func (e ErrVersion) Error() string {
	return "the daemon and the session are of different versions: start both from the same culprit"
}

// An ErrCommand says that a command cannot be obeyed: it is not known, or not now.
type ErrCommand struct{ Why string }

// Error says why.
func (e ErrCommand) Error() string { return "a command that cannot be obeyed: " + e.Why }

// Encode makes an error fit to be sent; nil stays nil.
func (k *Kinds) Encode(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Text: err.Error()}
	for _, kind := range k.list {
		if data, ok := kind.find(err); ok {
			e.Of = append(e.Of, ErrorKind{kind.name, data})
		}
	}
	return e
}

// Decode makes an error of what came: its text is that of the original, and errors.As and errors.Is find what they found there. Kinds that
// are not known are left out; nil stays nil.
func (k *Kinds) Decode(e *Error) error {
	if e == nil {
		return nil
	}
	r := &received{text: e.Text}
	for _, of := range e.Of {
		for _, kind := range k.list {
			if kind.name != of.Kind {
				continue
			}
			if typed, err := kind.rebuild(of.Data); err == nil {
				r.of = append(r.of, typed)
			}
		}
	}
	return r
}

// received is an error that came over the wire.
type received struct {
	text string
	of   []error
}

func (r *received) Error() string   { return r.text }
func (r *received) Unwrap() []error { return r.of }
