package serve

import (
	"culprit/daemon/attach"
	"culprit/daemon/process"
	"culprit/grid/wire"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// Kinds are the typed errors of a daemon, for both ends of a connection.
func Kinds() *wire.Kinds {
	k := wire.GridKinds()
	k.Sentinel("process not found", process.ErrNotFound)
	k.Sentinel("kernel thread", process.ErrKernelThread)
	k.Sentinel("zombie", process.ErrZombie)
	k.Sentinel("process exited", process.ErrTargetExited)
	k.Sentinel("process executed another program", process.ErrTargetExeced)
	wire.Typed[*process.NotPermitted](k, "process not permitted")
	wire.Typed[*process.Unsupported](k, "process unsupported")
	wire.Typed[*process.Deferred](k, "process deferred")
	wire.Typed[*process.Traced](k, "traced")
	wire.Typed[*attach.Taken](k, "taken")
	wire.Typed[*pcl.NoConstraint](k, "no constraint")
	wire.Typed[*pcl.UnknownItem](k, "unknown item")
	wire.Typed[*pcl.Unsupported](k, "metric unsupported")
	wire.Typed[*pcl.NoFunction](k, "no function")
	wire.Typed[*pcl.NoPoint](k, "no point")
	wire.Typed[*pcl.NoResult](k, "no result")
	wire.Typed[*syntax.Error](k, "syntax")
	return k
}
