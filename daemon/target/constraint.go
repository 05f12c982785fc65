package target

import (
	"strconv"

	"culprit/grid"
	"culprit/pcl"
)

// constraint is what PCL's $constraint[0] stands for in an object. Locks with a symbol need not have been seen waiting.
func (t *Target) constraint(h grid.Hierarchy, elems []string) (uint64, bool) {
	switch {
	case h == grid.SyncObject && len(elems) > 0 && elems[0] == "Message":
		return t.message(elems[1:])
	case len(elems) != 2:
		return 0, false
	case pcl.IsFileLock(h, elems):
		return t.Files.Number([]string{"File", elems[1]}, t.Now())
	case h == grid.IO:
		return t.Files.Number(elems, t.Now())
	case h != grid.SyncObject:
		return 0, false
	}
	if v, ok := t.Locks.Address(elems[0], elems[1]); ok {
		return v, true
	}
	return t.DataNamed(elems[1])
}

// message is what the last element of /SyncObject/Message/COMMUNICATOR/TAG stands for: a message of MPI is an object of synchronisation. A
// communicator is the name of the variable that it is the address of ("ompi_mpi_comm_world" of Open MPI), or its handle as a number
// ("0x44000000", what MPI_COMM_WORLD is in MPICH); a tag is a number.
func (t *Target) message(elems []string) (uint64, bool) {
	if len(elems) < 1 || len(elems) > 2 {
		return 0, false
	}
	if v, err := strconv.ParseInt(elems[len(elems)-1], 0, 64); err == nil {
		return uint64(v), true
	}
	if len(elems) == 2 {
		return 0, false
	}
	return t.DataNamed(elems[0])
}
