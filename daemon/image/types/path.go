package types

import (
	"debug/dwarf"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"culprit/daemon/image/debuginfo"
)

// Parts of variables by name: "cache.lock", "shards[3].lock". What is inside of a lock is its library's business, and not named.

// reserved are the names that implementations of C and C++ keep for themselves.
var reserved = regexp.MustCompile(`^_[_A-Z]`)

// lockTypes are the types at which a path ends, without their parameters: what they are made of has names in some libraries that
// no user has seen.
var lockTypes = []string{"pthread_mutex_t", "pthread_rwlock_t", "pthread_cond_t", "pthread_barrier_t", "pthread_spinlock_t", "sem_t",
	"mtx_t", "cnd_t", "mutex", "recursive_mutex", "timed_mutex", "recursive_timed_mutex", "shared_mutex", "shared_timed_mutex",
	"condition_variable", "condition_variable_any", "latch", "barrier", "counting_semaphore", "atomic", "atomic_flag", "once_flag",
	"Mutex", "RwLock", "Condvar", "Barrier", "Once", "OnceLock", "LazyLock", "ReentrantLock", "AtomicU32", "AtomicI32", "AtomicBool",
	"Atomic"}

// isLock tells whether a type is one of them.
func (t *ctype) isLock() bool {
	name, _, _ := strings.Cut(t.name, "<")
	return slices.Contains(lockTypes, name)
}

// path names what lies off bytes inside of a value: ".lock", "[3].lock", "" for all of it. rest is how far inside of what was
// named it is; lock tells that this is a lock of a library.
func (d *dies) path(t ctype, off int64) (text string, rest int64, lock bool) {
	for range maxInside {
		if t.isLock() {
			return text, off, true
		}
		step, next, within, ok := d.inside(t, off)
		if !ok {
			return text, off, d.opaque(t)
		}
		text, t, off = text+step, next, within
	}
	return text, off, false
}

// inside goes one step into a record or an array.
func (d *dies) inside(t ctype, off int64) (step string, next ctype, within int64, ok bool) {
	switch t.kind {
	case tRecord:
		return d.memberAt(t, off)
	case tArray:
		elem, err := d.resolve(t.elem)
		size := d.sizeOf(elem, 0)
		if err != nil || size <= 0 || off < 0 || t.count > 0 && off/size >= t.count {
			return "", t, off, false
		}
		return fmt.Sprintf("[%d]", off/size), elem, off % size, true
	}
	return "", t, off, false
}

// memberAt finds the field, or the base class, that covers an offset. Base classes and members without a name are no step of
// their own.
func (d *dies) memberAt(t ctype, off int64) (step string, next ctype, within int64, ok bool) {
	t, err := d.defined(t)
	if err != nil {
		return "", t, off, false
	}
	var candidates []*dwarf.Entry
	err = d.Children(t.self.Offset, func(e *dwarf.Entry) bool {
		if at, fixed := memberOffset(e); (e.Tag == dwarf.TagMember || e.Tag == dwarf.TagInheritance) && fixed && at <= off {
			candidates = append(candidates, e)
		}
		return len(candidates) < 1<<10
	})
	if err != nil {
		return "", t, off, false
	}
	best := -1 // of a union's members the first that has parts, or else the first
	for i, e := range candidates {
		at, _ := memberOffset(e)
		inner, err := d.resolve(typeRefOf(e))
		if err != nil || off-at >= d.sizeOf(inner, 0) {
			continue
		}
		if parted := inner.kind == tRecord || inner.kind == tArray; parted || best < 0 {
			best, next, within = i, inner, off-at
			if parted {
				break
			}
		}
	}
	if best < 0 || reserved.MatchString(debuginfo.NameOf(candidates[best])) {
		return "", t, off, false
	}
	if name := debuginfo.NameOf(candidates[best]); name != "" && candidates[best].Tag == dwarf.TagMember {
		step = "." + name
	}
	return step, next, within, true
}

// opaque tells whether the members of a type have names that are no business of its users.
func (d *dies) opaque(t ctype) (is bool) {
	if t.kind == tRecord && t.self != nil {
		_ = d.Children(t.self.Offset, func(e *dwarf.Entry) bool {
			is = e.Tag == dwarf.TagMember && reserved.MatchString(debuginfo.NameOf(e))
			return !is
		})
	}
	return is
}

// sizeOf is the size of a type in bytes; 0 if it is not known.
func (d *dies) sizeOf(t ctype, depth int) int64 {
	switch {
	case t.size > 0 || depth > maxInside:
		return t.size
	case t.kind == tRecord && t.declared:
		full, err := d.defined(t)
		if err != nil {
			return 0
		}
		return full.size
	case t.kind == tArray && t.count > 0:
		elem, err := d.resolve(t.elem)
		if size := d.sizeOf(elem, depth+1); err == nil && size > 0 && size <= maxRecord/t.count {
			return size * t.count
		}
	}
	return 0
}

// follow goes along what path has written; off is where it leads, in bytes from the value.
func (d *dies) follow(t ctype, text string) (off int64, err error) {
	for steps := 0; text != ""; steps++ {
		if steps > maxInside {
			return 0, fmt.Errorf("%q goes too far inside", text)
		}
		var step int64
		if step, t, text, err = d.take(t, text); err != nil {
			return 0, err
		}
		off += step
	}
	return off, nil
}

// take goes the first step of a path.
func (d *dies) take(t ctype, text string) (off int64, next ctype, rest string, err error) {
	if number, behind, ok := strings.Cut(text, "]"); ok && text[0] == '[' {
		index, err := strconv.ParseInt(number[1:], 10, 32)
		elem, rerr := d.resolve(t.elem)
		size := d.sizeOf(elem, 0)
		if t.kind != tArray || err != nil || rerr != nil || size <= 0 || index < 0 || index >= max(t.count, 1) {
			return 0, t, "", fmt.Errorf("there is no %q", text)
		}
		return index * size, elem, behind, nil
	}
	end := len(text)
	if i := strings.IndexAny(text[1:], ".["); i >= 0 {
		end = 1 + i
	}
	if text[0] != '.' || end == 1 {
		return 0, t, "", fmt.Errorf("%q is no field", text)
	}
	if t.kind != tRecord {
		return 0, t, "", fmt.Errorf("%s has no fields", t.describe())
	}
	m, err := d.member(t, text[1:end])
	if err != nil {
		return 0, t, "", err
	}
	next, err = d.resolve(m.typ)
	return m.off, next, text[end:], err
}
