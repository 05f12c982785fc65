package daemon

import "strconv"

// What MPI adds to a target: messages as objects of synchronisation.

// message is what the last element of /SyncObject/Message/COMMUNICATOR/TAG stands for. A communicator is the name of the
// variable that it is the address of ("ompi_mpi_comm_world" of Open MPI), or its handle as a number ("0x44000000", what
// MPI_COMM_WORLD is in MPICH); a tag is a number.
func (t *measured) message(elems []string) (uint64, bool) {
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
